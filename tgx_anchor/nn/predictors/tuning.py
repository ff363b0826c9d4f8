"""The search for hyperparameters of AnchorRadar."""

import copy
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from numbers import Real
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.metrics import anchor_accuracy
from tgx_anchor.nn.functional import aggregate_strength
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.predictors.feature_rows import FeatureRows
from tgx_anchor.nn.predictors.incidence_features import FEATURES, attribute_scale
from tgx_anchor.nn.predictors.known_anchors import (
    anchors_per_hyperedge,
    check_data,
    labelled_mask,
    training_mask,
)
from tgx_anchor.nn.predictors.stages import (
    StageOptions,
    alignment_problem,
    check_converged,
    new_scorer,
    reference_proba,
    scorer_epochs,
    strength_epochs,
)
from tgx_anchor.utils import digest, hypergraph_fingerprint

# The search space of the paper: 3 x 3 x 20 x 11 points.
PAPER_GRID: dict[str, tuple[float | None, ...]] = {
    'lr_stage1': (0.001, 0.01, 0.1),
    'lr_stage2': (0.001, 0.01, 0.1),
    'alpha': (0.0, *(i / 100 for i in range(1, 10)), *(i / 10 for i in range(1, 11))),
    'w': (None, *map(float, range(1, 11))),
}

# A hypergraph, its hyperedges to learn from and its hyperedges to validate on.
Split = tuple[AnchorData, Tensor, Tensor]
Axes = Mapping[str, Sequence[float | None]]
Table = list[dict[str, float | None]]

# The number of values that are kept in memory at once.
_CHUNK_VALUES = 1 << 25


@dataclass(frozen=True)
class SearchRow:
    r"""Holds the result of one point of the grid on one split.

    Args:
        search (str): A hash of the split and of all arguments outside of the grid.
        split (int): The number of the split.
        lr_stage1 (float): The learning rate of stage 1.
        lr_stage2 (float): The learning rate of stage 2.
        alpha (float): The weight of the alignment.
        w (float, optional): The weight of known anchors.
        val_accuracy (float): The accuracy on the validation hyperedges.
    """

    search: str
    split: int
    lr_stage1: float
    lr_stage2: float
    alpha: float
    w: float | None
    val_accuracy: float


def search_grid(
    data: AnchorData | Sequence[AnchorData],
    axes: Axes,
    options: StageOptions,
    path: str | Path | None = None,
    progress: bool = False,
) -> tuple[Table, dict[str, float | None], AnchorData]:
    r"""Finds the accuracy of every point of a grid, for
    :meth:`~tgx_anchor.nn.AnchorRadar.tune`.

    Args:
        data (AnchorData or list[AnchorData]): The hypergraph with :obj:`train_mask` and
            :obj:`val_mask`, of one or several splits; or one hypergraph per split.
        axes (dict): The values of each hyperparameter, from :func:`check_grid`.
        options (StageOptions): The arguments of the model outside of the grid.
        path (str, optional): A CSV file to which results are added one by one.
            (default: :obj:`None`)
        progress (bool, optional): If set to :obj:`True`, shows a progress bar.
            (default: :obj:`False`)

    Returns:
        One row per point with its mean accuracy, the best point, and the hypergraph
        with the masks of the first split.
    """
    splits = splits_of(data)
    codes = [_search_code(split, options) for split in splits]
    log = _open_log(path, codes)
    points: list[tuple[Any, ...]] = list(itertools.product(axes['alpha'], axes['w']))
    total = len(splits) * len(axes['lr_stage1']) * len(axes['lr_stage2'])
    with tqdm(total=total, desc='tune', disable=not progress) as bar:
        for number, lr in itertools.product(range(len(splits)), axes['lr_stage1']):
            block: tuple[Any, ...] = (codes[number], number, lr)
            left = [
                other
                for other in axes['lr_stage2']
                if any((*block, other, *point) not in log for point in points)
            ]
            bar.update(len(axes['lr_stage2']) - len(left))
            tables = _search_split(options, splits[number], axes, lr, left)
            for other, table in zip(left, tables, strict=True):
                found = zip(points, table.flatten().tolist(), strict=True)
                rows = ((*block, other, *point, value) for point, value in found)
                log.add(*itertools.starmap(SearchRow, rows))
                bar.update()
    out = _summarise(log, codes, axes)
    top = max(out, key=lambda row: row['val_accuracy'] or 0.0)
    return out, {name: top[name] for name in axes}, splits[0][0]


def check_grid(grid: Axes) -> dict[str, tuple[float | None, ...]]:
    r"""Returns the values of all hyperparameters as tuples of plain numbers; those of
    the paper for hyperparameters that the grid does not name.

    Args:
        grid (dict): The values by hyperparameter.
    """
    names = tuple(PAPER_GRID)
    unknown = [name for name in grid if name not in names]
    if unknown:
        raise ValueError(f"'grid' must name {', '.join(names)} (got {unknown[0]!r})")
    axes: dict[str, tuple[float | None, ...]] = {}
    for name in names:
        values: Any = grid.get(name, PAPER_GRID[name])
        if isinstance(values, Tensor):
            values = values.tolist()
        if not isinstance(values, Iterable):
            raise ValueError(f"'grid[{name!r}]' must hold numbers (got {values})")
        values = tuple(values)
        if not values or not all(
            isinstance(value, Real) or (name == 'w' and value is None)
            for value in values
        ):
            raise ValueError(f"'grid[{name!r}]' must hold numbers (got {list(values)})")
        axes[name] = tuple(None if value is None else float(value) for value in values)
    return axes


def splits_of(data: AnchorData | Sequence[AnchorData]) -> list[Split]:
    r"""Returns a hypergraph with :obj:`train_mask` and :obj:`val_mask` for each split,
    with these masks.

    Args:
        data (AnchorData or list[AnchorData]): The hypergraph, of one or several splits;
            or one hypergraph per split.
    """
    out: list[Split] = []
    for part in [data] if isinstance(data, Data) else data:
        check_data(part)
        masks = []
        for name in ('train_mask', 'val_mask'):
            mask = part.get(name)
            if mask is None:
                raise ValueError(
                    f"'data' has no '{name}' to search with: call "
                    "'RandomHyperedgeSplit()(data)' first"
                )
            masks.append(mask if mask.dim() > 1 else mask.unsqueeze(1))
        train, val = masks
        if train.size(1) != val.size(1):
            raise ValueError(
                f"'val_mask' must have as many columns as 'train_mask', that is "
                f'{train.size(1)} (got {val.size(1)})'
            )
        for column in range(train.size(1)):
            single = copy.copy(part)
            single.train_mask = train[:, column]
            single.val_mask = val[:, column]
            learnt = training_mask(single)
            judged = labelled_mask(single, 'val_mask')
            if not judged.any():
                raise ValueError(
                    "'val_mask' selects no hyperedge: a search needs some to compare "
                    'hyperparameters on'
                )
            both = judged & single.train_mask
            if both.any():
                raise ValueError(
                    f"'val_mask' must not hold hyperedges of 'train_mask' "
                    f'(got hyperedge {int(both.nonzero()[0])})'
                )
            out.append((single, learnt, judged))
    if not out:
        raise ValueError("'data' is an empty list: pass one hypergraph per split")
    return out


def _search_code(split: Split, options: StageOptions) -> str:
    # Stands for everything outside of the grid that changes the results of a split.
    data, train, val = split
    learnt = data['y'] & (train | val)[data.hyperedge_index[1]]
    size = int(data.num_nodes or 0), data.num_hyperedges
    return digest(
        hypergraph_fingerprint(data.hyperedge_index, *size),
        *(data.get(key) for key in FEATURES),
        astuple(options),
        learnt,
        train,
        val,
    )[:16]


def _search_split(
    options: StageOptions,
    split: Split,
    axes: Axes,
    lr_stage1: float | None,
    lr_stage2: Sequence[float | None],
) -> Iterator[Tensor]:
    # Gives the accuracies of all alpha and w, one table per rate of stage 2.
    if not lr_stage2:
        return
    data, train, val = split
    rate, num_epochs = lr_stage1 or 0.0, options.num_epochs
    feature = FeatureRows(data, attribute_scale(data))
    scorer = new_scorer(feature.num_columns, options).to(train.device)
    _exhaust(scorer_epochs(scorer, feature, data, train, rate, num_epochs))
    check_converged(scorer, 1, rate)
    reference = reference_proba(scorer, feature, data)
    problem = alignment_problem(reference, data, data['y'], train, options.alignment)
    alpha = torch.tensor(axes['alpha'], dtype=torch.double, device=train.device)
    for lr in lr_stage2:
        strengths = AnchorStrength(int(data.num_nodes or 0), len(alpha))
        strengths.to(train.device)
        rate = lr or 0.0
        _exhaust(strength_epochs(strengths, problem, alpha, rate, num_epochs))
        check_converged(strengths, 2, rate)
        strength = strengths.strength.detach()
        yield _accuracy_table(strength, data, train, val, axes['w'], options.seed)


def _exhaust(epochs: Iterable[object]) -> None:
    for _ in epochs:
        pass


def _accuracy_table(
    strength: Tensor,
    data: AnchorData,
    train: Tensor,
    val: Tensor,
    weights: Sequence[float | None],
    seed: int,
) -> Tensor:
    # Computes the accuracy on 'val' of each alpha (rows) and each weight (columns).
    node, hyperedge = data.hyperedge_index
    row = val[hyperedge]
    judged, y = node[row], data['y'][row]
    group = (val.long().cumsum(0) - 1)[hyperedge[row]]
    numbers = torch.tensor([w for w in weights if w is not None], dtype=strength.dtype)
    num_anchors = anchors_per_hyperedge(data, train)
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
            seed,
        )
        aggregated = iter(share[judged].unbind(dim=2))
        columns = [part[judged] if w is None else next(aggregated) for w in weights]
        score = torch.stack(columns, dim=2).flatten(1)
        accuracy = anchor_accuracy(score, y, group, int(val.sum())).mean(dim=0)
        tables.append(accuracy.view(part.size(1), len(weights)))
    return torch.cat(tables)


def _open_log(path: str | Path | None, codes: Sequence[str]) -> ResultTable[SearchRow]:
    key = ('search', 'split', 'lr_stage1', 'lr_stage2', 'alpha', 'w')
    log = ResultTable(SearchRow, path, key)
    for row in log.rows:
        if row.split >= len(codes) or row.search != codes[row.split]:
            raise ValueError(
                f"'{path}' holds the results of another search: its data, splits or "
                'arguments differ; choose another file'
            )
    return log


def _summarise(log: ResultTable[SearchRow], codes: Sequence[str], axes: Axes) -> Table:
    found = {astuple(row)[:-1]: row.val_accuracy for row in log.rows}
    points = list(itertools.product(*(axes[name] for name in PAPER_GRID)))
    values = torch.tensor(
        [[found[(code, i, *p)] for p in points] for i, code in enumerate(codes)],
        dtype=torch.double,
    )
    mean, std = values.mean(dim=0), values.std(dim=0, correction=0)
    return [
        {
            **dict(zip(PAPER_GRID, point, strict=True)),
            'val_accuracy': accuracy,
            'val_std': deviation,
        }
        for point, accuracy, deviation in zip(
            points, mean.tolist(), std.tolist(), strict=True
        )
    ]
