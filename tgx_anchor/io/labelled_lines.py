"""One group a line: members in one file, their labels in another."""

import re
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tgx_anchor.io.role_table import RoleTable
from tgx_anchor.utils.messages import shorten

_KEY = re.compile(rb"^'([^'\n]*)'\t", re.MULTILINE)


def read_labelled_lines(
    member_path: Path, label_path: Path, num_roles: int
) -> RoleTable:
    r"""Reads the label files of edge-dependent node classification.

    Line :math:`j` of :obj:`member_path` holds the members of group :math:`j`, line
    :math:`j` of :obj:`label_path` their labels: integers between tabs. All lines of
    both files may begin with the same key of the group between single quotes.

    Args:
        member_path (Path): The file of members, :obj:`hypergraph.txt`.
        label_path (Path): The file of labels, :obj:`hypergraph_pos.txt`.
        num_roles (int): The number of labels, which are then
            :obj:`0, ..., num_roles - 1`.
    """
    keys, members, count = _read_lines(Path(member_path))
    label_keys, labels, label_count = _read_lines(Path(label_path))
    name = Path(label_path).name
    if len(count) != len(label_count):
        raise ValueError(
            f"'{name}' must have {len(count)} lines, as '{Path(member_path).name}' has "
            f'(got {len(label_count)})'
        )
    if not np.array_equal(count, label_count):
        line = int(np.flatnonzero(count != label_count)[0])
        raise ValueError(
            f"'{name}' must have one label per member, {count[line]} in line "
            f'{line + 1} (got {label_count[line]})'
        )
    if keys != label_keys:
        raise ValueError(
            f"'{name}' must have the same keys as '{Path(member_path).name}' "
            f'(got others or none)'
        )
    hyperedge = np.repeat(np.arange(len(count)), count)
    if labels.size and labels.max() >= num_roles:
        place = int(np.argmax(labels >= num_roles))
        raise ValueError(
            f"'{name}' must hold labels from 0 to {num_roles - 1} "
            f'(got {labels[place]} in line {hyperedge[place] + 1})'
        )
    hyperedge_id = np.array(keys, dtype=object) if keys else np.arange(len(count))
    return RoleTable(members, hyperedge, labels, hyperedge_id)


def _read_lines(path: Path) -> tuple[list[str], NDArray[np.int64], NDArray[np.int64]]:
    # Returns the keys, the integers of all lines, and their number in each line.
    text = path.read_bytes()
    if text and not text.endswith(b'\n'):
        text += b'\n'
    num_lines = text.count(b'\n')
    keys = [key.decode(errors='replace') for key in _KEY.findall(text)]
    if keys and len(keys) != num_lines:
        raise ValueError(
            f"'{path.name}' must have a key in all lines or in none "
            f'(got {len(keys)} in {num_lines} lines)'
        )
    text = _KEY.sub(b'', text)

    fields = pc.split_pattern(pa.array(text.split(b'\n')[:-1], pa.binary()), b'\t')
    value = pc.list_flatten(fields)
    # More digits may not fit into 64 bits.
    is_integer = pc.match_substring_regex(value, '^[0-9]{1,18}$')
    place = pc.index(is_integer, False).as_py()
    if place >= 0:
        line = pc.list_parent_indices(fields)[place].as_py() + 1
        raise ValueError(
            f"'{path.name}' must hold integers of at most 18 digits between single "
            f'tabs (got {shorten(value[place].as_py())} in line {line})'
        )
    integers = value.cast(pa.string()).cast(pa.int64())
    count = pc.list_value_length(fields).cast(pa.int64())
    # Arrow's own memory cannot be written to, which PyTorch warns about.
    return keys, np.array(integers), np.array(count)
