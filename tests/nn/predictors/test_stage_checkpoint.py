"""States of a training in a folder."""

import time
from pathlib import Path

import pytest
import torch

from tgx_anchor.nn.predictors import stage_checkpoint
from tgx_anchor.nn.predictors.stage_checkpoint import StageCheckpoint
from tgx_anchor.utils import ALONE

CPU = torch.device('cpu')


def test_states(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / 'work'
    first = StageCheckpoint(folder, 'a', ALONE, CPU)
    assert first.num_done('stage 1') == 0
    first.keep('stage 1', lambda: {'epoch': 3})
    # The last state is not old enough.
    assert StageCheckpoint(folder, 'a', ALONE, CPU).num_done('stage 1') == 0
    monkeypatch.setattr(stage_checkpoint, '_INTERVAL', 0.0)
    monkeypatch.setattr(stage_checkpoint, '_RATIO', 0.0)
    first.keep('stage 1', lambda: {'epoch': 5}, is_last=True)
    first.keep('stage 2', lambda: {'epoch': 2, 'module': torch.arange(3)})
    again = StageCheckpoint(folder, 'a', ALONE, CPU)
    assert (again.num_done('stage 1'), again.num_done('stage 2')) == (5, 2)
    assert again.state['stage 2']['module'].tolist() == [0, 1, 2]
    # Another training has a file of its own.
    assert StageCheckpoint(folder, 'b', ALONE, CPU).num_done('stage 1') == 0


def test_states_that_take_long_are_written_less_often(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = 0.0
    monkeypatch.setattr(time, 'monotonic', lambda: now)

    def make(epoch: int, seconds: float) -> dict[str, int]:
        nonlocal now
        now += seconds
        return {'epoch': epoch}

    state = StageCheckpoint(tmp_path, 'a', ALONE, CPU)
    written = []
    for epoch, seconds in ((1, 0.1), (2, 2.0), (3, 2.0), (4, 0.1), (5, 0.1)):
        begin = now
        while state.num_done('stage 2') < epoch:
            now += 1
            state.keep('stage 2', lambda e=epoch, s=seconds: make(e, s))  # type: ignore[misc]
        written.append(now - begin - seconds)
    # Twenty seconds, or forty times the time of the last one.
    assert written == pytest.approx([20, 20, 80, 80, 20], abs=1)


def test_nothing_is_kept_without_a_folder() -> None:
    state = StageCheckpoint(None, 'a', ALONE, CPU)
    state.keep('stage 1', lambda: {'epoch': 3}, is_last=True)
    assert state.num_done('stage 1') == 0


def test_damaged_file(tmp_path: Path) -> None:
    first = StageCheckpoint(tmp_path, 'a', ALONE, CPU)
    first.keep('stage 1', lambda: {'epoch': 3}, is_last=True)
    (file,) = tmp_path.iterdir()
    file.write_bytes(b'nothing')
    with pytest.raises(ValueError, match='remove it to start again'):
        StageCheckpoint(tmp_path, 'a', ALONE, CPU)
