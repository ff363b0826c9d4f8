"""The method of the paper: score, strengthen, aggregate."""

import math
import warnings
from collections.abc import Iterator, Mapping, Sequence
from numbers import Integral, Real
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch_geometric.utils import scatter, softmax
from tqdm import tqdm
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.functional import (
    StrengthProblem,
    aggregate_strength,
    anchor_target,
    strength_problem,
)
from tgx_anchor.nn.functional.anchor_cross_entropy import target_cross_entropy
from tgx_anchor.nn.functional.strength_loss import (
    ALIGNMENTS,
    Alignment,
    StrengthBuffers,
    strength_gradient,
)
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.nn.predictors.anchor_model import (
    AnchorModel,
    anchors_per_hyperedge,
    check_data,
    fingerprint,
    topology,
    training_mask,
)
from tgx_anchor.nn.predictors.incidence_features import (
    attribute_scale,
    incidence_features,
)
from tgx_anchor.nn.predictors.tuning import (
    PAPER_GRID,
    TuneResult,
    search_grid,
)

Stages = Literal['both', 'first', 'second']
_STAGES: tuple[Stages, ...] = ('both', 'first', 'second')

# lr_stage1, lr_stage2, alpha, w: the published choices.
PAPER_PARAMS: dict[str, tuple[float, float, float, float | None]] = {
    'coAA_first': (0.01, 0.1, 0.06, 7),
    'coAA_last': (0.01, 0.1, 0.09, 4),
    'coDB_first': (0.01, 0.1, 0.06, 10),
    'coDB_last': (0.001, 0.1, 0.09, 3),
    'coSM_first': (0.001, 0.1, 0.06, 6),
    'coSM_last': (0.01, 0.01, 0.3, 2),
    'qaBI': (0.1, 0.1, 0.06, 4),
    'qaPH': (0.1, 0.01, 0.3, 4),
    'qaMA': (0.01, 0.01, 0.06, 1),
    'qaST': (0.001, 0.001, 0.9, 9),
    'emEN': (0.01, 0.1, 0.2, 9),
    'emEU': (0.001, 0.1, 0.08, 2),
    'emER': (0.01, 0.01, 0.9, 3),
    'soME': (0.01, 0.1, 0.06, 10),
    'soRE': (0.001, 0.001, 0.0, 1),
    'moML': (0.1, 0.1, 1.0, None),
}

# Rows that pass through the network at once, few enough for their hidden layer to
# reuse memory.
_CHUNK_ROWS = 1 << 15


class AnchorRadar(AnchorModel):
    r"""AnchorRadar from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper.

    #. **Stage 1.** A small MLP scores every incidence from its features,
       :math:`s^{(1)}_{v;e}`, and learns from the known anchors
       (:class:`~tgx_anchor.nn.IncidenceScorer`).
    #. **Stage 2.** Every node gets one strength :math:`s^{(2)}_v`, which explains the
       known anchors and, with weight :math:`\alpha`, agrees with the scores of stage 1
       in all hyperedges (:class:`~tgx_anchor.nn.AnchorStrength`,
       :func:`~tgx_anchor.nn.functional.strength_loss`).
    #. **Aggregation.** The strongest member of each hyperedge is taken for its anchor,
       and what counts is the share :math:`\hat{p}_v` of its hyperedges that a node
       would then anchor, known ones with weight :math:`w`
       (:func:`~tgx_anchor.nn.functional.aggregate_strength`).

    The features are :obj:`incidence_attr`, as
    :class:`~tgx_anchor.transforms.AddTopologicalFeatures` makes them, followed by the
    standardised :obj:`x` of the node and :obj:`hyperedge_attr` of the hyperedge where
    there are any. With :math:`F` features and :math:`D` hidden units there are
    :math:`D (F + 2) + 1 + N` learnable parameters.

    On another hypergraph than the one it was fitted on, even if it differs by a single
    group, the model predicts inductively: stage 1 scores it, and stage 2 learns
    strengths there from these scores alone. Known anchors there do not count: to use
    them, fit again, which takes seconds.

    .. code-block:: python

        model = AnchorRadar.from_paper('qaBI').fit(data)
        model.predict(data)         # [M] node numbers
        model.predict_proba(data)   # [P], sums to one in each hyperedge
        model.strength              # [N]

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
        seed (int, optional): Decides the first weights of the MLP, and the draws
            between equals. (default: :obj:`0`)
    """

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
    ) -> None:
        super().__init__(seed)
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
        if stages not in _STAGES:
            raise ValueError(
                f"'stages' must be one of {', '.join(_STAGES)} (got {stages!r})"
            )
        # Plain numbers, since NumPy's could be saved with the model, but not loaded.
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
        self.register_buffer('share', torch.empty(0, dtype=torch.double))
        self.register_buffer('fitted_on', torch.full((4,), -1))
        self.register_buffer('num_anchors', torch.ones((), dtype=torch.long))
        self.register_buffer('scale', torch.empty((2, 0), dtype=torch.double))

    @classmethod
    def from_paper(cls, setting: str, **kwargs: Any) -> Self:
        r"""A model with the published hyperparameters of a setting.

        Args:
            setting (str): The dataset, with its kind of anchor where there are several:
                :obj:`"qaBI"`, :obj:`"coDB_last"`.
            **kwargs: Further arguments of the constructor, which win.
        """
        if setting not in PAPER_PARAMS:
            raise ValueError(
                f"'setting' must be one of {', '.join(PAPER_PARAMS)} (got {setting!r})"
            )
        names = ('lr_stage1', 'lr_stage2', 'alpha', 'w')
        published = dict(zip(names, PAPER_PARAMS[setting], strict=True))
        return cls(**{**published, **kwargs})

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters; what :meth:`fit` has found is lost."""
        if self.scorer is not None:
            fresh = self._new_scorer(self.scorer.in_channels)
            self.scorer = fresh.to(self.fitted_on.device)
        if self.strengths is not None:
            self.strengths.reset_parameters()
        self.share = self.share.new_empty(0)
        self.fitted_on = torch.full_like(self.fitted_on, -1)
        self.num_anchors = torch.ones_like(self.num_anchors)
        self.scale = self.scale.new_empty((2, 0))

    @property
    def strength(self) -> Tensor:
        r"""The learnt strength of each node, :math:`(N)`."""
        if self.strengths is None:
            raise ValueError(
                "'strength' must be learnt first: call 'fit', with 'stages' other than "
                "'first' (got none)"
            )
        return self.strengths.strength.detach()

    def forward(self, feature: Tensor) -> Tensor:
        r"""The score :math:`s^{(1)}_{v;e}` of stage 1.

        Args:
            feature (torch.Tensor): The features of the incidences.

        Shapes:
            - **feature:** :math:`(P, F)`
            - **output:** :math:`(P)`
        """
        if self.scorer is None:
            raise ValueError("'AnchorRadar' must be fitted before it scores (got none)")
        out: Tensor = self.scorer(feature)
        return out

    # Learning ################################################################

    def fit(
        self, data: AnchorData, use_val: bool = False, progress: bool = False
    ) -> Self:
        r"""Learns both stages from :obj:`data.train_mask`, or without one from all
        hyperedges with a known anchor that leave a choice. If anything is wrong with
        the data, the model stays as it was.

        Args:
            data (AnchorData): The hypergraph.
            use_val (bool, optional): If set to :obj:`True`, learns from
                :obj:`data.val_mask`, too, once the hyperparameters are chosen.
                (default: :obj:`False`)
            progress (bool, optional): If set to :obj:`True`, shows a progress bar.
                (default: :obj:`False`)
        """
        mask = training_mask(data, use_val)
        scorer = strengths = None
        reference = torch.zeros(data.num_incidences, device=mask.device)
        if self.stages != 'second':
            scorer, reference = self._first_stage(data, mask, self.lr_stage1, progress)
        share = torch.empty(0, dtype=torch.double, device=mask.device)
        num_anchors = anchors_per_hyperedge(data, mask)
        if self.stages != 'first':
            strengths = self._second_stage(
                data,
                strength_problem(
                    reference, *topology(data), data['y'], mask, self.alignment
                ),
                self.alpha if self.stages == 'both' else 0.0,
                progress,
            )
            strength = strengths.strength.detach()
            share = self._share(strength, data, data['y'], mask, num_anchors)
        self.scorer, self.strengths, self.share = scorer, strengths, share
        self.fitted_on = fingerprint(data)
        self.num_anchors = torch.full_like(self.num_anchors, num_anchors)
        self.scale = attribute_scale(data)
        return self

    def _first_stage(
        self, data: AnchorData, mask: Tensor, lr: float, progress: bool
    ) -> tuple[IncidenceScorer, Tensor]:
        feature = incidence_features(data, attribute_scale(data))
        scorer = self._fit_scorer(feature, data, mask, lr, progress)
        return scorer, self._reference(scorer, feature, data)

    def _second_stage(
        self, data: AnchorData, problem: StrengthProblem, alpha: float, progress: bool
    ) -> AnchorStrength:
        strengths = AnchorStrength(int(data.num_nodes or 0))
        strengths.to(data.hyperedge_index.device)
        self._fit_strengths(strengths, problem, alpha, self.lr_stage2, progress)
        return strengths

    def _new_scorer(self, in_channels: int) -> IncidenceScorer:
        # Only the generator of the CPU draws here: others stay as they are.
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(self.seed)
            return IncidenceScorer(in_channels, self.hidden_channels)

    def _fit_scorer(
        self,
        feature: Tensor,
        data: AnchorData,
        mask: Tensor,
        lr: float,
        progress: bool,
    ) -> IncidenceScorer:
        # Only the known hyperedges take part, so only their rows are touched.
        row = mask[data.hyperedge_index[1]]
        known_feature = feature[row]
        hyperedge = (mask.long().cumsum(0) - 1)[data.hyperedge_index[1][row]]
        weight = known_feature.new_ones(int(mask.sum()))
        target = anchor_target(data['y'][row], hyperedge, weight > 0)
        # The loss is a sum over hyperedges: whole ones pass in blocks of rows.
        end = hyperedge.bincount(minlength=weight.numel()).cumsum(0)
        number = torch.unique_consecutive(end // _CHUNK_ROWS, return_counts=True)[1]
        first = number.cumsum(0) - number
        rows = torch.diff(end[first + number - 1], prepend=end.new_zeros(1)).tolist()
        blocks = list(
            zip(
                known_feature.split(rows),
                target.to(weight.dtype).split(rows),
                weight.split(number.tolist()),
                (hyperedge - first.repeat_interleave(number)[hyperedge]).split(rows),
                strict=True,
            )
        )
        scorer = self._new_scorer(feature.size(1)).to(feature.device)
        optimizer = torch.optim.Adam(scorer.parameters(), lr=lr)
        for _ in self._epochs('stage 1', progress):
            optimizer.zero_grad()
            for part, *known in blocks:
                target_cross_entropy(scorer(part), *known).backward()
            optimizer.step()
        if not all(torch.isfinite(p).all() for p in scorer.parameters()):
            raise ValueError(
                f"'lr_stage1' must be smaller: stage 1 diverged (got {lr})"
            )
        return scorer

    def _fit_strengths(
        self,
        strengths: AnchorStrength,
        problem: StrengthProblem,
        alpha: float | Tensor,
        lr: float,
        progress: bool,
    ) -> None:
        # One column per weight; the gradient in closed form needs no graph.
        strength = strengths.strength
        strength.grad = torch.zeros_like(strength)
        table, out = (
            value if value.dim() == 2 else value.unsqueeze(1)
            for value in (strength.detach(), strength.grad)
        )
        weight = torch.as_tensor(alpha, dtype=table.dtype, device=table.device)
        buffers = StrengthBuffers(problem, table.size(1))
        optimizer = torch.optim.Adam([strength], lr=lr, fused=True)
        for _ in self._epochs('stage 2', progress):
            strength_gradient(table, problem, weight, out, buffers)
            optimizer.step()
        strength.grad = None
        if not torch.isfinite(strength).all():
            raise ValueError(
                f"'lr_stage2' must be smaller: stage 2 diverged (got {lr})"
            )

    def _epochs(self, name: str, progress: bool) -> Iterator[int]:
        return iter(tqdm(range(self.num_epochs), desc=name, disable=not progress))

    def _reference(
        self, scorer: IncidenceScorer, feature: Tensor, data: AnchorData
    ) -> Tensor:
        # The probabilities of stage 1, those that stage 2 is aligned with.
        with torch.no_grad():
            score = torch.cat([scorer(part) for part in feature.split(_CHUNK_ROWS)])
        return softmax(score, data.hyperedge_index[1], num_nodes=data.num_hyperedges)

    def _share(
        self,
        strength: Tensor,
        data: AnchorData,
        y: Tensor,
        mask: Tensor,
        num_anchors: int,
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
            torch.Generator().manual_seed(self.seed),
        )

    # Predicting ##############################################################

    def predict_proba(self, data: AnchorData) -> Tensor:
        r"""The probability that each member is the anchor of its hyperedge: in
        proportion to :math:`\hat{p}_v`, or without aggregation the softmax of
        strengths, or of scores with stage 1 only.

        Args:
            data (AnchorData): The hypergraph the model was fitted on, or another one.

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge; in double
              precision, or in that of the scores with stage 1 only
        """
        if self.fitted_on[0] < 0:
            raise ValueError(
                "'AnchorRadar' must be fitted before it predicts (got none)"
            )
        check_data(data)
        hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
        if self.strengths is None and self.scorer is not None:
            return self._reference(self.scorer, self._features(data), data)
        if torch.equal(self.fitted_on, fingerprint(data)):
            strength, share = self.strength, self.share
        else:
            strength, share = self._transfer(data)
        if self.w is None:
            return softmax(strength[data.hyperedge_index[0]], hyperedge, num_nodes=size)
        if share.numel() < strength.numel():
            raise ValueError(
                f"'w' must be None, as it was when the model was fitted (got {self.w})"
            )
        value = share[data.hyperedge_index[0]]
        total = scatter(value, hyperedge, 0, size, 'sum')[hyperedge]
        count = torch.bincount(hyperedge, minlength=size)[hyperedge]
        return torch.where(total > 0, value / total, 1 / count)

    def _features(self, data: AnchorData) -> Tensor:
        feature = incidence_features(data, self.scale)
        if self.scorer is not None:
            feature = feature.to(next(self.scorer.parameters()).dtype)
        if self.scorer is not None and feature.size(1) != self.scorer.in_channels:
            raise ValueError(
                f"'data' must have {self.scorer.in_channels} features per incidence, "
                f'as the model was fitted with (got {feature.size(1)})'
            )
        return feature

    def _transfer(self, data: AnchorData) -> tuple[Tensor, Tensor]:
        # Strengths on a hypergraph that was never seen, from its scores alone.
        if self.scorer is None:
            raise ValueError(
                "'data' must be the hypergraph that the model was fitted on, since "
                "'stages' is 'second' (got another one)"
            )
        if int(self.fitted_on[0]) == data.num_nodes:
            warnings.warn(
                "'data' has the nodes of the hypergraph that the model was fitted on, "
                'but other hyperedges: known anchors and learnt strengths do not count '
                'there, fit again to use them',
                stacklevel=3,
            )
        reference = self._reference(self.scorer, self._features(data), data)
        nothing = torch.zeros(
            data.num_hyperedges, dtype=torch.bool, device=reference.device
        )
        y = torch.zeros(data.num_incidences, dtype=torch.bool, device=reference.device)
        alignment: Alignment = 'all' if self.alignment == 'known' else self.alignment
        problem = strength_problem(reference, *topology(data), y, nothing, alignment)
        # Alone in the loss, the alignment needs no weight.
        strengths = self._second_stage(data, problem, 1.0, False)
        strength = strengths.strength.detach()
        share = self._share(strength, data, y, nothing, int(self.num_anchors))
        return strength, share

    def _allocate(self, state: Mapping[str, Any]) -> None:
        device = self.fitted_on.device
        weight = state.get('scorer.mlp.lins.0.weight')
        self.scorer = None
        if weight is not None:
            self.scorer = self._new_scorer(weight.size(1)).to(device)
        strength = state.get('strengths.strength')
        self.strengths = None
        if strength is not None:
            self.strengths = AnchorStrength(strength.size(0)).to(device)
        for name in ('share', 'fitted_on', 'num_anchors', 'scale'):
            if name in state:
                setattr(self, name, torch.empty_like(state[name], device=device))

    # Choosing hyperparameters ################################################

    @classmethod
    def tune(
        cls,
        data: AnchorData | Sequence[AnchorData],
        grid: Mapping[str, Sequence[float | None]] = PAPER_GRID,
        path: str | Path | None = None,
        progress: bool = True,
        **kwargs: Any,
    ) -> TuneResult:
        r"""Searches a grid for the best mean accuracy on :obj:`val_mask` over all
        splits. Stage 1 runs once per split and :obj:`lr_stage1`, stage 2 once per
        :obj:`lr_stage2` for all :obj:`alpha` together, and all :obj:`w` are free.

        Args:
            data (AnchorData or list[AnchorData]): The hypergraph with
                :obj:`train_mask` and :obj:`val_mask`, of one or several splits; or one
                hypergraph per split.
            grid (dict, optional): The values of :obj:`lr_stage1`, :obj:`lr_stage2`,
                :obj:`alpha` and :obj:`w` to try. (default: that of the paper)
            path (str, optional): A CSV file that takes each result as it comes; if it
                is there already, the search goes on where it stopped.
                (default: :obj:`None`)
            progress (bool, optional): Whether to show a progress bar.
                (default: :obj:`True`)
            **kwargs: Further arguments of the constructor.
        """
        return search_grid(cls, data, grid, path, progress, kwargs)

    def __repr__(self) -> str:
        params = ', '.join(f'{k}={v!r}' for k, v in self.get_params().items())
        return f'{self.__class__.__name__}({params})'
