"""The search of AnchorRadar's hyperparameters."""

import copy
import csv
import hashlib
import io
import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor
from torch_geometric.data import Data
from tqdm import tqdm

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import anchor_accuracy
from tgx_anchor.nn.functional import aggregate_strength, strength_problem
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.predictors.anchor_model import (
    anchors_per_hyperedge,
    check_data,
    fingerprint,
    known_hyperedges,
    topology,
    training_mask,
)
from tgx_anchor.nn.predictors.incidence_features import FEATURES

if TYPE_CHECKING:
    from tgx_anchor.nn.predictors.anchor_radar import AnchorRadar

# The search space of the paper: 3 x 3 x 20 x 11 points.
PAPER_GRID: dict[str, tuple[float | None, ...]] = {
    'lr_stage1': (0.001, 0.01, 0.1),
    'lr_stage2': (0.001, 0.01, 0.1),
    'alpha': (0.0, *(i / 100 for i in range(1, 10)), *(i / 10 for i in range(1, 11))),
    'w': (None, *map(float, range(1, 11))),
}

Split = tuple[AnchorData, Tensor, Tensor]
Block = tuple[int, float | None, float | None]
Axes = Mapping[str, Sequence[float | None]]

# Values that are kept in memory at once.
_CHUNK_VALUES = 1 << 25


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
    model: 'AnchorRadar'


def search_grid(
    cls: 'type[AnchorRadar]',
    data: AnchorData | Sequence[AnchorData],
    grid: Axes,
    path: str | Path | None,
    progress: bool,
    kwargs: Mapping[str, Any],
) -> TuneResult:
    r"""Carries out :meth:`AnchorRadar.tune`, which says what the arguments are."""
    axes = _check_grid(cls, grid, kwargs)
    splits = _splits(data)
    model = cls(**kwargs)
    log = _SearchLog(path, splits, axes, model)
    total = len(splits) * len(axes['lr_stage1']) * len(axes['lr_stage2'])
    with tqdm(total=total, desc='tune', disable=not progress) as bar:
        for number, lr in itertools.product(range(len(splits)), axes['lr_stage1']):
            left = [
                other
                for other in axes['lr_stage2']
                if (number, lr, other) not in log.done
            ]
            bar.update(len(axes['lr_stage2']) - len(left))
            tables = _search_split(model, splits[number], axes, lr, left)
            for other, table in zip(left, tables, strict=True):
                log.add((number, lr, other), table)
                bar.update()
    return _summarise(cls, log, splits, axes, kwargs)


def _check_grid(
    cls: 'type[AnchorRadar]',
    grid: Axes,
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
    axes: dict[str, tuple[float | None, ...]] = {}
    for name in names:
        values: Any = grid.get(name, PAPER_GRID[name])
        if isinstance(values, Tensor):
            values = values.tolist()
        if not isinstance(values, Iterable):
            raise ValueError(f"'grid[{name!r}]' must hold numbers (got {values})")
        axes[name] = tuple(values)
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
    for part in [data] if isinstance(data, Data) else data:
        check_data(part)
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
            both = judged & single.train_mask
            if both.any():
                raise ValueError(
                    f"'val_mask' must not hold hyperedges of 'train_mask' "
                    f'(got hyperedge {int(both.nonzero()[0])})'
                )
            out.append((single, training_mask(single), judged))
    if not out:
        raise ValueError("'data' must hold a hypergraph (got none)")
    return out


def _search_code(split: Split, model: 'AnchorRadar') -> str:
    # Stands for all but the grid that decides the results of a search on a split.
    data, train, val = split
    learnt = data['y'] & (train | val)[data.hyperedge_index[1]]
    text = [
        fingerprint(data).tolist(),
        [_digest(data[key]) for key in FEATURES if data.get(key) is not None],
        [model.hidden_channels, model.num_epochs, model.alignment, model.seed],
        *(flag.nonzero().view(-1).tolist() for flag in (learnt, train, val)),
    ]
    return hashlib.sha256(repr(text).encode()).hexdigest()[:16]


def _digest(value: Tensor) -> tuple[list[int], str]:
    table = value.detach().cpu().contiguous().view(torch.uint8).numpy()
    return list(value.size()), hashlib.sha256(table.data).hexdigest()


def _search_split(
    model: 'AnchorRadar',
    split: Split,
    axes: Axes,
    lr_stage1: float | None,
    lr_stage2: Sequence[float | None],
) -> Iterator[Tensor]:
    # The accuracies of all alpha and w, for each rate of stage 2 in turn.
    if not lr_stage2:
        return
    data, train, val = split
    _, reference = model._first_stage(data, train, lr_stage1 or 0.0, False)
    problem = strength_problem(
        reference, *topology(data), data['y'], train, model.alignment
    )
    alpha = torch.tensor(axes['alpha'], dtype=torch.double, device=train.device)
    for lr in lr_stage2:
        strengths = AnchorStrength(int(data.num_nodes or 0), len(alpha))
        strengths.to(train.device)
        model._fit_strengths(strengths, problem, alpha, lr or 0.0, False)
        strength = strengths.strength.detach()
        yield _accuracy_table(strength, data, train, val, axes['w'], model.seed)


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
        axes: Axes,
        model: 'AnchorRadar',
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
        text = path.read_text(encoding='utf-8', errors='replace')
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
    cls: 'type[AnchorRadar]',
    log: _SearchLog,
    splits: Sequence[Split],
    axes: Axes,
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
