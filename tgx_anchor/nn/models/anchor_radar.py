"""The method of the paper: score, strengthen, aggregate."""

import copy
import csv
import hashlib
import io
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor
from torch_geometric.utils import scatter, softmax
from tqdm import tqdm
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import anchor_accuracy
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
from tgx_anchor.nn.models.anchor_model import (
    AnchorModel,
    known_hyperedges,
    training_mask,
)
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.models.incidence_scorer import IncidenceScorer
from tgx_anchor.utils import incidence_fingerprint

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

# The search space of the paper: 3 x 3 x 20 x 11 points.
PAPER_GRID: dict[str, tuple[float | None, ...]] = {
    'lr_stage1': (0.001, 0.01, 0.1),
    'lr_stage2': (0.001, 0.01, 0.1),
    'alpha': (0.0, *(i / 100 for i in range(1, 10)), *(i / 10 for i in range(1, 11))),
    'w': (None, *map(float, range(1, 11))),
}

# Rows that pass through the network at once, few enough for their hidden layer to
# reuse memory; and values that the search keeps in memory at once.
_CHUNK_ROWS = 1 << 15
_CHUNK_VALUES = 1 << 25


_FEATURES = ('incidence_attr', 'x', 'hyperedge_attr')


class AnchorRadar(AnchorModel):
    r"""AnchorRadar from the *"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity"* paper.

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

    On another hypergraph than the one it was fitted on, the model predicts
    inductively: stage 1 scores it, and stage 2 learns strengths there from these
    scores alone.

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
        for name, rate in (('lr_stage1', lr_stage1), ('lr_stage2', lr_stage2)):
            if not 0 < rate < math.inf:
                raise ValueError(f"'{name}' must be positive (got {rate})")
        for name, count in (
            ('hidden_channels', hidden_channels),
            ('num_epochs', num_epochs),
        ):
            if count < 1:
                raise ValueError(f"'{name}' must be positive (got {count})")
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
        r"""Resets all learnable parameters."""
        if self.scorer is not None:
            self.scorer = self._new_scorer(self.scorer.in_channels)
        if self.strengths is not None:
            self.strengths.reset_parameters()

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
        y = data['y']
        scorer = strengths = None
        reference = torch.zeros(data.num_incidences, device=mask.device)
        if self.stages != 'second':
            feature = incidence_features(data)
            scorer = self._fit_scorer(feature, data, mask, self.lr_stage1, progress)
            reference = self._reference(scorer, feature, data)
        share = torch.empty(0, dtype=torch.double, device=mask.device)
        if self.stages != 'first':
            problem = strength_problem(
                reference, *_topology(data), y, mask, self.alignment
            )
            alpha = self.alpha if self.stages == 'both' else 0.0
            strengths = AnchorStrength(int(data.num_nodes or 0)).to(mask.device)
            self._fit_strengths(strengths, problem, alpha, self.lr_stage2, progress)
            share = self._share(strengths.strength.detach(), data, y, mask)
        self.scorer, self.strengths, self.share = scorer, strengths, share
        self.fitted_on = _fingerprint(data)
        return self

    def _new_scorer(self, in_channels: int) -> IncidenceScorer:
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.seed)
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
        strength.grad = torch.empty_like(strength)
        table, out = (
            value.view(strength.size(0), -1)
            for value in (strength.detach(), strength.grad)
        )
        weight = torch.as_tensor(alpha, dtype=table.dtype, device=table.device)
        buffers = StrengthBuffers(problem, table.size(1))
        optimizer = torch.optim.Adam([strength], lr=lr, fused=True)
        for _ in self._epochs('stage 2', progress):
            strength_gradient(table, problem, weight, out, buffers)
            optimizer.step()
        strength.grad = None

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
        self, strength: Tensor, data: AnchorData, y: Tensor, mask: Tensor
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
            _num_anchors(data, y, mask),
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
            - **output:** :math:`(P)`, sums to one in each hyperedge
        """
        if self.scorer is None and self.strengths is None:
            raise ValueError(
                "'AnchorRadar' must be fitted before it predicts (got none)"
            )
        hyperedge, size = data.hyperedge_index[1], data.num_hyperedges
        if self.strengths is None and self.scorer is not None:
            return self._reference(self.scorer, self._features(data), data)
        if torch.equal(self.fitted_on, _fingerprint(data)):
            strength, share = self.strength, self.share
        else:
            strength, share = self._transfer(data)
        if self.w is None:
            return softmax(strength[data.hyperedge_index[0]], hyperedge, num_nodes=size)
        value = share[data.hyperedge_index[0]]
        total = scatter(value, hyperedge, 0, size, 'sum')[hyperedge]
        count = torch.bincount(hyperedge, minlength=size)[hyperedge]
        return torch.where(total > 0, value / total, 1 / count)

    def _features(self, data: AnchorData) -> Tensor:
        feature = incidence_features(data)
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
        reference = self._reference(self.scorer, self._features(data), data)
        nothing = torch.zeros(
            data.num_hyperedges, dtype=torch.bool, device=reference.device
        )
        y = torch.zeros(data.num_incidences, dtype=torch.bool, device=reference.device)
        alignment: Alignment = 'all' if self.alignment == 'known' else self.alignment
        problem = strength_problem(reference, *_topology(data), y, nothing, alignment)
        strengths = AnchorStrength(int(data.num_nodes or 0)).to(reference.device)
        # Alone in the loss, the alignment needs no weight.
        self._fit_strengths(strengths, problem, 1.0, self.lr_stage2, False)
        strength = strengths.strength.detach()
        return strength, self._share(strength, data, y, nothing)

    def _allocate(self, state: dict[str, Tensor]) -> None:
        weight = state.get('scorer.mlp.lins.0.weight')
        if weight is not None:
            self.scorer = self._new_scorer(weight.size(1))
        strength = state.get('strengths.strength')
        if strength is not None:
            self.strengths = AnchorStrength(strength.size(0))
        self.share = torch.empty_like(state['share'])

    # Choosing hyperparameters ################################################

    @classmethod
    def tune(
        cls,
        data: AnchorData | Sequence[AnchorData],
        grid: Mapping[str, Sequence[float | None]] = PAPER_GRID,
        path: str | Path | None = None,
        progress: bool = True,
        **kwargs: Any,
    ) -> 'TuneResult':
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
        axes = _check_grid(cls, grid, kwargs)
        splits = _splits(data)
        model = cls(**kwargs)
        kept = _SearchLog(path, splits, axes, model)
        blocks = list(
            itertools.product(range(len(splits)), axes['lr_stage1'], axes['lr_stage2'])
        )
        bar = tqdm(total=len(blocks), desc='tune', disable=not progress)
        for number, lr_stage1 in itertools.product(
            range(len(splits)), axes['lr_stage1']
        ):
            left = [
                lr
                for lr in axes['lr_stage2']
                if (number, lr_stage1, lr) not in kept.done
            ]
            bar.update(len(axes['lr_stage2']) - len(left))
            if left:
                part, train, val = splits[number]
                feature = incidence_features(part)
                scorer = model._fit_scorer(
                    feature, part, train, lr_stage1 or 0.0, False
                )
                reference = model._reference(scorer, feature, part)
                problem = strength_problem(
                    reference, *_topology(part), part['y'], train, model.alignment
                )
                alpha = torch.tensor(axes['alpha'], dtype=torch.double)
                for lr_stage2 in left:
                    strengths = AnchorStrength(int(part.num_nodes or 0), len(alpha))
                    strengths.to(train.device)
                    model._fit_strengths(
                        strengths,
                        problem,
                        alpha.to(train.device),
                        lr_stage2 or 0.0,
                        False,
                    )
                    table = _accuracy_table(
                        strengths.strength.detach(),
                        part,
                        train,
                        val,
                        axes['w'],
                        model.seed,
                    )
                    kept.add((number, lr_stage1, lr_stage2), table)
                    bar.update()
        bar.close()
        return _summarise(cls, kept, splits, axes, kwargs)

    def __repr__(self) -> str:
        params = ', '.join(f'{k}={v!r}' for k, v in self.get_params().items())
        return f'{self.__class__.__name__}({params})'


@dataclass(frozen=True)
class TuneResult:
    r"""What :meth:`AnchorRadar.tune` found.

    Args:
        table (list[dict]): One row per point of the grid: its hyperparameters, and
            :obj:`val_accuracy` and :obj:`val_std` over the splits.
        best (dict): The hyperparameters of the best point.
        model (AnchorRadar): A model with these, fitted on the first split.
    """

    table: list[dict[str, float | None]]
    best: dict[str, float | None]
    model: AnchorRadar


def incidence_features(data: AnchorData) -> Tensor:
    r"""The features that stage 1 sees: :obj:`incidence_attr`, then the standardised
    :obj:`x` of the node and :obj:`hyperedge_attr` of the hyperedge.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(P, F)`
    """
    node, hyperedge = data.hyperedge_index
    parts = []
    for key, index in zip(_FEATURES, (None, node, hyperedge), strict=True):
        value = data.get(key)
        if value is None:
            continue
        if index is not None:
            value = _standardise(value.double())
        value = value.to(torch.get_default_dtype())
        if not torch.isfinite(value).all():
            raise ValueError(f"'{key}' must be finite (got NaN or infinity)")
        parts.append(value if index is None else value[index])
    if not parts:
        raise ValueError(
            "'data' must have features (got none; 'AddTopologicalFeatures()(data)' "
            'adds the topological ones)'
        )
    return parts[0] if len(parts) == 1 else torch.cat(parts, dim=1)


def _standardise(value: Tensor) -> Tensor:
    # Attributes of the user come in any unit, seconds since 1970 included;
    # topological features are in [0, 1].
    std = value.std(dim=0, correction=0)
    return (value - value.mean(dim=0)) / torch.where(std > 0, std, 1.0)


def _topology(data: AnchorData) -> tuple[Tensor, int, int]:
    return data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges


def _fingerprint(data: AnchorData) -> Tensor:
    index, num_nodes, num_hyperedges = _topology(data)
    code = incidence_fingerprint(index, num_nodes)
    sizes = [num_nodes, num_hyperedges, data.num_incidences, code]
    return torch.tensor(sizes, device=index.device)


def _num_anchors(data: AnchorData, y: Tensor, mask: Tensor) -> int:
    # How many anchors a group has, as far as is known; one if nothing is.
    known = int(mask.sum())
    return max(1, round(int(y[mask[data.hyperedge_index[1]]].sum()) / max(known, 1)))


Split = tuple[AnchorData, Tensor, Tensor]
Block = tuple[int, float | None, float | None]


def _check_grid(
    cls: type[AnchorRadar],
    grid: Mapping[str, Sequence[float | None]],
    kwargs: Mapping[str, Any],
) -> dict[str, tuple[float | None, ...]]:
    names = tuple(PAPER_GRID)
    for name in kwargs:
        if name in names or name == 'stages':
            raise ValueError(
                f"'grid' must decide {', '.join(names)}, and 'stages' be 'both' "
                f'(got {name!r} apart from it)'
            )
    unknown = [name for name in grid if name not in names]
    if unknown:
        raise ValueError(f"'grid' must name {', '.join(names)} (got {unknown[0]!r})")
    axes = {name: tuple(grid.get(name, PAPER_GRID[name])) for name in names}
    for name, values in axes.items():
        if not values or not all(
            isinstance(value, Real) or (name == 'w' and value is None)
            for value in values
        ):
            raise ValueError(f"'grid[{name!r}]' must hold numbers (got {list(values)})")
        axes[name] = tuple(None if value is None else float(value) for value in values)
        for value in axes[name]:
            point: dict[str, Any] = {name: value}
            cls(**point)
    return axes


def _splits(data: AnchorData | Sequence[AnchorData]) -> list[Split]:
    out: list[Split] = []
    for part in [data] if isinstance(data, AnchorData) else data:
        masks = [part.get(name) for name in ('train_mask', 'val_mask')]
        if any(mask is None for mask in masks):
            raise ValueError("'data' must have 'train_mask' and 'val_mask' (got none)")
        train, val = (mask if mask.dim() > 1 else mask.unsqueeze(1) for mask in masks)
        if train.size(1) != val.size(1):
            raise ValueError(
                f"'val_mask' must have as many columns as 'train_mask', that is "
                f'{train.size(1)} (got {val.size(1)})'
            )
        for column in range(train.size(1)):
            single = copy.copy(part)
            single.train_mask = train[:, column]
            single.val_mask = val[:, column]
            judged = known_hyperedges(single, 'val_mask')
            if not judged.any():
                raise ValueError("'val_mask' must hold a hyperedge (got none)")
            out.append((single, training_mask(single), judged))
    if not out:
        raise ValueError("'data' must hold a hypergraph (got none)")
    return out


def _search_code(split: Split, model: AnchorRadar) -> str:
    # Stands for all but the grid that decides the results of a search on a split.
    data, train, val = split
    learnt = data['y'] & (train | val)[data.hyperedge_index[1]]
    text = [
        _fingerprint(data).tolist(),
        [tuple(data[key].size()) for key in _FEATURES if data.get(key) is not None],
        [model.hidden_channels, model.num_epochs, model.alignment, model.seed],
        *(flag.nonzero().view(-1).tolist() for flag in (learnt, train, val)),
    ]
    return hashlib.sha256(repr(text).encode()).hexdigest()[:16]


def _accuracy_table(
    strength: Tensor,
    data: AnchorData,
    train: Tensor,
    val: Tensor,
    weights: Sequence[float | None],
    seed: int,
) -> Tensor:
    # The accuracy on 'val' of each alpha (rows) with each weight (columns).
    node, hyperedge = data.hyperedge_index
    row = val[hyperedge]
    judged, y = node[row], data['y'][row]
    group = (val.long().cumsum(0) - 1)[hyperedge[row]]
    numbers = torch.tensor([w for w in weights if w is not None], dtype=strength.dtype)
    num_anchors = _num_anchors(data, data['y'], train)
    step = max(1, _CHUNK_VALUES // max(data.num_incidences, 1))
    tables = []
    for part in strength.split(step, dim=1):
        share = aggregate_strength(
            part,
            data.hyperedge_index,
            data.num_hyperedges,
            data['y'],
            train,
            numbers.to(part.device),
            num_anchors,
            torch.Generator().manual_seed(seed),
        )
        aggregated = iter(share[judged].unbind(dim=2))
        columns = [part[judged] if w is None else next(aggregated) for w in weights]
        score = torch.stack(columns, dim=2).flatten(1)
        accuracy = anchor_accuracy(score, y, group, int(val.sum())).mean(dim=0)
        tables.append(accuracy.view(part.size(1), len(weights)))
    return torch.cat(tables)


class _SearchLog:
    # The results of a search, block by block, in memory and in a file.

    _HEADER = ('data', 'split', 'lr_stage1', 'lr_stage2', 'alpha', 'w', 'val_accuracy')

    def __init__(
        self,
        path: str | Path | None,
        splits: Sequence[Split],
        axes: Mapping[str, Sequence[float | None]],
        model: AnchorRadar,
    ) -> None:
        self.path = None if path is None else Path(path)
        self.axes = axes
        self.done: dict[Block, Tensor] = {}
        self.data = [_search_code(split, model) for split in splits]
        if self.path is not None and self.path.exists():
            self._read(self.path)
        elif self.path is not None:
            self.path.write_text(','.join(self._HEADER) + '\n', encoding='utf-8')

    def _read(self, path: Path) -> None:
        head = ','.join(self._HEADER) + '\n'
        text = path.read_text(encoding='utf-8')
        if not text.startswith(head) and not head.startswith(text):
            raise ValueError(f"'{path}' must hold a search (got something else)")
        # A line that was cut off could pass for a whole one, and would spoil the next.
        whole = text[: text.rfind('\n') + 1] or head
        if whole != text:
            path.write_text(whole, encoding='utf-8')
        rows = list(csv.DictReader(io.StringIO(whole)))
        found: dict[Block, dict[tuple[float | None, float | None], float]] = {}
        for row in rows:
            try:
                block = (
                    int(row['split']),
                    _number(row['lr_stage1']),
                    _number(row['lr_stage2']),
                )
                point = (_number(row['alpha']), _number(row['w']))
                accuracy = float(row['val_accuracy'])
            except (KeyError, TypeError, ValueError):
                # A damaged line: its block is measured again.
                continue
            if block[0] >= len(self.data) or row['data'] != self.data[block[0]]:
                raise ValueError(
                    f"'{path}' must hold a search on the same data, with the same "
                    f'splits and arguments (got another)'
                )
            found.setdefault(block, {})[point] = accuracy
        points = list(itertools.product(self.axes['alpha'], self.axes['w']))
        for block, values in found.items():
            if all(point in values for point in points):
                flat = torch.tensor(
                    [values[point] for point in points], dtype=torch.double
                )
                self.done[block] = flat.view(len(self.axes['alpha']), -1)

    def add(self, block: Block, table: Tensor) -> None:
        self.done[block] = table.cpu()
        if self.path is None:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator='\n')
        points = itertools.product(self.axes['alpha'], self.axes['w'])
        for (alpha, w), value in zip(points, table.flatten().tolist(), strict=True):
            number, lr_stage1, lr_stage2 = block
            name = 'none' if w is None else w
            writer.writerow(
                [self.data[number], number, lr_stage1, lr_stage2, alpha, name, value]
            )
        with self.path.open('a', encoding='utf-8') as file:
            file.write(text.getvalue())


def _number(text: str) -> float | None:
    return None if text == 'none' else float(text)


def _summarise(
    cls: type[AnchorRadar],
    log: _SearchLog,
    splits: Sequence[Split],
    axes: Mapping[str, Sequence[float | None]],
    kwargs: Mapping[str, Any],
) -> TuneResult:
    table: list[dict[str, float | None]] = []
    for lr_stage1, lr_stage2 in itertools.product(axes['lr_stage1'], axes['lr_stage2']):
        values = torch.stack(
            [log.done[number, lr_stage1, lr_stage2] for number in range(len(splits))]
        )
        mean, std = values.mean(dim=0), values.std(dim=0, correction=0)
        for i, alpha in enumerate(axes['alpha']):
            for j, w in enumerate(axes['w']):
                table.append(
                    {
                        'lr_stage1': lr_stage1,
                        'lr_stage2': lr_stage2,
                        'alpha': alpha,
                        'w': w,
                        'val_accuracy': float(mean[i, j]),
                        'val_std': float(std[i, j]),
                    }
                )
    top = max(table, key=lambda row: row['val_accuracy'] or 0.0)
    best = {name: top[name] for name in axes}
    return TuneResult(table, best, cls(**{**kwargs, **best}).fit(splits[0][0]))
