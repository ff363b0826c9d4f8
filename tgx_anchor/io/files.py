"""Files that are read whole and replaced whole."""

import gc
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory


def check_is_file(name: str, path: Path) -> None:
    r"""Raises a :class:`ValueError` if the path is a folder."""
    if path.is_dir():
        raise ValueError(f"'{name}' must be a file (got the folder {str(path)!r})")


@contextmanager
def paused_collection() -> Iterator[None]:
    r"""Turns off Python's search for reference cycles, which would take most of the
    time while millions of records without cycles are built.
    """
    enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if enabled:
            gc.enable()


@contextmanager
def replace_file(path: Path) -> Iterator[Path]:
    r"""Yields the path of a temporary file that replaces :obj:`path` once it is
    complete, so that an interrupted writer leaves the old file as it was.
    """
    # Keeps the name, by which writers choose formats and PyTorch names contents.
    with TemporaryDirectory('.part', f'{path.name}.', path.absolute().parent) as folder:
        part = Path(folder) / path.name
        yield part
        part.replace(path)


def remove_parts(path: Path) -> None:
    r"""Removes what writers of :obj:`path` in :func:`replace_file` left behind when
    they were killed. There must be no other writer.
    """
    name = re.compile(re.escape(path.name) + r'\.[a-z0-9_]{8}\.part')
    folder = path.absolute().parent
    for left in [each for each in folder.iterdir() if name.fullmatch(each.name)]:
        shutil.rmtree(left, ignore_errors=True)
