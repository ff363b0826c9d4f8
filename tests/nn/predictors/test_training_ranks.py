import warnings
from pathlib import Path
from typing import Any

import pytest
import torch
import torch.distributed as dist
from torch.nn import Linear

from tests.nn.predictors.training_cases import message_of
from tests.processes import in_processes, pretend_rank
from tests.strategies import one_line_error
from tgx_anchor.nn.predictors.training_ranks import TrainingRanks

CPU = torch.device('cpu')


def wrong_number() -> int:
    raise ValueError('no number')


def operations() -> dict[str, Any]:
    ranks = TrainingRanks(CPU)
    rank = ranks.rank
    weight = torch.full((2,), float(rank))
    ranks.share_([weight])
    messages = [
        message_of(lambda: ranks.from_first(wrong_number)),
        message_of(lambda: ranks.check_same('abc' if rank < 2 else 'abd')),
    ]
    ranks.check_same('abc')
    module = Linear(1, 1)
    parallel = ranks.parallel(module)
    parallel(torch.ones(3, 1) * (rank + 1)).sum().backward()
    return {
        'place': (rank, ranks.size),
        'sum': ranks.sum_(torch.tensor([1.0, rank])).tolist(),
        'shared': weight.tolist(),
        'first': ranks.from_first(lambda: {'rank': rank}),
        'messages': messages,
        'gradient': None if module.weight.grad is None else module.weight.grad.item(),
    }


def test_operations_in_three_processes(tmp_path: Path) -> None:
    found = in_processes(3, tmp_path, operations)
    for rank, result in enumerate(found):
        assert result['place'] == (rank, 3)
        assert result['sum'] == [3.0, 3.0]
        assert result['shared'] == [0.0, 0.0]
        assert result['first'] == {'rank': 0}
        assert result['messages'] == [
            'no number',
            "'data', the model and its options must be the same in all processes (rank "
            '2 differs from rank 0)',
        ]
        # The mean of 3, 6 and 9.
        assert result['gradient'] == pytest.approx(6.0)


def test_alone() -> None:
    result = operations()
    assert result['place'] == (0, 1)
    assert result['sum'] == [1.0, 0.0]
    assert result['messages'] == ['no number', 'no error']
    assert result['gradient'] == 3.0
    module = Linear(1, 1)
    assert TrainingRanks(CPU).parallel(module) is module


def test_group_of_one(tmp_path: Path) -> None:
    dist.init_process_group(
        'gloo', init_method=f'file://{tmp_path}/rendezvous', rank=0, world_size=1
    )
    try:
        assert operations()['place'] == (0, 1)
    finally:
        dist.destroy_process_group()


def test_gpus_need_data_on_gpus(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_rank(monkeypatch, 1, 'nccl')
    with one_line_error("'data'", 'nccl', 'GPU'):
        TrainingRanks(CPU)


@pytest.mark.parametrize(
    'error',
    [
        dist.DistBackendError('timeout'),
        RuntimeError('[gloo/transport/tcp/pair.cc:1] Connection closed by peer'),
    ],
)
def test_a_lost_process_is_explained(
    error: RuntimeError, monkeypatch: pytest.MonkeyPatch
) -> None:
    with pytest.raises(type(error)), TrainingRanks(CPU).explained():
        raise error
    pretend_rank(monkeypatch, 1)
    ranks = TrainingRanks(CPU)
    with pytest.raises(RuntimeError, match='another process'), ranks.explained():
        raise error
    with pytest.raises(RuntimeError, match='mine'), ranks.explained():
        raise RuntimeError('mine')


def test_layout_of_gradients_is_no_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    text = 'Grad strides do not match bucket view strides.'
    with pytest.warns(UserWarning, match='Grad'), TrainingRanks(CPU).quiet():
        warnings.warn(text, stacklevel=1)
    pretend_rank(monkeypatch, 1)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter('always')
        with TrainingRanks(CPU).quiet():
            warnings.warn(text, stacklevel=1)
            warnings.warn('another', UserWarning, stacklevel=1)
    assert [str(each.message) for each in seen] == ['another']
