"""File of a folder of shards, with its size and checksum."""

import hashlib
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet

from tgx_anchor.utils.messages import one_line

_BLOCK = 2**22


@dataclass(frozen=True)
class ShardFile:
    r"""A Parquet file of a folder of shards.

    Args:
        file (str): Its path within the folder, with forward slashes.
        num_rows (int): The number of its rows.
        num_bytes (int): Its size.
        sha256 (str): The SHA-256 hash of its content, in hexadecimal.
    """

    file: str
    num_rows: int
    num_bytes: int
    sha256: str

    @classmethod
    def measure(cls, root: Path, file: str) -> 'ShardFile':
        r"""Describes a file that is complete.

        Args:
            root (Path): The folder of shards.
            file (str): The path of the file within the folder.
        """
        path = root / file
        num_rows = pa.parquet.read_metadata(path).num_rows
        return cls(file, num_rows, path.stat().st_size, _hash(path))

    def check_size(self, root: Path, name: str) -> None:
        r"""Raises a :class:`ValueError` if the file is missing or has another size.

        Args:
            root (Path): The folder of shards.
            name (str): The name of what the file holds, such as :obj:`"shard 3"`.
        """
        path = root / self.file
        if not path.is_file():
            raise ValueError(f'{name} is missing: there is no file {str(path)!r}')
        size = path.stat().st_size
        if size != self.num_bytes:
            fault = 'is truncated' if size < self.num_bytes else 'has changed'
            raise ValueError(
                f'{name} {fault}: {str(path)!r} must have {self.num_bytes:,} bytes '
                f'(got {size:,})'
            )

    def check_content(self, root: Path, name: str) -> None:
        r"""Raises a :class:`ValueError` if the file is missing, truncated or changed.

        Args:
            root (Path): The folder of shards.
            name (str): The name of what the file holds, such as :obj:`"shard 3"`.
        """
        self.check_size(root, name)
        path = root / self.file
        code = _hash(path)
        if code != self.sha256.lower():
            raise ValueError(
                f'{name} has changed: {str(path)!r} must have the SHA-256 hash '
                f'{self.sha256[:16]}... (got {code[:16]}...)'
            )
        try:
            rows = pa.parquet.read_metadata(path).num_rows
        except (pa.ArrowException, OSError) as error:
            raise ValueError(
                f'{name} must be a Parquet file (got {str(path)!r}: {one_line(error)})'
            ) from error
        if rows != self.num_rows:
            raise ValueError(
                f'{name} must have {self.num_rows:,} rows, as the manifest says '
                f'(got {rows:,} in {str(path)!r})'
            )


def _hash(path: Path) -> str:
    code = hashlib.sha256()
    with path.open('rb') as file:
        while block := file.read(_BLOCK):
            code.update(block)
    return code.hexdigest()
