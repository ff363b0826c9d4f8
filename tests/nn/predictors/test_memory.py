from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.memory import Memory


def table(
    groups: list[list[str]], anchors: list[str], names: list[str] | None = None
) -> AnchorData:
    people = sorted({person for group in groups for person in group})
    data = to_data(
        [[people.index(person) for person in group] for group in groups],
        len(people),
        [[people.index(anchor)] if anchor else [] for anchor in anchors],
    )
    data.node_id = people
    if names is not None:
        data.hyperedge_id = names
    return data


def extended(memory: Memory, data: AnchorData, value: float = 0.5) -> Memory:
    reference = torch.full((data.num_incidences,), value)
    return memory.extended(data, data.known_mask, reference)[0]


def content(memory: Memory) -> list[tuple[str, str, str, float]]:
    """Each group as its name, its members, its known anchors and a reference."""
    memory.validate()
    data, ids = memory.hypergraph(), memory.people.ids.array().to_pylist()
    names = memory.groups.array().to_pylist()
    out = []
    for number in range(data.num_hyperedges):
        row = data.hyperedge_index[1] == number
        members = [ids[node] for node in data.hyperedge_index[0][row].tolist()]
        flags = memory.y[row].tolist()
        anchors = [m for m, flag in zip(members, flags, strict=True) if flag]
        assert bool(anchors) == bool(memory.known_mask[number])
        first = float(memory.reference[row][0]) if members else 0.0
        out.append((names[number], ''.join(members), ''.join(anchors), first))
    return out


def test_two_tables() -> None:
    memory = extended(Memory(), table([['a', 'b'], ['b', 'c']], ['a', '']), 0.25)
    assert content(memory) == [('', 'ab', 'a', 0.25), ('', 'bc', '', 0.25)]
    data = table([['b', 'x', 'a'], ['x']], ['x', ''])
    memory, number = memory.extended(data, data.known_mask, torch.full((4,), 0.5))
    assert content(memory)[2:] == [('', 'bxa', 'x', 0.5), ('', 'x', '', 0.5)]
    # Known people keep their numbers, newcomers come last.
    assert memory.people.ids.array().to_pylist() == ['a', 'b', 'c', 'x']
    assert number.tolist() == [0, 1, 3]
    assert repr(memory) == 'Memory(num_people=4, num_groups=4)'


def test_contexts_are_kept_with_their_members() -> None:
    first = table([['a', 'b'], ['b']], ['a', ''], ['1', '2'])
    second = table([['c', 'a'], ['a', 'b']], ['', 'b'], ['3', '1'])
    memory = Memory()
    for data, context in ((first, [5, 6, 7]), (second, [8, 9, 3, 4])):
        reference = torch.zeros(data.num_incidences)
        memory, _ = memory.extended(
            data, data.known_mask, reference, torch.tensor(context)
        )
    memory.validate()
    ids = memory.people.ids.array().to_pylist()
    node = [ids[v] for v in memory.hyperedge_index[0].tolist()]
    found = list(zip(node, memory.context.tolist(), strict=True))
    # The first group came again. Members are in the order of their tables.
    assert found == [('b', 7), ('c', 8), ('a', 9), ('a', 3), ('b', 4)]
    again = Memory()
    again.load_state_dict(memory.state_dict())
    assert torch.equal(again.context, memory.context)


def test_state_of_earlier_versions() -> None:
    memory = extended(Memory(), table([['a', 'b']], ['a']))
    state = memory.state_dict()
    del state['context']
    again = Memory()
    again.load_state_dict(state)
    assert content(again) == content(memory)
    again.context = torch.zeros(1, dtype=torch.long)
    with one_line_error("'memory' must hold whole groups"):
        again.validate()


def test_anchors_outside_of_the_mask_are_forgotten() -> None:
    data = table([['a', 'b'], ['b', 'c']], ['a', 'b'])
    mask = torch.tensor([False, True])
    memory, _ = Memory().extended(data, mask, torch.full((4,), 0.5))
    assert content(memory) == [('', 'ab', '', 0.5), ('', 'bc', 'b', 0.5)]


@pytest.mark.parametrize(
    ('anchors', 'found'),
    [
        # Remembered anchor, new anchor: the anchor that counts, and whose scores do.
        (('a', 'b'), [('1', 'ab', 'b', 0.75)]),
        (('a', ''), [('1', 'ab', 'a', 0.25)]),
        (('', 'b'), [('1', 'ab', 'b', 0.75)]),
        (('', ''), [('1', 'ab', '', 0.75)]),
    ],
)
def test_group_that_comes_again(
    anchors: tuple[str, str], found: list[tuple[str, str, str, float]]
) -> None:
    first = table([['a', 'b']], [anchors[0]], ['1'])
    again = table([['a', 'b']], [anchors[1]], ['1'])
    memory = extended(extended(Memory(), first, 0.25), again, 0.75)
    assert content(memory) == found


def test_other_members_or_names_are_other_groups() -> None:
    memory = extended(Memory(), table([['a', 'b']], ['a'], ['1']), 0.25)
    other = table([['a', 'c'], ['a', 'b'], ['b', 'a']], ['', '', ''], ['1', '2', ''])
    assert content(extended(memory, other)) == [
        ('1', 'ab', 'a', 0.25),
        ('1', 'ac', '', 0.5),
        ('2', 'ab', '', 0.5),
        ('', 'ba', '', 0.5),
    ]
    # The order of members is no difference.
    same = table([['x'], ['b', 'a']], ['', ''], ['7', '1'])
    assert content(extended(memory, same)) == [
        ('1', 'ab', 'a', 0.25),
        ('7', 'x', '', 0.5),
    ]
    # Repetitions in one table are groups of their own.
    twice = table([['a', 'b'], ['a', 'b']], ['a', 'b'])
    assert len(content(extended(Memory(), twice))) == 2


def test_numbers_and_texts() -> None:
    first = table([['a', 'b']], ['a'])
    first.node_id, first.hyperedge_id = torch.tensor([7, 8]), torch.tensor([1])
    memory = extended(Memory(), first)
    again: Any = table([['a', 'b'], ['a', 'c']], ['', 'c'])
    again.node_id, again.hyperedge_id = ['7', '8', 'x'], ['1', '2']
    assert content(extended(memory, again)) == [
        ('1', '78', '7', 0.5),
        ('2', '7x', 'x', 0.5),
    ]


@SETTINGS
@given(hypergraphs(), hypergraphs(), st.booleans())
def test_any_tables(first: AnchorData, second: AnchorData, named: bool) -> None:
    if named:
        for data, shift in ((first, 0), (second, 2)):
            size = int(data.num_nodes or 0)
            data.node_id = torch.arange(size) + shift
            data.hyperedge_id = torch.arange(data.num_hyperedges) + 1000 * shift
    memory = extended(Memory(), first)
    whole, number = memory.extended(
        second, second.known_mask, torch.full((second.num_incidences,), 0.5)
    )
    whole.validate()
    assert whole.num_groups == first.num_hyperedges + second.num_hyperedges
    ids = whole.people.ids.array().to_pylist()
    shift = 2 if named else 0
    assert [int(ids[i]) for i in number.tolist()] == [
        i + shift for i in range(int(second.num_nodes or 0))
    ]
    groups = to_groups(whole.hypergraph())
    assert groups[: first.num_hyperedges] == to_groups(first)
    assert [
        [int(ids[v]) - shift for v in group] for group in groups[first.num_hyperedges :]
    ] == to_groups(second)
    twin = Memory()
    twin.load_state_dict(whole.state_dict())
    twin.validate()
    assert repr(twin) == repr(whole)


@pytest.mark.parametrize(
    ('name', 'value'),
    [
        ('hyperedge_index', torch.tensor([[0, 1, 2, 1], [0, 1, 0, 1]])),
        ('y', torch.zeros(3, dtype=torch.bool)),
        ('y', torch.zeros(4)),
        ('reference', torch.full((4,), torch.nan)),
        ('reference', torch.zeros(5)),
        ('known_mask', torch.zeros((2, 1), dtype=torch.bool)),
    ],
)
def test_bad_state(name: str, value: torch.Tensor) -> None:
    memory = extended(Memory(), table([['a', 'b'], ['b', 'c']], ['a', '']))
    setattr(memory, name, value)
    with one_line_error('must'):
        memory.validate()
