"""Shares of features in a difference of two scores of a StackedAnchorRadar."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.explain.feature import stacked_features
from tgx_anchor.nn import StackedAnchorRadar
from tgx_anchor.nn.predictors.belief_view import SHARE_MARGIN

# Scores of the first pass that differ by less do not tell whom it prefers.
_LEAST_GAP = 0.05


class StackedParts:
    r"""Divides the difference of the scores of two members of a group among the
    features that a :class:`~tgx_anchor.nn.StackedAnchorRadar` compares them by.

    The columns of the runner-up are replaced by those of the anchor, one feature after
    the other, in one order and in the opposite order; the share of a feature is the
    mean of the two changes that it makes. So shares add up to the difference, a feature
    in which the two are equal has none, and where no more than two features act
    together, the shares are Shapley values. All centralities are replaced at once, and
    so are all columns of time.

    What the first pass believes about the group itself is no reason of its own: its
    share is divided in the same way as the scores of the first pass.

    Args:
        model (StackedAnchorRadar): The fitted model.
        data (AnchorData): The hypergraph.
        same_people (bool, optional): As in :meth:`AnchorModel.predict_proba`.
            (default: :obj:`None`)
    """

    def __init__(
        self,
        model: StackedAnchorRadar,
        data: AnchorData,
        same_people: bool | None = None,
    ) -> None:
        self.passes, self.weight = model.passes, model.blend.weight
        self.columns = model.member_columns(data, same_people)
        names = self.columns.names
        #: The features.
        self.features = stacked_features(data, names, self.columns.stack.feature)
        #: The probabilities before they are calibrated, (P).
        self.proba = self.columns.proba.double()
        #: The share of its groups that each member anchors, by known anchors where
        #: there are any, and otherwise by belief, (P).
        share = self.columns.last[:, 2 * self.passes.num_learners]
        self.share = (share.exp() - SHARE_MARGIN).clamp(0, 1)

        # Of features that are replaced at once, the first one has the share of all.
        self._place: dict[str | int, int] = {}
        self._parts: dict[str | int, list[int]] = {}
        for k, feature in enumerate(self.features):
            key = k if feature.kind == 'attribute' else feature.kind
            self._place.setdefault(key, k)
            self._parts.setdefault(key, []).extend(feature.columns)
        belief = self._parts.pop('belief')
        self._here = [i for i in belief if names[i].startswith('belief_here')]
        self._elsewhere = [i for i in belief if i not in self._here]

    def contributions(self, first: Tensor, second: Tensor) -> Tensor:
        r"""Divides differences of scores, before they become probabilities.

        Args:
            first (torch.Tensor): The incidences of the anchors.
            second (torch.Tensor): The incidences of the runners-up.

        Shapes:
            - **first, second:** :math:`(B)`
            - **output:** :math:`(B, K)`, for :math:`K` features
        """
        passes, count = self.passes, self.passes.num_learners
        weights = self.weight[:count], self.weight[count : 2 * count]
        table = self.columns.table(torch.cat([first, second]))
        high, low = table.split(first.numel())
        parts = list(self._parts.values())
        # The columns of beliefs come last, and the first pass does not see them.
        width = table.size(1) - len(self._here) - len(self._elsewhere)
        found = _replaced(passes.first, high[:, :width], low[:, :width], parts)
        last = (self.columns.last[first] - self.columns.last[second])[:, 2 * count :]
        belief = last @ self.weight[2 * count :]
        if len(passes.second) == 0:
            shares = found @ (weights[0] + weights[1])
        else:
            parts += [self._elsewhere, self._here]
            both = _replaced(passes.second, high, low, parts) @ weights[1]
            shares = found @ weights[0] + both[:, :-2]
            mean = found.mean(dim=2)
            gap, here = mean.sum(1), both[:, -1]
            is_clear = gap.abs() > _LEAST_GAP
            shares += mean * torch.where(is_clear, here / gap, 0.0).unsqueeze(1)
            belief = belief + both[:, -2] + torch.where(is_clear, 0.0, here)
        out = shares.new_zeros((first.numel(), len(self.features)))
        for key, value in zip(self._parts, shares.unbind(1), strict=True):
            out[:, self._place[key]] = value
        out[:, self._place['belief']] = belief
        return out


def _replaced(
    learners: Iterable[torch.nn.Module],
    high: Tensor,
    low: Tensor,
    parts: Sequence[Sequence[int]],
) -> Tensor:
    # The share of each part in the scores of each learner, [B, K, I].
    learners = list(learners)

    def score(table: Tensor) -> Tensor:
        return torch.stack([f(table).double().mean(dim=1) for f in learners], dim=1)

    ends = score(low), score(high)
    out = ends[0].new_zeros((high.size(0), len(parts), len(learners)))
    for order in (range(len(parts)), range(len(parts))[::-1]):
        table, before = low.clone(), ends[0]
        for place in order:
            columns = torch.tensor(parts[place], dtype=torch.long, device=low.device)
            table[:, columns] = high[:, columns]
            after = ends[1] if place == order[-1] else score(table)
            out[:, place] += (after - before) / 2
            before = after
    return out
