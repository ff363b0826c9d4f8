"""Manifest of a folder of shards: counts, columns and checksums."""

import json
from dataclasses import MISSING, asdict, dataclass, field, fields
from pathlib import Path
from typing import Any, TypeVar

from tgx_anchor.data.shard_file import ShardFile
from tgx_anchor.utils.messages import one_line, shorten

MANIFEST = '_manifest.json'
FORMAT = 'tgx_anchor shards'
VERSION = 1
# The files that hold the columns of attributes.
KEYS = {'x': 'nodes', 'hyperedge_attr': 'hyperedges', 'incidence_attr': 'incidences'}
# Values of other types are checked where they are used.
TYPES = (int, str)

T = TypeVar('T')


@dataclass(frozen=True)
class Shard:
    r"""A shard: whole groups with consecutive numbers.

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
        columns (dict[str, list[str]]): The names of the columns of the files of
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
        settings (str, optional): A hash of the tables and options that the shards
            were made from. (default: :obj:`""`)
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
                f"'root' must be a folder that 'tgx-anchor shard' wrote, with a file "
                f'{MANIFEST!r} (got {str(root)!r})'
            )
        try:
            values = json.loads(path.read_text(encoding='utf-8'))
            kind = (values.pop('format'), values.pop('version'))
            if kind != (FORMAT, VERSION):
                raise ValueError(f'the format {shorten(kind)}')
            for key in ('nodes', 'rejected'):
                values[key] = [_make(ShardFile, e) for e in values.get(key, [])]
            values['shards'] = [_read_shard(entry) for entry in values['shards']]
            out = _make(cls, values)
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
        if not self.shards or not self.nodes:
            raise ValueError(f'no files of {"nodes" if self.shards else "shards"}')
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
        for key, stored in self.attributes.items():
            lost = set(dict(stored)).difference(self.columns[KEYS[key]])
            if lost:
                raise ValueError(
                    f'the attribute {shorten(min(lost))} of {key!r}, and no such '
                    f'column in {KEYS[key]!r}'
                )

    def to_json(self) -> str:
        r"""Returns the manifest as text."""
        values: dict[str, Any] = {'format': FORMAT, 'version': VERSION, **asdict(self)}
        return json.dumps(values, indent=1, ensure_ascii=False) + '\n'


def _read_shard(entry: dict[str, Any]) -> Shard:
    files = {key: _make(ShardFile, entry[key]) for key in ('incidences', 'hyperedges')}
    return _make(Shard, {**entry, **files})


def _make(kind: type[T], values: dict[str, Any]) -> T:
    # The object of a part of the manifest, if it has the right keys and types.
    known = {entry.name: entry for entry in fields(kind)}  # type: ignore[arg-type]
    for name, value in values.items():
        if name not in known:
            raise ValueError(f'the key {shorten(name)}, which has no meaning')
        wanted = known[name].type
        if wanted in TYPES and type(value) is not wanted:
            raise ValueError(f'{shorten(value)} for {name!r}')
    for name, entry in known.items():
        is_needed = entry.default is MISSING and entry.default_factory is MISSING
        if is_needed and name not in values:
            raise ValueError(f'no key {name!r}')
    return kind(**values)
