from pathlib import Path
from typing import Any

import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.nn.predictors.checkpoint import Checkpoint

CPU = torch.device('cpu')


def test_there_and_back(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / 'state.pt', 'HGNN', 'abc')
    assert kept.read(CPU) is None
    state = {'epoch': 3, 'table': torch.arange(4.0), 'history': [{'loss': 0.5}]}
    kept.write({'epoch': 1})
    kept.write(state)
    found: Any = Checkpoint(str(tmp_path / 'state.pt'), 'HGNN', 'abc').read(CPU)
    assert (found['epoch'], found['history']) == (3, [{'loss': 0.5}])
    assert torch.equal(found['table'], torch.arange(4.0))
    assert [path.name for path in tmp_path.iterdir()] == ['state.pt']


def test_folder(tmp_path: Path) -> None:
    one, other = '1' * 64, '2' * 64
    for identity in (one, other):
        Checkpoint(tmp_path, 'HGNN', identity).write({'code': identity})
    names = sorted(path.name for path in tmp_path.iterdir())
    assert names == [f'HGNN_{one[:16]}.pt', f'HGNN_{other[:16]}.pt']
    assert Checkpoint(tmp_path, 'HGNN', other).read(CPU) == {'code': other}


def test_another_training(tmp_path: Path) -> None:
    path = tmp_path / 'state.pt'
    Checkpoint(path, 'HGNN', 'abc').write({})
    with one_line_error(str(path), 'same model'):
        Checkpoint(path, 'HGNN', 'abd').read(CPU)
    torch.save({'format': 'tgx_anchor checkpoint 1', 'identity': 'abc'}, path)
    with one_line_error(str(path), 'same model'):
        Checkpoint(path, 'HGNN', 'abc').read(CPU)


@pytest.mark.parametrize('content', [b'', b'nonsense', b'PK\x03\x04'])
def test_damaged(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / 'state.pt'
    path.write_bytes(content)
    with one_line_error(str(path), 'checkpoint', 'remove'):
        Checkpoint(path, 'HGNN', 'abc').read(CPU)


def test_no_folder(tmp_path: Path) -> None:
    with one_line_error('nowhere', 'folder', 'create'):
        Checkpoint(tmp_path / 'nowhere' / 'state.pt', 'HGNN', 'abc')


def test_a_killed_writer_leaves_the_last_state(tmp_path: Path) -> None:
    kept = Checkpoint(tmp_path / 'state.pt', 'HGNN', 'abc')
    kept.write({'epoch': 1})
    left = tmp_path / 'state.pt.abcd_123.part'
    left.mkdir()
    (left / 'state.pt').write_bytes(b'half')
    assert kept.read(CPU) == {'epoch': 1}
    assert [path.name for path in tmp_path.iterdir()] == ['state.pt']
