"""Commands in several processes, some of which are killed."""

import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
import pytest

from tests.nn.predictors.test_shard_predictions import write_table
from tests.processes import ROOT
from tgx_anchor.cli import processes
from tgx_anchor.cli.table_options import TableOptions
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import write_shards

# At random moments; 20 were tried by hand with TGX_ANCHOR_KILLS=20.
KILLS = int(os.environ.get('TGX_ANCHOR_KILLS', '2'))


needs_proc = pytest.mark.skipif(
    not Path('/proc').exists(), reason='needs the process files of Linux'
)


@pytest.fixture(scope='module')
def shards(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('processes')
    data: Any = PlantedAnchorDataset(num_nodes=4000, num_hyperedges=20_000, seed=1)[0]
    write_table(data, folder / 'table.parquet')
    write_shards(
        folder / 'table.parquet', folder / 'shards', num_shards=4, memory='500MB'
    )
    return folder / 'shards'


def start(*words: str, restarts: int = 0) -> 'subprocess.Popen[str]':
    environment = {
        **os.environ,
        'OMP_NUM_THREADS': '1',
        'PYTHONPATH': str(ROOT),
        # Else a restarted group may find the addresses of the last one.
        'TORCH_DISABLE_SHARE_RDZV_TCP_STORE': '1',
    }
    launch = [sys.executable, '-m', 'torch.distributed.run', '--standalone']
    launch += ['--nproc-per-node', '2', '--max-restarts', str(restarts)]
    return subprocess.Popen(
        [*launch, '-m', 'tgx_anchor', *words],
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def finish(process: 'subprocess.Popen[str]') -> tuple[int, str]:
    text = process.communicate(timeout=300)[0]
    return process.returncode, text


def workers(process: 'subprocess.Popen[str]') -> Iterator[int]:
    path = Path(f'/proc/{process.pid}/task/{process.pid}/children')
    for pid in path.read_text(encoding='ascii').split():
        try:
            words = Path(f'/proc/{pid}/cmdline').read_bytes()
        except OSError:
            continue
        if b'tgx_anchor' in words:
            yield int(pid)


@pytest.mark.slow
@pytest.mark.skipif(
    not Path('/proc').exists(), reason='needs the process files of Linux'
)
def test_killed_processes(shards: Path, tmp_path: Path) -> None:
    begin = time.monotonic()
    code, text = finish(start('identify', str(shards), '--out', str(tmp_path / 'one')))
    assert code == 0, text
    duration = time.monotonic() - begin
    expected = pa.parquet.read_table(tmp_path / 'one')
    draw = random.Random(0)  # noqa: S311
    out = tmp_path / 'two'
    kills = 0
    while kills < KILLS:
        process = start('identify', str(shards), '--out', str(out), restarts=2)
        time.sleep(draw.uniform(0.1, 0.9) * duration)
        # They may not have started yet, or be done already.
        victims = sorted(workers(process)) if process.poll() is None else []
        if victims:
            os.kill(draw.choice(victims), signal.SIGKILL)
            kills += 1
        code, text = finish(process)
        assert code == 0, text
        assert pa.parquet.read_table(out).equals(expected), kills
        assert sorted(path.name for path in tmp_path.iterdir()) == ['one', 'two']


@pytest.mark.slow
@pytest.mark.skipif(
    not Path('/proc').exists(), reason='needs the process files of Linux'
)
def test_killed_for_good(shards: Path, tmp_path: Path) -> None:
    out = tmp_path / 'out'
    process = start('identify', str(shards), '--out', str(out))
    deadline = time.monotonic() + 120
    work = tmp_path / 'out.work'
    while not (work.is_dir() and any(work.glob('*.pt'))):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.05)
    os.kill(max(workers(process)), signal.SIGKILL)
    code, text = finish(process)
    assert code != 0
    said = [line for line in text.splitlines() if line.startswith('tgx-anchor:')]
    assert len(said) == 1, text
    assert 'another process has ended: nothing was written' in said[0]
    assert not out.exists()
    # The same command goes on.
    code, text = finish(start('identify', str(shards), '--out', str(out)))
    assert code == 0, text
    assert [path.name for path in tmp_path.iterdir()] == ['out']


@pytest.mark.slow
def test_more_processes_than_shards(shards: Path, tmp_path: Path) -> None:
    table, one = shards.parent / 'table.parquet', tmp_path / 'one'
    write_shards(table, one, num_shards=1, memory='500MB')
    code, text = finish(start('identify', str(one), '--out', str(tmp_path / 'out')))
    assert code == 0, text
    assert pa.parquet.read_table(tmp_path / 'out').num_rows == 20_000


@pytest.mark.slow
def test_one_line_of_all_processes(shards: Path, tmp_path: Path) -> None:
    file = shards.parent / 'cut' / 'shard-00003.parquet'
    subprocess.run(['cp', '-r', str(shards), str(file.parent)], check=True)
    content = bytearray(file.read_bytes())
    content[len(content) // 2] ^= 1
    file.write_bytes(content)
    words = ('identify', str(file.parent), '--out', str(tmp_path / 'out'))
    code, text = finish(start(*words))
    assert code != 0
    said = [line for line in text.splitlines() if line.startswith('tgx-anchor:')]
    assert len(said) == 1, text
    assert 'shard 3 has changed' in said[0]
    assert not any(tmp_path.iterdir())


def test_is_shards(shards: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert processes.is_shards([str(shards)])
    assert not processes.is_shards(['a.csv', 'b.csv'])
    with pytest.raises(ValueError, match='must be the only input'):
        processes.is_shards([str(shards), 'a.csv'])
    monkeypatch.setenv('WORLD_SIZE', '2')
    with pytest.raises(ValueError, match="write one with 'tgx-anchor shard'"):
        processes.is_shards(['a.csv'])


def test_options_of_tables() -> None:
    processes.check_no_table(TableOptions())
    for name, options in (
        ('--group', TableOptions(group='a')),
        ('--member-attr', TableOptions(member_attr=['a'])),
        ('--skip-bad', TableOptions(skip_bad=True)),
    ):
        with pytest.raises(ValueError, match=f"'{name}' is for tables"):
            processes.check_no_table(options)


@pytest.mark.slow
def test_commands_of_the_docs(tmp_path: Path) -> None:
    page = (ROOT / 'docs' / 'many_machines.md').read_text(encoding='utf-8')
    block = page.split('```bash shards\n')[1].split('```')[0]
    lines = block.splitlines()
    assert len(lines) == 3
    programs = {
        'tgx-anchor': '-m tgx_anchor',
        'torchrun': '-m torch.distributed.run',
    }
    for line in lines:
        program, _, words = line.partition(' ')
        command = [*programs[program].split(), *words.split()]
        done = subprocess.run(
            [sys.executable, *command],
            cwd=tmp_path,
            env={**os.environ, 'PYTHONPATH': str(ROOT), 'OMP_NUM_THREADS': '1'},
            capture_output=True,
            text=True,
            check=False,
        )
        assert done.returncode == 0, done.stderr
    assert 'written to anchors/' in done.stdout
    assert pa.parquet.read_table(tmp_path / 'anchors').num_rows == 20_000
