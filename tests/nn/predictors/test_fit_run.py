from collections.abc import Iterator
from typing import Any

import pytest

from tests.processes import pretend_rank
from tests.strategies import one_line_error
from tgx_anchor.nn.predictors.fit_run import FitRun, Record


def three_epochs(done: list[int]) -> Iterator[Record]:
    for epoch in (1, 2, 3):
        done.append(epoch)
        yield {'epoch': float(epoch), 'loss': 1 / epoch}


def test_records_and_callback() -> None:
    seen: list[Record] = []
    run = FitRun(callback=seen.append)
    run.epochs(three_epochs([]), 'x', 3)
    assert [record['loss'] for record in run.history] == [1, 1 / 2, 1 / 3]
    # The callback gets the records themselves, and may add to them.
    assert all(a is b for a, b in zip(seen, run.history, strict=True))
    assert not run.interrupted
    # A second stage adds its epochs.
    run.epochs(three_epochs([]), 'y', 3)
    assert len(run.history) == 6


def interrupt_at(epoch: int) -> Any:
    def callback(record: Record) -> None:
        if record['epoch'] == epoch:
            raise KeyboardInterrupt

    return callback


def test_interrupt_keeps_or_raises() -> None:
    done: list[int] = []
    run = FitRun(callback=interrupt_at(2))
    run.epochs(three_epochs(done), 'x', 3)
    assert run.interrupted
    assert done == [1, 2]
    assert len(run.history) == 2
    with pytest.raises(KeyboardInterrupt):
        FitRun(callback=interrupt_at(2), on_interrupt='raise').epochs(
            three_epochs([]), 'x', 3
        )
    with pytest.raises(KeyboardInterrupt):
        FitRun(callback=interrupt_at(2)).epochs(
            three_epochs([]), 'x', 3, must_finish=True
        )


def nothing_done() -> Iterator[Record]:
    raise KeyboardInterrupt
    yield {}


def test_interrupt_before_the_first_epoch() -> None:
    with pytest.raises(KeyboardInterrupt):
        FitRun().epochs(nothing_done(), 'x', 3)
    # A checkpoint holds epochs that can be kept.
    run = FitRun()
    run.epochs(nothing_done(), 'x', 3, num_done=1)
    assert run.interrupted


def test_other_errors_pass() -> None:
    def callback(_: Record) -> None:
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        FitRun(callback=callback).epochs(three_epochs([]), 'x', 3)


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    FitRun().epochs(three_epochs([]), 'name', 3)
    assert capsys.readouterr().err == ''
    FitRun(progress=True).epochs(three_epochs([]), 'name', 5, num_done=2)
    text = capsys.readouterr().err
    assert 'name' in text
    assert '5/5' in text
    assert 'loss=0.333' in text


def test_bad_options() -> None:
    wrong: Any = 'ignore'
    with one_line_error("'on_interrupt'", 'keep_best, raise', "'ignore'"):
        FitRun(on_interrupt=wrong)
    with one_line_error("'callback'", "'ignore'"):
        FitRun(callback=wrong)


def test_other_processes_are_silent(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for rank in (0, 1):
        pretend_rank(monkeypatch, rank)
        seen: list[Record] = []
        run = FitRun(progress=True, callback=seen.append)
        run.epochs(three_epochs([]), 'x', 3)
        assert (len(run.history), len(seen)) == (3, 0 if rank else 3)
        assert bool(capsys.readouterr().err) == (rank == 0)


def test_interrupt_ends_all_processes(monkeypatch: pytest.MonkeyPatch) -> None:
    pretend_rank(monkeypatch, 0)
    with pytest.raises(KeyboardInterrupt):
        FitRun(callback=interrupt_at(2)).epochs(three_epochs([]), 'x', 3)
