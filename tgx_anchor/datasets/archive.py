"""Unpacks the raw files of a dataset from its published archive."""

import errno
import lzma
import shutil
import zipfile
import zlib
from pathlib import Path, PureWindowsPath
from tempfile import TemporaryDirectory

from tgx_anchor.datasets.location import CSV_NAMES, JSON_NAME, canonical_name
from tgx_anchor.utils.messages import listed, one_line

# The largest raw file of the catalogue has 36 MB.
MAX_BYTES = 2**30
_CORRUPT = (
    EOFError,
    RuntimeError,  # encrypted, or packed by an unknown method
    lzma.LZMAError,
    zipfile.BadZipFile,
    zlib.error,
)


def extract_raw_files(
    archive: Path, folder: Path, max_bytes: int = MAX_BYTES
) -> list[Path]:
    r"""Unpacks the three tables of an annotated hypergraph from a ZIP file, or its JSON
    file if there are no tables. They may lie in any folder of the archive; all other
    files are left alone.

    Args:
        archive (pathlib.Path): The ZIP file.
        folder (pathlib.Path): The folder to put the files in, by their own names.
        max_bytes (int, optional): The largest total size of the unpacked files.
            (default: :obj:`2**30`)

    Raises:
        ValueError: If the archive is corrupt, lacks the files, or unpacks to more than
            :obj:`max_bytes` bytes.
    """
    try:
        with zipfile.ZipFile(archive) as source:
            return _extract(source, archive.name, folder, max_bytes)
    except _CORRUPT as error:
        raise _corrupt(archive, error) from error
    except OSError as error:
        # A seek to a wrong offset gives EINVAL, a decompressor gives no number; any
        # other error, such as a full disk, is not the fault of the archive.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _corrupt(archive, error) from error


def _corrupt(archive: Path, error: Exception) -> ValueError:
    return ValueError(f"'{archive}' must be an intact ZIP file ({one_line(error)})")


def _extract(
    source: zipfile.ZipFile, name: str, folder: Path, max_bytes: int
) -> list[Path]:
    members = {
        canonical_name(path): info
        for info in source.infolist()
        # A Windows path knows both kinds of slashes. A Mac adds hidden files.
        if (path := PureWindowsPath(info.filename)).name[:1] not in ('', '.')
        and not info.filename.endswith(('/', '\\'))
    }
    choices = (CSV_NAMES, [JSON_NAME])
    names = next((c for c in choices if members.keys() >= set(c)), None)
    if names is None:
        raise ValueError(
            f"'{name}' must hold {', '.join(CSV_NAMES)} or a file '*{JSON_NAME}' "
            f'(its files: {listed(sorted(members))})'
        )
    # No member yields more bytes than its entry says, whatever was packed.
    num_bytes = sum(members[name].file_size for name in names)
    if num_bytes > max_bytes:
        raise ValueError(
            f"'{name}' must unpack to at most {max_bytes} bytes (got {num_bytes})"
        )
    with TemporaryDirectory('.part', dir=folder) as scratch:
        parts = [Path(scratch) / member for member in names]
        for part in parts:
            with source.open(members[part.name]) as stream, part.open('wb') as sink:
                shutil.copyfileobj(stream, sink)
        return [part.replace(folder / part.name) for part in parts]
