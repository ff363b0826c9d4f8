r"""Measures time and memory of AnchorRadar on shards, in one and in two processes.

For each number of incidences, a planted table is written file by file, with as many
people per membership as in coAA. It is then sharded, and its anchors are identified
from the shards with one and with two processes of one thread each, and if it fits, from
the table in memory. Each figure is written to a CSV file as it comes, and a run that
was stopped goes on from it.

Memory is the largest anonymous memory of a process (pages of mapped files are not
counted), looked at five times a second.
"""

import argparse
import json
import math
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
from matplotlib.figure import Figure
from numpy.typing import NDArray
from rich.console import Console

from tgx_anchor.benchmark.growth import growth_exponent
from tgx_anchor.benchmark.tables import markdown_table, rich_table
from tgx_anchor.io import ResultTable
from tgx_anchor.io.files import replace_file

OUT = Path(__file__).parent / 'results' / 'scale.csv'
# As in coAA: people per membership, and members per group.
PEOPLE = 0.28
MEMBERS = 2.8
KNOWN = 0.075
NUM_SHARDS = 16
FILE_ROWS = 2_500_000
# The largest table that is also read into memory.
MAX_IN_MEMORY = 20_000_000
ROOT = Path(__file__).parents[1]


@dataclass(frozen=True)
class Row:
    r"""One run.

    Args:
        size (int): The number of memberships that were asked for.
        step (str): :obj:`"shard"`, :obj:`"memory"` or :obj:`"shards"`.
        processes (int): The number of processes.
        seconds (float): The time of the whole command.
        work_seconds (float): The time without the start of Python and PyTorch.
        memory (float): The largest anonymous memory of a process, in GiB.
        num_bytes (int): The bytes that a process sends per epoch of stage 2.
        all_bytes (int): The bytes that a process sends in all.
        num_people (int): The number of people.
        num_rows (int): The number of memberships.
        same (float): The share of anchors that are those of one process on shards.
    """

    size: int
    step: str
    processes: int
    seconds: float
    work_seconds: float
    memory: float
    num_bytes: int
    all_bytes: int
    num_people: int
    num_rows: int
    same: float


def write_tables(folder: Path, size: int) -> None:
    r"""Writes a planted table in files, with one row per membership.

    Args:
        folder (Path): The folder.
        size (int): The number of memberships.
    """
    if (folder / '_complete').exists():
        return
    folder.mkdir(parents=True, exist_ok=True)
    num_people = int(PEOPLE * size)
    strength = np.random.default_rng(0).normal(size=num_people).astype(np.float32)
    group = 0
    for number in range(math.ceil(size / FILE_ROWS)):
        generator = np.random.default_rng(number + 1)
        rows = min(FILE_ROWS, size - number * FILE_ROWS)
        columns, group = _draw_file(generator, rows, strength, group)
        pa.parquet.write_table(pa.table(columns), folder / f'part-{number:04d}.parquet')
    (folder / '_complete').touch()


def _draw_file(
    generator: np.random.Generator,
    rows: int,
    strength: NDArray[np.float32],
    first_group: int,
) -> tuple[dict[str, NDArray[Any]], int]:
    sizes = 1 + generator.geometric(1 / (MEMBERS - 1), size=rows)
    last = int(np.searchsorted(np.cumsum(sizes), rows)) + 1
    sizes = sizes[:last]
    sizes[-1] -= int(sizes.sum()) - rows
    group = np.repeat(np.arange(last), sizes)
    # A few people are in many groups.
    member = (len(strength) * generator.random(rows) ** 2).astype(np.int64)
    score = 2 * strength[member] + generator.gumbel(size=rows)
    order = np.lexsort((-score, group))
    first = np.concatenate([[0], np.cumsum(sizes)[:-1]])
    anchor = np.zeros(rows, dtype=bool)
    anchor[order[first]] = True
    known = generator.random(last) < KNOWN
    columns = {
        'group': group + first_group,
        'member': member,
        'is_anchor': anchor & known[group],
    }
    return columns, first_group + last


def run_command(words: Sequence[str]) -> tuple[float, float, dict[str, Any]]:
    r"""Runs a command, and returns its time, the largest anonymous memory of one of its
    processes in GiB, and its summary.

    Args:
        words (list[str]): The command.
    """
    environment = {
        **os.environ,
        'OMP_NUM_THREADS': '1',
        'PYTHONPATH': str(ROOT),
        'OMP_WAIT_POLICY': 'passive',
    }
    start = time.perf_counter()
    peak = 0.0
    with subprocess.Popen(  # noqa: S603
        [sys.executable, *words], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        while process.poll() is None:
            peak = max([peak, *map(_anonymous, _family(process.pid))])
            time.sleep(0.2)
        out = process.stdout.read() if process.stdout is not None else ''
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f'{" ".join(words)} ended with {process.returncode}: {out}')
    return seconds, peak, json.loads(out.strip().splitlines()[-1])


def _family(pid: int) -> Iterator[int]:
    yield pid
    try:
        children = Path(f'/proc/{pid}/task/{pid}/children').read_text(encoding='ascii')
    except OSError:
        return
    for child in children.split():
        yield from _family(int(child))


def _anonymous(pid: int) -> float:
    try:
        lines = Path(f'/proc/{pid}/status').read_text(encoding='utf-8').splitlines()
    except OSError:
        return 0.0
    found = [line.split()[1] for line in lines if line.startswith('RssAnon:')]
    return int(found[0]) / 2**20 if found else 0.0


def same_anchors(first: Path, second: Path) -> float:
    r"""Returns the share of rows with the same anchor in two tables of anchors.

    Args:
        first (Path): A file or a folder.
        second (Path): A file or a folder.
    """
    names = ['group', 'anchor']
    tables = [pa.parquet.read_table(path, columns=names) for path in (first, second)]
    groups, anchors = (
        [table[name].to_numpy(zero_copy_only=False) for table in tables]
        for name in names
    )
    if not np.array_equal(groups[0], groups[1]):
        return 0.0
    return float(np.mean(anchors[0] == anchors[1]))


def measure(size: int, step: str, processes: int, work: Path) -> Row:
    r"""Runs one step.

    Args:
        size (int): The number of memberships.
        step (str): The step.
        processes (int): The number of processes.
        work (Path): The folder of tables, shards and anchors.
    """
    folder = work / f'{size:.0e}'
    tables, shards = folder / 'tables', folder / 'shards'
    files = sorted(map(str, tables.glob('*.parquet')))
    out = folder / f'anchors-{step}-{processes}'
    identify = ['identify', '--json', '--quiet', '--threads', '1']
    if step == 'shard':
        words = ['-m', 'tgx_anchor', 'shard', *files, '--out', str(shards)]
        words += ['--num-shards', str(NUM_SHARDS), '--memory', '2GB', '--json', '-q']
    elif step == 'memory':
        out = out.with_suffix('.parquet')
        words = ['-m', 'tgx_anchor', *identify, *files, '--out', str(out)]
        words += ['--model', 'anchor-radar']
    else:
        words = ['-m', 'tgx_anchor', *identify, str(shards), '--out', str(out)]
        if processes > 1:
            launch = ['-m', 'torch.distributed.run', '--standalone']
            words = [*launch, '--nproc-per-node', str(processes), *words]
    seconds, memory, found = run_command(words)
    parts: dict[str, float] = found['seconds']
    reference = folder / 'anchors-shards-1'
    same = math.nan
    if step != 'shard' and reference.exists():
        same = same_anchors(reference, out)
    return Row(
        size,
        step,
        processes,
        round(seconds, 1),
        round(sum(parts.values()) - parts['loading PyTorch'], 3),
        round(memory, 2),
        int(found.get('num_bytes_per_epoch', 0)),
        int(found.get('num_bytes_sent', 0)),
        int(found.get('num_people', found.get('num_members', 0))),
        int(found.get('num_rows', 0) or size),
        same,
    )


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns times and memory as lines of text, header first.

    Args:
        rows (list[Row]): The runs.
    """
    header = ['memberships', 'step', 'processes', 's', 's of work', 'GiB']
    header += ['bytes per epoch', '8 N', 'same anchors']
    body = [
        [
            f'{row.size:.0e}',
            row.step,
            str(row.processes),
            f'{row.seconds:.0f}',
            f'{row.work_seconds:.0f}',
            f'{row.memory:.2f}',
            f'{row.num_bytes:,}' if row.num_bytes else '',
            f'{8 * row.num_people:,}' if row.num_bytes else '',
            '' if math.isnan(row.same) else f'{row.same:.2%}',
        ]
        for row in sorted(rows, key=lambda r: (r.size, r.step, r.processes))
        if row.step != 'sum'
    ]
    return [header, *body]


def findings(rows: Sequence[Row]) -> list[str]:
    r"""Returns sentences about growth, speed-up and memory.

    Args:
        rows (list[Row]): The runs.
    """
    found = {(row.size, row.step, row.processes): row for row in rows}
    out = []
    for step, processes in (('shard', 1), ('shards', 1), ('shards', 2)):
        for name in ('work_seconds', 'memory'):
            exponent = growth_exponent(
                (row.size, getattr(row, name))
                for row in rows
                if (row.step, row.processes) == (step, processes)
            )
            if exponent is not None:
                word = {'work_seconds': 'time', 'memory': 'memory'}[name]
                out.append(
                    f'{step}, {processes} process(es): {word} grows with exponent '
                    f'{exponent:.2f}'
                )
    for size in sorted({row.size for row in rows}):
        one, two = (found.get((size, 'shards', n)) for n in (1, 2))
        memory = found.get((size, 'memory', 1))
        if one and two:
            ratio = two.work_seconds / one.work_seconds
            out.append(
                f'{size:.0e}: two processes take {ratio:.2f} of the time of one.'
            )
        if one and memory:
            ratio = one.work_seconds / memory.work_seconds
            out.append(
                f'{size:.0e}: one process on shards takes {ratio:.2f} of the time in '
                f'memory'
            )
    return out


SUM_SCRIPT = """
import json, sys, time, torch, torch.distributed as dist
torch.set_num_threads(1)
dist.init_process_group('gloo')
found = {}
for size in map(int, sys.argv[1:]):
    value = torch.ones(size // 8, dtype=torch.double)
    times = []
    for _ in range(7):
        dist.barrier()
        start = time.perf_counter()
        dist.all_reduce(value)
        times.append(time.perf_counter() - start)
    found[size] = sorted(times)[3]
if dist.get_rank() == 0:
    print(json.dumps(found))
dist.destroy_process_group()
"""
SUM_BYTES = (8, 2**20, 2**24, 2**27)


def measure_sums(work: Path) -> Iterator[Row]:
    r"""Measures sums over two processes of this machine.

    Args:
        work (Path): The folder of the script.
    """
    script = work / 'sums.py'
    script.write_text(SUM_SCRIPT, encoding='utf-8')
    words = ['-m', 'torch.distributed.run', '--standalone', '--nproc-per-node', '2']
    sizes = list(map(str, SUM_BYTES))
    found = run_command([*words, str(script), *sizes])[2]
    for size, seconds in found.items():
        yield Row(int(size), 'sum', 2, seconds, seconds, 0.0, 0, 0, 0, 0, math.nan)


@dataclass(frozen=True)
class CostModel:
    r"""Time and memory of a process, fitted to runs with one and two processes.

    .. math::
        T = a \frac{P}{K} + b N + R \left( \frac{2 (K - 1)}{K} \frac{8 N}{B} +
        2 (K - 1) L \right), \qquad
        S = s_P \frac{P}{K} + s_N N + s_0

    with :math:`P` memberships, :math:`N = 0.28 P` people, :math:`K` machines and
    :math:`R` sums of a vector over people (a ring in which each process sends and
    receives :math:`2 (K - 1)` parts).

    Args:
        per_row (float): The seconds :math:`a` per membership.
        per_person (float): The seconds :math:`b` per person.
        num_sums (float): The number of sums :math:`R`.
        rate (float): The bytes per second :math:`B`.
        latency (float): The seconds :math:`L` of a message.
        row_bytes (float): The memory :math:`s_P` per membership.
        person_bytes (float): The memory :math:`s_N` per person.
        base_bytes (float): The memory :math:`s_0` of the program.
    """

    per_row: float
    per_person: float
    num_sums: float
    rate: float
    latency: float
    row_bytes: float
    person_bytes: float
    base_bytes: float

    @classmethod
    def fit(cls, rows: Sequence[Row]) -> 'CostModel | None':
        r"""Fits the model to the largest table with one and two processes.

        Args:
            rows (list[Row]): The runs.
        """
        found = {(row.size, row.step, row.processes): row for row in rows}
        sums = {row.size: row.seconds for row in rows if row.step == 'sum'}
        both = [
            size
            for size, step, processes in found
            if (step, processes) == ('shards', 2) and (size, 'shards', 1) in found
        ]
        if not both or not sums:
            return None
        one, two = (found[max(both), 'shards', n] for n in (1, 2))
        people = two.num_people
        num_sums = two.all_bytes / (8 * people)
        latency = sums[min(sums)]
        rate = max(sums) / max(sums[max(sums)] - latency, 1e-9)
        waiting = num_sums * (8 * people / rate + latency)
        # Two equations: T(1) = a P + b N, T(2) = a P / 2 + b N + waiting.
        per_row = 2 * (one.work_seconds - two.work_seconds + waiting) / one.num_rows
        per_row = min(per_row, one.work_seconds / one.num_rows)
        per_person = (one.work_seconds - per_row * one.num_rows) / people
        small = found.get((min(both), 'shards', 1), one)
        gib = 2**30
        row_bytes = max(2 * (one.memory - two.memory) * gib / one.num_rows, 0.0)
        growth = (
            (one.memory - small.memory) * gib / max(one.num_rows - small.num_rows, 1)
        )
        person_bytes = max((growth - row_bytes) * one.num_rows / people, 0.0)
        base = one.memory * gib - row_bytes * one.num_rows - person_bytes * people
        return cls(
            per_row,
            per_person,
            num_sums,
            rate,
            latency,
            row_bytes,
            person_bytes,
            max(base, 0.0),
        )

    def seconds(self, size: float, machines: int, rate: float | None = None) -> float:
        r"""Returns the time of a run.

        Args:
            size (float): The number of memberships.
            machines (int): The number of machines.
            rate (float, optional): The bytes per second, if not those that were
                measured. (default: :obj:`None`)
        """
        people = PEOPLE * size
        steps = 2 * (machines - 1)
        waiting = steps / machines * 8 * people / (rate or self.rate)
        waiting += steps * self.latency
        work = self.per_row * size / machines + self.per_person * people
        return work + self.num_sums * waiting

    def gib(self, size: float, machines: int) -> float:
        r"""Returns the memory of a machine with one process, in GiB.

        Args:
            size (float): The number of memberships.
            machines (int): The number of machines.
        """
        own = self.row_bytes * size / machines + self.person_bytes * PEOPLE * size
        return (own + self.base_bytes) / 2**30

    def sentences(self) -> list[str]:
        r"""Returns the model in words."""
        balance = self.per_row * self.rate / (self.num_sums * 16 * PEOPLE)
        limit = 64 * 2**30 / max(self.person_bytes * PEOPLE, 1e-9)
        return [
            f'Cost model (a projection, fitted to the largest table here): '
            f'{1e6 * self.per_row:.2f} s per million memberships, '
            f'{1e6 * self.per_person:.2f} s per million people in each process, '
            f'{self.num_sums:.0f} sums of a vector over people at '
            f'{self.rate / 1e9:.2f} GB/s and {1e3 * self.latency:.2f} ms',
            f'Memory: {self.row_bytes:.0f} bytes per membership of a process, '
            f'{self.person_bytes:.0f} per person, {self.base_bytes / 2**30:.2f} GiB '
            f'for the program',
            f'Projection: from about {balance:.0f} machines on, a process waits longer '
            f'for sums than it computes on its memberships',
            f'Projection: vectors over people alone fill 64 GiB at {limit:.1e} '
            f'memberships; from there on, they have to be divided as well '
            f'(reduce-scatter and all-gather)',
        ]


def plot(rows: Sequence[Row], path: Path) -> None:
    r"""Draws the projected time and memory over the number of machines, if there are
    the runs that it needs.

    Args:
        rows (list[Row]): The runs.
        path (Path): The picture.
    """
    model = CostModel.fit(rows)
    if model is None:
        return
    machines = [2**i for i in range(9)]
    figure = Figure(figsize=(10, 4), layout='constrained')
    left, right = figure.subplots(1, 2)
    for i, size in enumerate((1e8, 1e9, 1e10, 1e11)):
        label, color = f'{size:.0e} memberships', f'C{i}'
        left.plot(
            machines,
            [model.seconds(size, k) / 3600 for k in machines],
            color,
            label=label,
        )
        slow = [model.seconds(size, k, 1.25e9) / 3600 for k in machines]
        left.plot(machines, slow, color, linestyle='--')
        right.plot(machines, [model.gib(size, k) for k in machines], color, label=label)
    for axes, name in ((left, 'hours'), (right, 'GiB per machine')):
        axes.set_xscale('log', base=2)
        axes.set_yscale('log')
        axes.set_xlabel('machines, one process of one thread each')
        axes.set_ylabel(name)
    left.set_title('projected time (dashed: a network of 1.25 GB/s)', fontsize=10)
    right.set_title('projected memory', fontsize=10)
    lines, labels = left.get_legend_handles_labels()
    figure.legend(lines, labels, loc='outside lower center', ncols=4, fontsize=8)
    with replace_file(path) as part:
        figure.savefig(part, dpi=120)


def main(arguments: Sequence[str]) -> None:
    r"""Measures what is not in the file yet, and writes the report.

    Args:
        arguments (list[str]): The arguments of the command line.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').split('\n\n')[0])
    parser.add_argument('--sizes', nargs='+', type=float, default=[1e6, 1e7])
    parser.add_argument('--processes', nargs='+', type=int, default=[1, 2])
    parser.add_argument('--work', type=Path, required=True, help='a folder for tables')
    parser.add_argument('--out', type=Path, default=OUT, help='the CSV file')
    options = parser.parse_args(arguments)
    log = ResultTable(Row, options.out, ('size', 'step', 'processes'))
    console = Console()
    for size in map(int, options.sizes):
        steps = [('shard', 1), *(('shards', n) for n in options.processes)]
        if size <= MAX_IN_MEMORY:
            steps.append(('memory', 1))
        done = {(row.size, row.step, row.processes) for row in log.rows}
        todo = [step for step in steps if (size, *step) not in done]
        if todo:
            write_tables(options.work / f'{size:.0e}' / 'tables', size)
        for step, processes in todo:
            row = measure(size, step, processes, options.work)
            log.add(row)
            console.print(
                f'{size:.0e} {step} {processes}: {row.work_seconds:.0f} s, '
                f'{row.memory:.2f} GiB'
            )
    if not any(row.step == 'sum' for row in log.rows):
        log.add(*measure_sums(options.work))
    table = make_table(log.rows)
    console.print(rich_table(table))
    lines = [f'- {line}' for line in findings(log.rows)]
    model = CostModel.fit(log.rows)
    if model is not None:
        lines += [f'- {line}' for line in model.sentences()]
        plot(log.rows, options.out.with_suffix('.png'))
    text = '\n'.join([markdown_table(table, 2), '', *lines, ''])
    with replace_file(options.out.with_suffix('.md')) as part:
        part.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main(sys.argv[1:])
