"""Lets a command run in several processes, started by torchrun."""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tgx_anchor.cli.launch import speak_once, world_size
from tgx_anchor.cli.table_options import TableOptions

if TYPE_CHECKING:
    from tgx_anchor.data import ShardedAnchorData
    from tgx_anchor.utils import Ranks

_LOST = (
    'another process has ended: nothing was written; see its error above or in the '
    'report of torchrun, and run the same command to continue from the last state'
)


def is_shards(files: list[str]) -> bool:
    r"""Returns :obj:`True` if a command is given a folder of shards.

    Args:
        files (list[str]): The files of the command.
    """
    found = [Path(file, '_manifest.json').is_file() for file in files]
    if any(found) and len(files) > 1:
        raise ValueError(
            f'a folder of shards must be the only input (got {len(files)} files and '
            f'folders)'
        )
    # Only 'shard' makes these, and it writes the manifest last.
    parts = ('_work/store.duckdb', '_hyperedges')
    for file in files:
        left = [part for part in parts if Path(file, part).exists()]
        if left and not any(found):
            hint = "run the same 'tgx-anchor shard' command again to complete it"
            if parts[0] not in left:
                hint = "write it again to a new folder with 'tgx-anchor shard'"
            raise ValueError(
                f'{file!r} must be a complete folder of shards (got one without '
                f"'_manifest.json': {hint})"
            )
    if not any(found) and world_size() > 1:
        raise ValueError(
            f'several processes need a folder of shards (got {files[0]!r}): write one '
            f"with 'tgx-anchor shard'"
        )
    return any(found)


def check_no_table(options: TableOptions) -> None:
    r"""Raises a :class:`ValueError` for options of tables, which shards do not need.

    Args:
        options (TableOptions): The options of the command.
    """
    given: dict[str, Any] = {
        **options.columns,
        'known': options.known,
        'sep': options.sep,
        'encoding': options.encoding,
        'addresses': options.addresses,
        'skip-bad': options.skip_bad,
    }
    names = {'x': 'member-attr', 'hyperedge_attr': 'group-attr'}
    for name, value in given.items():
        if value:
            raise ValueError(
                f"'--{names.get(name, name)}' is for tables, not for shards: give it "
                f"to 'tgx-anchor shard'"
            )


@contextmanager
def process_group() -> Iterator['Ranks']:
    r"""Joins the processes that torchrun has started, if there are any, for the
    duration of a command. If one of them ends early, another one reports it.
    """
    import torch
    import torch.distributed as dist

    from tgx_anchor.utils import Ranks

    if 'RANK' not in os.environ:
        yield Ranks()
        return
    if torch.cuda.is_available():
        torch.cuda.set_device(int(os.environ.get('LOCAL_RANK', '0')))
    before = signal.signal(signal.SIGTERM, _on_terminated)
    dist.init_process_group('nccl' if torch.cuda.is_available() else 'gloo')
    try:
        yield Ranks.current()
    except RuntimeError as error:
        # Errors of connections have no class of their own.
        if world_size() == 1 or not _is_lost(str(error)):
            raise
        speak_once(_LOST)
        os._exit(1)
    finally:
        signal.signal(signal.SIGTERM, before)
    # Only after success: after an error, it would wait for others.
    dist.destroy_process_group()


def _is_lost(text: str) -> bool:
    words = ('connection', 'timed out', 'peer', 'gloo', 'nccl', 'socket')
    return any(word in text.lower() for word in words)


def _on_terminated(*_: object) -> None:
    speak_once(_LOST)
    os._exit(1)


def open_shards(path: str) -> 'ShardedAnchorData':
    r"""Opens a folder of shards, and checks those of this process.

    Args:
        path (str): The folder.
    """
    from tgx_anchor.data import ShardedAnchorData

    shards = ShardedAnchorData(path)
    shards.part()
    return shards
