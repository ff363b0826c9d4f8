"""Records where measurements come from."""

import datetime as dt
import os
import platform
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import tgx_anchor
from tgx_anchor.io import ResultTable


@dataclass(frozen=True)
class Run:
    r"""One call of :func:`~tgx_anchor.reproduce.reproduce` that measured something.

    Args:
        run (int): Its number, to which cells refer.
        date (str): The day on which it started.
        commit (str): The commit of the package, with a :obj:`+` if files were changed
            since; :obj:`""` if the package is not a git checkout.
        versions (str): The versions of the package and of its dependencies.
        machine (str): The processor, its cores and the memory.
        command (str): The command.
    """

    run: int
    date: str
    commit: str
    versions: str
    machine: str
    command: str


def run_table(path: str | Path | None = None) -> ResultTable[Run]:
    r"""Opens the table of runs.

    Args:
        path (str, optional): The CSV file; if :obj:`None`, runs are kept in memory
            only. (default: :obj:`None`)
    """
    return ResultTable(Run, path, key=('run',))


def new_run(earlier: Sequence[Run], command: str) -> Run:
    r"""Describes a run that starts now.

    Args:
        earlier (list[Run]): The runs before it.
        command (str): The command.
    """
    packages = [f'{name} {version(name)}' for name in ('torch', 'torch_geometric')]
    return Run(
        run=max((run.run for run in earlier), default=0) + 1,
        date=dt.datetime.now(dt.UTC).date().isoformat(),
        commit=_commit(),
        versions=', '.join(
            [
                f'tgx_anchor {tgx_anchor.__version__}',
                *packages,
                f'Python {platform.python_version()}',
            ]
        ),
        machine=_machine(),
        command=command,
    )


def _machine() -> str:
    words = [platform.machine(), f'{os.cpu_count()} cores']
    names = getattr(os, 'sysconf_names', {})
    if 'SC_PHYS_PAGES' in names:
        size = os.sysconf('SC_PHYS_PAGES') * os.sysconf('SC_PAGE_SIZE')
        words.append(f'{size / 2**30:.0f} GiB')
    return ', '.join(words)


def _commit() -> str:
    folder = Path(tgx_anchor.__file__).parent
    # The checkout of something else may contain an installed package.
    if not (folder.parent / '.git').exists():
        return ''
    commit = _git(folder, 'rev-parse', '--short', 'HEAD')
    changed = _git(folder, 'status', '--porcelain', '--untracked-files=no', '.')
    return commit + '+' if commit and changed else commit


def _git(folder: Path, *words: str) -> str:
    try:
        found = subprocess.run(  # noqa: S603
            ['git', *words],  # noqa: S607
            cwd=folder,
            capture_output=True,
            text=True,
            check=True,
        )
    except (OSError, subprocess.CalledProcessError):
        return ''
    return found.stdout.strip()
