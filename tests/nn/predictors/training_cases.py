"""Trainings that are run in one process and in several."""

import contextlib
import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch
from torch import Tensor
from torch.nn import BatchNorm1d, Module, Parameter

from tests.nn.predictors.test_anchor_predictor import Mean, planted, quick
from tgx_anchor.nn import HGNN, AnchorPredictor, CoNHD
from tgx_anchor.utils import Ranks


class Normed(Mean):
    """An encoder that keeps averages over batches."""

    def __init__(self) -> None:
        super().__init__()
        self.norm = BatchNorm1d(6)

    def forward(self, x: Tensor, hyperedge_index: Tensor) -> tuple[Tensor, Tensor]:
        return super().forward(self.norm(x), hyperedge_index)


class Spare(HGNN):
    """An encoder with a parameter that is never used."""

    def __init__(self) -> None:
        super().__init__(6, 8, 1, 12)
        self.spare = Parameter(torch.ones(3))


def conhd() -> CoNHD:
    return CoNHD(6, 8, 1, use_rank=False)


# 160 hyperedges to learn from. Without chance, the number of processes is no matter.
EXACT: dict[str, dict[str, Any]] = {
    'mini-batches': {},
    'whole': {'batch_size': None},
    'whole, dropout': {'batch_size': None, 'encoder': HGNN(6, 8, 2, 12, dropout=0.5)},
    'whole, anchors': {'batch_size': None, 'objective': 'anchor', 'eps': 1e-2},
    # The last batch has a single hyperedge, and only one process has a part of it.
    'one left': {'batch_size': 53},
    # A large epsilon, since Adam turns rounding errors of zeros into steps.
    'anchors': {'objective': 'anchor', 'eps': 1e-2},
    'clipped': {'encoder': conhd(), 'max_norm': 0.01, 'weight_decay': 0.01},
    'unused': {'encoder': Spare(), 'weight_decay': 0.1},
    'stopped early': {'lr': 1e-9, 'num_epochs': 30, 'patience': 2},
}
# Dropout, drawn neighbours, averages over batches.
BY_CHANCE: dict[str, dict[str, Any]] = {
    'dropout': {'encoder': HGNN(6, 8, 2, 12, dropout=0.5)},
    'neighbours': {'num_neighbors': 2},
}

Result = dict[str, Any]


def result(model: AnchorPredictor) -> Result:
    data = planted()
    return {
        'state': model.state_dict(),
        'history': [
            {k: v for k, v in record.items() if k != 'seconds'}
            for record in model.history
        ],
        'proba': model.predict_proba(data),
    }


def fit(**options: Any) -> Result:
    return result(quick(**options).fit(planted()))


def fit_seeded(encoder: type[Module]) -> Result:
    # Such encoders do not reset themselves; each process has other weights.
    torch.manual_seed(Ranks.current().rank)
    return fit(encoder=encoder())


def trainings() -> dict[str, Result]:
    """All trainings, in this process or together with others."""
    out = {name: fit(**options) for name, options in (EXACT | BY_CHANCE).items()}
    out['again'] = fit(**BY_CHANCE['dropout'])
    out['own weights'] = fit_seeded(Mean)
    out['averages'] = fit_seeded(Normed)
    return out


def errors(folder: Path) -> dict[str, str]:
    """The messages of errors that all processes raise."""
    rank = Ranks.current().rank
    (folder / 'no checkpoint').write_text('text', encoding='utf-8')
    works: dict[str, Callable[[], object]] = {
        'data': lambda: quick().fit(planted(rank)),
        'options': lambda: quick(num_epochs=2 + rank).fit(planted()),
        'encoder': lambda: quick(encoder=HGNN(6, 8 + rank, 1, 12)).fit(planted()),
        'checkpoint': lambda: quick().fit(
            planted(), checkpoint=folder / 'no checkpoint'
        ),
        'lr': lambda: quick(lr=1e30, num_epochs=60).fit(planted()),
    }
    return {name: message_of(work) for name, work in works.items()}


def message_of(work: Callable[[], object]) -> str:
    """The message of the error that a function raises."""
    try:
        work()
    except ValueError as error:
        return str(error)
    return 'no error'


def first_alone(folder: Path) -> Result:
    """A training with a checkpoint, and what each process does besides."""
    rank = Ranks.current().rank
    seen: list[Any] = []
    shown = io.StringIO()
    # Only the first process needs to know the file.
    path = folder / 'state.pt' if rank == 0 else None
    with contextlib.redirect_stderr(shown):
        quick(num_epochs=3).fit(
            planted(), checkpoint=path, callback=seen.append, progress=True
        )
    model = quick(num_epochs=6).fit(planted(), checkpoint=path)
    # What is left of the training does not get into the way.
    loss = model.train()(planted()).square().sum()
    loss.backward()
    return {
        **result(model.eval()),
        'num_calls': len(seen),
        'shown': bool(shown.getvalue()),
        'files': sorted(path.name for path in folder.iterdir()),
        'gradient': [p.grad for p in model.parameters()],
    }


def everything(folder: Path) -> Result:
    """All of the above, since starting processes takes time."""
    size = Ranks.current().size
    (folder / f'{size}').mkdir(exist_ok=True)
    return {
        'trainings': trainings(),
        'first': first_alone(folder / f'{size}'),
        'errors': errors(folder) if size > 1 else {},
    }
