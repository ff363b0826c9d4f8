"""Groups to score, with their features and the node sets that they belong to."""

from collections.abc import Iterable, Iterator, Sequence

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.predictors.copy_weight import copy_weight
from tgx_anchor.nn.predictors.known_sets import KnownSets, anchored_rows
from tgx_anchor.nn.predictors.known_views import KnownViews
from tgx_anchor.nn.predictors.learning_rows import LearningRows
from tgx_anchor.nn.predictors.units import make_units
from tgx_anchor.utils import NodeSets

# The number of rows of features that are in memory at once.
_CHUNK_ROWS = 1 << 17


class Stack:
    r"""The groups that the passes of :class:`~tgx_anchor.nn.StackedAnchorRadar` score,
    and their features: those of incidences, followed by views of node sets.

    Args:
        sets (NodeSets): The node sets of all groups that count.
        num_nodes (int): The number of nodes.
        feature (torch.Tensor): The features of the incidences to score.
        hyperedge_index (torch.Tensor): The incidences to score, sorted by hyperedge.
            Their hyperedges are the last ones of :obj:`sets`.
        num_hyperedges (int): The number of hyperedges to score.
        max_size (int): The views of pairs and overlaps leave out larger sets.
        views (str, optional): The views of known anchors.
            (default: :obj:`"BCF"`)

    Shapes:
        - **feature:** :math:`(P, F)`
        - **hyperedge_index:** :math:`(2, P)`
    """

    def __init__(
        self,
        sets: NodeSets,
        num_nodes: int,
        feature: Tensor,
        hyperedge_index: Tensor,
        num_hyperedges: int,
        max_size: int,
        views: str = 'BCF',
    ) -> None:
        self.sets, self.num_nodes, self.feature = sets, num_nodes, feature
        self.hyperedge_index = hyperedge_index
        self.units = make_units(
            feature, hyperedge_index, num_nodes, num_hyperedges, sets
        )
        self.views = KnownViews(sets, num_nodes, max_size, views)

    def labels(self, y: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
        r"""Computes the share of its known copies that each row anchors, and the weight
        of each unit.

        Args:
            y (torch.Tensor): Whether each incidence is that of an anchor.
            mask (torch.Tensor): The hyperedges with known anchors.

        Shapes:
            - **y:** :math:`(P)`
            - **mask:** :math:`(M)`
            - **output:** :math:`(L)` and :math:`(U)`, zero where nothing is known
        """
        units, num_units = self.units, self.units.num_units
        hyperedge, num_rows = self.hyperedge_index[1], units.unit.numel()
        _, credit = anchored_rows(units.place, hyperedge, y, mask, num_rows)
        known = units.number[mask]
        count = torch.bincount(known, minlength=num_units)[units.unit]
        weight = scatter(
            copy_weight(units.set_number[known]), known, 0, num_units, 'sum'
        )
        return torch.where(count > 0, credit / count, 0.0), weight

    def table(self, views: Sequence[Tensor], rows: Tensor) -> Tensor:
        r"""Returns the features of some rows, followed by their columns of the views.

        Args:
            views (list[torch.Tensor]): Columns of the members of node sets.
            rows (torch.Tensor): The rows.

        Shapes:
            - **views:** :math:`(R, V)` each
            - **rows:** :math:`(B)`
            - **output:** :math:`(B, F + \sum V)`
        """
        member = self.units.row[rows]
        parts = [self.feature.index_select(0, self.units.incidence[rows])]
        return torch.cat([*parts, *(v.index_select(0, member) for v in views)], dim=1)

    def learning_rows(
        self,
        views: Sequence[Tensor],
        target: Tensor,
        weight: Tensor,
        without: Tensor | None = None,
    ) -> LearningRows:
        r"""Collects the rows of units with known anchors.

        Args:
            views (list[torch.Tensor]): Columns of the members of node sets.
            target (torch.Tensor): The share of its known copies that each row anchors.
            weight (torch.Tensor): The weight of each unit.
            without (torch.Tensor, optional): The node sets to leave out.
                (default: :obj:`None`)

        Shapes:
            - **views:** :math:`(R, V)` each
            - **target:** :math:`(L)`
            - **weight:** :math:`(U)`
            - **without:** :math:`(S)`
        """
        units = self.units
        chosen = weight > 0
        if without is not None:
            chosen = chosen & ~without[units.set_number]
        rows = chosen[units.unit].nonzero().view(-1)
        group = (chosen.long().cumsum(0) - 1)[units.unit[rows]]
        kept = weight[chosen]
        return LearningRows(
            self.table(views, rows), group, target[rows], kept / kept.mean()
        )

    def log_beliefs(
        self, learners: Iterable[torch.nn.Module], views: Sequence[Tensor]
    ) -> list[Tensor]:
        r"""Scores all rows by several learners.

        Args:
            learners (list[torch.nn.Module]): The learners.
            views (list[torch.Tensor]): Columns of the members of node sets.

        Shapes:
            - **views:** :math:`(R, V)` each
            - **output:** :math:`(L)` each, logarithms of probabilities
        """
        learners = list(learners)
        parts: list[list[Tensor]] = [[] for _ in learners]
        for rows in self._chunks():
            table = self.table(views, rows)
            for part, learner in zip(parts, learners, strict=True):
                part.append(learner(table))
        return [self.units.log_softmax(torch.cat(part)) for part in parts]

    def _chunks(self) -> Iterator[Tensor]:
        rows = torch.arange(self.units.unit.numel(), device=self.feature.device)
        # At least one part, so that there is something to concatenate.
        yield from rows.split(_CHUNK_ROWS)

    def by_set(self, log_belief: Tensor) -> Tensor:
        r"""Averages beliefs over the units of each node set.

        Args:
            log_belief (torch.Tensor): The logarithms of the beliefs.

        Shapes:
            - **log_belief:** :math:`(L)`
            - **output:** :math:`(R)`, sums to one in each set with a unit, else zero
        """
        units, number = self.units, self.sets.hyperedge_index[1]
        total = scatter(log_belief.exp(), units.row, 0, self.sets.num_rows, 'sum')
        # Means of logarithms do not sum to one.
        sums = self.sets.total(total)[number]
        return torch.where(sums > 0, total / sums, 0.0)


def with_known(sets: NodeSets, known: KnownSets, belief: Tensor) -> Tensor:
    r"""Replaces the beliefs about known copies of each node set by their anchors.

    Args:
        sets (NodeSets): The node sets.
        known (KnownSets): The known anchors.
        belief (torch.Tensor): The beliefs.

    Shapes:
        - **belief:** :math:`(R)`
        - **output:** :math:`(R)`
    """
    share = torch.where(sets.copies > 0, known.num_known / sets.copies, 0.0)
    share = share[sets.hyperedge_index[1]]
    return share * known.share(sets) + (1 - share) * belief
