"""Explains the predictions of a model for a hypergraph."""

import math
from collections.abc import Iterator, Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple

import torch
from torch import Tensor
from torch_geometric.data import Batch
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.explain.agreement import Agreement, agreement, record_skill
from tgx_anchor.explain.attribution import integrated_gradients
from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.explanation import TIE, Explanation
from tgx_anchor.explain.feature import (
    CONTACTS,
    TIMES,
    Feature,
    degree_feature,
    member_features,
)
from tgx_anchor.explain.group_reasons import group_reasons
from tgx_anchor.explain.known_groups import KnownGroups, SharedGroups
from tgx_anchor.explain.reason import Reason
from tgx_anchor.explain.stacked_parts import StackedParts
from tgx_anchor.nn import (
    AnchorModel,
    AnchorRadar,
    DegreeHeuristic,
    IncidenceScorer,
    StackedAnchorRadar,
)
from tgx_anchor.nn.functional import aggregate_strength
from tgx_anchor.nn.predictors.known_anchors import check_data
from tgx_anchor.transforms._topology import CENTRALITIES
from tgx_anchor.utils import arange_by_ptr, draw_priority, group_topk
from tgx_anchor.utils.messages import shorten

# The number of standard errors within which two rates are equal.
_EQUAL = 2.0
# The number of groups whose features are in memory at once.
_CHUNK_GROUPS = 4096
# The attributes of nodes and hyperedges that stage 1 scores.
_STAGE1_KEYS = (
    *('x', 'hyperedge_attr', 'node_type', 'node_type_names'),
    *('hyperedge_type', 'hyperedge_type_names'),
)


class _Strengths(NamedTuple):
    # Strengths of nodes, and the groups that they win or anchor, (N) each.
    strength: Tensor
    num_strongest: Tensor
    share: Tensor


class _Parts(NamedTuple):
    # The preference of each group, (B), and per feature, (B, K): contributions, values
    # of anchor and runner-up, and the range of values of all members but the anchor.
    preference: list[float]
    rest: list[float] | None
    contribution: list[list[float]]
    value: list[list[float]]
    runner_up: list[list[float]]
    low: list[list[float]]
    high: list[list[float]]


class Explainer:
    r"""Explains the predictions of a model for the groups of one hypergraph.

    Preparing it costs about as much as a prediction. After that, each group costs a
    fraction of a millisecond.

    The model prefers the predicted anchor :math:`v` to the runner-up :math:`u` with the
    probability :math:`p = p_v / (p_v + p_u)`. For
    :class:`~tgx_anchor.nn.AnchorRadar`, it is divided into

    .. math::
        p - \frac{1}{2} = \sum_f r_f^2 \, \phi_f \,
        \frac{\sigma(\Delta) - 1/2}{\Delta} + \text{rest}, \qquad
        \Delta = s^{(1)}_{v;e} - s^{(1)}_{u;e} = \sum_f \phi_f,

    where :math:`\phi_f` are the integrated gradients of stage 1 along the line from the
    features of the runner-up to those of the anchor. They are summed over the columns
    of all centralities, which are too similar to be told apart in a single group: the
    one that agrees best with the known anchors stands for all of them, or the degree if
    it is as good as the best.

    The number :math:`r_f \in [0, 1]` says how far a feature is a rule: how often it
    tells the anchor of a known group by itself, above chance, relative to the best
    feature or to the record of people in other known groups, whichever is better. Stage
    1 can recognise single people by their features, and :math:`r_f` keeps such a
    coincidence from being given as a reason. It is one if no group is known, and zero
    if the two people differ in the opposite direction to anchors and others in known
    groups. The rest is due to the *strength* of the two people: what their known
    groups, and the scores in all their groups, tell beyond the features here. Without
    strengths (:obj:`stages="first"`), :math:`p = \sigma(\Delta)`, there is no rest, and
    :math:`r_f` only orders the reasons.

    For :class:`~tgx_anchor.nn.StackedAnchorRadar`, :math:`\Delta` is the difference of
    the scores of the last step, which is divided among known groups, beliefs,
    centralities, time and attributes
    (:class:`~tgx_anchor.explain.stacked_parts.StackedParts`). With the
    probability :math:`r` before it is calibrated,

    .. math::
        r - \frac{1}{2} = \sum_f \phi_f \, \frac{\sigma(\Delta) - 1/2}{\Delta} +
        \left( r - \sigma(\Delta) \right),

    where the last term is due to known groups of the same members; in groups whose
    anchors the model was fitted with, also to beliefs of models that have not seen
    them, which are not kept. For :math:`p < r`, all parts are reduced by the same
    factor; for :math:`p > r`, those in favour of the anchor are increased.

    A :class:`~tgx_anchor.nn.DegreeHeuristic` has the degree as its only reason. Other
    models have no reasons, only probabilities and known groups.

    .. code-block:: python

        explainer = Explainer(model, data)
        print(explainer.explain('meeting 17'))
        reasons = {e.number: e.sentences() for e in explainer.explain_all()}

    Args:
        model (AnchorModel): The fitted model.
        data (AnchorData): The hypergraph.
        same_people (bool, optional): As in :meth:`AnchorModel.predict_proba`.
            (default: :obj:`None`)
    """

    def __init__(
        self, model: AnchorModel, data: AnchorData, same_people: bool | None = None
    ) -> None:
        if not isinstance(model, AnchorModel):
            raise ValueError(
                f"'model' must be an AnchorModel (got {type(model).__name__})"
            )
        check_data(data)
        self.model, self.data, self.same_people = model, data, same_people
        proba = model.predict_proba(*self._arguments).detach().double()
        self._proba = proba
        self._ptr = data.hyperedge_ptr
        self._best = self._two_best(proba)
        self._known = KnownGroups(model, data, same_people)
        self._degree = torch.bincount(
            data.hyperedge_index[0], minlength=int(data.num_nodes or 0)
        )
        self._strengths = self._learnt_strengths()
        self._stacked: StackedParts | None = None
        if isinstance(model, StackedAnchorRadar):
            self._stacked = StackedParts(model, data, same_people)
        self._features = self._compared_features()
        self._agreement = [self._measure(feature) for feature in self._features]
        self._trust = self._relative_skills()
        self._centralities = self._ordered('centrality', (*CENTRALITIES, CONTACTS))
        self._times = self._ordered('time', TIMES)

    def explain(self, hyperedge: Any) -> Explanation:
        r"""Explains the prediction for one group.

        Args:
            hyperedge (Any): The :obj:`hyperedge_id` of the group, or its number if
                there are no ids, or none that are integers. An integer id can also be
                given as text.
        """
        (out,) = self._explain_chunk(torch.tensor([self._find(hyperedge)]))
        return out

    def explain_all(
        self, hyperedges: Tensor | Sequence[int] | None = None
    ) -> Iterator[Explanation]:
        r"""Explains the predictions for many groups, one after the other.

        Args:
            hyperedges (torch.Tensor, optional): The numbers of the groups, or a mask of
                them; all if :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **hyperedges:** :math:`(B)` numbers, or :math:`(M)` booleans
        """
        count = self.data.num_hyperedges
        chosen = torch.arange(count) if hyperedges is None else hyperedges
        chosen = torch.as_tensor(chosen).view(-1).cpu()
        if chosen.dtype == torch.bool and chosen.numel() == count:
            chosen = chosen.nonzero().view(-1)
        elif chosen.numel() == 0:
            chosen = chosen.long()
        if chosen.is_floating_point() or chosen.dtype == torch.bool:
            raise ValueError(
                f"'hyperedges' must hold numbers of hyperedges, or {count} booleans "
                f'(got {chosen.numel()} values of {chosen.dtype})'
            )
        wrong = chosen[(chosen < 0) | (chosen >= count)]
        if wrong.numel() > 0:
            raise ValueError(
                f"'hyperedges' must hold numbers from 0 to {count - 1} "
                f'(got {int(wrong[0])})'
            )
        return self._explain_chunks(chosen)

    def _explain_chunks(self, chosen: Tensor) -> Iterator[Explanation]:
        for part in chosen.split(_CHUNK_GROUPS):
            yield from self._explain_chunk(part)

    # Names ###################################################################

    @cached_property
    def _group_ids(self) -> list[Any]:
        return _ids(self.data, 'hyperedge_id', self.data.num_hyperedges)

    @cached_property
    def _person_ids(self) -> list[Any]:
        return _ids(self.data, 'node_id', int(self.data.num_nodes or 0))

    @cached_property
    def _places(self) -> dict[Any, int]:
        # Of groups with the same id, the first one counts.
        ids = self._group_ids
        return {ids[place]: place for place in reversed(range(len(ids)))}

    def _find(self, hyperedge: Any) -> int:
        if isinstance(hyperedge, Tensor) and hyperedge.numel() == 1:
            hyperedge = hyperedge.item()
        count = self.data.num_hyperedges
        try:
            place = self._places.get(hyperedge)
        except TypeError:
            place = None
        if place is not None:
            return place
        if isinstance(hyperedge, str):
            # As on a command line.
            for place, each in enumerate(self._group_ids):
                if str(each) == hyperedge:
                    return place
        has_numbers = any(isinstance(each, Integral) for each in self._group_ids)
        if isinstance(hyperedge, Integral) and not has_numbers:
            number = int(hyperedge)
            if 0 <= number < count:
                return number
        raise ValueError(
            f"'hyperedge' must be the id of a group, such as "
            f'{shorten(next(iter(self._group_ids), None))}, or the number of one of '
            f'the {count} groups (got {shorten(hyperedge)})'
        )

    # Preparing ###############################################################

    @property
    def _arguments(self) -> tuple[Any, ...]:
        # A model that needs no ids need not take 'same_people'.
        if self.same_people is None:
            return (self.data,)
        return self.data, self.same_people

    def _two_best(self, proba: Tensor) -> Tensor:
        # The incidences of the two most likely members, drawn as 'predict' does.
        hyperedge = self.data.hyperedge_index[1]
        index = torch.arange(hyperedge.numel(), device=hyperedge.device)
        return group_topk(
            proba,
            torch.stack([index, hyperedge]),
            self.data.num_hyperedges,
            2,
            draw_priority(index.numel(), self.model.seed, device=index.device),
        )

    @property
    def _num_anchors(self) -> int:
        return int(getattr(self.model, 'num_anchors', 1))

    def _learnt_strengths(self) -> _Strengths | None:
        model, data = self.model, self.data
        if not isinstance(model, AnchorRadar) or model.strengths is None:
            return None
        strength = model.node_strength(data, self.same_people).double()
        known = self._known.known_mask
        y = data.get('y')
        if y is None:
            y = torch.zeros_like(data.hyperedge_index[0], dtype=torch.bool)

        def share(mask: Tensor, weight: float) -> Tensor:
            # The draws are those of the model.
            return aggregate_strength(
                strength,
                data.hyperedge_index,
                data.num_hyperedges,
                y,
                mask,
                weight,
                self._num_anchors,
                model.seed,
            )

        strongest = share(torch.zeros_like(known), 0.0) * self._degree
        return _Strengths(strength, strongest.round().long(), share(known, 1.0))

    def _compared_features(self) -> list[Feature]:
        if self._stacked is not None:
            return self._stacked.features
        if isinstance(self.model, DegreeHeuristic):
            return [degree_feature(self.data)]
        if isinstance(self.model, AnchorRadar) and self.model.scorer is not None:
            return member_features(self.data)
        return []

    def _measure(self, feature: Feature) -> Agreement | None:
        if feature.kind not in ('centrality', 'attribute', 'time'):
            return None
        if feature.per_node:
            groups = self._known.hypergraph
            if groups.num_hyperedges == 0:
                return None
            return agreement(feature.value[groups.hyperedge_index[0]], groups)
        mask = self._known.known_mask & self.data.choice_mask
        return agreement(feature.value, self.data, mask) if mask.any() else None

    def _relative_skills(self) -> list[float]:
        if self._stacked is not None:
            return [1.0] * len(self._features)
        groups = self._known.hypergraph
        skills = [found.skill for found in self._agreement if found is not None]
        if skills and groups.num_hyperedges > 0:
            skills.append(record_skill(groups))
        best = max(skills, default=0.0)
        return [
            1.0 if found is None else (found.skill / best) ** 2 if best > 0 else 0.0
            for found in self._agreement
        ]

    def _ordered(self, kind: str, order: Sequence[str]) -> list[int]:
        # The places of the features of a kind of which one is named for all: the best
        # first, and equally good ones in the given order.
        rates: dict[int, float] = {}
        for k, feature in enumerate(self._features):
            if feature.kind == kind:
                found = self._agreement[k]
                rates[k] = 0.0 if found is None else found.rate
        best = max(rates, key=rates.__getitem__, default=-1)
        found = self._agreement[best] if rates else None
        least = rates[best] - _EQUAL * found.error if found is not None else 0.0
        return sorted(
            rates,
            key=lambda k: (
                -rates[k] if rates[k] < least else -math.inf,
                order.index(self._features[k].name),
            ),
        )

    # Explaining ##############################################################

    def _explain_chunk(self, chosen: Tensor) -> list[Explanation]:
        chosen = chosen.to(self._best.device)
        best = self._best[chosen]
        is_choice = best[:, 1] >= 0
        parts = self._parts(chosen[is_choice], best[is_choice])
        node = torch.cat([self.data.hyperedge_index[0], best.new_full((1,), -1)])[best]
        shared = [[SharedGroups()] * 2] * len(chosen)
        if self._stacked is not None:
            shared = self._known.shared(self.data, chosen, node)
        proba = torch.cat([self._proba, self._proba.new_zeros(1)])[best]
        size = torch.diff(self._ptr)[chosen]
        row = is_choice.long().cumsum(0) - 1
        out = []
        for e, members, chances, count, place, both in zip(
            chosen.tolist(),
            node.tolist(),
            proba.tolist(),
            size.tolist(),
            row.tolist(),
            shared,
            strict=True,
        ):
            anchors = self._known_anchors(e)
            two = [
                self._candidate(number, chance, e, anchors, found)
                if number >= 0
                else None
                for number, chance, found in zip(members, chances, both, strict=True)
            ]
            out.append(
                Explanation(
                    group=self._group_ids[e],
                    number=e,
                    size=count,
                    model=type(self.model).__name__,
                    anchor=two[0],
                    runner_up=two[1],
                    preference=None if two[1] is None else parts.preference[place],
                    reasons=self._reasons(parts, place, two, count),
                    known_anchors=tuple(self._person_ids[node] for node in anchors),
                    num_anchors=self._num_anchors,
                )
            )
        return out

    @cached_property
    def _is_known(self) -> list[bool]:
        return self._known.known_mask.tolist()

    @cached_property
    def _num_groups(self) -> list[int]:
        return self._degree.tolist()

    @cached_property
    def _shares(self) -> list[float | None]:
        # The shares of people in their groups; there is nothing to tell of one group.
        if self._stacked is None:
            return []
        node = self.data.hyperedge_index[0]
        share = torch.zeros_like(self._degree, dtype=torch.double)
        share[node] = self._stacked.share
        return [
            value if count > 1 else None
            for value, count in zip(share.tolist(), self._known.num_groups, strict=True)
        ]

    @cached_property
    def _strength_lists(self) -> tuple[list[float], list[int], list[float]] | None:
        if self._strengths is None:
            return None
        strength, num_strongest, share = self._strengths
        return strength.tolist(), num_strongest.tolist(), share.tolist()

    def _known_anchors(self, hyperedge: int) -> list[int]:
        y = self.data.get('y')
        if y is None or not self._is_known[hyperedge]:
            return []
        begin, end = self._ptr[hyperedge : hyperedge + 2].tolist()
        anchors: list[int] = self.data.hyperedge_index[0, begin:end][
            y[begin:end]
        ].tolist()
        return anchors

    def _candidate(
        self,
        node: int,
        probability: float,
        hyperedge: int,
        anchors: list[int],
        shared: SharedGroups,
    ) -> Candidate:
        known = self._known
        anchored, missed = known.count(node)
        this = ''
        if self._is_known[hyperedge]:
            # A group is no evidence of itself.
            this = str(self._group_ids[hyperedge])
            is_anchor = node in anchors
            anchored, missed = anchored - is_anchor, missed - (not is_anchor)
            shared = shared.without_one(is_anchor)
        strength, num_strongest = None, None
        share = self._shares[node] if self._stacked is not None else None
        if self._strength_lists is not None:
            strength = self._strength_lists[0][node]
            num_strongest = self._strength_lists[1][node]
            share = self._strength_lists[2][node]
        return Candidate(
            id=self._person_ids[node],
            number=node,
            probability=probability,
            num_groups=self._num_groups[node],
            num_known=anchored + missed,
            num_anchored=anchored,
            known_for=known.examples(node, True, this),
            known_against=known.examples(node, False, this),
            strength=strength,
            num_strongest=num_strongest,
            share=share,
            **shared._asdict(),
        )

    def _parts(self, chosen: Tensor, best: Tensor) -> _Parts:
        data = self.data
        first, second = best.unbind(1)
        device = best.device
        chance = self._proba[best]
        total = chance.sum(1)
        preference = torch.where(total > 0, chance[:, 0] / total, 0.5)

        incidence, group = arange_by_ptr(
            self._ptr[chosen], self._ptr[chosen + 1] - self._ptr[chosen]
        )
        is_other = incidence != first[group]
        incidence, group = incidence[is_other], group[is_other]
        count = first.numel(), len(self._features)
        columns = torch.zeros((5, *count), dtype=torch.double, device=device)
        for k, feature in enumerate(self._features):
            others = feature.of(incidence, data)
            columns[1, :, k] = feature.of(first, data)
            columns[2, :, k] = feature.of(second, data)
            columns[3, :, k] = scatter(others, group, 0, count[0], 'min')
            columns[4, :, k] = scatter(others, group, 0, count[0], 'max')
        model, gap = self.model, columns[1] - columns[2]
        if isinstance(model, AnchorRadar) and model.scorer is not None:
            columns[0] = self._contributions(model, model.scorer, first, second, gap)
        elif self._stacked is not None:
            columns[0] = self._stacked_contributions(
                self._stacked, first, second, gap, preference
            )
        elif self._features:
            # The degree alone decides.
            columns[0] = (preference - 0.5).unsqueeze(1)
        if isinstance(model, AnchorRadar) and self._strengths is None:
            preference = 0.5 + columns[0].sum(1)
        # A draw has no reasons.
        is_tie = chance[:, 0] - chance[:, 1] <= TIE * chance[:, 0]
        columns[0][is_tie] = 0.0
        preference = preference.masked_fill(is_tie, 0.5)
        rest = None
        if self._strengths is not None or self._stacked is not None:
            rest = (preference - 0.5 - columns[0].sum(1)).tolist()
        return _Parts(preference.tolist(), rest, *(c.tolist() for c in columns))

    def _contributions(
        self,
        model: AnchorRadar,
        scorer: IncidenceScorer,
        first: Tensor,
        second: Tensor,
        gap: Tensor,
    ) -> Tensor:
        both = torch.cat([first, second])
        high, low = self._stage1_features(model, both).split(first.numel())
        column = integrated_gradients(scorer, high, low)
        out = torch.zeros_like(gap)
        for k, feature in enumerate(self._features):
            for place in feature.columns:
                out[:, k] += column[:, place]
        out = self._told_for_all(out * _slope(column.sum(1)).unsqueeze(1), gap)
        if self._strengths is None:
            return out
        for k, trust in enumerate(self._trust):
            out[:, k] *= torch.where(self._agrees(k, gap, out[:, k]), trust, 0.0)
        return out

    def _stacked_contributions(
        self,
        stacked: StackedParts,
        first: Tensor,
        second: Tensor,
        gap: Tensor,
        preference: Tensor,
    ) -> Tensor:
        out = stacked.contributions(first, second)
        delta = out.sum(1)
        raw = stacked.proba[first] / (stacked.proba[first] + stacked.proba[second])
        rest = (raw - torch.sigmoid(delta)).unsqueeze(1)
        out = torch.cat([out * _slope(delta).unsqueeze(1), rest], dim=1)
        out = _rescaled(out, preference - 0.5)[:, :-1]
        return self._told_for_all(out, gap)

    def _told_for_all(self, out: Tensor, gap: Tensor) -> Tensor:
        # Gives one feature the contributions of all of its kind, if one is named for
        # all.
        for places in (self._centralities, self._times):
            if not places:
                continue
            net = torch.stack([out[:, k] for k in places]).sum(0)
            lead = torch.full_like(net, places[0], dtype=torch.long)
            for k in reversed(places):
                lead = torch.where(self._agrees(k, gap, net), k, lead)
            for k in places:
                out[:, k] = 0.0
            out.scatter_(1, lead.unsqueeze(1), net.unsqueeze(1))
        return out

    def _agrees(self, k: int, gap: Tensor, contribution: Tensor) -> Tensor:
        # Whether a contribution has the direction in which a feature tells anchors.
        found = self._agreement[k]
        if found is None:
            return gap[:, k] != 0
        return (gap[:, k] if found.highest else -gap[:, k]) * contribution > 0

    def _stage1_features(self, model: AnchorRadar, incidence: Tensor) -> Tensor:
        # The features of some incidences, without those of all others.
        data, index = self.data, self.data.hyperedge_index[:, incidence]
        part = AnchorData(
            hyperedge_index=index,
            num_nodes=data.num_nodes,
            num_hyperedges=data.num_hyperedges,
            **{key: data[key] for key in _STAGE1_KEYS if key in data},
        )
        for key in ('incidence_attr', 'incidence_side'):
            if data.get(key) is not None:
                part[key] = data[key][incidence]
        return model._features(part).matrix()

    def _reasons(
        self, parts: _Parts, place: int, two: Sequence[Candidate | None], size: int
    ) -> tuple[Reason, ...]:
        anchor, runner_up = two
        if anchor is None or runner_up is None:
            return ()
        found = [
            (self._feature_reason(parts, place, k, contribution), self._trust[k])
            for k, contribution in enumerate(parts.contribution[place])
            if contribution != 0
        ]
        if self._stacked is not None and parts.rest is not None:
            reasons = [reason for reason, _ in found]
            return group_reasons(reasons, parts.rest[place], anchor, runner_up, size)
        if parts.rest is not None:
            found = [(reason, 1.0) for reason, _ in found]
            if parts.rest[place] != 0:
                found.append((Reason('strength', 'strength', parts.rest[place]), 1.0))
        found.sort(key=lambda pair: pair[1] * pair[0].contribution, reverse=True)
        return tuple(reason for reason, _ in found)

    def _feature_reason(
        self, parts: _Parts, place: int, k: int, contribution: float
    ) -> Reason:
        feature, found = self._features[k], self._agreement[k]
        value, rival = parts.value[place][k], parts.runner_up[place][k]
        if self._stacked is not None and k in (*self._centralities, *self._times):
            sign = 1 if found is None or found.highest else -1
            if sign * (value - rival) * contribution <= 0:
                # None of them has the direction in which it tells anchors.
                return Reason(feature.kind, feature.kind, contribution)
        return Reason(
            name=feature.name,
            kind=feature.kind,
            contribution=contribution,
            agreement=None if found is None else found.rate,
            highest=found is None or found.highest,
            value=value,
            runner_up_value=rival,
            others=(parts.low[place][k], parts.high[place][k]),
            also=self._likewise(parts, place, k),
        )

    def _likewise(self, parts: _Parts, place: int, k: int) -> tuple[str, ...]:
        # Other centralities in which the anchor is the highest, or lowest, as in this.
        value, low, high = (
            column[place] for column in (parts.value, parts.low, parts.high)
        )
        if k not in self._centralities or low[k] <= value[k] <= high[k]:
            return ()
        return tuple(
            self._features[i].name
            for i in self._centralities
            if i != k
            and (value[i] > high[i] if value[k] > high[k] else value[i] < low[i])
        )


def explain(
    model: AnchorModel,
    data: AnchorData,
    hyperedge: Any,
    same_people: bool | None = None,
) -> Explanation:
    r"""Explains the prediction of a model for one group. For several groups, use an
    :class:`Explainer`.

    .. code-block:: python

        print(explain(model, data, 'meeting 17'))

    Args:
        model (AnchorModel): The fitted model.
        data (AnchorData): The hypergraph.
        hyperedge (Any): The id of the group, or its number, as in
            :meth:`Explainer.explain`.
        same_people (bool, optional): As in :meth:`AnchorModel.predict_proba`.
            (default: :obj:`None`)
    """
    return Explainer(model, data, same_people).explain(hyperedge)


def _slope(delta: Tensor) -> Tensor:
    # From differences of scores to differences of probabilities; the slope of the
    # sigmoid at zero where there is no difference.
    return torch.where(delta.abs() > 1e-6, (torch.sigmoid(delta) - 0.5) / delta, 0.25)


def _rescaled(part: Tensor, total: Tensor) -> Tensor:
    # Gives parts another, positive sum: a smaller one by making all of them smaller, a
    # larger one by making those larger that are positive.
    before = part.sum(1)
    smaller = torch.where(total < before, total / before, 1.0)
    positive = part.clamp(min=0)
    gain = torch.where(total > before, (total - before) / positive.sum(1), 0.0)
    gain = gain.nan_to_num(0.0, 0.0, 0.0)
    return part * smaller.unsqueeze(1) + positive * gain.unsqueeze(1)


def _ids(data: AnchorData, key: str, size: int) -> list[Any]:
    value = data.get(key)
    if value is None or isinstance(data, Batch):
        return list(range(size))
    # Arrays and tensors hold scalars of their own kind.
    return list(value.tolist()) if hasattr(value, 'tolist') else list(value)
