"""Manifest of a folder of shards: counts, columns and checksums."""

import json
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from tgx_anchor.data.shard_file import ShardFile
from tgx_anchor.utils.messages import one_line, shorten

MANIFEST = '_manifest.json'
FORMAT = 'tgx_anchor shards'
VERSION = 1
KEYS = ('x', 'hyperedge_attr', 'incidence_attr')


@dataclass(frozen=True)
class Shard:
    r"""A shard: whole groups, with numbers that follow each other.

    Args:
        first_hyperedge (int): The number of its first group.
        num_hyperedges (int): The number of its groups.
        num_known (int): The number of its groups with a known anchor.
        incidences (ShardFile): The members of its groups.
        hyperedges (ShardFile): Its groups.
    """

    first_hyperedge: int
    num_hyperedges: int
    num_known: int
    incidences: ShardFile
    hyperedges: ShardFile


@dataclass(frozen=True)
class ShardManifest:
    r"""The content of a folder of shards, kept in its file :obj:`_manifest.json`.

    Args:
        num_nodes (int): The number of nodes :math:`N`.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        num_incidences (int): The number of incidences :math:`P`.
        columns (dict[str, list[str]]): The columns of the files, by
            :obj:`"incidences"`, :obj:`"hyperedges"` and :obj:`"nodes"`.
        shards (list[Shard]): The shards.
        nodes (list[ShardFile]): The files of nodes, in the order of their numbers.
        attributes (dict[str, dict[str, str]], optional): For :obj:`"x"`,
            :obj:`"hyperedge_attr"` and :obj:`"incidence_attr"`, the name of each
            attribute by its column. (default: :obj:`{}`)
        role_names (list[str], optional): The names of the roles by their number.
            (default: :obj:`None`)
        rejected (list[ShardFile], optional): The files of rows that were left out.
            (default: :obj:`[]`)
        settings (str, optional): A code of the tables and options that the shards
            were made of. (default: :obj:`""`)
    """

    num_nodes: int
    num_hyperedges: int
    num_incidences: int
    columns: dict[str, list[str]]
    shards: list[Shard]
    nodes: list[ShardFile]
    attributes: dict[str, dict[str, str]] = field(default_factory=dict)
    role_names: list[str] | None = None
    rejected: list[ShardFile] = field(default_factory=list)
    settings: str = ''

    @classmethod
    def read(cls, root: Path) -> 'ShardManifest':
        r"""Reads the manifest of a folder, and checks that its numbers agree.

        Args:
            root (Path): The folder.
        """
        path = root / MANIFEST
        if not path.is_file():
            raise ValueError(
                f"'root' must be a folder of 'tgx-anchor shard', with a file "
                f'{MANIFEST!r} (got {str(root)!r})'
            )
        try:
            values = json.loads(path.read_text(encoding='utf-8'))
            kind = (values.pop('format'), values.pop('version'))
            if kind != (FORMAT, VERSION):
                raise ValueError(f'the format {shorten(kind)}')
            for key in ('nodes', 'rejected'):
                values[key] = [ShardFile(**entry) for entry in values.get(key, [])]
            values['shards'] = [_read_shard(entry) for entry in values['shards']]
            out = cls(**values)
            out._check()
        except (AttributeError, KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f'{str(path)!r} must be a manifest of shards, version {VERSION} (got '
                f'{one_line(error)})'
            ) from error
        return out

    def _check(self) -> None:
        sums = {
            'num_nodes': sum(file.num_rows for file in self.nodes),
            'num_hyperedges': sum(shard.num_hyperedges for shard in self.shards),
            'num_incidences': sum(s.incidences.num_rows for s in self.shards),
        }
        for name, found in sums.items():
            if found != getattr(self, name):
                raise ValueError(
                    f'{name!r} {getattr(self, name):,} and {found:,} in its files'
                )
        number = 0
        for i, shard in enumerate(self.shards):
            if shard.first_hyperedge != number:
                raise ValueError(
                    f'group {shard.first_hyperedge:,} first in shard {i}, after '
                    f'{number:,} groups'
                )
            if shard.hyperedges.num_rows != shard.num_hyperedges:
                raise ValueError(
                    f'{shard.num_hyperedges:,} groups in shard {i}, and '
                    f'{shard.hyperedges.num_rows:,} in its file'
                )
            number += shard.num_hyperedges
        needed = {'incidences': 'node hyperedge y', 'hyperedges': 'id', 'nodes': 'id'}
        for key, names in needed.items():
            lost = set(names.split()).difference(self.columns[key])
            if lost:
                raise ValueError(f'no column {shorten(min(lost))} in {key!r}')
        odd = set(self.attributes).difference(KEYS)
        if odd:
            raise ValueError(f'attributes of {shorten(min(odd))}')

    def to_json(self) -> str:
        r"""Returns the manifest as text."""
        values: dict[str, Any] = {'format': FORMAT, 'version': VERSION, **asdict(self)}
        return json.dumps(values, indent=1, ensure_ascii=False) + '\n'


def _read_shard(entry: dict[str, Any]) -> Shard:
    files = {key: ShardFile(**entry[key]) for key in ('incidences', 'hyperedges')}
    return Shard(**{**entry, **files})
