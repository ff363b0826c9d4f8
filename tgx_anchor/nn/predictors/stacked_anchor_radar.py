"""StackedAnchorRadar: learns from topology, known anchors, beliefs and time."""

import copy
from collections.abc import Mapping, Sequence
from numbers import Integral
from pathlib import Path
from typing import Any, NamedTuple, get_args

import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter, softmax
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import anchor_target
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.belief_view import belief_names
from tgx_anchor.nn.predictors.blend import Blend
from tgx_anchor.nn.predictors.boosting_learner import import_lightgbm
from tgx_anchor.nn.predictors.calibrator import (
    Calibration,
    Calibrator,
    check_calibration,
)
from tgx_anchor.nn.predictors.cross_fit import HeldOutScores
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.nn.predictors.incidence_features import (
    FEATURES,
    attribute_scale,
    incidence_features,
)
from tgx_anchor.nn.predictors.known_anchors import (
    anchors_per_hyperedge,
    check_data,
    evidence_mask,
    labelled_mask,
    training_mask,
)
from tgx_anchor.nn.predictors.known_sets import KnownSets, known_sets
from tgx_anchor.nn.predictors.known_views import KnownViews
from tgx_anchor.nn.predictors.learning_rows import LearningRows
from tgx_anchor.nn.predictors.memory import Memory
from tgx_anchor.nn.predictors.model_search import search_models
from tgx_anchor.nn.predictors.stack import Stack
from tgx_anchor.nn.predictors.stacked_passes import (
    ALPHAS,
    VIEWS,
    LastStep,
    LearnerName,
    StackedPasses,
)
from tgx_anchor.nn.predictors.tune_result import TuneResult
from tgx_anchor.transforms import (
    AddPairFeatures,
    AddTemporalFeatures,
    AddTopologicalFeatures,
)
from tgx_anchor.utils import NodeSets, collapse_incidences, node_sets

#: The arguments that :meth:`StackedAnchorRadar.tune` tries.
TUNE_GRID: dict[str, tuple[Any, ...]] = {'learner': get_args(LearnerName)}
# The number of folds of known groups that the last step is judged with.
_NUM_FOLDS = 5


class _Scored(NamedTuple):
    # Groups with their known anchors, the columns of the last step, [L, C], and the
    # views that the second pass sees, or the first if there is no second.
    stack: Stack
    known: KnownSets
    y: Tensor
    mask: Tensor
    column: Tensor
    views: Sequence[Tensor]


class MemberColumns(NamedTuple):
    r"""Everything that the steps of a :class:`StackedAnchorRadar` see of the members of
    a hypergraph.

    Shapes:
        - **names:** the names of :math:`F` columns
        - **stack, views:** the features of incidences, and the columns that follow them
        - **last:** :math:`(P, C)`, the columns of the last step
        - **proba:** :math:`(P)`, the probabilities before they are calibrated
    """

    names: list[str]
    stack: Stack
    views: Sequence[Tensor]
    last: Tensor
    proba: Tensor

    def table(self, incidence: Tensor) -> Tensor:
        r"""Returns the columns of some incidences.

        Args:
            incidence (torch.Tensor): The numbers of the incidences.

        Shapes:
            - **incidence:** :math:`(B)`
            - **output:** :math:`(B, F)`
        """
        return self.stack.table(self.views, self.stack.units.place[incidence])


class StackedAnchorRadar(AnchorModel):
    r"""A predictor beyond AnchorRadar, which learns in two passes from topology, known
    anchors, its own beliefs and, where there is any, time.

    The features of a member :math:`v` of a group :math:`e` are

    * **A**: those of :class:`~tgx_anchor.transforms.AddTopologicalFeatures` and
      :class:`~tgx_anchor.transforms.AddPairFeatures`
    * **E**: those of :class:`~tgx_anchor.transforms.AddTemporalFeatures`, if
      :obj:`data.hyperedge_time` is there and :obj:`time` is :obj:`True`
    * **B**, **C**, **F**: the record of :math:`v` in groups with known anchors: in all
      of them, in those with another member of :math:`e`, and in those similar to
      :math:`e`, without :math:`e` and its copies
      (:class:`~tgx_anchor.nn.predictors.known_views.KnownViews`)
    * **D**: the beliefs of the first pass about all groups of :math:`v`, and strengths
      that explain them as in stage 2 of AnchorRadar
      (:func:`~tgx_anchor.nn.predictors.belief_view.belief_view`)
    * the standardised :obj:`x` and :obj:`hyperedge_attr`, where there are any

    #. **First pass.** Learners see A, E, B, C and F, and give beliefs about all groups.
       This is repeated without the known anchors of each of :obj:`num_folds` folds of
       node sets.
    #. **Second pass.** Learners see D as well. For known groups, D comes from the model
       that has not seen the anchors of their fold; otherwise a group would learn its
       own anchor from what the model believes of its neighbours.
    #. **Last step.** The beliefs of both passes, the share of its groups that each
       member is believed to anchor, and strengths are added up, with weights fitted to
       :obj:`data.val_mask` (:class:`~tgx_anchor.nn.predictors.blend.Blend`), or without
       one to groups that up to five further models were not shown. Without these, that
       is with fewer than 20 node sets or :obj:`calibration=None`, fixed weights are
       used.
    #. **Copies.** If other copies of a group have known anchors, they are combined with
       the prediction (:func:`~tgx_anchor.nn.predictors.copy_prior.copy_prior`).

    Anchors in :obj:`data.val_mask` never enter a view, unless :obj:`use_val` is set in
    :meth:`fit`. With fewer than ten known node sets there is no second pass.

    **Other groups of the same people.** The model remembers the groups it was fitted on
    by the ids of their members, as :class:`~tgx_anchor.nn.AnchorRadar` does: in another
    hypergraph with the same :obj:`data.source`, the known anchors of the fitted data
    count in B, C and F, its beliefs count in D, and anchors that are known there are
    evidence as well. **Other people** are predicted from their own hypergraph alone,
    with the anchors that are known in it as evidence. If the anchors of nearly all
    groups are known, the model is meant for other hypergraphs: half of the node sets
    are then learnt from as if nothing were known about anybody, so that new people are
    predicted well, too.

    :meth:`fit` and :meth:`predict_proba` add features that the data does not have yet;
    apply :meth:`required_transform` first to compute them only once.

    .. code-block:: python

        model = StackedAnchorRadar(learner='both').fit(data)
        model.predict(data)         # [M] node numbers
        model.predictions(data)     # a table with ids and probabilities

    Args:
        learner (str, optional): :obj:`"mlp"` for small MLPs, :obj:`"boosting"` for
            boosted trees (needs LightGBM, the extra :obj:`boost`), or :obj:`"both"`.
            (default: :obj:`"mlp"`)
        views (str, optional): The views to use, for comparisons: without :obj:`"A"`,
            there are no pair features, and without :obj:`"D"` there is no second pass.
            (default: :obj:`"ABCDF"`)
        last_step (str, optional): The last step, for comparisons: :obj:`"blend"`, or
            one part alone: :obj:`"belief"`, :obj:`"share"` or :obj:`"strength"`.
            (default: :obj:`"blend"`)
        num_folds (int, optional): The number of folds of the first pass.
            (default: :obj:`5`)
        time (bool, optional): If set to :obj:`False`, :obj:`data.hyperedge_time` is not
            used. (default: :obj:`True`)
        max_size (int, optional): The largest number of members of a group whose pairs
            of members are compared. (default: :obj:`64`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
        calibration (str, optional): As in :class:`~tgx_anchor.nn.AnchorRadar`.
            (default: :obj:`"auto"`)
    """

    _is_quick = True

    passes: StackedPasses
    blend: Blend
    memory: Memory
    proba: Tensor
    fitted_on: Tensor
    num_anchors: Tensor
    num_features: Tensor
    has_time: Tensor
    scale: Tensor
    kappa: Tensor
    node_strengths: Tensor

    def __init__(
        self,
        learner: LearnerName = 'mlp',
        views: str = VIEWS,
        last_step: LastStep = 'blend',
        num_folds: int = 5,
        time: bool = True,
        max_size: int = 64,
        seed: int = 0,
        calibration: Calibration | None = 'auto',
    ) -> None:
        super().__init__(seed)
        check_calibration(calibration)
        for name, value, right in (
            ('learner', learner, get_args(LearnerName)),
            ('last_step', last_step, get_args(LastStep)),
        ):
            if value not in right:
                raise ValueError(
                    f"'{name}' must be one of {', '.join(right)} (got {value!r})"
                )
        if not isinstance(views, str) or not set(views) <= set(VIEWS):
            raise ValueError(f"'views' must hold letters of {VIEWS!r} (got {views!r})")
        for name, number in (('num_folds', num_folds), ('max_size', max_size)):
            is_number = isinstance(number, Integral) and not isinstance(number, bool)
            if not is_number or number < 2:
                raise ValueError(
                    f"'{name}' must be an integer of two or more (got {number!r})"
                )
        if not isinstance(time, bool):
            raise ValueError(f"'time' must be True or False (got {time!r})")
        self.calibration = calibration
        self.learner: LearnerName = learner
        self.views = views
        self.last_step: LastStep = last_step
        self.num_folds = int(num_folds)
        self.time = time
        self.max_size = int(max_size)
        # The columns of the fitted hypergraph, while the last step is being fitted.
        self._scored: _Scored | None = None
        self.reset_parameters()

    def reset_parameters(self) -> None:
        r"""Forgets everything that was learnt. The model must then be fitted again."""
        device = self.fitted_on.device if 'fitted_on' in self._buffers else None
        self.passes = self._new_passes()
        self.blend = Blend(self.passes.weights(self.last_step))
        self.memory = Memory()
        for name, value in (
            ('proba', torch.empty(0, dtype=torch.double)),
            ('fitted_on', torch.full((5,), -1)),
            ('num_anchors', torch.ones((), dtype=torch.long)),
            ('num_features', torch.zeros((), dtype=torch.long)),
            ('has_time', torch.zeros((), dtype=torch.bool)),
            ('scale', torch.empty((2, 0), dtype=torch.double)),
            ('kappa', torch.ones((), dtype=torch.double)),
            ('node_strengths', torch.empty(0, dtype=torch.double)),
        ):
            self.register_buffer(name, value)
        self.calibrator, self.held_out = Calibrator(), HeldOut()
        self.history, self.interrupted = [], False
        if device is not None:
            self.to(device)

    def _new_passes(self) -> StackedPasses:
        return StackedPasses(self.learner, self.views, self.num_folds, self.seed)

    def _stack(
        self,
        sets: NodeSets,
        num_nodes: int,
        feature: Tensor,
        hyperedge_index: Tensor,
        num_hyperedges: int,
    ) -> Stack:
        return Stack(
            sets,
            num_nodes,
            feature,
            hyperedge_index,
            num_hyperedges,
            self.max_size,
            self.views,
        )

    @property
    def strength(self) -> Tensor:
        r"""The learnt strength of each node that the model was fitted on, :math:`(N)`,
        which explains the beliefs of the second pass.
        """
        self._check_fitted()
        return self.node_strengths

    # Features ################################################################

    def required_transform(self, progress: bool = False) -> BaseTransform:  # noqa: ARG002
        r"""Returns a transform that adds topological, pair and temporal features, if
        the data does not have them; the last only if it has :obj:`hyperedge_time`.

        Args:
            progress (bool, optional): Has no effect here. (default: :obj:`False`)
        """
        transforms: list[BaseTransform] = [AddTopologicalFeatures()]
        if 'A' in self.views:
            transforms.append(AddPairFeatures(self.max_size))
        if self.time:
            transforms.append(AddTemporalFeatures())
        return AddMissing({'incidence_attr': transforms})

    def _features(
        self, data: AnchorData, scale: Tensor, has_time: bool
    ) -> tuple[Tensor, list[str]]:
        # The features of all incidences, and their names.
        full = copy.copy(data)
        if has_time and full.get('hyperedge_time') is None:
            # The model was fitted with times: they are unknown here.
            full.hyperedge_time = torch.full_like(
                data.hyperedge_size.double(), torch.nan
            )
        full = self.required_transform()(full)
        names = [
            name
            for key in FEATURES
            if full.get(key) is not None
            for name in full.names(key)
        ]
        feature = incidence_features(full, scale)
        # The data may have more, for other models, and in another order.
        used = AddTopologicalFeatures().feature_names
        drop: list[str] = []
        (used if 'A' in self.views else drop).extend(AddPairFeatures().feature_names)
        (used if has_time else drop).extend(AddTemporalFeatures().feature_names)
        place = {name: i for i, name in enumerate(used)}
        keep = [i for i, name in enumerate(names) if name not in drop]
        keep.sort(key=lambda i: place.get(names[i], len(place)))
        if keep != list(range(len(names))):
            index = torch.tensor(keep, device=feature.device)
            feature, names = feature.index_select(1, index), [names[i] for i in keep]
        return feature, names

    def _uses_time(self, data: AnchorData) -> bool:
        time: Tensor | None = data.get('hyperedge_time')
        return self.time and time is not None and not bool(time.isnan().all())

    def feature_names(self, data: AnchorData) -> list[str]:
        r"""Returns the names of all columns that the second pass sees of a hypergraph.

        Args:
            data (AnchorData): The hypergraph.
        """
        names = self._features(data, attribute_scale(data), self._uses_time(data))[1]
        names += KnownViews.names(self.views)
        return names + (belief_names(len(ALPHAS)) if 'D' in self.views else [])

    # Learning ################################################################

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        mask = training_mask(data, run.use_val)
        val_mask = self._validation_mask(data, mask, run)
        if self.learner != 'mlp':
            import_lightgbm()
        y, index, num_nodes = data['y'], data.hyperedge_index, int(data.num_nodes or 0)
        scale = attribute_scale(data)
        has_time = self._uses_time(data)
        feature, _ = self._features(data, scale, has_time)
        sets = node_sets(index, num_nodes, data.num_hyperedges)
        size = data.num_hyperedges
        stack = self._stack(sets, num_nodes, feature, index, size)
        known = known_sets(sets, index, y, mask)
        passes = self._new_passes()
        steps = passes.learn(stack, known, *stack.labels(y, mask))
        run.epochs(steps, 'fitting', passes.num_steps(known), must_finish=True)
        column, belief, strength, kappa, _ = passes.result
        del passes.result

        # Without views, which are large: explanations compute them again.
        scored = _Scored(stack, known, y, mask, column, ())
        blend = self._new_blend(scored, y, val_mask)
        reference = belief[sets.row].to(torch.get_default_dtype())
        memory, _ = Memory().to(index.device).extended(data, mask, reference)
        self.passes, self.blend, self.memory = passes, blend, memory
        self.scale, self.node_strengths = scale, strength
        self.kappa = torch.full_like(self.kappa, kappa)
        self.num_features = torch.full_like(self.num_features, feature.size(1))
        self.has_time = torch.full_like(self.has_time, has_time)
        count = anchors_per_hyperedge(data, mask)
        self.num_anchors = torch.full_like(self.num_anchors, count)
        self.fitted_on = self._fingerprint(data)
        self._scored = scored
        self._keep_proba(scored)

    @staticmethod
    def _validation_mask(data: AnchorData, mask: Tensor, run: FitRun) -> Tensor:
        # The groups that the last step is fitted to.
        is_given = data.get('train_mask') is not None and not run.use_val
        if not is_given or data.get('val_mask') is None:
            return torch.zeros_like(mask)
        return labelled_mask(data, 'val_mask') & ~mask & data.choice_mask

    def _new_blend(self, scored: _Scored, y: Tensor, mask: Tensor) -> Blend:
        # A last step that is fitted to some hyperedges.
        stack, column = scored.stack, scored.column
        out = Blend(self.passes.weights(self.last_step)).to(column.device)
        if self.last_step == 'blend' and mask.any():
            share, weight = stack.labels(y, mask)
            row = (weight > 0)[stack.units.unit]
            group = torch.unique(stack.units.unit[row], return_inverse=True)[1]
            out.fit(LearningRows(column[row], group, share[row], weight[weight > 0]))
        return out

    def _keep_proba(self, scored: _Scored) -> None:
        # Keeps the probabilities of the fitted hypergraph, sorted by node in each
        # hyperedge, since the incidences of the same hypergraph may come in any order.
        proba, stack = self._to_proba(scored, self.blend), scored.stack
        kept, place = collapse_incidences(stack.hyperedge_index, stack.num_nodes)
        self.proba = proba.new_zeros(kept.size(1))
        self.proba[place] = proba

    def _to_proba(self, scored: _Scored, blend: Blend) -> Tensor:
        # The probabilities of all incidences, in which other known copies count.
        stack, known, y, mask, column, _ = scored
        units, hyperedge = stack.units, stack.hyperedge_index[1]
        proba = softmax(blend(column), units.unit, num_nodes=units.num_units)
        # A group is no evidence of itself.
        own = _targets(stack.hyperedge_index, stack.num_nodes, y, mask)
        anchored = (known.credit[units.row][units.place] - own).clamp(min=0)
        count = known.num_known[units.set_number[units.number]] - mask.double()
        count = count.clamp(min=0)[hyperedge]
        proba = (self.kappa * proba[units.place] + anchored) / (self.kappa + count)
        return _normalised(proba, hyperedge, mask.numel())

    def _hold_out(self, data: AnchorData, run: FitRun) -> None:
        try:
            super()._hold_out(data, run)
        finally:
            self._scored = None

    def _fit_predict(
        self, data: AnchorData, checkpoint: str | Path | None = None
    ) -> Tensor:
        twin = type(self)(**self.get_params()).to(data.hyperedge_index.device)
        twin._fit(data, FitRun(on_interrupt='raise', checkpoint=checkpoint))
        if twin._scored is None:
            raise RuntimeError("'_fit' must keep its columns")
        return twin._scored.column[twin._scored.stack.units.place]

    def _from_held_out(self, scores: HeldOutScores, data: AnchorData) -> HeldOutScores:
        # Fits the last step to groups that other models have not learnt from.
        if self._scored is None:
            raise RuntimeError("'_fit' must keep its columns")
        stack, mask = self._scored.stack, scores.mask
        row = mask[stack.hyperedge_index[1]]
        column = torch.zeros_like(self._scored.column)
        column[stack.units.place[row]] = scores.proba[row]
        # All copies of a group were held out together.
        known = self._scored.known.without(stack.sets.copies > 0, stack.sets)
        blind = self._scored._replace(
            known=known, mask=torch.zeros_like(mask), column=column
        )
        self.blend = self._new_blend(blind, data['y'], mask)
        self._keep_proba(self._scored)
        return scores._replace(proba=self._blind_proba(blind, data['y'], mask))

    def _validated_proba(self, data: AnchorData, mask: Tensor) -> Tensor:
        if self._scored is None:
            raise RuntimeError("'_fit' must keep its columns")
        return self._blind_proba(self._scored, data['y'], mask)

    def _blind_proba(self, scored: _Scored, y: Tensor, mask: Tensor) -> Tensor:
        # The probabilities of hyperedges, by weights that were fitted to others of
        # them: those of the model have learnt from all.
        proba = self._to_proba(scored, self.blend)
        number = scored.stack.sets.number
        generator = torch.Generator().manual_seed(self.seed)
        order = torch.randperm(scored.stack.sets.num_sets, generator=generator)
        fold = (order % _NUM_FOLDS).to(number.device)[number]
        for each in range(_NUM_FOLDS):
            chosen = mask & (fold == each)
            blend = self._new_blend(scored, y, mask & ~chosen)
            row = chosen[scored.stack.hyperedge_index[1]]
            proba[row] = self._to_proba(scored, blend)[row]
        return proba

    # Predicting ##############################################################

    def predict_proba(
        self, data: AnchorData, same_people: bool | None = None
    ) -> Tensor:
        r"""Computes the probability that each member is the anchor of its hyperedge,
        calibrated if the model is (:obj:`calibrated`).

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): Whether equal :obj:`node_id` are the same
                people; if :obj:`None`, :obj:`source` decides. If set to :obj:`False`,
                nothing is used that the model remembers about people, not even in the
                hypergraph it was fitted on. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge, in double
              precision
        """
        out: Tensor = self.calibrator(self._raw_proba(data, same_people), data)
        return out

    def rank_score(self, data: AnchorData) -> Tensor:
        r"""Computes the probabilities before they are calibrated, in which no order
        between unlikely members is lost to rounding.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.

        Shapes:
            - **output:** :math:`(P)`
        """
        return self._raw_proba(data)

    def _raw_proba(self, data: AnchorData, same_people: bool | None = None) -> Tensor:
        self._check_fitted()
        check_data(data)
        if self._is_fitted_on(data, same_people):
            hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
            num_nodes = int(data.num_nodes or 0)
            _, place = collapse_incidences(data.hyperedge_index, num_nodes)
            return _normalised(self.proba[place], hyperedge, size)
        return self._to_proba(self._score_other(data, same_people), self.blend)

    def _score_other(self, data: AnchorData, same_people: bool | None) -> _Scored:
        # Runs both passes on another hypergraph, together with remembered groups.
        (node, hyperedge), size = data.hyperedge_index, data.num_hyperedges
        device = node.device
        unknown = torch.full((node.numel(),), torch.nan, device=device)
        is_fitted = self._is_fitted_on(data, same_people)
        if is_fitted:
            memory, number = self.evidence(data, same_people)
        else:
            memory, number = self._joined(data, same_people, unknown)
        index, num_old = memory.hyperedge_index, memory.num_groups
        query = torch.stack([number[node], hyperedge])
        # The groups to score are among those of the memory, which count already.
        weight = torch.ones(num_old + size, device=device)
        weight[num_old:] = 0
        shift = torch.tensor([[0], [num_old]], device=device)
        joined = torch.cat([index, query + shift], dim=1)
        sets = node_sets(joined, memory.num_people, num_old + size, weight)
        feature, _ = self._features(data, self.scale, bool(self.has_time))
        if feature.size(1) != int(self.num_features):
            raise ValueError(
                f"'data' must have {int(self.num_features)} features per incidence, as "
                f'the model was fitted with (got {feature.size(1)})'
            )
        stack = self._stack(sets, memory.num_people, feature, query, size)
        known = known_sets(sets, index, memory.y, memory.known_mask)
        row, reference = sets.row[: index.size(1)], memory.reference.double()
        if is_fitted:
            # There are no other groups than these.
            reference = torch.full_like(reference, torch.nan)

        def fill(belief: Tensor) -> Tensor:
            # Remembered beliefs about old groups, those of now about new ones.
            value = torch.where(reference.isnan(), belief[row], reference)
            total = scatter(value, row, 0, sets.num_rows, 'sum')
            sums = sets.total(total)[sets.hyperedge_index[1]]
            return torch.where(sums > 0, total / sums, belief)

        result = self.passes(stack, known, fill)
        y = data.get('y')
        if y is None:
            y = torch.zeros_like(node, dtype=torch.bool)
        mask = evidence_mask(data)
        return _Scored(stack, known, y, mask, result.column, result.views)

    def member_columns(
        self, data: AnchorData, same_people: bool | None = None
    ) -> MemberColumns:
        r"""Returns the columns that the second pass and the last step see of the
        members of a hypergraph, to explain its predictions. In the hypergraph that the
        model was fitted on, those of known groups are not quite the ones that it was
        fitted with: beliefs about them come from the final first pass.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)
        """
        proba = self._raw_proba(data, same_people)
        scored = self._score_other(data, same_people)
        stack, views = scored.stack, scored.views
        names = self._features(data, self.scale, bool(self.has_time))[1]
        names += KnownViews.names(self.views)
        if len(views) > 1:
            names += belief_names(len(ALPHAS))
        last = scored.column[stack.units.place]
        return MemberColumns(names, stack, views, last, proba)

    def _joined(
        self, data: AnchorData, same_people: bool | None, reference: Tensor
    ) -> tuple[Memory, Tensor]:
        # The groups of a hypergraph, with those remembered of the same people.
        memory = Memory().to(reference.device)
        if self.memory.people.are_in(data, same_people):
            memory = self.memory
        return memory.extended(data, evidence_mask(data), reference)

    def evidence(
        self, data: AnchorData, same_people: bool | None = None
    ) -> tuple[Memory, Tensor]:
        r"""Returns the groups that count in a prediction, remembered ones included, and
        the number of each node among their people.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** the memory, and :math:`(N)` numbers
        """
        self._check_fitted()
        check_data(data)
        device = data.hyperedge_index.device
        if self._is_fitted_on(data, same_people):
            return self.memory, torch.arange(int(data.num_nodes or 0), device=device)
        unknown = torch.zeros(data.num_incidences, device=device)
        return self._joined(data, same_people, unknown)

    def _is_fitted_on(self, data: AnchorData, same_people: bool | None) -> bool:
        is_same = self._is_same(self.fitted_on, self._fingerprint(data))
        return is_same and same_people is not False

    def _check_fitted(self) -> None:
        if self.fitted_on[0] < 0:
            raise ValueError("'StackedAnchorRadar' is not fitted yet: call 'fit' first")

    # Files ###################################################################

    def _allocate(self, state: Mapping[str, Any]) -> None:
        for name in ('proba', 'scale', 'node_strengths'):
            if name in state:
                device = self.fitted_on.device
                setattr(self, name, torch.empty_like(state[name], device=device))

    def _check_state(self) -> None:
        self.memory.validate()
        index, num_people = self.memory.hyperedge_index, self.memory.num_people
        num_nodes = max(int(self.fitted_on.flatten()[0]), 0)
        num_columns = len(self.passes.weights('blend'))
        num_incidences = self.proba.numel()
        if num_people == num_nodes:
            # Else several nodes have the same id.
            num_incidences = collapse_incidences(index, num_people)[0].size(1)
        for name, value, kind, shape in (
            ('fitted_on', self.fitted_on, torch.long, (5,)),
            ('num_anchors', self.num_anchors, torch.long, ()),
            ('num_features', self.num_features, torch.long, ()),
            ('has_time', self.has_time, torch.bool, ()),
            ('kappa', self.kappa, None, ()),
            ('scale', self.scale, None, (2, self.scale.size(-1))),
            ('node_strengths', self.node_strengths, None, (num_nodes,)),
            ('blend.weight', self.blend.weight, None, (num_columns,)),
            ('proba', self.proba, None, (num_incidences,)),
        ):
            # Floating-point numbers may have another precision.
            found = None if value.is_floating_point() else value.dtype
            if found != kind or value.size() != shape:
                raise ValueError(
                    f"'{name}' does not fit the rest (got {value.dtype} of shape "
                    f'{list(value.size())})'
                )
        self.passes.check(int(self.num_features))

    # Choosing arguments ######################################################

    @classmethod
    def tune(
        cls,
        data: AnchorData | Sequence[AnchorData],
        grid: Mapping[str, Sequence[Any]] = TUNE_GRID,
        path: str | Path | None = None,
        progress: bool = True,
        **kwargs: Any,
    ) -> TuneResult[Self]:
        r"""Searches a grid of arguments for the best mean accuracy on :obj:`val_mask`
        over all splits, with one :meth:`fit` per point and split.

        Args:
            data (AnchorData or list[AnchorData]): The hypergraph with
                :obj:`train_mask` and :obj:`val_mask`, of one or several splits; or one
                hypergraph per split.
            grid (dict, optional): The values of arguments of the constructor to try.
                (default: all three learners, the last two need LightGBM)
            path (str, optional): A CSV file to which results are added one by one. If
                it exists, the search continues from it. (default: :obj:`None`)
            progress (bool, optional): If set to :obj:`False`, shows no progress bar.
                (default: :obj:`True`)
            **kwargs: Further arguments of the constructor.
        """
        return search_models(cls, data, grid, path, progress, **kwargs)

    def __repr__(self) -> str:
        params = ', '.join(f'{k}={v!r}' for k, v in self.get_params().items())
        return f'{self.__class__.__name__}({params})'


def _targets(
    hyperedge_index: Tensor, num_nodes: int, y: Tensor, mask: Tensor
) -> Tensor:
    # The share of each member in the anchors of a known hyperedge, on each line of
    # members that are listed twice.
    index, place = collapse_incidences(hyperedge_index, num_nodes)
    is_anchor = scatter(y.long(), place, 0, index.size(1), 'max') > 0
    return anchor_target(is_anchor, index[1], mask)[place]


def _normalised(proba: Tensor, hyperedge: Tensor, num_hyperedges: int) -> Tensor:
    # Members that are listed twice are as likely on each line.
    return proba / scatter(proba, hyperedge, 0, num_hyperedges, 'sum')[hyperedge]
