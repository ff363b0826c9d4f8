"""Label files, against a line-by-line reading of the same bytes."""

import re
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tgx_anchor.io import RoleTable, read_labelled_lines

SETTINGS = settings(max_examples=120, deadline=None)
LINE = re.compile(rb"(?:'([^'\n]*)'\t)?([0-9]{1,18}(?:\t[0-9]{1,18})*)")


@pytest.fixture(scope='module')
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp('lines')


def read(folder: Path, members: bytes, labels: bytes, num_roles: int = 3) -> RoleTable:
    (folder / 'hypergraph.txt').write_bytes(members)
    (folder / 'hypergraph_pos.txt').write_bytes(labels)
    return read_labelled_lines(
        folder / 'hypergraph.txt', folder / 'hypergraph_pos.txt', num_roles
    )


class Line(NamedTuple):
    key: str | None
    values: list[int]


def slow_lines(text: bytes) -> list[Line] | None:
    """The lines of one file, or none if one of them is wrong."""
    lines = text.split(b'\n')
    if lines[-1] == b'':
        lines.pop()
    out = []
    for line in lines:
        match = LINE.fullmatch(line)
        if match is None:
            return None
        key = match.group(1)
        out.append(
            Line(
                None if key is None else key.decode(errors='replace'),
                [int(word) for word in match.group(2).split(b'\t')],
            )
        )
    if len({line.key is None for line in out}) > 1:
        return None
    return out


def check(folder: Path, members: bytes, labels: bytes, num_roles: int = 3) -> bool:
    """Compares the reader with the slow one; returns whether the files are right."""
    names, roles = slow_lines(members), slow_lines(labels)
    right = (
        names is not None
        and roles is not None
        and [(line.key, len(line.values)) for line in names]
        == [(line.key, len(line.values)) for line in roles]
        and all(value < num_roles for line in roles for value in line.values)
    )
    if not right or names is None or roles is None:
        with pytest.raises(ValueError, match='must') as caught:
            read(folder, members, labels, num_roles)
        message = str(caught.value)
        assert '\n' not in message
        assert re.match(r"'hypergraph(_pos)?\.txt' must .* \(got .*\)$", message)
        return False
    table = read(folder, members, labels, num_roles)
    assert table.node.tolist() == [v for line in names for v in line.values]
    assert table.role.tolist() == [v for line in roles for v in line.values]
    assert table.hyperedge.tolist() == [
        i for i, line in enumerate(names) for _ in line.values
    ]
    keyed = bool(names) and names[0].key is not None
    assert table.hyperedge_id.tolist() == [
        line.key if keyed else i for i, line in enumerate(names)
    ]
    assert (
        table.node.dtype == table.role.dtype == table.hyperedge.dtype == np.dtype('i8')
    )
    return True


# Right files #####################################################################


def render(rows: Sequence[Sequence[int]], keys: Sequence[str] | None) -> bytes:
    lines = ['\t'.join(map(str, row)) for row in rows]
    if keys is not None:
        lines = [f"'{key}'\t{line}" for key, line in zip(keys, lines, strict=True)]
    return ''.join(f'{line}\n' for line in lines).encode()


KEYS = st.text(
    st.characters(exclude_characters="'\n", exclude_categories=['Cs']), max_size=6
)


@st.composite
def files(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two files that belong together."""
    entry = st.tuples(
        st.integers(0, 12) | st.integers(0, 10**18 - 1), st.integers(0, 2)
    )
    groups = draw(st.lists(st.lists(entry, min_size=1, max_size=4), max_size=5))
    keys = None
    if draw(st.booleans()):
        keys = draw(st.lists(KEYS, min_size=len(groups), max_size=len(groups)))
    return (
        render([[node for node, _ in group] for group in groups], keys),
        render([[label for _, label in group] for group in groups], keys),
    )


@SETTINGS
@given(files())
def test_reads_right_files(folder: Path, pair: tuple[bytes, bytes]) -> None:
    assert check(folder, *pair)


@pytest.mark.parametrize(
    ('members', 'labels', 'node', 'hyperedge', 'role', 'ids'),
    [
        (b'', b'', [], [], [], []),
        (b'7\n', b'2\n', [7], [0], [2], [0]),
        (b'7\t5\n3', b'0\t1\n0', [7, 5, 3], [0, 0, 1], [0, 1, 0], [0, 1]),
        # Members and groups may repeat, and keep their order.
        (
            b'4\t4\t1\n4\t4\t1\n',
            b'0\t1\t1\n1\t0\t1\n',
            [4, 4, 1, 4, 4, 1],
            [0, 0, 0, 1, 1, 1],
            [0, 1, 1, 1, 0, 1],
            [0, 1],
        ),
        (b'007\n', b'00\n', [7], [0], [0], [0]),
        (b'999999999999999999\n', b'0\n', [10**18 - 1], [0], [0], [0]),
        (
            b"'a b/\t1'\t2\n'a b/\t1'\t3",
            b"'a b/\t1'\t0\n'a b/\t1'\t1",
            [2, 3],
            [0, 1],
            [0, 1],
            ['a b/\t1', 'a b/\t1'],
        ),
        (b"''\t2\n", b"''\t0\n", [2], [0], [0], ['']),
        ("'ü→'\t2\n".encode(), "'ü→'\t0\n".encode(), [2], [0], [0], ['ü→']),
        (b"'a\0'\t2\n", b"'a\0'\t0\n", [2], [0], [0], ['a\0']),
        (b"'\xff'\t2\n", b"'\xff'\t0\n", [2], [0], [0], ['\ufffd']),
    ],
)
def test_reads(
    folder: Path,
    members: bytes,
    labels: bytes,
    node: list[int],
    hyperedge: list[int],
    role: list[int],
    ids: list[int] | list[str],
) -> None:
    table = read(folder, members, labels)
    assert table.node.tolist() == node
    assert table.hyperedge.tolist() == hyperedge
    assert table.role.tolist() == role
    assert table.hyperedge_id.tolist() == ids
    assert check(folder, members, labels)


def test_accepts_paths_as_strings(folder: Path) -> None:
    read(folder, b'1\n', b'0\n')
    table = read_labelled_lines(
        f'{folder}/hypergraph.txt',  # type: ignore[arg-type]
        f'{folder}/hypergraph_pos.txt',  # type: ignore[arg-type]
        1,
    )
    assert table.node.tolist() == [1]


# Wrong files #####################################################################

INTEGERS = 'must hold integers of at most 18 digits between single tabs'


@pytest.mark.parametrize(
    ('members', 'labels', 'message'),
    [
        (
            b'1\t2\n3\n',
            b'0\t1\n',
            "'hypergraph_pos.txt' must have 2 lines, as 'hypergraph.txt' has (got 1)",
        ),
        (
            b'',
            b'0\n',
            "'hypergraph_pos.txt' must have 0 lines, as 'hypergraph.txt' has (got 1)",
        ),
        (
            b'1\n1\t2\n',
            b'0\n0\n',
            "'hypergraph_pos.txt' must have one label per member, 2 in line 2 (got 1)",
        ),
        (
            b'1\t2\n5\n',
            b'0\t1\n3\n',
            "'hypergraph_pos.txt' must hold labels from 0 to 2 (got 3 in line 2)",
        ),
        (b'1\n\n2\n', b'0\n0\n', f"'hypergraph.txt' {INTEGERS} (got b'' in line 2)"),
        (b'\n', b'\n', f"'hypergraph.txt' {INTEGERS} (got b'' in line 1)"),
        (
            b'1\t2\r\n',
            b'0\t1\n',
            f"'hypergraph.txt' {INTEGERS} (got b'2\\r' in line 1)",
        ),
        (b'1\t-2\n', b'0\t1\n', f"'hypergraph.txt' {INTEGERS} (got b'-2' in line 1)"),
        (b'1\n', b'-1\n', f"'hypergraph_pos.txt' {INTEGERS} (got b'-1' in line 1)"),
        (b'1\t\t2\n', b'0\t1\n', f"'hypergraph.txt' {INTEGERS} (got b'' in line 1)"),
        (b'1\n2\t\n', b'0\n1\n', f"'hypergraph.txt' {INTEGERS} (got b'' in line 2)"),
        (b'1 2\n', b'0\t1\n', f"'hypergraph.txt' {INTEGERS} (got b'1 2' in line 1)"),
        (b'1.0\n', b'0\n', f"'hypergraph.txt' {INTEGERS} (got b'1.0' in line 1)"),
        (
            b'\xef\xbb\xbf1\n',
            b'0\n',
            f"'hypergraph.txt' {INTEGERS} (got b'\\xef\\xbb\\xbf1' in line 1)",
        ),
        (
            '٣\n'.encode(),
            b'0\n',
            f"'hypergraph.txt' {INTEGERS} (got b'\\xd9\\xa3' in line 1)",
        ),
        (
            b'1\n1000000000000000000\n',
            b'0\n0\n',
            f"'hypergraph.txt' {INTEGERS} (got b'1000000000000000000' in line 2)",
        ),
        (
            b"'a'\t1\n2\n",
            b"'a'\t0\n0\n",
            "'hypergraph.txt' must have a key in all lines or in none "
            '(got 1 in 2 lines)',
        ),
        (
            b"'a'\t1\n'b'\t2\n",
            b"'a'\t0\n'c'\t0\n",
            "'hypergraph_pos.txt' must have the same keys as 'hypergraph.txt' "
            '(got others or none)',
        ),
        (
            b"'a'\t1\n",
            b'0\n',
            "'hypergraph_pos.txt' must have the same keys as 'hypergraph.txt' "
            '(got others or none)',
        ),
        (b"'a'\n", b"'a'\n", f"'hypergraph.txt' {INTEGERS} (got b\"'a'\" in line 1)"),
        (
            b"'a'\t'b'\t1\n",
            b'0\n',
            f"'hypergraph.txt' {INTEGERS} (got b\"'b'\" in line 1)",
        ),
    ],
)
def test_says_what_is_wrong(
    folder: Path, members: bytes, labels: bytes, message: str
) -> None:
    with pytest.raises(ValueError, match='must') as caught:
        read(folder, members, labels)
    assert str(caught.value) == message
    assert not check(folder, members, labels)


def test_number_of_roles_is_the_bound(folder: Path) -> None:
    assert read(folder, b'1\n', b'1\n', num_roles=2).role.tolist() == [1]
    with pytest.raises(ValueError, match=r'from 0 to 0 \(got 1 in line 1\)'):
        read(folder, b'1\n', b'1\n', num_roles=1)


# Damage ##########################################################################

SMALL = st.lists(
    st.sampled_from(
        [b'0', b'1', b'2', b'9', b'\t', b'\n', b"'k'\t", b"'", b'-', b'\r']
    ),
    max_size=12,
).map(b''.join)
BYTES = SMALL | st.binary(max_size=24)


@SETTINGS
@given(BYTES, BYTES)
@example(b'1\n', b'1')
def test_random_bytes(folder: Path, members: bytes, labels: bytes) -> None:
    check(folder, members, labels)


@SETTINGS
@given(BYTES)
def test_random_bytes_in_both(folder: Path, text: bytes) -> None:
    check(folder, text, text, num_roles=10**18)


@st.composite
def damaged(draw: st.DrawFn) -> tuple[bytes, bytes]:
    """Two files that belonged together before something happened to one of them."""
    pair = list(draw(files()))
    which = draw(st.integers(0, 1))
    text = pair[which]
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(text)))
        stop = min(start + draw(st.integers(0, 3)), len(text))
        text = text[:start] + draw(BYTES.map(lambda b: b[:3])) + text[stop:]
    pair[which] = text
    return pair[0], pair[1]


@SETTINGS
@given(damaged())
def test_damage(folder: Path, pair: tuple[bytes, bytes]) -> None:
    check(folder, *pair)


@pytest.mark.mirror
@pytest.mark.parametrize('source', ['DBLP', 'StackOverflowBiology'])
def test_reads_the_real_files(mirror: Path, folder: Path, source: str) -> None:
    place = mirror / 'edge_dependent_node_classification' / source
    members = (place / 'hypergraph.txt').read_bytes()
    labels = (place / 'hypergraph_pos.txt').read_bytes()
    assert check(folder, members, labels)
