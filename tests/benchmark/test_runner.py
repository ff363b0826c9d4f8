import os
import signal
import time
from dataclasses import dataclass
from multiprocessing import active_children
from pathlib import Path

import pytest
import torch
from tqdm import tqdm

from tests.strategies import one_line_error
from tgx_anchor.benchmark import Failure, fill_table, run_tasks
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.io import ResultTable


@dataclass(frozen=True)
class Square:
    name: str
    number: int
    square: int


# Children import functions by name: they are at the top level of a module.
def work(task: tuple[str, int], tell: Tell) -> list[Square]:
    name, number = task
    match name:
        case 'fail':
            raise RuntimeError('no\nsuch thing')
        case 'kill':
            os.kill(os.getpid(), signal.SIGKILL)
        case 'sleep':
            time.sleep(60)
        case 'interrupt':
            raise KeyboardInterrupt
        case 'threads':
            return [Square(name, number, torch.get_num_threads())]
        case 'process':
            return [Square(name, number, os.getpid())]
    tell(f'{name} {number} half')
    return [Square(name, number, number**2)]


def test_processes_fail_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    def show(_: object, text: str, refresh: bool = True) -> None:
        shown.append(text)

    monkeypatch.setattr(tqdm, 'set_postfix_str', show)
    monkeypatch.setenv('OMP_NUM_THREADS', '7')
    names = ['kill', 'fail', 'plain', 'threads', 'process', 'process']
    tasks = [(name, i) for i, name in enumerate(names)]
    found = dict(run_tasks(work, tasks, jobs=2, threads=3, progress=True))
    assert sorted(found) == sorted(tasks)
    assert found['kill', 0] == Failure('its process ended with -9')
    assert found['fail', 1] == Failure('RuntimeError: no such thing')
    assert found['plain', 2] == [Square('plain', 2, 4)]
    assert found['threads', 3] == [Square('threads', 3, 3)]
    pids = {os.getpid()}
    for task in (('process', 4), ('process', 5)):
        rows = found[task]
        assert isinstance(rows, list)
        pids.add(rows[0].square)
    # Two others.
    assert len(pids) == 3
    assert 'plain 2 half' in shown
    assert os.environ['OMP_NUM_THREADS'] == '7'
    assert active_children() == []


def test_time_limit() -> None:
    found = dict(run_tasks(work, [('sleep', 0), ('sleep', 1)], time_limit=0.5))
    failure = Failure('over 0.5 seconds', is_timeout=True)
    assert found == {('sleep', 0): failure, ('sleep', 1): failure}
    assert active_children() == []


def test_interrupt_ends_all_processes() -> None:
    found = run_tasks(work, [('plain', 0), ('sleep', 1), ('sleep', 2)], jobs=2)
    assert next(found) == (('plain', 0), [Square('plain', 0, 0)])
    assert len(active_children()) == 1
    start = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        found.throw(KeyboardInterrupt)
    assert active_children() == []
    assert time.monotonic() - start < 30


def test_in_this_process() -> None:
    threads = torch.get_num_threads()
    tasks = [('fail', 0), ('process', 1), ('threads', 2)]
    found = dict(run_tasks(work, tasks, threads=threads + 1, isolated=False))
    assert found == {
        ('fail', 0): Failure('RuntimeError: no such thing'),
        ('process', 1): [Square('process', 1, os.getpid())],
        ('threads', 2): [Square('threads', 2, threads + 1)],
    }
    assert torch.get_num_threads() == threads
    with pytest.raises(KeyboardInterrupt):
        list(run_tasks(work, [('interrupt', 0)], threads=threads + 1, isolated=False))
    assert torch.get_num_threads() == threads


def test_table_is_filled_once(tmp_path: Path) -> None:
    def table() -> ResultTable[Square]:
        return ResultTable(Square, tmp_path / 'rows.csv', key=('name', 'number'))

    tasks = [('a', 1), ('fail', 2), ('b', 3), ('a', 1)]
    told: list[Square] = []
    failures = fill_table(table(), work, tasks, callback=told.append, isolated=False)
    assert list(failures) == [('fail', 2)]
    assert told == table().rows == [Square('a', 1, 1), Square('b', 3, 9)]
    # A second run only repeats what failed, and a cut line is run again.
    told.clear()
    fill_table(table(), work, tasks, callback=told.append, isolated=False)
    assert told == []
    text = (tmp_path / 'rows.csv').read_text(encoding='utf-8')
    (tmp_path / 'rows.csv').write_text(text[:-1], encoding='utf-8')
    fill_table(table(), work, tasks, callback=told.append, isolated=False)
    assert told == [Square('b', 3, 9)]
    assert (tmp_path / 'rows.csv').read_text(encoding='utf-8') == text
    # Another rule of what is done.
    done = fill_table(
        table(), work, tasks, is_done=lambda task: task[1] > 1, isolated=False
    )
    assert done == {}


def test_interrupted_table_keeps_its_rows(tmp_path: Path) -> None:
    table = ResultTable(Square, tmp_path / 'rows.csv', key=('name', 'number'))
    with pytest.raises(KeyboardInterrupt):
        fill_table(table, work, [('a', 1), ('interrupt', 2), ('b', 3)], isolated=False)
    assert ResultTable(Square, tmp_path / 'rows.csv').rows == [Square('a', 1, 1)]


@pytest.mark.parametrize('name', ['jobs', 'threads'])
def test_bad_numbers(name: str) -> None:
    with one_line_error(f"'{name}'", '0'):
        list(run_tasks(work, [('a', 1)], **{name: 0}))  # type: ignore[arg-type]


def test_only_below_main(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr('tgx_anchor.benchmark.runner.parent_process', object)
    with one_line_error('__main__'):
        list(run_tasks(work, [('a', 1)]))
