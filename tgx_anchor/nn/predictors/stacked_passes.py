"""The two passes of StackedAnchorRadar."""

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, Literal, NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.predictors.belief_view import (
    SHARE_MARGIN,
    belief_names,
    belief_view,
)
from tgx_anchor.nn.predictors.boosting_learner import BoostingLearner
from tgx_anchor.nn.predictors.copy_prior import copy_prior
from tgx_anchor.nn.predictors.fit_run import Record
from tgx_anchor.nn.predictors.known_sets import KnownSets
from tgx_anchor.nn.predictors.known_views import KnownViews
from tgx_anchor.nn.predictors.learner import Learner
from tgx_anchor.nn.predictors.learning_rows import LearningRows
from tgx_anchor.nn.predictors.mlp_learner import MLPLearner
from tgx_anchor.nn.predictors.set_strength import set_strengths
from tgx_anchor.nn.predictors.stack import Stack, with_known

LearnerName = Literal['mlp', 'boosting', 'both']
LastStep = Literal['blend', 'belief', 'share', 'strength']
VIEWS = 'ABCDF'

# The weights of the alignment of the strengths that the second pass sees; the first is
# that of the last step, too.
ALPHAS = (0.3, 1.0)
# The weights of beliefs, shares and strengths, by last step.
_WEIGHTS: dict[str, tuple[float, float, float]] = {
    'blend': (1.0, 0.5, 0.0),
    'belief': (1.0, 0.0, 0.0),
    'share': (0.0, 1.0, 0.0),
    'strength': (0.0, 0.0, 1.0),
}
# With fewer unknown groups than this share, other tables are to be predicted, and this
# share of the node sets is learnt from without records of their members.
_MAX_UNKNOWN = 0.1
_FORGOTTEN = 0.5
# With fewer known node sets, there is no second pass.
_MIN_KNOWN_SETS = 10
# The more rows there are to learn from, the fewer networks are trained: so many rows in
# all for the models of folds, and for those that predict.
_FOLD_ROWS = 12_000
_LAST_ROWS = 72_000
_MAX_NETWORKS = 5


class PassResult(NamedTuple):
    r"""The outcome of both passes.

    Shapes:
        - **column:** :math:`(L, C)`, the columns of the last step
        - **belief:** :math:`(R)`, the belief of the second pass about each node set
        - **strength:** :math:`(N)`, strengths that explain these beliefs
        - **kappa:** the worth of a prediction in known copies
        - **views:** :math:`(R, \cdot)` each, what the last learners saw
    """

    column: Tensor
    belief: Tensor
    strength: Tensor
    kappa: float
    views: Sequence[Tensor]


class StackedPasses(torch.nn.Module):
    r"""The learners of both passes of :class:`~tgx_anchor.nn.StackedAnchorRadar`.

    Args:
        learner (str): :obj:`"mlp"`, :obj:`"boosting"` or :obj:`"both"`.
        views (str): The views; without :obj:`"D"` there is no second pass.
        num_folds (int): The number of folds of the first pass.
        seed (int): The seed of all random draws.
    """

    result: PassResult

    def __init__(
        self, learner: LearnerName, views: str, num_folds: int, seed: int
    ) -> None:
        super().__init__()
        self.learner: LearnerName = learner
        self.views = views
        self.num_folds = num_folds
        self.seed = seed
        self.first = self._new_learners(1)
        self.second = torch.nn.ModuleList()

    @property
    def num_learners(self) -> int:
        r"""The number of learners of each pass."""
        return len(self.first)

    def weights(self, last_step: LastStep) -> list[float]:
        r"""Returns the weights of the columns of the last step: the beliefs of the
        first pass, those of the second, shares, and the strengths of both passes.

        Args:
            last_step (str): The last step; for :obj:`"blend"`, these are the prior
                weights.
        """
        count = self.num_learners
        belief, share, strength = _WEIGHTS[last_step]
        return [0.0] * count + [belief / count] * count + [share, strength, 0.0]

    def _new_learners(self, num_networks: int, fold: int = 0) -> torch.nn.ModuleList:
        out: list[torch.nn.Module] = []
        seed = self.seed + fold
        if self.learner != 'boosting':
            out.append(MLPLearner(num_networks, seed))
        if self.learner != 'mlp':
            out.append(BoostingLearner(seed))
        return torch.nn.ModuleList(out)

    def check(self, num_features: int) -> None:
        r"""Raises a :class:`ValueError` if learners take other numbers of columns.

        Args:
            num_features (int): The number of features of incidences.
        """
        num_known = len(KnownViews.names(self.views))
        num_beliefs = len(belief_names(len(ALPHAS)))
        for name, learners, width in (
            ('first', self.first, num_features + num_known),
            ('second', self.second, num_features + num_known + num_beliefs),
        ):
            for learner in _learners(learners):
                # Trees may be none.
                is_empty = num_features == 0 or isinstance(learner, BoostingLearner)
                if learner.in_channels not in ((0, width) if is_empty else (width,)):
                    raise ValueError(
                        f"'{name}' must take {width} columns "
                        f'(got {learner.in_channels})'
                    )

    # Learning ################################################################

    def num_steps(self, known: KnownSets) -> int:
        r"""Returns the number of steps of :meth:`learn`.

        Args:
            known (KnownSets): The known anchors.
        """
        is_enough = int((known.num_known > 0).sum()) >= _MIN_KNOWN_SETS
        has_second = is_enough and 'D' in self.views
        return 1 + (self.num_folds + 1) * has_second

    def learn(
        self, stack: Stack, known: KnownSets, target: Tensor, weight: Tensor
    ) -> Iterator[Record]:
        r"""Trains both passes, one model per step, and keeps the outcome for the
        groups of the stack in :obj:`result`.

        Args:
            stack (Stack): The groups, among them all with known anchors.
            known (KnownSets): The known anchors by node set.
            target (torch.Tensor): The share of its known copies that each row anchors.
            weight (torch.Tensor): The weight of each unit, zero if it is not known.

        Shapes:
            - **target:** :math:`(L)`
            - **weight:** :math:`(U)`
        """
        num_steps, start = self.num_steps(known), time.perf_counter()
        sets, num_nodes = stack.sets, stack.num_nodes
        num_rows = int((weight > 0)[stack.units.unit].sum())
        few, many = (_num_networks(num_rows, r) for r in (_FOLD_ROWS, _LAST_ROWS))

        def record(stage: int, step: int) -> Record:
            nonlocal start
            now = time.perf_counter()
            seconds, start = now - start, now
            return {
                'stage': float(stage),
                'epoch': float(step),
                'num_epochs': float(num_steps),
                'seconds': seconds,
            }

        view = stack.views(known)
        # A model of a table without unknown groups is meant for other tables, whose
        # people may be new: some of the groups are learnt from as if nothing were known
        # about anybody.
        forgotten = self._forgotten(stack, weight)[sets.hyperedge_index[1]]
        nothing = known.without(known.num_known >= 0, sets)
        blank = stack.views(nothing) if forgotten.any() else view

        def forget(table: Tensor, other: Tensor) -> Tensor:
            return torch.where(forgotten.unsqueeze(1), other, table)

        self.first = self._new_learners(many)
        rows = stack.learning_rows([forget(view, blank)], target, weight)
        _fit_all(self.first, rows)
        logs = stack.log_beliefs(self.first, [view])
        here = stack.by_set(torch.stack(logs).mean(dim=0))
        yield record(1, 1)

        self.second = torch.nn.ModuleList()
        kappa = 1.0
        heres, knowns = [here], [known]
        guess = here.clone()
        if num_steps > 1:
            fold = self._folds(known)
            for j in range(self.num_folds):
                without = fold == j
                part = known.without(without, sets)
                part_view = stack.views(part)
                part_rows = [forget(part_view, blank)]
                rows = stack.learning_rows(part_rows, target, weight, without)
                learners = self._new_learners(few, j + 1)
                _fit_all(learners, rows)
                if forgotten.any():
                    found = stack.log_beliefs(learners, [blank])
                    chosen = without[sets.hyperedge_index[1]]
                    belief = stack.by_set(torch.stack(found).mean(dim=0))
                    guess[chosen] = belief[chosen]
                found = stack.log_beliefs(learners, [part_view])
                heres.append(stack.by_set(torch.stack(found).mean(dim=0)))
                knowns.append(part)
                yield record(1, j + 2)
        believed = [with_known(sets, k, h) for k, h in zip(knowns, heres, strict=True)]
        strength = set_strengths(sets, num_nodes, believed, knowns, ALPHAS)
        views = [view]
        if num_steps > 1:
            table = belief_view(sets, num_nodes, believed[0], here, strength[:, 0])
            unseen = here.clone()
            for j in range(self.num_folds):
                chosen = (fold == j)[sets.hyperedge_index[1]]
                part_table = belief_view(
                    sets, num_nodes, believed[j + 1], heres[j + 1], strength[:, j + 1]
                )
                table[chosen] = part_table[chosen]
                unseen[chosen] = heres[j + 1][chosen]
            views.append(table)
            kappa = copy_prior(sets, known, unseen)
            self.second = self._new_learners(many)
            other = table
            if forgotten.any():
                alone = set_strengths(sets, num_nodes, [guess], [nothing], ALPHAS)
                other = belief_view(sets, num_nodes, guess, guess, alone[:, 0])
            seen = [forget(view, blank), forget(table, other)]
            rows = stack.learning_rows(seen, target, weight)
            _fit_all(self.second, rows)
            yield record(2, num_steps)
        column, belief, last = self._last_columns(
            stack, known, views, logs, strength[:, 0, 0], lambda q: q
        )
        self.result = PassResult(column, belief, last, kappa, views)

    def _forgotten(self, stack: Stack, weight: Tensor) -> Tensor:
        # The node sets that are learnt from without records of their members.
        size = torch.bincount(stack.units.unit, minlength=weight.numel())
        is_choice = size > 1
        num_unknown = int((is_choice & (weight <= 0)).sum())
        share = _FORGOTTEN if num_unknown <= _MAX_UNKNOWN * int(is_choice.sum()) else 0
        generator = torch.Generator().manual_seed(self.seed)
        draw = torch.rand(stack.sets.num_sets, generator=generator)
        return (draw < share).to(weight.device)

    def _folds(self, known: KnownSets) -> Tensor:
        # The fold of each known node set, or -1.
        chosen = known.num_known > 0
        count = int(chosen.sum())
        generator = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(count, generator=generator).to(chosen.device)
        out = torch.full_like(chosen, -1, dtype=torch.long)
        out[chosen] = order % self.num_folds
        return out

    # Predicting ##############################################################

    def forward(
        self,
        stack: Stack,
        known: KnownSets,
        fill: Callable[[Tensor], Tensor],
    ) -> PassResult:
        r"""Runs both passes on groups that they were not trained on.

        Args:
            stack (Stack): The groups.
            known (KnownSets): The known anchors by node set.
            fill (callable): Adds beliefs about further groups to those of the groups
                of the stack, by node set.
        """
        sets, num_nodes = stack.sets, stack.num_nodes
        view = stack.views(known)
        logs = stack.log_beliefs(self.first, [view])
        here = stack.by_set(torch.stack(logs).mean(dim=0))
        believed = with_known(sets, known, fill(here))
        strength = set_strengths(sets, num_nodes, [believed], [known], ALPHAS)[:, 0]
        views = [view]
        if len(self.second) > 0:
            views.append(belief_view(sets, num_nodes, believed, here, strength))
        column, belief, last = self._last_columns(
            stack, known, views, logs, strength[:, 0], fill
        )
        return PassResult(column, belief, last, 1.0, views)

    def _last_columns(
        self,
        stack: Stack,
        known: KnownSets,
        views: list[Tensor],
        first: list[Tensor],
        first_strength: Tensor,
        fill: Callable[[Tensor], Tensor],
    ) -> tuple[Tensor, Tensor, Tensor]:
        # The columns of the last step, the belief about node sets, and its strengths.
        sets, units, num_nodes = stack.sets, stack.units, stack.num_nodes
        second = first
        if len(self.second) > 0:
            second = stack.log_beliefs(self.second, views)
        belief = fill(stack.by_set(torch.stack(second).mean(dim=0)))
        believed = with_known(sets, known, belief)
        alphas = ALPHAS[:1]
        last = set_strengths(sets, num_nodes, [believed], [known], alphas)[:, 0, 0]

        node, number = sets.hyperedge_index
        copies = sets.copies[number]
        total = scatter(believed * copies, node, 0, num_nodes, 'sum')
        degree = scatter(copies, node, 0, num_nodes, 'sum')
        share = torch.where(degree > 0, total / degree, 0.0)
        person = node[units.row]
        columns = [
            *first,
            *second,
            (share + SHARE_MARGIN).log()[person],
            units.log_softmax(last[person].unsqueeze(1)),
            units.log_softmax(first_strength[person].unsqueeze(1)),
        ]
        return torch.stack(columns, dim=1), belief, last

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # There may be no second pass.
        has_second = any(key.startswith(f'{prefix}second.') for key in state_dict)
        self.second = self._new_learners(1) if has_second else torch.nn.ModuleList()
        self.second.to(next(self.first.buffers()).device)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)


def _learners(modules: torch.nn.ModuleList) -> Iterator[Learner]:
    return (module for module in modules if isinstance(module, Learner))


def _fit_all(modules: torch.nn.ModuleList, rows: LearningRows) -> None:
    for learner in _learners(modules):
        learner.fit(rows)


def _num_networks(num_rows: int, total: int) -> int:
    return min(_MAX_NETWORKS, max(1, total // max(num_rows, 1)))
