"""A search among models with different arguments."""

import inspect
import itertools
import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeVar

import torch
from tqdm import tqdm

from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.tune_result import TuneResult
from tgx_anchor.nn.predictors.tuning import Split, splits_of
from tgx_anchor.utils import digest, hypergraph_fingerprint

Model = TypeVar('Model', bound=AnchorModel)


@dataclass(frozen=True)
class ModelRow:
    r"""Holds the result of one model on one split.

    Args:
        search (str): A hash of the split and of all arguments outside of the grid.
        split (int): The number of the split.
        params (str): The arguments of the grid, in JSON.
        val_accuracy (float): The accuracy on the validation hyperedges.
    """

    search: str
    split: int
    params: str
    val_accuracy: float


def search_models(
    make: Callable[..., Model],
    data: AnchorData | Sequence[AnchorData],
    grid: Mapping[str, Sequence[Any]],
    path: str | Path | None = None,
    progress: bool = False,
    **kwargs: Any,
) -> TuneResult[Model]:
    r"""Fits a model for every point of a grid on every split, and returns the one with
    the best mean accuracy on :obj:`val_mask`, fitted on the first split.

    Args:
        make (callable): The class of the model.
        data (AnchorData or list[AnchorData]): The hypergraph with :obj:`train_mask` and
            :obj:`val_mask`, of one or several splits; or one hypergraph per split.
        grid (dict): The values of each argument to try.
        path (str, optional): A CSV file to which results are added one by one. If it
            exists, the search continues from it. (default: :obj:`None`)
        progress (bool, optional): If set to :obj:`True`, shows a progress bar.
            (default: :obj:`False`)
        **kwargs: Further arguments of the model.
    """
    points = _points(make, grid, kwargs)
    for point in points:
        # The constructor knows the range of each argument.
        make(**point, **kwargs)
    splits = splits_of(data)
    codes = [_code(make, split, kwargs) for split in splits]
    log = ResultTable(ModelRow, path, ('search', 'split', 'params'))
    for row in log.rows:
        if row.split >= len(codes) or row.search != codes[row.split]:
            raise ValueError(
                f"'{path}' holds the results of another search: its data, splits or "
                'arguments differ; choose another file'
            )
    texts = [json.dumps(point) for point in points]
    tasks = list(itertools.product(range(len(splits)), range(len(points))))
    for number, place in tqdm(tasks, desc='tune', disable=not progress):
        key = codes[number], number, texts[place]
        if key not in log:
            part, _, val = splits[number]
            model = make(**points[place], **kwargs).fit(part, on_interrupt='raise')
            log.add(ModelRow(*key, model.score(part, val)))

    found = {(row.split, row.params): row.val_accuracy for row in log.rows}
    table = []
    for point, text in zip(points, texts, strict=True):
        values = torch.tensor(
            [found[i, text] for i in range(len(splits))], dtype=torch.double
        )
        mean, std = float(values.mean()), float(values.std(correction=0))
        table.append({**point, 'val_accuracy': mean, 'val_std': std})
    top = max(table, key=lambda row: row['val_accuracy'])
    best = {name: top[name] for name in grid}
    model = make(**best, **kwargs).fit(splits[0][0], on_interrupt='raise')
    return TuneResult(table, best, model)


def _points(
    make: Callable[..., object],
    grid: Mapping[str, Sequence[Any]],
    kwargs: Mapping[str, Any],
) -> list[dict[str, Any]]:
    if not isinstance(grid, Mapping):
        raise ValueError(f"'grid' must hold values by argument (got {grid!r})")
    names = list(inspect.signature(make).parameters)
    axes = []
    for name, values in grid.items():
        if name not in names:
            raise ValueError(f"'grid' must name {', '.join(names)} (got {name!r})")
        if name in kwargs:
            raise ValueError(f"{name!r} must not be given: 'grid' sets it")
        if isinstance(values, str) or not isinstance(values, Iterable):
            raise ValueError(
                f"'grid[{name!r}]' must be a list of values (got {values!r})"
            )
        # Numbers of NumPy and PyTorch become plain ones.
        axes.append([v.item() if hasattr(v, 'item') else v for v in values])
    points = itertools.product(*axes)
    out = [dict(zip(grid, point, strict=True)) for point in points]
    if not out:
        raise ValueError("'grid' must hold at least one value of each argument")
    return out


def _code(make: Callable[..., object], split: Split, kwargs: Mapping[str, Any]) -> str:
    data, train, val = split
    size = int(data.num_nodes or 0), data.num_hyperedges
    return digest(
        hypergraph_fingerprint(data.hyperedge_index, *size),
        *(data.get(key) for key in ('incidence_attr', 'x', 'hyperedge_attr')),
        data.get('hyperedge_time'),
        getattr(make, '__name__', ''),
        sorted(kwargs.items()),
        data['y'] & (train | val)[data.hyperedge_index[1]],
        train,
        val,
    )[:16]
