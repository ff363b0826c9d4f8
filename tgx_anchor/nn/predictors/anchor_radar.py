"""AnchorRadar: score incidences, learn strengths of nodes, aggregate them."""

import math
from collections.abc import Mapping, Sequence
from numbers import Integral, Real
from os import PathLike
from pathlib import Path
from typing import Any, Literal, get_args

import torch
from torch import Tensor
from torch_geometric.transforms import BaseTransform
from torch_geometric.utils import scatter, softmax
from typing_extensions import Self

from tgx_anchor.data import AnchorData, ShardedAnchorData
from tgx_anchor.nn.functional import aggregate_strength
from tgx_anchor.nn.functional.strength_loss import ALIGNMENTS, Alignment
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.nn.predictors.anchor_model import AnchorModel, Known, check_known
from tgx_anchor.nn.predictors.calibrator import (
    Calibration,
    Calibrator,
    check_calibration,
)
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.nn.predictors.incidence_features import attribute_scale
from tgx_anchor.nn.predictors.known_anchors import (
    anchors_per_hyperedge,
    as_hypergraph,
    check_data,
    evidence_mask,
    training_mask,
)
from tgx_anchor.nn.predictors.memory import Memory
from tgx_anchor.nn.predictors.shard_predictions import write_shard_predictions
from tgx_anchor.nn.predictors.stage_checkpoint import StageCheckpoint
from tgx_anchor.nn.predictors.stages import (
    StageOptions,
    alignment_problem,
    check_converged,
    new_scorer,
    reference_proba,
    scorer_epochs,
    strength_epochs,
)
from tgx_anchor.nn.predictors.tune_result import TuneResult
from tgx_anchor.nn.predictors.tuning import PAPER_GRID, check_grid, search_grid
from tgx_anchor.paper import hyperparameters
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import digest, hyperedge_blocks, mix_bits

Stages = Literal['both', 'first', 'second']

# The least weight of the alignment where there are newcomers. However small it is, Adam
# lets them learn as fast as others, who follow their known anchors then.
_MIN_ALPHA = 1e-3


class AnchorRadar(AnchorModel):
    r"""AnchorRadar from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper.

    #. **Stage 1.** A small MLP scores every incidence from its features,
       :math:`s^{(1)}_{v;e}`, and is trained on the known anchors
       (:class:`~tgx_anchor.nn.IncidenceScorer`).
    #. **Stage 2.** Every node has one strength :math:`s^{(2)}_v`, trained to explain
       the known anchors and, with weight :math:`\alpha`, to agree with the scores of
       stage 1 in all hyperedges (:class:`~tgx_anchor.nn.AnchorStrength`,
       :func:`~tgx_anchor.nn.functional.strength_loss`).
    #. **Aggregation.** With the strongest member of each hyperedge as its anchor, the
       score of a node is the share :math:`\hat{p}_v` of its hyperedges that it anchors,
       in which known anchors have the weight :math:`w`
       (:func:`~tgx_anchor.nn.functional.aggregate_strength`).

    The features are :obj:`incidence_attr`, as
    :class:`~tgx_anchor.transforms.AddTopologicalFeatures` makes them, followed by the
    standardised :obj:`x` of the node and :obj:`hyperedge_attr` of the hyperedge where
    there are any. With :math:`F` features and :math:`D` hidden units there are
    :math:`D (F + 2) + 1 + N` learnable parameters.

    **Other groups of the same people.** The model remembers the groups it was fitted on
    by the :obj:`node_id` of their members. In another hypergraph with the same
    :obj:`data.source`, stage 1 scores the new incidences, and stage 2 learns strengths
    from the remembered and the new groups together: known people keep what is known
    about them, newcomers get their strength from the scores, and anchors that are
    known in the new hypergraph (:obj:`train_mask`, or without one :obj:`y`) are
    evidence. In the share :math:`\hat{p}_v`, the hyperedges with known anchors then
    count :math:`w` times in :math:`d_v` as well, so that people whose anchors are all
    known compare with newcomers. All this takes seconds, and leaves the model as it is;
    :meth:`update` adds the new groups for good. On the hypergraph that the model was
    fitted on, it predicts with the strengths of :meth:`fit`, whatever anchors have
    become known since.

    **Other people.** In a hypergraph of another source, or without ids, the model
    predicts inductively, as in the paper: stage 1 scores the incidences, and stage 2
    learns strengths from these scores alone. Known anchors there are not used.

    If :meth:`fit` is interrupted in stage 1, there are no strengths yet to predict
    with: :class:`KeyboardInterrupt` is raised and the model stays as it was, also with
    :obj:`on_interrupt="keep_best"` (unless :obj:`stages` is :obj:`"first"`). In stage
    2, :obj:`"keep_best"` keeps the strengths of the last epoch. Each record of
    :obj:`history` has its :obj:`stage`, 1 or 2; those of stage 2 have no :obj:`loss`,
    of which only the gradient is computed.

    .. code-block:: python

        model = AnchorRadar.from_paper('qaBI').fit(data)
        model.predict(data)         # [M] node numbers
        model.predict_proba(data)   # [P], sums to one in each hyperedge
        model.strength              # [N]
        model.predictions(new)      # a table with ids, for new groups

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
        num_epochs (int, optional): The number of epochs of each stage.
            (default: :obj:`100`)
        alignment (str, optional): The form of the alignment, :obj:`"all"`,
            :obj:`"known"` (as the paper prints it) or :obj:`"cross_entropy"`.
            (default: :obj:`"all"`)
        stages (str, optional): :obj:`"both"`, or only the :obj:`"first"` or the
            :obj:`"second"` one. (default: :obj:`"both"`)
        seed (int, optional): The seed of the first weights of the MLP, and of draws
            between members of equal score. (default: :obj:`0`)
        calibration (str, optional): If set to :obj:`"auto"`, probabilities are
            calibrated on known groups that the model has not learnt from: those in
            :obj:`data.val_mask`, or without one those that up to five further models
            were not shown. If set to :obj:`None`, they are shares.
            (default: :obj:`"auto"`)
    """

    _is_quick = True
    _takes_shards = True

    scorer: IncidenceScorer | None
    strengths: AnchorStrength | None
    share: Tensor
    fitted_on: Tensor
    num_anchors: Tensor
    scale: Tensor

    def __init__(
        self,
        hidden_channels: int = 64,
        lr_stage1: float = 0.01,
        lr_stage2: float = 0.1,
        alpha: float = 0.06,
        w: float | None = 4.0,
        num_epochs: int = 100,
        alignment: Alignment = 'all',
        stages: Stages = 'both',
        seed: int = 0,
        calibration: Calibration | None = 'auto',
    ) -> None:
        super().__init__(seed)
        check_calibration(calibration)
        self.calibration = calibration
        for name, number in (
            ('lr_stage1', lr_stage1),
            ('lr_stage2', lr_stage2),
            ('alpha', alpha),
            ('w', 0.0 if w is None else w),
        ):
            if not isinstance(number, Real):
                raise ValueError(f"'{name}' must be a number (got {number!r})")
        for name, rate in (('lr_stage1', lr_stage1), ('lr_stage2', lr_stage2)):
            if not 0 < rate < math.inf:
                raise ValueError(f"'{name}' must be positive (got {rate})")
        for name, count in (
            ('hidden_channels', hidden_channels),
            ('num_epochs', num_epochs),
        ):
            if not isinstance(count, Integral) or count < 1:
                raise ValueError(f"'{name}' must be a positive integer (got {count})")
        if not 0 <= alpha < math.inf:
            raise ValueError(f"'alpha' must lie in [0, inf) (got {alpha})")
        if w is not None and not 0 <= w < math.inf:
            raise ValueError(f"'w' must lie in [0, inf), or be None (got {w})")
        if alignment not in ALIGNMENTS:
            raise ValueError(
                f"'alignment' must be one of {', '.join(ALIGNMENTS)} "
                f'(got {alignment!r})'
            )
        if stages not in get_args(Stages):
            raise ValueError(
                f"'stages' must be one of {', '.join(get_args(Stages))} "
                f'(got {stages!r})'
            )
        # Plain numbers: those of NumPy could be saved with the model, but not loaded.
        self.hidden_channels = int(hidden_channels)
        self.lr_stage1 = float(lr_stage1)
        self.lr_stage2 = float(lr_stage2)
        self.alpha = float(alpha)
        self.w = None if w is None else float(w)
        self.num_epochs = int(num_epochs)
        self.alignment: Alignment = alignment
        self.stages: Stages = stages
        self.register_module('scorer', None)
        self.register_module('strengths', None)
        self.memory = Memory()
        self.register_buffer('share', torch.empty(0, dtype=torch.double))
        self.register_buffer('fitted_on', torch.full((5,), -1))
        self.register_buffer('num_anchors', torch.ones((), dtype=torch.long))
        self.register_buffer('scale', torch.empty((2, 0), dtype=torch.double))

    @classmethod
    def from_paper(cls, setting: str, **kwargs: Any) -> Self:
        r"""Makes a model with the published hyperparameters of a setting.

        Args:
            setting (str): The dataset, with its kind of anchor where there are several:
                :obj:`"qaBI"`, :obj:`"coDB_last"`.
            **kwargs: Further arguments of the constructor, which take precedence.
        """
        return cls(**{**hyperparameters('AnchorRadar', setting), **kwargs})

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters. The model must then be fitted again."""
        if self.scorer is not None:
            fresh = new_scorer(self.scorer.in_channels, self._options())
            self.scorer = fresh.to(self.fitted_on.device)
        if self.strengths is not None:
            self.strengths.reset_parameters()
        self.memory = Memory().to(self.fitted_on.device)
        self.share = self.share.new_empty(0)
        self.fitted_on = torch.full_like(self.fitted_on, -1)
        self.num_anchors = torch.ones_like(self.num_anchors)
        self.scale = self.scale.new_empty((2, 0))
        self.calibrator, self.held_out = Calibrator(), HeldOut()
        self.history, self.interrupted = [], False

    @property
    def strength(self) -> Tensor:
        r"""The learnt strength of each node that the model was fitted on, :math:`(N)`;
        after :meth:`update`, of all people in :obj:`memory`. See :meth:`node_strength`
        for the nodes of any hypergraph.
        """
        if self.strengths is None:
            raise ValueError(
                "'strength' is not learnt yet: call 'fit' first, with 'stages' other "
                "than 'first'"
            )
        return self.strengths.strength.detach()

    def forward(self, feature: Tensor) -> Tensor:
        r"""Computes the scores :math:`s^{(1)}_{v;e}` of stage 1.

        Args:
            feature (torch.Tensor): The features of the incidences.

        Shapes:
            - **feature:** :math:`(P, F)`
            - **output:** :math:`(P)`
        """
        if self.scorer is None:
            raise ValueError(
                "'AnchorRadar' is not fitted yet: call 'fit' first, with 'stages' "
                "other than 'second'"
            )
        out: Tensor = self.scorer(feature)
        return out

    # Learning ################################################################

    def required_transform(self, progress: bool = False) -> BaseTransform:  # noqa: ARG002
        r"""Returns a transform that adds the topological features, if the data does not
        have them and stage 1 is learnt.

        Args:
            progress (bool, optional): Has no effect here. (default: :obj:`False`)
        """
        if self.stages == 'second':
            return AddMissing()
        return AddMissing({'incidence_attr': AddTopologicalFeatures()})

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        mask = training_mask(data, run.use_val)
        scorer = strengths = None
        scale = attribute_scale(data)
        state = self._checkpoint(data, mask, run)
        reference = torch.zeros(data.num_incidences, device=mask.device)
        if self.stages != 'second':
            feature = FeatureRows(data, scale)
            scorer = new_scorer(feature.num_columns, self._options()).to(mask.device)
            lr = self.lr_stage1
            epochs = scorer_epochs(
                scorer, feature, data, mask, lr, self.num_epochs, state
            )
            # Scores alone are no state of a model that predicts by strengths.
            must_finish = self.stages == 'both'
            run.epochs(
                epochs,
                'stage 1',
                self.num_epochs,
                state.num_done('stage 1'),
                must_finish,
            )
            check_converged(scorer, 1, lr)
            reference = reference_proba(scorer, feature, data)
        share = torch.empty(0, dtype=torch.double, device=mask.device)
        num_anchors = anchors_per_hyperedge(data, mask)
        if self.stages != 'first':
            y = data['y']
            problem = alignment_problem(reference, data, y, mask, self.alignment)
            alpha = self.alpha if self.stages == 'both' else 0.0
            strengths = AnchorStrength(int(data.num_nodes or 0)).to(mask.device)
            lr = self.lr_stage2
            epochs = strength_epochs(
                strengths, problem, alpha, lr, self.num_epochs, data.ranks, state
            )
            num_done = state.num_done('stage 2')
            run.epochs(epochs, 'stage 2', self.num_epochs, num_done)
            strengths.strength.grad = None
            # They take as much memory as all that is left to do.
            del epochs, problem
            check_converged(strengths, 2, lr)
            strength = strengths.strength.detach()
            share = self._share(strength, data, y, mask, num_anchors)
        memory = Memory().to(mask.device)
        if strengths is not None and data.part is None:
            memory, _ = memory.extended(data, mask, reference)
        self.scorer, self.strengths, self.share = scorer, strengths, share
        self.memory = memory
        self.fitted_on = self._fingerprint(data)
        self.num_anchors = torch.full_like(self.num_anchors, num_anchors)
        self.scale = scale

    def update(self, data: AnchorData, same_people: bool | None = None) -> Self:
        r"""Adds the groups of a hypergraph to those that the model remembers, with the
        anchors that are known there (:obj:`train_mask`, or without one :obj:`y`), and
        learns all strengths again. Takes seconds, since stage 1 stays as it is.

        :meth:`predict` takes the groups and known anchors of its hypergraph into
        account as well, but forgets them afterwards. After an update they count in all
        later predictions, also in those for the hypergraph that the model was fitted
        on. A group with the same :obj:`hyperedge_id` and the same members as a
        remembered one takes its place.

        Args:
            data (AnchorData): The hypergraph.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)
        """
        self._check_fitted()
        check_data(data)
        if self.strengths is None:
            raise ValueError(
                "'update' needs strengths: fit with 'stages' other than 'first'"
            )
        if not self.memory.people.are_in(data, same_people):
            raise ValueError(
                "'data' must be about people that the model knows, with the same "
                "'source' and with 'node_id' (or pass 'same_people=True')"
            )
        memory, _ = self._remember(data)
        self.strengths, self.share = self._learn_again(memory)
        self.memory = memory
        # The model no longer belongs to a single hypergraph.
        self.fitted_on = torch.zeros_like(self.fitted_on)
        return self

    def _checkpoint(
        self, data: AnchorData, mask: Tensor, run: FitRun
    ) -> StageCheckpoint:
        # Hypergraphs in memory are fitted in seconds, and need none.
        folder = None if data.part is None else run.checkpoint
        identity = ''
        if folder is not None and data.part is not None:
            chosen = mask.nonzero().view(-1) + data.part.first_hyperedge
            code = data.ranks.sum_(mix_bits(chosen).sum())
            size = data.ranks.size
            identity = digest(
                self.get_params(), self._fingerprint(data), int(code), size
            )
        return StageCheckpoint(folder, identity, data.ranks, mask.device)

    def _options(self) -> StageOptions:
        return StageOptions(
            self.hidden_channels, self.num_epochs, self.alignment, self.seed
        )

    def _share(
        self,
        strength: Tensor,
        data: AnchorData,
        y: Tensor,
        mask: Tensor,
        num_anchors: int,
        weighted_degree: bool = False,
    ) -> Tensor:
        if self.w is None:
            return torch.empty(0, dtype=torch.double, device=mask.device)
        return aggregate_strength(
            strength,
            data.hyperedge_index,
            data.num_hyperedges,
            y,
            mask,
            self.w,
            num_anchors,
            self.seed,
            weighted_degree,
            0 if data.part is None else data.part.first_incidence,
            data.ranks,
        )

    # Predicting ##############################################################

    def predict_proba(
        self, data: AnchorData | ShardedAnchorData, same_people: bool | None = None
    ) -> Tensor:
        r"""Computes the probability that each member is the anchor of its hyperedge: in
        proportion to :math:`\hat{p}_v`, or without aggregation the softmax of
        strengths, or of scores with stage 1 only; then calibrated, if the model is
        (:obj:`calibrated`), which does not change the order of members.

        Args:
            data (AnchorData or ShardedAnchorData): The hypergraph the model was fitted
                on, or another one; of shards, those of this process are predicted.
            same_people (bool, optional): Whether equal :obj:`node_id` are the same
                people; if :obj:`None`, :obj:`source` decides. If set to :obj:`False`,
                nothing is used that the model remembers about people, not even in the
                hypergraph it was fitted on. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge; in double
              precision, or in that of the scores with stage 1 only
        """
        data = as_hypergraph(data)
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
        hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
        if self.strengths is None and self.scorer is not None:
            return reference_proba(self.scorer, self._features(data), data)
        strength, share = self._strength_and_share(data, same_people)
        if self.w is None:
            return softmax(strength[data.hyperedge_index[0]], hyperedge, num_nodes=size)
        if share.numel() < strength.numel():
            raise ValueError(
                f"'w' must be None, as it was when the model was fitted (got {self.w})"
            )
        out = share.new_empty(data.num_incidences)
        # In blocks, since there are many vectors over incidences on the way.
        for block in hyperedge_blocks(hyperedge, size):
            node, group = block.incidences(data.hyperedge_index)
            count = torch.bincount(group, minlength=block.last - block.first)
            value = share[node]
            total = scatter(value, group, 0, count.numel(), 'sum')[group]
            even = 1 / count.to(value.dtype)[group]
            out[block.rows] = torch.where(total > 0, value / total, even)
        return out

    def write_predictions(
        self,
        data: ShardedAnchorData,
        root: str | PathLike[str],
        known: Known = 'keep',
        same_people: bool | None = None,
    ) -> dict[str, int]:
        r"""Writes the table of :meth:`predictions` of each shard to a Parquet file in a
        folder, and returns the numbers of groups, people and anchors. Each process
        writes those of its own shards. The folder appears when it is complete, and
        replaces an older one.

        Args:
            data (ShardedAnchorData): The hypergraph.
            root (str or os.PathLike): The folder.
            known (str, optional): As in :meth:`predictions`.
                (default: :obj:`"keep"`)
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)
        """
        check_known(known)
        if not isinstance(data, ShardedAnchorData):
            raise ValueError(
                f"'data' must be a ShardedAnchorData (got {type(data).__name__}): "
                f"use 'predictions' for it"
            )
        proba = self.predict_proba(data, same_people)
        keep = known == 'keep'
        return write_shard_predictions(proba, data, root, keep, self.seed)

    def node_strength(
        self, data: AnchorData | ShardedAnchorData, same_people: bool | None = None
    ) -> Tensor:
        r"""Computes the strength of each node of a hypergraph, by which
        :meth:`predict_proba` predicts its anchors.

        Args:
            data (AnchorData or ShardedAnchorData): The hypergraph the model was fitted
                on, or another one; of shards, those of this process are predicted.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(N)`
        """
        data = as_hypergraph(data)
        self._check_fitted()
        check_data(data)
        if self.strengths is None:
            raise ValueError(
                "'node_strength' needs strengths: fit with 'stages' other than 'first'"
            )
        return self._strength_and_share(data, same_people)[0]

    def evidence(
        self, data: AnchorData, same_people: bool | None = None
    ) -> tuple[Memory, Tensor]:
        r"""Returns the groups that count in the strengths by which
        :meth:`predict_proba` predicts, remembered ones included, and the number of each
        node among their people.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.
            same_people (bool, optional): As in :meth:`predict_proba`.
                (default: :obj:`None`)

        Shapes:
            - **output:** the memory, and :math:`(N)` numbers
        """
        self._check_fitted()
        if self.strengths is None:
            return super().evidence(data, same_people)
        check_data(data)
        device = data.hyperedge_index.device
        is_fitted = self._is_same(self.fitted_on, self._fingerprint(data))
        if is_fitted and same_people is not False:
            if self.memory.num_people < data.num_nodes:
                raise ValueError(
                    'the model was fitted on shards and does not remember their '
                    'groups: fit it on a hypergraph in memory to explain it'
                )
            return self.memory, torch.arange(int(data.num_nodes or 0), device=device)
        unknown = torch.zeros(data.num_incidences, device=device)
        if self.memory.people.are_in(data, same_people):
            return self.memory.extended(data, evidence_mask(data), unknown)
        nothing = torch.zeros(data.num_hyperedges, dtype=torch.bool, device=device)
        return Memory().extended(data, nothing, unknown)

    def _check_fitted(self) -> None:
        if self.fitted_on[0] < 0:
            raise ValueError("'AnchorRadar' is not fitted yet: call 'fit' first")

    def _strength_and_share(
        self, data: AnchorData, same_people: bool | None
    ) -> tuple[Tensor, Tensor]:
        is_fitted = self._is_same(self.fitted_on, self._fingerprint(data))
        if is_fitted and same_people is not False:
            return self.strength, self.share
        if not self.memory.people.are_in(data, same_people):
            return self._transfer(data)
        memory, number = self._remember(data)
        strengths, share = self._learn_again(memory)
        strength = strengths.strength.detach()[number]
        return strength, share if self.w is None else share[number]

    def _remember(self, data: AnchorData) -> tuple[Memory, Tensor]:
        # The memory with the groups of a hypergraph, and the numbers of its nodes.
        device = data.hyperedge_index.device
        reference = torch.zeros(data.num_incidences, device=device)
        if self.scorer is not None:
            reference = reference_proba(self.scorer, self._features(data), data)
        return self.memory.extended(data, evidence_mask(data), reference)

    def _learn_again(self, memory: Memory) -> tuple[AnchorStrength, Tensor]:
        # Learns the strengths of all people in a memory.
        groups = memory.hypergraph()
        y, mask = memory.y, memory.known_mask
        # Newcomers have nothing but the scores to learn from.
        alpha = 0.0 if self.scorer is None else max(self.alpha, _MIN_ALPHA)
        strengths = self._learn(memory.reference, groups, y, mask, alpha)
        # For some people all anchors are known, for newcomers none.
        share = self._share(
            strengths.strength.detach(),
            groups,
            y,
            mask,
            int(self.num_anchors),
            weighted_degree=True,
        )
        return strengths, share

    def _learn(
        self,
        reference: Tensor,
        data: AnchorData,
        y: Tensor,
        mask: Tensor,
        alpha: float,
    ) -> AnchorStrength:
        # Learns strengths of nodes among which there may be some without known anchors.
        alignment: Alignment = 'all' if self.alignment == 'known' else self.alignment
        problem = alignment_problem(reference, data, y, mask, alignment)
        strengths = AnchorStrength(int(data.num_nodes or 0)).to(reference.device)
        lr = self.lr_stage2
        for _ in strength_epochs(
            strengths, problem, alpha, lr, self.num_epochs, data.ranks
        ):
            pass
        strengths.strength.grad = None
        check_converged(strengths, 2, lr)
        return strengths

    def _features(self, data: AnchorData) -> FeatureRows:
        feature = FeatureRows(data, self.scale)
        width = feature.num_columns
        if self.scorer is not None and width != self.scorer.in_channels:
            raise ValueError(
                f"'data' must have {self.scorer.in_channels} features per incidence, "
                f'as the model was fitted with (got {width})'
            )
        return feature

    def _transfer(self, data: AnchorData) -> tuple[Tensor, Tensor]:
        # Learns strengths on another hypergraph, from the scores of stage 1 alone.
        if self.scorer is None:
            raise ValueError(
                "'data' must be about people that the model knows, with the same "
                "'source' and with 'node_id': without stage 1 it cannot predict others "
                "('stages' is 'second')"
            )
        reference = reference_proba(self.scorer, self._features(data), data)
        mask = torch.zeros(
            data.num_hyperedges, dtype=torch.bool, device=reference.device
        )
        y = torch.zeros(data.num_incidences, dtype=torch.bool, device=reference.device)
        # Alone in the loss, the alignment needs no weight.
        strength = self._learn(reference, data, y, mask, 1.0).strength.detach()
        return strength, self._share(strength, data, y, mask, int(self.num_anchors))

    def _allocate(self, state: Mapping[str, Any]) -> None:
        device = self.fitted_on.device
        weight = state.get('scorer.mlp.lins.0.weight')
        self.scorer = None
        if weight is not None:
            self.scorer = new_scorer(weight.size(1), self._options()).to(device)
        strength = state.get('strengths.strength')
        self.strengths = None
        if strength is not None:
            self.strengths = AnchorStrength(strength.size(0)).to(device)
        self.memory = Memory().to(device)
        for name in ('share', 'fitted_on', 'num_anchors', 'scale'):
            if name in state:
                setattr(self, name, torch.empty_like(state[name], device=device))

    def _check_state(self) -> None:
        self.memory.validate()
        num_people = -1 if self.strengths is None else self.strength.numel()
        for name, is_float, shapes in (
            ('fitted_on', False, [(5,)]),
            ('num_anchors', False, [()]),
            ('share', True, [(0,), (num_people,)]),
            ('scale', True, [(2, self.scale.size(-1))]),
        ):
            value = getattr(self, name)
            if value.is_floating_point() != is_float or value.size() not in shapes:
                raise ValueError(
                    f"'{name}' does not fit the rest (got {value.dtype} of shape "
                    f'{list(value.size())})'
                )
        # No more than a group has members; groups in shards are not remembered.
        count = int(self.num_anchors)
        size = self.memory.hyperedge_index.size(1) or max(num_people, 1)
        if self.strengths is not None and not 1 <= count <= size:
            raise ValueError(f"'num_anchors' must lie in [1, {size}] (got {count})")

    # Choosing hyperparameters ################################################

    @classmethod
    def tune(
        cls,
        data: AnchorData | Sequence[AnchorData],
        grid: Mapping[str, Sequence[float | None]] = PAPER_GRID,
        path: str | Path | None = None,
        progress: bool = True,
        **kwargs: Any,
    ) -> TuneResult[Self]:
        r"""Searches a grid for the best mean accuracy on :obj:`val_mask` over all
        splits. Stage 1 runs once per split and :obj:`lr_stage1`, stage 2 once per
        :obj:`lr_stage2` for all :obj:`alpha` together; trying all :obj:`w` costs
        nothing extra.

        Args:
            data (AnchorData or list[AnchorData]): The hypergraph with
                :obj:`train_mask` and :obj:`val_mask`, of one or several splits; or one
                hypergraph per split.
            grid (dict, optional): The values of :obj:`lr_stage1`, :obj:`lr_stage2`,
                :obj:`alpha` and :obj:`w` to try. (default: that of the paper)
            path (str, optional): A CSV file to which results are added one by one. If
                it exists, the search continues from it. (default: :obj:`None`)
            progress (bool, optional): If set to :obj:`False`, shows no progress bar.
                (default: :obj:`True`)
            **kwargs: Further arguments of the constructor.
        """
        for name in kwargs:
            if name in PAPER_GRID or name == 'stages':
                raise ValueError(
                    f"{name!r} must not be given: 'grid' sets {', '.join(PAPER_GRID)}, "
                    f"and 'stages' is 'both'"
                )
        axes = check_grid(grid)
        for name, values in axes.items():
            for value in values:
                # The constructor knows the range of each argument.
                point: dict[str, Any] = {name: value}
                cls(**point)
        options = cls(**kwargs)._options()
        table, best, first = search_grid(data, axes, options, path, progress)
        return TuneResult(table, best, cls(**{**kwargs, **best}).fit(first))

    def __repr__(self) -> str:
        params = ', '.join(f'{k}={v!r}' for k, v in self.get_params().items())
        return f'{self.__class__.__name__}({params})'
