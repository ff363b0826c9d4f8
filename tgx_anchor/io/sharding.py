"""Shards of tables that do not fit into memory."""

import re
import shutil
from collections.abc import Sequence
from os import PathLike
from pathlib import Path
from typing import Any

from tgx_anchor.data import ShardedAnchorData
from tgx_anchor.data.shard_manifest import MANIFEST, ShardManifest
from tgx_anchor.io.group_columns import GroupColumns
from tgx_anchor.io.membership_reader import MembershipReader
from tgx_anchor.io.shard_reading import ShardReading
from tgx_anchor.io.shard_store import ShardStore
from tgx_anchor.io.shard_writer import WORK, Progress, ShardWriter
from tgx_anchor.io.table_stream import TableStream
from tgx_anchor.utils.fingerprint import digest
from tgx_anchor.utils.messages import one_line, shorten

Source = str | PathLike[str] | Sequence[str | PathLike[str]]
UNITS = {'': 1, 'K': 10**3, 'M': 10**6, 'G': 10**9, 'T': 10**12}
# Below this, the part of the table that is being read and the database need more.
MIN_MEMORY = 500 * 10**6
MAX_SHARDS = 100_000
# The share of the memory that the database may take. The rest is for what it does not
# count, and for the part of the table that is being read.
SHARE = 0.4


def write_shards(
    table: Source,
    out: str | PathLike[str],
    *,
    num_shards: int = 16,
    memory: int | str = '2GB',
    addresses: bool = False,
    skip_bad: bool = False,
    tidy: bool = False,
    encoding: str | None = None,
    threads: int | None = None,
    progress: Progress | None = None,
    **columns: Any,
) -> ShardReading:
    r"""Writes a table of any size to a folder of shards, which
    :class:`~tgx_anchor.data.ShardedAnchorData` reads.

    The table has one row per member of a group. Its columns are found, and its rows
    checked, as in :func:`~tgx_anchor.io.incidence.inspect_incidence`, with any number
    of anchors in a group. Nodes and groups are numbered in the order of their first
    appearance. Each shard holds consecutive groups, and about as many incidences as the
    others.

    DuckDB does the work on disk, in the folder :obj:`_work` of :obj:`out`. If it is
    interrupted, the same call continues after the last finished step. The manifest is
    written last: a folder without it is not complete.

    Args:
        table (str or list[str]): Files, folders or glob patterns of Parquet and text
            files (CSV or TSV, optionally compressed with gzip).
        out (str or os.PathLike): The folder to write.
        num_shards (int, optional): The number of shards. (default: :obj:`16`)
        memory (int or str, optional): The memory to use beyond that of the program
            itself, in bytes or as text such as :obj:`"500MB"`.
            (default: :obj:`"2GB"`)
        addresses (bool, optional): See
            :func:`~tgx_anchor.io.incidence.inspect_incidence`.
            (default: :obj:`False`)
        skip_bad (bool, optional): If set to :obj:`True`, bad rows are left out;
            otherwise they raise a :class:`BadRowError`. They are written to the folder
            :obj:`_rejected` either way. (default: :obj:`False`)
        tidy (bool, optional): See
            :func:`~tgx_anchor.io.incidence.inspect_incidence`.
            (default: :obj:`False`)
        encoding (str, optional): The encoding of text files. (default: :obj:`None`)
        threads (int, optional): The number of threads, by default that of the cores.
            (default: :obj:`None`)
        progress (Callable, optional): Called with the name of a step, how much of it
            is done, and how much there is to do (zero if that is not known).
            (default: :obj:`None`)
        **columns: The names of columns, :obj:`group`, :obj:`member`, :obj:`anchor`,
            :obj:`role`, :obj:`time`, :obj:`x`, :obj:`hyperedge_attr` and
            :obj:`incidence_attr`, as in
            :func:`~tgx_anchor.io.incidence.inspect_incidence`.
    """
    if isinstance(num_shards, bool) or not isinstance(num_shards, int):
        raise ValueError(f"'num_shards' must be an integer (got {shorten(num_shards)})")
    if not 1 <= num_shards <= MAX_SHARDS:
        raise ValueError(
            f"'num_shards' must lie in [1, {MAX_SHARDS:,}] (got {num_shards})"
        )
    size = read_memory(memory)
    layout = GroupColumns.ask(**columns, contexts=False)
    stream = TableStream.open(table, layout.choose, encoding)
    reader = MembershipReader(stream, layout, tidy, addresses)
    root = Path(out)
    files = [(file.path.absolute(), file.path.stat()) for file in stream.files]
    settings = digest(
        [(str(path), stat.st_size, stat.st_mtime_ns) for path, stat in files],
        (layout.asked, layout.given, addresses, tidy, encoding),
    )
    code = digest(settings, num_shards)
    if (root / MANIFEST).exists():
        return _reuse(root, code)
    _check_folder(root)
    store = ShardStore(root / WORK, settings, int(SHARE * size), threads)
    try:
        writer = ShardWriter(root, store, reader, num_shards, size, progress)
        reading = writer.write(skip_bad, code)
    except BaseException:
        store.close()
        raise
    store.remove()
    return reading


def read_memory(memory: int | str) -> int:
    r"""Returns an amount of memory in bytes.

    Args:
        memory (int or str): A number of bytes, or a number with one of the units KB,
            MB, GB, TB, KiB, MiB, GiB and TiB.
    """
    text = str(memory).strip()
    found = re.fullmatch(r'(\d+(?:\.\d+)?)\s*([KMGT]?)(i?)B?', text, re.IGNORECASE)
    if isinstance(memory, bool) or found is None:
        raise ValueError(
            f"'memory' must be a number of bytes, or such as '500MB' or '2GB' "
            f'(got {shorten(memory)})'
        )
    number, unit, binary = found.groups()
    step = 1024 if binary else 1000
    out = int(float(number) * step ** list(UNITS).index(unit.upper()))
    if out < MIN_MEMORY:
        raise ValueError(
            f"'memory' must be at least {MIN_MEMORY // 10**6}MB (got {shorten(memory)})"
        )
    return out


def _reuse(root: Path, code: str) -> ShardReading:
    manifest = ShardManifest.read(root)
    if manifest.settings != code:
        raise ValueError(
            f"'out' must be a new folder (got {str(root)!r}, which holds the shards of "
            f'another table, or with other options)'
        )
    try:
        ShardedAnchorData(root)
    except ValueError as error:
        raise ValueError(
            f"'out' must be a new folder, or one of whole shards (got {str(root)!r}: "
            f'{one_line(error)}; remove the folder to write it again)'
        ) from error
    # The run that wrote them may have been stopped before it could do this.
    shutil.rmtree(root / WORK, ignore_errors=True)
    return ShardReading(manifest, False)


def _check_folder(root: Path) -> None:
    if root.exists() and not root.is_dir():
        raise ValueError(f"'out' must be a folder (got the file {str(root)!r})")
    found = sorted(path.name for path in root.iterdir()) if root.exists() else []
    if found and WORK not in found:
        raise ValueError(
            f"'out' must be a new or empty folder (got {str(root)!r}, which holds "
            f'{found[0]!r})'
        )
