"""Random hypergraphs as users hold them, and a plain form to compare them in."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import torch
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import hypergraphs
from tgx_anchor.data import AnchorData

Plain = dict[str, Any]

# The names of anything, except for what no file in UTF-8 can hold.
NAMES = st.text(st.characters(codec='utf-8', exclude_characters='\0'), min_size=1)
INT64 = st.integers(-(2**63), 2**63 - 1)
FLOAT32 = st.floats(width=32, allow_nan=False, allow_infinity=False)
ODD_VALUES: list[Any] = [
    None,
    math.nan,
    pd.NA,
    pd.NaT,
    '',
    'a',
    '1',
    '007',
    'yes',
    True,
    False,
    0,
    1,
    2,
    -1,
    10**30,
    10**5000,
    1.0,
    1.5,
    math.inf,
    1e300,
    b'a',
    [],
    [1],
    {},
    {'a': 1},
    (1,),
    1j,
    object,
    np.int64(1),
    np.uint64(2**64 - 1),
    np.float32(0.5),
    np.str_('a'),
    np.bool_(True),
    np.datetime64('2020-01-01'),
    np.timedelta64(1, 's'),
    np.zeros((2, 2)),
    torch.tensor(1),
    'many\nlines\r\n',
]


def examples(count: int) -> settings:
    """Settings for a number of examples, without a time limit."""
    return settings(
        max_examples=count,
        deadline=None,
        suppress_health_check=[
            HealthCheck.function_scoped_fixture,
            HealthCheck.too_slow,
        ],
    )


@st.composite
def vocabularies(
    draw: st.DrawFn, size: int, text: st.SearchStrategy[str] = NAMES
) -> Tensor | list[str]:
    """Distinct names: integers or strings."""
    if draw(st.booleans()):
        names = st.lists(INT64, min_size=size, max_size=size, unique=True)
        return torch.tensor(draw(names), dtype=torch.long)
    return draw(st.lists(text, min_size=size, max_size=size, unique=True))


@st.composite
def matrices(draw: st.DrawFn, size: int, min_width: int = 1) -> Tensor:
    """A row of numbers for each of `size` things."""
    width = draw(st.integers(min_width, 2))
    row = st.lists(FLOAT32, min_size=width, max_size=width)
    rows = draw(st.lists(row, min_size=size, max_size=size))
    return torch.tensor(rows, dtype=torch.float32).view(size, width)


@st.composite
def described_hypergraphs(
    draw: st.DrawFn,
    text: st.SearchStrategy[str] = NAMES,
    covering: bool = False,
    max_anchors: int | None = None,
) -> AnchorData:
    """A hypergraph that has everything: ids, roles and attributes, each or not.

    With `covering`, no node is isolated and no group empty, and the nodes are numbered
    in order of first appearance.
    """
    data = draw(hypergraphs(max_nodes=5, max_hyperedges=5, max_anchors=max_anchors))
    if covering:
        data = data.hyperedge_subgraph(data.hyperedge_size > 0, relabel_nodes=True)
        first = list(dict.fromkeys(data.hyperedge_index[0].tolist()))
        rank = torch.argsort(torch.tensor(first, dtype=torch.long))
        data.hyperedge_index[0] = rank[data.hyperedge_index[0]]
    num_nodes = int(data.num_nodes or 0)
    if covering or draw(st.booleans()):
        data.node_id = draw(vocabularies(num_nodes, text))
        data.hyperedge_id = draw(vocabularies(data.num_hyperedges, text))
    size = {
        'x': num_nodes,
        'hyperedge_attr': data.num_hyperedges,
        'incidence_attr': data.num_incidences,
    }
    names = {}
    for key, rows in size.items():
        # Formats that hold records lose the columns of what has none.
        if rows and draw(st.booleans()):
            data[key] = draw(matrices(rows))
            width = data[key].size(1)
            names[key] = draw(
                st.lists(text, min_size=width, max_size=width, unique=True)
            )
    if names:
        data.column_names = names
    if data.num_incidences and draw(st.booleans()):
        roles = draw(st.lists(text, min_size=1, max_size=3, unique=True))
        code = st.integers(0, len(roles) - 1)
        length = data.num_incidences
        data.role = torch.tensor(
            draw(st.lists(code, min_size=length, max_size=length)), dtype=torch.long
        )
        if draw(st.booleans()):
            data.role_names = roles
    return data


def plain(data: AnchorData) -> Plain:
    """All that a hypergraph says, by the user's names and in the order of rows."""
    num_nodes = int(data.num_nodes or 0)
    node_id = _names(data, 'node_id', num_nodes)
    hyperedge_id = _names(data, 'hyperedge_id', data.num_hyperedges)
    role = data['role'].tolist() if 'role' in data else [None] * data.num_incidences
    if 'role_names' in data:
        role = [data['role_names'][r] for r in role]
    y = data['y'].tolist() if 'y' in data else [False] * data.num_incidences
    groups: dict[Any, list[Any]] = {name: [] for name in hyperedge_id}
    for p, (node, hyperedge) in enumerate(data.hyperedge_index.t().tolist()):
        groups[hyperedge_id[hyperedge]].append((node_id[node], y[p], role[p]))
    return {
        'nodes': node_id,
        'groups': list(groups.items()),
        'attributes': {
            key: data[key].tolist()
            for key in ('x', 'hyperedge_attr', 'incidence_attr')
            if key in data
        },
        'column_names': dict(getattr(data, 'column_names', {})),
    }


def _names(data: AnchorData, key: str, size: int) -> list[Any]:
    names = data[key] if key in data else range(size)
    return names.tolist() if isinstance(names, Tensor) else list(names)


def outcome(read: Callable[[], Any]) -> Any:
    """The result of a reader, or :obj:`None` if it refuses in one line."""
    try:
        return read()
    except ValueError as error:
        message = str(error)
        assert message
        assert len(message.splitlines()) == 1
        assert len(message) < 1000
        return None
