"""AnchorRadar for directed and typed hypergraphs: strengths by context."""

import math
from collections.abc import Mapping
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter, softmax

from tgx_anchor.data import AnchorData
from tgx_anchor.data.hypergraph_storage import num_columns
from tgx_anchor.nn.functional.strength_loss import Alignment
from tgx_anchor.nn.models.context_strength import ContextStrength
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.anchor_radar import _MIN_ALPHA, AnchorRadar, Stages
from tgx_anchor.nn.predictors.calibrator import Calibration
from tgx_anchor.nn.predictors.context_codes import (
    GROUP_TYPE,
    MEMBER_TYPE,
    SIDE,
    ContextCodes,
)
from tgx_anchor.nn.predictors.context_stage import (
    by_context,
    context_epochs,
    context_share,
)
from tgx_anchor.nn.predictors.cross_fit import cross_fit
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.incidence_features import (
    attribute_scale,
    incidence_features,
)
from tgx_anchor.nn.predictors.known_anchors import (
    anchors_per_hyperedge,
    check_data,
    evidence_mask,
    training_mask,
)
from tgx_anchor.nn.predictors.memory import Memory
from tgx_anchor.nn.predictors.stages import (
    StageOptions,
    alignment_problem,
    check_converged,
    new_scorer,
    reference_proba,
    scorer_epochs,
)
from tgx_anchor.transforms import AddDirectedFeatures, AddTopologicalFeatures
from tgx_anchor.utils import digest, distinct_hyperedges

#: The penalties to choose from; with the first one, contexts do not count.
PENALTIES = (math.inf, 100.0, 10.0, 3.0, 1.0, 0.3, 0.1)
# The least number of distinct known groups to choose a penalty with.
_MIN_HELD_OUT = 20
# The share of a uniform guess in the probabilities by which penalties are compared: it
# limits the cost of a member that all strengths exclude.
_EVEN = 0.02
_POWERS = (0.125, 0.25, 0.5, 0.75, 1.0, 1.5, 2.0)


class ContextAnchorRadar(AnchorRadar):
    r"""AnchorRadar for directed and heterogeneous hypergraphs, after appendix A of the
    `"Identifying Group Anchors in Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper.

    The context of a member is its side in a directed hyperedge
    (:obj:`data.incidence_side`) together with the type of the hyperedge
    (:obj:`data.hyperedge_type`), whichever the data has. In stage 1, the features also
    hold those of :class:`~tgx_anchor.transforms.AddDirectedFeatures` and the types of
    hyperedge and node. In stage 2, a node has one strength per context, with a shared
    part,

    .. math::
        s_{v,c} = s_v + \delta_{v,c} + b_{g(v,c)}, \qquad
        \mathcal{L} + \frac{\lambda}{2} \left( \sum_{v,c} \delta_{v,c}^2 +
        \sum_g b_g^2 \right),

    where :math:`\mathcal{L}` is the :func:`~tgx_anchor.nn.functional.strength_loss` of
    the hypergraph whose nodes are the pairs :math:`(v, c)`, and a cell :math:`g` is a
    type of nodes (:obj:`data.node_type`) in a context
    (:class:`~tgx_anchor.nn.ContextStrength`). The aggregation shrinks the share of a
    pair towards that of its node by the same :math:`\lambda`. So two strengths per node
    by side, and strengths per type of hyperedge with a shared part, are one mechanism.

    With :math:`\lambda = \infty`, contexts do not count in either stage, and the model
    is :class:`~tgx_anchor.nn.AnchorRadar`. By default :math:`\lambda` is chosen among
    infinity, 100, 10, 3, 1, 0.3 and 0.1 by the accuracy on known groups that the model
    has not learnt from: those in :obj:`data.val_mask`, and those that up to five
    further models were not shown. Infinity is kept unless another value is more
    accurate by more than the standard error of the difference, and the known anchors
    are not less likely by more than that of theirs.

    Types are recognised by their names, also in other hypergraphs; one that is new
    counts as unknown. The rest is as in :class:`~tgx_anchor.nn.AnchorRadar`:
    :obj:`strength` holds the shared parts, and :meth:`tune` searches without contexts.

    .. code-block:: python

        data = AnchorData.from_incidence('mails.csv', side='side')
        model = ContextAnchorRadar()
        model.fit(model.required_transform()(data))
        model.chosen_penalty        # infinite where contexts do not help
        model.context_strength(data)   # [P]

    Args:
        hidden_channels (int, optional): The size :math:`D` of the hidden layer.
            (default: :obj:`64`)
        lr_stage1 (float, optional): The learning rate of stage 1.
            (default: :obj:`0.01`)
        lr_stage2 (float, optional): The learning rate of stage 2.
            (default: :obj:`0.1`)
        alpha (float, optional): The weight :math:`\alpha` of the alignment.
            (default: :obj:`0.06`)
        w (float, optional): The weight :math:`w` of known anchors in the aggregation,
            or :obj:`None` for no aggregation. (default: :obj:`4.0`)
        penalty (float, optional): The penalty :math:`\lambda`, or :obj:`None` to choose
            one. (default: :obj:`None`)
        num_epochs (int, optional): The number of epochs of each stage.
            (default: :obj:`100`)
        alignment (str, optional): The form of the alignment, :obj:`"all"`,
            :obj:`"known"` or :obj:`"cross_entropy"`. (default: :obj:`"all"`)
        stages (str, optional): :obj:`"both"`, or only the :obj:`"first"` or the
            :obj:`"second"` one. (default: :obj:`"both"`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
        calibration (str, optional): If set to :obj:`"auto"`, probabilities are
            calibrated, as in :class:`~tgx_anchor.nn.AnchorRadar`. If set to
            :obj:`None`, they are shares. (default: :obj:`"auto"`)
    """

    strengths: ContextStrength | None  # type: ignore[assignment]
    codes: ContextCodes
    best_penalty: Tensor

    _takes_shards = False

    def __init__(
        self,
        hidden_channels: int = 64,
        lr_stage1: float = 0.01,
        lr_stage2: float = 0.1,
        alpha: float = 0.06,
        w: float | None = 4.0,
        penalty: float | None = None,
        num_epochs: int = 100,
        alignment: Alignment = 'all',
        stages: Stages = 'both',
        seed: int = 0,
        calibration: Calibration | None = 'auto',
    ) -> None:
        super().__init__(
            hidden_channels,
            lr_stage1,
            lr_stage2,
            alpha,
            w,
            num_epochs,
            alignment,
            stages,
            seed,
            calibration,
        )
        if penalty is not None and not isinstance(penalty, Real):
            raise ValueError(f"'penalty' must be a number or None (got {penalty!r})")
        if penalty is not None and not penalty > 0:
            raise ValueError(f"'penalty' must be positive, or None (got {penalty})")
        self.penalty = None if penalty is None else float(penalty)
        self.codes = ContextCodes()
        infinite = torch.tensor(math.inf, dtype=torch.double)
        self.register_buffer('best_penalty', infinite)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters. The model must then be fitted again."""
        super().reset_parameters()
        self.codes = ContextCodes().to(self.fitted_on.device)
        self.best_penalty = torch.full_like(self.best_penalty, math.inf)

    @property
    def chosen_penalty(self) -> float:
        r"""The penalty that the model was fitted with: :obj:`penalty`, or the one that
        was chosen.
        """
        return float(self.best_penalty)

    def required_transform(self, progress: bool = False) -> BaseTransform:  # noqa: ARG002
        r"""Returns a transform that adds the topological features, and those of
        directed hyperedges where there are sides, if the data does not have them and
        stage 1 is learnt.

        Args:
            progress (bool, optional): Has no effect here. (default: :obj:`False`)
        """
        if self.stages == 'second':
            return AddMissing()
        return AddMissing(
            {'incidence_attr': [AddTopologicalFeatures(), AddDirectedFeatures()]}
        )

    @staticmethod
    def _fingerprint(data: AnchorData) -> Tensor:
        # With other sides or types, it is another hypergraph.
        out = AnchorModel._fingerprint(data)
        keys = [key for key in (SIDE, GROUP_TYPE, MEMBER_TYPE) if key in data]
        if keys:
            names = [getattr(data, f'{key}_names', []) for key in keys]
            values = [data[key].long().cpu() for key in keys]
            out[3] ^= int(digest(keys, names, *values)[:15], 16)
        return out

    # Learning ################################################################

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        mask = training_mask(data, run.use_val)
        device, y = mask.device, data['y']
        codes, scale = ContextCodes.of(data), attribute_scale(data)
        penalty = self._choose_penalty(data, mask, run, codes)
        scorer = strengths = None
        reference = torch.zeros(data.num_incidences, device=device)
        if self.stages != 'second':
            feature = _features(data, scale, codes)
            kept = _kept_columns(data, feature, penalty)
            part = FeatureRows.of_matrix(data, feature[:, kept])
            scorer = new_scorer(part.num_columns, self._options()).to(device)
            lr = self.lr_stage1
            epochs = scorer_epochs(scorer, part, data, mask, lr, self.num_epochs)
            must_finish = self.stages == 'both'
            run.epochs(epochs, 'stage 1', self.num_epochs, must_finish=must_finish)
            check_converged(scorer, 1, lr)
            reference = reference_proba(scorer, part, data)
            scorer = _widened(scorer, kept, self._options())
        num_anchors = anchors_per_hyperedge(data, mask)
        share = torch.empty(0, dtype=torch.double, device=device)
        memory = Memory().to(device)
        if self.stages != 'first':
            cell = codes(data)
            expanded, strengths = _pairs(data, cell, codes, 1)
            problem = alignment_problem(reference, expanded, y, mask, self.alignment)
            epochs = context_epochs(
                strengths,
                problem,
                self._alpha,
                strengths.own.new_tensor([penalty]),
                self.lr_stage2,
                self.num_epochs,
            )
            run.epochs(epochs, 'stage 2', self.num_epochs)
            check_converged(strengths, 2, self.lr_stage2)
            strengths = strengths.variant(0)
            share = self._share_of_pairs(
                strengths, expanded, y, mask, penalty, num_anchors
            )
            memory, _ = memory.extended(data, mask, reference, cell)
        self.scorer, self.strengths, self.share = scorer, strengths, share
        self.memory, self.codes, self.scale = memory, codes, scale
        self.fitted_on = self._fingerprint(data)
        self.num_anchors = torch.full_like(self.num_anchors, num_anchors)
        self.best_penalty = torch.full_like(self.best_penalty, penalty)

    @property
    def _alpha(self) -> float:
        return self.alpha if self.stages == 'both' else 0.0

    def _choose_penalty(
        self, data: AnchorData, mask: Tensor, run: FitRun, codes: ContextCodes
    ) -> float:
        if self.penalty is not None:
            return self.penalty
        if not codes.uses.any():
            return math.inf
        if self.stages == 'first':
            return PENALTIES[1]
        number = distinct_hyperedges(
            data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
        )
        fold = mask & data.choice_mask
        if number[fold].unique().numel() < _MIN_HELD_OUT:
            return math.inf
        held_out, proba, _ = cross_fit(data, fold, number, self._probas, self.seed)
        val = data.get('val_mask')
        if not run.use_val and val is not None and val.size() == mask.size():
            more = val & ~mask & data.known_mask & data.choice_mask
            if more.any():
                held_out = held_out | more
                row = more[data.hyperedge_index[1]]
                proba[row] = self._probas(data)[row].double()
        return _best_penalty(proba, data, held_out, number)

    def _probas(self, data: AnchorData) -> Tensor:
        # The probabilities with each of the penalties. All finite ones share stage 1,
        # and are learnt at once.
        mask = training_mask(data)
        codes, scale = ContextCodes.of(data), attribute_scale(data)
        y, cell = data['y'], codes(data)
        num_anchors = anchors_per_hyperedge(data, mask)
        out = []
        for penalties in (PENALTIES[:1], PENALTIES[1:]):
            reference = torch.zeros(data.num_incidences, device=mask.device)
            if self.stages != 'second':
                feature = _features(data, scale, codes)
                feature = feature[:, _kept_columns(data, feature, penalties[0])]
                scorer = new_scorer(feature.size(1), self._options()).to(mask.device)
                lr = self.lr_stage1
                rows = FeatureRows.of_matrix(data, feature)
                for _ in scorer_epochs(scorer, rows, data, mask, lr, self.num_epochs):
                    pass
                reference = reference_proba(scorer, rows, data)
            expanded, strengths = _pairs(data, cell, codes, len(penalties))
            problem = alignment_problem(reference, expanded, y, mask, self.alignment)
            weight = strengths.own.new_tensor(penalties)
            for _ in context_epochs(
                strengths, problem, self._alpha, weight, self.lr_stage2, self.num_epochs
            ):
                pass
            pair = expanded.hyperedge_index[0]
            for k, each in enumerate(penalties):
                one = strengths.variant(k)
                share = self._share_of_pairs(one, expanded, y, mask, each, num_anchors)
                out.append(self._proba_of_pairs(one, share, pair, data))
        return torch.stack(out, dim=1)

    def _share_of_pairs(
        self,
        strengths: ContextStrength,
        expanded: AnchorData,
        y: Tensor,
        mask: Tensor,
        penalty: float,
        num_anchors: int,
        weighted_degree: bool = False,
    ) -> Tensor:
        if self.w is None:
            return torch.empty(0, dtype=torch.double, device=mask.device)
        return context_share(
            strengths,
            expanded,
            y,
            mask,
            self.w,
            penalty,
            num_anchors,
            self.seed,
            weighted_degree,
        )

    def _fit_predict(
        self, data: AnchorData, checkpoint: str | Path | None = None
    ) -> Tensor:
        # The penalty is not chosen again in each fold.
        params = {**self.get_params(), 'penalty': self.chosen_penalty}
        twin = type(self)(**params).to(data.hyperedge_index.device)
        twin._fit(data, FitRun(on_interrupt='raise', checkpoint=checkpoint))
        return twin._raw_proba(data)

    # Predicting ##############################################################

    def _raw_proba(self, data: AnchorData, same_people: bool | None = None) -> Tensor:
        self._check_fitted()
        check_data(data)
        if self.strengths is None and self.scorer is not None:
            return reference_proba(self.scorer, self._features(data), data)
        strengths, share, number = self._learnt(data, same_people)
        if self.w is not None and share.numel() < strengths.own.numel():
            raise ValueError(
                f"'w' must be None, as it was when the model was fitted (got {self.w})"
            )
        pair = self._find(strengths, data, number)
        return self._proba_of_pairs(strengths, share, pair, data)

    def _proba_of_pairs(
        self, strengths: ContextStrength, share: Tensor, pair: Tensor, data: AnchorData
    ) -> Tensor:
        hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
        if self.w is None:
            return softmax(strengths().detach()[pair], hyperedge, num_nodes=size)
        value = share[pair]
        total = scatter(value, hyperedge, 0, size, 'sum')[hyperedge]
        count = torch.bincount(hyperedge, minlength=size)[hyperedge]
        return torch.where(total > 0, value / total, 1 / count)

    def context_strength(
        self, data: AnchorData, same_people: bool | None = None
    ) -> Tensor:
        r"""Computes the strength :math:`s_{v,c}` of each member in its context, by
        which :meth:`predict_proba` predicts; :meth:`node_strength` computes the shared
        parts.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P)`
        """
        self._check_fitted()
        check_data(data)
        if self.strengths is None:
            raise ValueError(
                "'context_strength' needs strengths: fit with 'stages' other than "
                "'first'"
            )
        strengths, _, number = self._learnt(data, same_people)
        out: Tensor = strengths().detach()[self._find(strengths, data, number)]
        return out

    def _find(
        self, strengths: ContextStrength, data: AnchorData, number: Tensor
    ) -> Tensor:
        context = self.codes(data) % self.codes.num_contexts
        return strengths.find(number[data.hyperedge_index[0]], context)

    def _strength_and_share(
        self, data: AnchorData, same_people: bool | None
    ) -> tuple[Tensor, Tensor]:
        strengths, share, number = self._learnt(data, same_people)
        return strengths.strength.detach()[number], share

    def _learnt(
        self, data: AnchorData, same_people: bool | None
    ) -> tuple[ContextStrength, Tensor, Tensor]:
        # The strengths and shares of pairs, and the numbers of the nodes among them.
        every = torch.arange(int(data.num_nodes or 0), device=self.fitted_on.device)
        is_fitted = self._is_same(self.fitted_on, self._fingerprint(data))
        if is_fitted and same_people is not False and self.strengths is not None:
            return self.strengths, self.share, every
        if not self.memory.people.are_in(data, same_people):
            return (*self._learn_alone(data), every)
        memory, number = self._remember(data)
        return (*self._learn_again(memory), number)

    def _remember(self, data: AnchorData) -> tuple[Memory, Tensor]:
        reference = self._reference(data)
        mask = evidence_mask(data)
        return self.memory.extended(data, mask, reference, self.codes(data))

    def _reference(self, data: AnchorData) -> Tensor:
        if self.scorer is None:
            return torch.zeros(data.num_incidences, device=self.fitted_on.device)
        return reference_proba(self.scorer, self._features(data), data)

    def _learn_again(  # type: ignore[override]
        self, memory: Memory
    ) -> tuple[ContextStrength, Tensor]:
        alpha = 0.0 if self.scorer is None else max(self.alpha, _MIN_ALPHA)
        return self._learn_pairs(
            memory.reference,
            memory.hypergraph(),
            memory.context,
            memory.y,
            memory.known_mask,
            alpha,
            weighted_degree=True,
        )

    def _learn_alone(self, data: AnchorData) -> tuple[ContextStrength, Tensor]:
        # Learns strengths on another hypergraph, from the scores of stage 1 alone.
        if self.scorer is None:
            raise ValueError(
                "'data' must be about people that the model knows, with the same "
                "'source' and with 'node_id': without stage 1 it cannot predict others "
                "('stages' is 'second')"
            )
        reference = self._reference(data)
        mask = torch.zeros(
            data.num_hyperedges, dtype=torch.bool, device=reference.device
        )
        y = torch.zeros_like(reference, dtype=torch.bool)
        return self._learn_pairs(reference, data, self.codes(data), y, mask, 1.0)

    def _learn_pairs(
        self,
        reference: Tensor,
        data: AnchorData,
        cell: Tensor,
        y: Tensor,
        mask: Tensor,
        alpha: float,
        weighted_degree: bool = False,
    ) -> tuple[ContextStrength, Tensor]:
        # Among the nodes there may be some without known anchors.
        alignment: Alignment = 'all' if self.alignment == 'known' else self.alignment
        penalty = self.chosen_penalty
        expanded, strengths = _pairs(data, cell, self.codes, 1)
        problem = alignment_problem(reference, expanded, y, mask, alignment)
        weight = strengths.own.new_tensor([penalty])
        for _ in context_epochs(
            strengths, problem, alpha, weight, self.lr_stage2, self.num_epochs
        ):
            pass
        check_converged(strengths, 2, self.lr_stage2)
        out = strengths.variant(0)
        count = int(self.num_anchors)
        return out, self._share_of_pairs(
            out, expanded, y, mask, penalty, count, weighted_degree
        )

    def _features(self, data: AnchorData) -> FeatureRows:
        feature = _features(data, self.scale, self.codes)
        rows = FeatureRows.of_matrix(data, feature)
        if self.scorer is None:
            return rows
        if feature.size(1) != self.scorer.in_channels:
            raise ValueError(
                f"'data' must have {self.scorer.in_channels} features per incidence, "
                f'as the model was fitted with (got {feature.size(1)})'
            )
        return rows

    # Files ###################################################################

    def _allocate(self, state: Mapping[str, Any]) -> None:
        super()._allocate(state)
        device = self.fitted_on.device
        if self.strengths is not None:
            parts = [state[f'strengths.{k}'] for k in ('pair', 'cell')]
            pair, cell = (torch.empty_like(part, device=device) for part in parts)
            sizes = [state[f'strengths.{k}'].size(0) for k in ('strength', 'offset')]
            self.strengths = ContextStrength(pair, cell, *sizes)

    def _check_state(self) -> None:
        num_pairs = 0
        share, strengths = self.share, self.strengths
        if strengths is not None:
            num_pairs = strengths.own.numel()
            node, context = strengths.pair
            limits = (
                (node, strengths.strength.numel()),
                (context, self.codes.num_contexts),
                (strengths.cell, self.codes.num_cells),
            )
            if (
                any(((v < 0) | (v >= size)).any() for v, size in limits)
                or strengths.cell.numel() != num_pairs
                or strengths.offset.numel() != self.codes.num_cells
                or self.memory.context.numel() != self.memory.y.numel()
            ):
                raise ValueError("'strengths' must have one number per pair")
        if share.size() not in [(0,), (num_pairs,)]:
            raise ValueError(
                f"'share' does not fit the rest (got the shape {list(share.size())})"
            )
        # The base class knows shares of nodes only.
        self.share = share.new_empty(0)
        try:
            super()._check_state()
        finally:
            self.share = share


def _features(data: AnchorData, scale: Tensor, codes: ContextCodes) -> Tensor:
    parts = [incidence_features(data, scale), codes.features(data)]
    return torch.cat(parts, dim=1)


def _kept_columns(data: AnchorData, feature: Tensor, penalty: float) -> Tensor:
    # The columns that stage 1 learns from: with an infinite penalty, sides and types
    # are left out.
    kept = torch.ones(feature.size(1), dtype=torch.bool, device=feature.device)
    if math.isinf(penalty):
        names = data.column_names.get('incidence_attr', [])
        directed = set(AddDirectedFeatures().feature_names)
        kept[: len(names)] = torch.tensor([name not in directed for name in names])
        kept[_width(data) :] = False
    return kept


def _width(data: AnchorData) -> int:
    return sum(
        num_columns(data[key])
        for key in ('incidence_attr', 'x', 'hyperedge_attr')
        if data.get(key) is not None
    )


def _widened(
    scorer: IncidenceScorer, kept: Tensor, options: StageOptions
) -> IncidenceScorer:
    # The same scores from all columns, of which some have no weight.
    if kept.all():
        return scorer
    state = dict(scorer.state_dict())
    first = state['mlp.lins.0.weight']
    weight = first.new_zeros((first.size(0), kept.numel()))
    weight[:, kept] = first
    out = new_scorer(kept.numel(), options).to(first)
    out.load_state_dict({**state, 'mlp.lins.0.weight': weight})
    return out


def _pairs(
    data: AnchorData, cell: Tensor, codes: ContextCodes, num_variants: int
) -> tuple[AnchorData, ContextStrength]:
    expanded, pair, cell_of_pair = by_context(data, cell, codes.num_contexts)
    size = int(data.num_nodes or 0)
    strengths = ContextStrength(pair, cell_of_pair, size, codes.num_cells, num_variants)
    return expanded, strengths


def _best_penalty(
    proba: Tensor, data: AnchorData, mask: Tensor, number: Tensor
) -> float:
    # Infinity, unless another penalty is more accurate by more than a standard error,
    # and its likelihood is not lower by more than one. Shares of few groups are too
    # sure: likelihoods are compared at their best power. Groups of the same members are
    # one observation, and ties are shared.
    hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
    at_anchor = data['y'] & mask[hyperedge]
    group, place = torch.unique(number[hyperedge[at_anchor]], return_inverse=True)

    def gain(value: Tensor) -> tuple[Tensor, Tensor]:
        each = scatter(value[at_anchor], place, 0, group.numel(), 'mean')
        each = each - each[:, :1]
        return each.mean(0), each.std(0) / math.sqrt(group.numel())

    best = scatter(proba, hyperedge, 0, size, 'max').index_select(0, hyperedge)
    is_best = (proba == best).double()
    num_best = scatter(is_best, hyperedge, 0, size, 'sum').index_select(0, hyperedge)
    accuracy, accuracy_error = gain(is_best / num_best)

    even = _EVEN / data.hyperedge_size[hyperedge].unsqueeze(1)
    logit = ((1 - _EVEN) * proba + even).log()
    likely = torch.stack(
        [softmax(k * logit, hyperedge, num_nodes=size).log() for k in _POWERS]
    )
    power = likely[:, at_anchor].mean(1).argmax(0)
    column = torch.arange(proba.size(1), device=proba.device)
    likelihood, likelihood_error = gain(likely[power, :, column].t())

    is_better = (accuracy > accuracy_error) & (likelihood >= -likelihood_error)
    if not is_better.any():
        return PENALTIES[0]
    return PENALTIES[int(torch.where(is_better, accuracy, -1.0).argmax())]
