"""The data object, against plain loops over lists."""

import copy
import pickle
import re
from collections.abc import Callable, Sequence
from inspect import signature
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor
from torch_geometric.data import Batch, InMemoryDataset
from torch_geometric.loader import DataLoader

from tests.data.examples import SHAPES, all_shapes, build, contents, decorate
from tests.devices import second_device
from tests.strategies import (
    SETTINGS,
    hypergraphs,
    one_line_error,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.io import inspect_incidence


def batch_of(datas: Sequence[AnchorData], **kwargs: Any) -> Any:
    return Batch.from_data_list(list(datas), **kwargs)


def check_batch(batch: Any, datas: Sequence[AnchorData]) -> None:
    """Compares a batch with its parts, attribute by attribute."""
    nodes: list[int] = []
    hyperedges: list[int] = []
    owner: list[int] = []
    ptr = [0]
    num_hyperedges = 0
    for i, data in enumerate(datas):
        for node, hyperedge in data.hyperedge_index.t().tolist():
            nodes.append(node + ptr[-1])
            hyperedges.append(hyperedge + num_hyperedges)
        num_nodes = int(data.num_nodes or 0)
        owner += [i] * num_nodes
        ptr.append(ptr[-1] + num_nodes)
        num_hyperedges += data.num_hyperedges
    assert batch.hyperedge_index.tolist() == [nodes, hyperedges]
    assert batch.num_nodes == ptr[-1]
    assert batch.num_hyperedges == num_hyperedges
    assert type(batch.num_hyperedges) is int
    assert batch.num_incidences == len(nodes)
    assert batch.batch.tolist() == owner
    assert batch.ptr.tolist() == ptr
    for key in datas[0].keys():  # noqa: SIM118 (an object of PyG, not a mapping)
        values = [data[key] for data in datas]
        if key in ('hyperedge_index', 'num_nodes', 'num_hyperedges'):
            continue
        if isinstance(values[0], Tensor):
            rows = [row for value in values for row in value.tolist()]
            assert batch[key].tolist() == rows, key
            assert batch[key].dtype == values[0].dtype, key
            assert batch[key].size()[1:] == values[0].size()[1:], key
        else:
            assert batch[key] == values, key
    assert batch.validate()


# Construction ####################################################################


@pytest.mark.parametrize('missing', ['num_nodes', 'num_hyperedges'])
def test_init_needs_explicit_sizes(missing: str) -> None:
    size: dict[str, Any] = {'num_nodes': 2, 'num_hyperedges': 1}
    del size[missing]
    with pytest.raises(ValueError, match='is missing') as caught:
        AnchorData(
            hyperedge_index=torch.tensor([[0, 1], [0, 0]]),
            x=torch.zeros(2, 1),
            **size,
        )
    assert str(caught.value) == (
        f"'{missing}' is missing: it must be given with 'hyperedge_index'"
    )


def test_init_accepts_zero_sizes() -> None:
    data = AnchorData(torch.empty(2, 0, dtype=torch.long), 0, 0)
    assert (data.num_nodes, data.num_hyperedges, data.num_incidences) == (0, 0, 0)
    assert data.hyperedge_ptr.tolist() == [0]
    assert data.validate()


@pytest.mark.parametrize('strings', [False, True])
@pytest.mark.parametrize('shape', SHAPES)
def test_init_keeps_what_it_is_given(shape: str, strings: bool) -> None:
    data = build(shape, strings)
    again = AnchorData(**{key: data[key] for key in data.to_dict()})
    assert contents(again) == contents(data)
    assert (again.num_nodes, again.num_hyperedges) == (
        SHAPES[shape][1],
        len(SHAPES[shape][0]),
    )
    assert data.validate()


@pytest.mark.parametrize('size', [3, np.int64(3), torch.tensor(3)])
def test_num_hyperedges_is_an_integer(size: Any) -> None:
    data = AnchorData(torch.tensor([[0], [0]]), num_nodes=1, num_hyperedges=size)
    assert type(data.num_hyperedges) is int
    assert data.num_hyperedges == 3
    data.num_hyperedges = 5
    assert data.num_hyperedges == 5


# Sizes and masks #################################################################


@SETTINGS
@given(hypergraphs())
def test_sizes_against_loops(data: AnchorData) -> None:
    groups = to_groups(data)
    starts = [0]
    for group in groups:
        starts.append(starts[-1] + len(group))
    assert data.num_hyperedges == len(groups)
    assert data.num_incidences == starts[-1]
    assert data.hyperedge_ptr.tolist() == starts
    assert data.hyperedge_size.tolist() == [len(group) for group in groups]


@SETTINGS
@given(hypergraphs())
def test_masks_against_loops(data: AnchorData) -> None:
    anchors: list[list[bool]] = [[] for _ in range(data.num_hyperedges)]
    for hyperedge, flag in zip(
        data.hyperedge_index[1].tolist(), data['y'].tolist(), strict=True
    ):
        anchors[hyperedge].append(flag)
    known = [any(flags) for flags in anchors]
    choice = [len(flags) > 1 and not all(flags) for flags in anchors]
    assert data.known_mask.tolist() == known
    assert data.choice_mask.tolist() == choice
    assert data.known_mask.dtype == data.choice_mask.dtype == torch.bool

    del data.y
    assert data.known_mask.tolist() == [False] * data.num_hyperedges
    assert data.choice_mask.tolist() == [len(flags) > 1 for flags in anchors]


def test_sizes_on_device(device: torch.device) -> None:
    data = build('middle empty hyperedge', strings=True).to(device)
    for value, expected in (
        (data.hyperedge_ptr, [0, 1, 1, 3]),
        (data.hyperedge_size, [1, 0, 2]),
        (data.known_mask, [True, False, True]),
        (data.choice_mask, [False, False, True]),
    ):
        assert value.device.type == device.type
        assert value.tolist() == expected


# Levels ##########################################################################


@pytest.mark.parametrize(
    ('key', 'level'),
    [
        ('x', 'node'),
        ('pos', 'node'),
        ('node_id', 'node'),
        ('node_index', 'node'),
        ('node_mask', 'node'),
        ('y', 'incidence'),
        ('role', 'incidence'),
        ('incidence_attr', 'incidence'),
        ('incidence_index', 'incidence'),
        ('incidence_mask', 'incidence'),
        ('hyperedge_attr', 'hyperedge'),
        ('hyperedge_id', 'hyperedge'),
        ('hyperedge_index_of_day', 'hyperedge'),
        ('train_mask', 'hyperedge'),
        ('val_mask', 'hyperedge'),
        ('some_mask', 'hyperedge'),
        ('hyperedge_index', None),
        ('num_nodes', None),
        ('num_hyperedges', None),
        ('x_batch', None),
        ('y_ptr', None),
        ('hyperedge_attr_batch', None),
        ('train_mask_ptr', None),
        ('batch', None),
        ('ptr', None),
        ('mask', None),
        ('node', None),
        ('edge_index', None),
        ('yes', None),
    ],
)
def test_level(key: str, level: str | None) -> None:
    data = AnchorData()
    assert data.level(key) == level
    assert data.is_node_attr(key) == (level == 'node')


# Copies ##########################################################################


@pytest.mark.parametrize('strings', [False, True])
@pytest.mark.parametrize('shape', SHAPES)
def test_copies_are_equal_and_apart(shape: str, strings: bool) -> None:
    data = build(shape, strings)
    before = contents(data)
    copies: list[Callable[[AnchorData], AnchorData]] = [
        copy.copy,
        copy.deepcopy,
        lambda data: data.clone(),
        lambda data: pickle.loads(pickle.dumps(data)),  # noqa: S301
        lambda data: AnchorData.from_dict(data.to_dict()),
    ]
    for make in copies:
        other = make(data)
        assert type(other) is AnchorData
        assert contents(other) == before
        other.num_nodes = 99
        other.num_hyperedges = 98
        other.x = torch.zeros(99, 1)
        assert contents(data) == before


def test_clone_shares_no_memory() -> None:
    data = build('one hyperedge', strings=False)
    before = contents(data)
    clone = data.clone()
    for value in clone.to_dict().values():
        if isinstance(value, Tensor):
            value.zero_()
    assert contents(data) == before
    assert contents(clone) != before


@pytest.mark.parametrize('strings', [False, True])
def test_to_device(device: torch.device, strings: bool) -> None:
    for data in all_shapes(strings):
        before = contents(data)
        moved = data.to(device)
        tensors = [v for v in moved.to_dict().values() if isinstance(v, Tensor)]
        assert len(tensors) >= 14
        assert {value.device.type for value in tensors} == {device.type}
        assert contents(moved) == before


# Batches #########################################################################


@pytest.mark.parametrize('strings', [False, True])
@pytest.mark.parametrize('shape', SHAPES)
def test_batch_of_one(shape: str, strings: bool) -> None:
    data = build(shape, strings, offset=4)
    batch = batch_of([data])
    check_batch(batch, [data])
    assert contents(batch[0]) == contents(data)


@pytest.mark.parametrize('strings', [False, True])
def test_batch_of_all_shapes_in_any_order(strings: bool) -> None:
    datas = all_shapes(strings)
    for shift in range(len(datas)):
        order = datas[shift:] + datas[:shift]
        for part in (order, order[::-1], order[:2]):
            batch = batch_of(part)
            check_batch(batch, part)
            assert list(map(contents, batch.to_data_list())) == [
                contents(data) for data in part
            ]
            for i, data in enumerate(part):
                assert type(batch[i]) is AnchorData
                assert contents(batch[i]) == contents(data)
                assert batch[i].validate()


@SETTINGS
@given(st.lists(hypergraphs(), min_size=1, max_size=4), st.booleans())
def test_batch_and_back(datas: list[AnchorData], strings: bool) -> None:
    for i, data in enumerate(datas):
        decorate(data, strings, offset=10 * i)
    batch = batch_of(datas)
    check_batch(batch, datas)
    again = batch.to_data_list()
    assert list(map(contents, again)) == list(map(contents, datas))
    # And what came out of a batch goes into one.
    check_batch(batch_of(again[::-1]), datas[::-1])
    mixed = [again[0], *datas[1:]]
    check_batch(batch_of(mixed), datas)
    check_batch(batch_of(mixed[::-1]), datas[::-1])


def test_batch_of_unbatched_and_subgraph() -> None:
    datas = all_shapes(strings=True)[:3]
    unbatched = batch_of(datas).to_data_list()
    mask = torch.tensor([False, True, True])
    unbatched[0] = unbatched[0].hyperedge_subgraph(mask)
    expected = [datas[0].hyperedge_subgraph(mask), *datas[1:]]
    check_batch(batch_of(unbatched), expected)
    check_batch(batch_of(unbatched[::-1]), expected[::-1])


@pytest.mark.parametrize('strings', [False, True])
def test_batch_of_batches(strings: bool) -> None:
    datas = all_shapes(strings)
    halves = [batch_of(datas[:4]), batch_of(datas[4:])]
    whole, flat = batch_of(halves), batch_of(datas)
    assert whole.num_hyperedges == flat.num_hyperedges
    for key in ('hyperedge_index', 'x', 'incidence_index', 'split_mask', 'y'):
        assert whole[key].tolist() == flat[key].tolist()
    assert whole.validate()


def test_batch_on_device(device: torch.device) -> None:
    datas = all_shapes(strings=True)
    before = list(map(contents, datas))
    batch = batch_of([data.to(device) for data in datas])
    assert batch.hyperedge_index.device.type == device.type
    check_batch(batch, datas)
    moved = batch.to('cpu').to(device)
    assert list(map(contents, moved.to_data_list())) == before


def test_batch_masks_against_parts() -> None:
    datas = all_shapes(strings=False)
    batch = batch_of(datas)
    for name in ('known_mask', 'choice_mask', 'hyperedge_size'):
        parts = [row for data in datas for row in getattr(data, name).tolist()]
        assert getattr(batch, name).tolist() == parts


@pytest.mark.parametrize('strings', [False, True])
def test_follow_batch(strings: bool) -> None:
    datas = all_shapes(strings)
    keys = {
        'x': 'num_nodes',
        'hyperedge_index': 'num_incidences',
        'hyperedge_attr': 'num_hyperedges',
        'train_mask': 'num_hyperedges',
        'split_mask': 'num_hyperedges',
        'incidence_index': 'num_incidences',
        'y': 'num_incidences',
    }
    batch = batch_of(datas, follow_batch=list(keys))
    for key, size in keys.items():
        counts = [getattr(data, size) for data in datas]
        owner = [i for i, count in enumerate(counts) for _ in range(count)]
        assert batch[f'{key}_batch'].tolist() == owner
        assert batch[f'{key}_ptr'].tolist() == [
            sum(counts[:i]) for i in range(len(counts) + 1)
        ]
    check_batch(batch, datas)
    again = batch.to_data_list()
    assert list(map(contents, again)) == list(map(contents, datas))


def test_exclude_keys() -> None:
    datas = all_shapes(strings=True)
    batch = batch_of(datas, exclude_keys=['x', 'node_id'])
    assert 'x' not in batch
    assert batch[1].num_nodes == 6
    assert batch.validate()


# Workers write their batches to shared memory.
@pytest.mark.parametrize('num_workers', [0, 2])
@pytest.mark.parametrize('strings', [False, True])
def test_loader(num_workers: int, strings: bool) -> None:
    datas = all_shapes(strings)
    loader = DataLoader(
        datas, batch_size=4, num_workers=num_workers, follow_batch=['y']
    )
    batches: list[Any] = list(loader)
    assert len(batches) == 3
    for i, batch in enumerate(batches):
        part = datas[4 * i : 4 * i + 4]
        check_batch(batch, part)
        assert list(map(contents, batch.to_data_list())) == list(map(contents, part))


# Datasets on disk ################################################################


def load(path: Path) -> InMemoryDataset:
    dataset = InMemoryDataset()
    dataset.load(str(path))
    return dataset


@pytest.mark.parametrize('strings', [False, True])
def test_dataset_of_several(tmp_path: Path, strings: bool) -> None:
    datas = all_shapes(strings)
    expected = list(map(contents, datas))
    InMemoryDataset.save(datas, str(tmp_path / 'data.pt'))
    dataset = load(tmp_path / 'data.pt')
    assert len(dataset) == len(datas)
    for _ in range(2):  # the second time from the cache
        assert list(map(contents, dataset)) == expected
    assert {type(data) for data in dataset} == {AnchorData}
    assert list(map(contents, dataset[2:5])) == expected[2:5]
    assert list(map(contents, dataset[[7, 0, 7]])) == [
        expected[7],
        expected[0],
        expected[7],
    ]
    chosen = torch.arange(len(datas)) % 2 == 1
    assert list(map(contents, dataset[chosen])) == expected[1::2]
    assert list(map(contents, dataset.copy([3, 1]))) == [expected[3], expected[1]]
    items: list[Any] = list(dataset)
    check_batch(batch_of(items), datas)
    part: Any = dataset[3:6]
    batch: Any = next(iter(DataLoader(part, batch_size=3)))
    check_batch(batch, datas[3:6])


@pytest.mark.parametrize('strings', [False, True])
@pytest.mark.parametrize('shape', SHAPES)
def test_dataset_of_one(tmp_path: Path, shape: str, strings: bool) -> None:
    data = build(shape, strings)
    InMemoryDataset.save([data], str(tmp_path / 'data.pt'))
    dataset = load(tmp_path / 'data.pt')
    assert len(dataset) == 1
    assert type(dataset[0]) is AnchorData
    assert contents(dataset[0]) == contents(data)


@pytest.mark.parametrize('count', [1, 3])
def test_saved_files_hold_no_code(tmp_path: Path, count: int) -> None:
    datas = all_shapes(strings=True)[:count]
    InMemoryDataset.save(datas, str(tmp_path / 'data.pt'))
    stored, slices, cls = torch.load(tmp_path / 'data.pt', weights_only=True)
    assert cls is AnchorData
    assert (slices is None) == (count == 1)
    assert stored['hyperedge_index'].size(1) == sum(d.num_incidences for d in datas)


@pytest.mark.parametrize('strings', [False, True])
@pytest.mark.parametrize('shape', SHAPES)
def test_torch_save_and_load(tmp_path: Path, shape: str, strings: bool) -> None:
    data = build(shape, strings)
    data.role_names = ['from', 'to', 'cc']
    data.name_columns('x', ['age', 'height'])
    torch.save(data, tmp_path / 'data.pt')
    again = torch.load(tmp_path / 'data.pt', weights_only=True)
    assert type(again) is AnchorData
    assert contents(again) == contents(data)
    assert again.subgraph(torch.arange(again.num_nodes)).validate()


@pytest.mark.parametrize('strings', [False, True])
def test_batch_is_saved_pickled_and_copied(tmp_path: Path, strings: bool) -> None:
    datas = all_shapes(strings)
    batch = batch_of(datas)
    torch.save(batch, tmp_path / 'batch.pt')
    for again in (
        torch.load(tmp_path / 'batch.pt', weights_only=True),
        pickle.loads(pickle.dumps(batch)),  # noqa: S301
        copy.deepcopy(batch),
        copy.copy(batch),
    ):
        assert type(again) is type(batch)
        assert contents(again) == contents(batch)
        check_batch(again, datas)
        assert list(map(contents, again.to_data_list())) == list(map(contents, datas))


# Names ###########################################################################


def named() -> AnchorData:
    data = decorate(to_data([[0, 1, 2], [1, 2]], 3), strings=True)
    data.column_names = {'x': ['age', 'height'], 'incidence_attr': ['a', 'b']}
    data.role_names = ['from', 'to', 'cc']
    data.node_type_names = ['student', 'teacher']
    data.hyperedge_type_names = ['mail', 'chat']
    return data


def test_names_are_given_or_numbered() -> None:
    data = named()
    assert data.names('x') == ['age', 'height']
    assert data.names('incidence_attr') == ['a', 'b']
    assert data.names('hyperedge_attr') == [f'hyperedge_{i}' for i in range(3)]
    assert data.names('split_mask') == [f'split_mask_{i}' for i in range(4)]
    assert data.names('node_index') == ['node_index']
    del data.x
    data.x = torch.zeros(3, 2)
    assert data.names('x') == ['node_0', 'node_1']
    with pytest.raises(ValueError, match=r"^'z' is missing: the data has"):
        data.names('z')
    assert valid().column_names == {}
    assert valid().role_names == []


def test_names_are_arguments() -> None:
    data = AnchorData(
        torch.tensor([[0], [0]]),
        1,
        1,
        x=torch.zeros(1, 2),
        column_names={'x': ('a', 'b')},
        role_names=('c', 'd'),
    )
    assert data.column_names == {'x': ['a', 'b']}
    assert data.role_names == ['c', 'd']
    assert data.validate()


def test_name_columns_leaves_copies_alone() -> None:
    data = named()
    other = copy.copy(data).name_columns('x', ['u', 'v'])
    assert other.names('x') == ['u', 'v']
    assert other.names('incidence_attr') == ['a', 'b']
    assert data.names('x') == ['age', 'height']


def test_names_go_with_their_columns() -> None:
    data = named()
    data.x = data['x'] * 2
    assert data.names('x') == ['age', 'height']
    data.x = torch.zeros(3, 3)
    assert data.column_names == {'incidence_attr': ['a', 'b']}
    data.incidence_attr = None
    assert data.column_names == {}
    assert data.validate()


JOURNEYS: dict[str, Callable[[AnchorData], Any]] = {
    'copy': copy.copy,
    'deepcopy': copy.deepcopy,
    'clone': lambda data: data.clone(),
    'pickle': lambda data: pickle.loads(pickle.dumps(data)),  # noqa: S301
    'dictionary': lambda data: AnchorData.from_dict(data.to_dict()),
    'device': lambda data: data.to('cpu'),
    'subgraph': lambda data: data.subgraph(torch.tensor([1])),
    'hyperedge_subgraph': lambda data: data.hyperedge_subgraph(torch.tensor([1])),
    'sort': lambda data: data.sort(sort_by_row=True),
    'coalesce': lambda data: data.coalesce(),
    'component': lambda data: data.connected_components()[0],
    'concat': lambda data: data.concat(data),
    'batch': lambda data: batch_of([data, data]),
    'batch of batches': lambda data: batch_of([batch_of([data]), batch_of([data])]),
    'unbatch': lambda data: batch_of([data, data])[1],
    'bipartite': lambda data: AnchorData.from_bipartite(data.to_bipartite()),
    'loader': lambda data: next(iter(DataLoader([data], batch_size=1))),
    'collate': lambda data: separate_one(data),
}


def separate_one(data: AnchorData) -> Any:
    dataset = InMemoryDataset()
    dataset.data, dataset.slices = dataset.collate([data, data])
    return dataset[1]


@pytest.mark.parametrize('journey', JOURNEYS)
def test_names_travel(journey: str) -> None:
    out = JOURNEYS[journey](named())
    assert out.column_names == named().column_names
    assert out.role_names == ['from', 'to', 'cc']
    assert out.node_type_names == ['student', 'teacher']
    assert out.hyperedge_type_names == ['mail', 'chat']
    assert out.names('x') == ['age', 'height']
    assert out.validate()


def test_sides_and_types_are_levels() -> None:
    data = named()
    data.incidence_side = torch.tensor([0, 1, -1, 0, 1])
    data.node_type = torch.tensor([1, 0, -1])
    data.hyperedge_type = torch.tensor([-1, 1])
    assert AnchorData.level('incidence_side') == 'incidence'
    assert AnchorData.level('node_type') == 'node'
    assert AnchorData.level('hyperedge_type') == 'hyperedge'
    assert AnchorData.level('node_type_names') is None
    part = data.subgraph(torch.tensor([2, 1]))
    assert to_groups(part) == [[1, 0], [1, 0]]
    assert part.incidence_side.tolist() == [1, -1, 0, 1]
    assert part.node_type.tolist() == [-1, 0]
    assert part.hyperedge_type.tolist() == [-1, 1]
    last = data.hyperedge_subgraph(torch.tensor([1]))
    assert last.incidence_side.tolist() == [0, 1]
    assert last.hyperedge_type.tolist() == [1]
    batch = batch_of([data, data])
    assert batch.incidence_side.tolist() == 2 * [0, 1, -1, 0, 1]
    assert batch.node_type.tolist() == 2 * [1, 0, -1]
    assert batch.hyperedge_type.tolist() == 2 * [-1, 1]
    assert data.concat(data).incidence_side.tolist() == 2 * [0, 1, -1, 0, 1]
    assert data.num_node_types == 2


def test_names_on_which_a_batch_does_not_agree() -> None:
    one, two = named(), named()
    two.name_columns('x', ['u', 'v'])
    two.role_names = ['a', 'b', 'c']
    batch = batch_of([one, two])
    assert batch.column_names == {'incidence_attr': ['a', 'b']}
    assert batch.names('x') == ['node_0', 'node_1']
    assert batch.role_names == []
    assert batch.validate()
    # They are not lost.
    assert [data.names('x') for data in batch.to_data_list()] == [
        ['age', 'height'],
        ['u', 'v'],
    ]
    assert batch[1].role_names == ['a', 'b', 'c']


def test_names_of_a_batch_can_be_set() -> None:
    batch = batch_of([named(), named()])
    batch.name_columns('x', ['u', 'v'])
    batch.role_names = ['a', 'b', 'c']
    for data in (batch, *batch.to_data_list()):
        assert data.names('x') == ['u', 'v']
        assert data.names('incidence_attr') == ['a', 'b']
        assert data.role_names == ['a', 'b', 'c']


def test_batch_with_and_without_names() -> None:
    batch = batch_of([named(), valid()])
    assert batch.column_names == {}
    assert batch.role_names == []
    first, second = batch.to_data_list()
    assert first.role_names == ['from', 'to', 'cc']
    assert first.names('x') == ['age', 'height']
    assert second.role_names == []
    assert second.column_names == {}


# Checks ##########################################################################


def valid() -> AnchorData:
    return decorate(to_data([[0, 1, 2], [1, 2]], 3), strings=True)


Change = Callable[[AnchorData], None]


def setting(**values: Any) -> Change:
    def change(data: AnchorData) -> None:
        for key, value in values.items():
            setattr(data, key, value)

    return change


def entry(row: int, column: int, value: int) -> Change:
    def change(data: AnchorData) -> None:
        data.hyperedge_index[row, column] = value

    return change


def without_index(data: AnchorData) -> None:
    del data.hyperedge_index


WIDE = torch.zeros(3, 400)
WIDE[2, 350] = -torch.inf
INVALID: list[tuple[Change, str]] = [
    (
        without_index,
        "'hyperedge_index' is missing: give it to 'AnchorData' with 'num_nodes' and "
        "'num_hyperedges'",
    ),
    (
        setting(hyperedge_index=torch.zeros(3, 5, dtype=torch.long)),
        "'hyperedge_index' must have the shape [2, num_incidences] (got [3, 5])",
    ),
    (
        setting(hyperedge_index=torch.zeros(2, dtype=torch.long)),
        "'hyperedge_index' must have the shape [2, num_incidences] (got [2])",
    ),
    (
        setting(hyperedge_index=torch.zeros(2, 5, dtype=torch.int32)),
        "'hyperedge_index' must hold 64-bit integers (got torch.int32)",
    ),
    (
        entry(0, 3, 3),
        "'hyperedge_index[0]' must lie in [0, 3), its 'num_nodes' (got 3 in column 3)",
    ),
    (
        entry(0, 1, -1),
        "'hyperedge_index[0]' must lie in [0, 3), its 'num_nodes' (got -1 in column 1)",
    ),
    (
        entry(1, 4, 2),
        "'hyperedge_index[1]' must lie in [0, 2), its 'num_hyperedges' "
        '(got 2 in column 4)',
    ),
    (
        entry(1, 0, -7),
        "'hyperedge_index[1]' must lie in [0, 2), its 'num_hyperedges' "
        '(got -7 in column 0)',
    ),
    (setting(num_nodes=-1), "'num_nodes' must not be negative (got -1)"),
    (
        setting(num_hyperedges=-2, hyperedge_index=torch.empty(2, 0, dtype=torch.long)),
        "'num_hyperedges' must not be negative (got -2)",
    ),
    (
        entry(1, 0, 1),
        "'hyperedge_index[1]' must not decrease (got an unsorted row; 'data.sort()' "
        'sorts it together with the incidence attributes)',
    ),
    (
        setting(x=torch.zeros(2, 3)),
        "'x' must have one row per node, that is 3 (got 2)",
    ),
    (
        setting(node_index=torch.tensor(3)),
        "'node_index' must have one row per node, that is 3 (got 0)",
    ),
    (
        setting(node_count=3),
        "'node_count' must have one row per node, that is 3 (got 0)",
    ),
    (
        setting(node_id=['a', 'b']),
        "'node_id' must have one row per node, that is 3 (got 2)",
    ),
    (
        setting(node_weight=np.zeros(4)),
        "'node_weight' must have one row per node, that is 3 (got 4)",
    ),
    (
        setting(hyperedge_attr=torch.zeros(3, 1)),
        "'hyperedge_attr' must have one row per hyperedge, that is 2 (got 3)",
    ),
    (
        setting(hyperedge_id=[]),
        "'hyperedge_id' must have one row per hyperedge, that is 2 (got 0)",
    ),
    (
        setting(val_mask=torch.zeros(5, dtype=torch.bool)),
        "'val_mask' must have one row per hyperedge, that is 2 (got 5)",
    ),
    (
        setting(split_mask=torch.zeros(5, 2, dtype=torch.bool)),
        "'split_mask' must have one row per hyperedge, that is 2 (got 5)",
    ),
    (
        setting(y=torch.zeros(2, dtype=torch.bool)),
        "'y' must have one row per incidence, that is 5 (got 2)",
    ),
    (
        setting(role=torch.zeros(6)),
        "'role' must have one row per incidence, that is 5 (got 6)",
    ),
    (
        setting(incidence_attr=torch.zeros(4, 5)),
        "'incidence_attr' must have one row per incidence, that is 5 (got 4)",
    ),
    (
        setting(x=torch.tensor([0.0, torch.nan, torch.inf])),
        "'x' must be finite (got nan in row 1)",
    ),
    (
        setting(hyperedge_time=torch.tensor([torch.nan, torch.inf])),
        "'hyperedge_time' must be finite (got inf in row 1)",
    ),
    (
        setting(hyperedge_time=torch.zeros(2, 1)),
        "'hyperedge_time' must have one dimension (got [2, 1])",
    ),
    (
        setting(column_names={'x': ['a']}),
        "'column_names' must hold 2 names for 'x', one per column (got 1)",
    ),
    (
        setting(column_names={'z': ['a']}),
        "'column_names' must name attributes of the data (got 'z')",
    ),
    (
        setting(role_names=['to', 'cc']),
        "'role' must be below 2, the number of 'role_names' (got 2)",
    ),
    (
        setting(incidence_side=torch.tensor([0, 1, 2, 0, 0])),
        "'incidence_side' must be 0 (tail), 1 (head) or -1 (unknown) (got 2)",
    ),
    (
        setting(incidence_side=torch.zeros(5)),
        "'incidence_side' must hold integers (got torch.float32)",
    ),
    (
        setting(node_type=torch.zeros(3, dtype=torch.bool)),
        "'node_type' must hold integers (got torch.bool)",
    ),
    (
        setting(node_type=['a', 'b', 'c']),
        "'node_type' must be a tensor (got list)",
    ),
    (
        setting(node_type=torch.zeros(3, 1, dtype=torch.long)),
        "'node_type' must have one dimension (got [3, 1])",
    ),
    (
        setting(hyperedge_type=torch.tensor([0, -2])),
        "'hyperedge_type' must not be below -1, which stands for unknown (got -2)",
    ),
    (
        setting(hyperedge_type=torch.tensor([0, 2]), hyperedge_type_names=['a', 'b']),
        "'hyperedge_type' must be below 2, the number of 'hyperedge_type_names' "
        '(got 2)',
    ),
    (setting(x=WIDE), "'x' must be finite (got -inf in row 2)"),
    (
        setting(hyperedge_attr=torch.full((2, 2, 2), torch.inf)),
        "'hyperedge_attr' must be finite (got inf in row 0)",
    ),
    (
        setting(y=torch.tensor([1, 0, 0, 0, 1])),
        "'y' must hold booleans (got torch.int64)",
    ),
    (
        setting(train_mask=torch.zeros(2)),
        "'train_mask' must hold booleans (got torch.float32)",
    ),
    (
        setting(train_mask=[True, False]),
        "'train_mask' must be a tensor (got list)",
    ),
    (
        setting(node_mask=torch.zeros(3, dtype=torch.uint8)),
        "'node_mask' must hold booleans (got torch.uint8)",
    ),
]


@pytest.mark.parametrize(
    ('change', 'message'), INVALID, ids=[message for _, message in INVALID]
)
def test_validate_names_what_is_wrong(change: Change, message: str) -> None:
    data = valid()
    assert data.validate()
    change(data)
    with pytest.raises(ValueError, match=re.escape(message)) as caught:
        data.validate()
    assert str(caught.value) == message
    assert data.validate(raise_on_error=False) is False


@SETTINGS
@given(st.lists(hypergraphs(), min_size=1, max_size=3), st.booleans())
def test_validate_accepts_all_that_is_right(
    datas: list[AnchorData], strings: bool
) -> None:
    for data in datas:
        assert decorate(data, strings).validate()
    assert batch_of(datas).validate()


def test_validate_finds_wrong_rows_in_batch() -> None:
    batch = batch_of([valid(), valid()])
    batch.node_id = [['a', 'b', 'c'], ['a', 'b']]
    with pytest.raises(ValueError, match=r"^'node_id' .* that is 6 \(got 5\)$"):
        batch.validate()


# Order ###########################################################################


@SETTINGS
@given(hypergraphs(), st.booleans(), st.booleans(), st.randoms(use_true_random=False))
def test_sort_against_python(
    data: AnchorData, strings: bool, sort_by_row: bool, random: Any
) -> None:
    decorate(data, strings)
    order = list(range(data.num_incidences))
    random.shuffle(order)
    shuffled = copy.copy(data)
    index = torch.tensor(order, dtype=torch.long)
    shuffled.hyperedge_index = data.hyperedge_index[:, index]
    shuffled.y = data['y'][index]
    shuffled.incidence_attr = data['incidence_attr'][index]
    if strings:
        shuffled.incidence_note = [data['incidence_note'][i] for i in order]
    before = contents(shuffled)
    out = shuffled.sort(sort_by_row=sort_by_row)
    assert contents(shuffled) == before

    pairs = shuffled.hyperedge_index.t().tolist()
    place = sorted(
        range(len(order)),
        key=lambda i: (pairs[i][1], pairs[i][0] if sort_by_row else 0),
    )
    assert out.hyperedge_index.t().tolist() == [pairs[i] for i in place]
    for key in ('y', 'incidence_attr', 'incidence_index', 'role'):
        rows = shuffled[key].tolist()
        assert out[key].tolist() == [rows[i] for i in place], key
    if strings:
        notes = shuffled['incidence_note']
        assert out['incidence_note'] == [notes[i] for i in place]
    for key in ('x', 'node_id', 'hyperedge_id', 'hyperedge_attr', 'split_mask'):
        assert contents(out)[key] == before[key], key
    assert out.validate()


# Parts ###########################################################################


def slow_rows(
    data: AnchorData, nodes: list[int], hyperedges: list[int], incidences: list[int]
) -> dict[str, Any]:
    """The contents of a part of a hypergraph, entry by entry."""
    pairs = data.hyperedge_index.t().tolist()
    rows = {'node': nodes, 'hyperedge': hyperedges, 'incidence': incidences}
    out = {}
    for key, value in contents(data).items():
        level = data.level(key)
        if level is None:
            out[key] = value
        elif isinstance(value, list):
            out[key] = [value[i] for i in rows[level]]
        else:
            dtype, size, entries = value
            out[key] = (
                dtype,
                [len(rows[level]), *size[1:]],
                [entries[i] for i in rows[level]],
            )
    index = [
        [nodes.index(pairs[i][0]) for i in incidences],
        [hyperedges.index(pairs[i][1]) for i in incidences],
    ]
    return out | {
        'hyperedge_index': (torch.long, [2, len(incidences)], index),
        'num_nodes': len(nodes),
        'num_hyperedges': len(hyperedges),
    }


def slow_subgraph(
    data: AnchorData, mask: list[bool], relabel_nodes: bool
) -> dict[str, Any]:
    """The contents of the hypergraph of some hyperedges, entry by entry."""
    pairs = data.hyperedge_index.t().tolist()
    hyperedges = [e for e in range(data.num_hyperedges) if mask[e]]
    incidences = [i for i, (_, e) in enumerate(pairs) if mask[e]]
    nodes = list(range(data.num_nodes))
    if relabel_nodes:
        nodes = sorted({pairs[i][0] for i in incidences})
    return slow_rows(data, nodes, hyperedges, incidences)


@SETTINGS
@given(hypergraphs(), st.booleans(), st.booleans(), st.data())
def test_hyperedge_subgraph_against_loops(
    data: AnchorData, strings: bool, relabel_nodes: bool, draw: st.DataObject
) -> None:
    decorate(data, strings)
    mask = draw.draw(
        st.lists(
            st.booleans(), min_size=data.num_hyperedges, max_size=data.num_hyperedges
        )
    )
    before = contents(data)
    out = data.hyperedge_subgraph(
        torch.tensor(mask, dtype=torch.bool), relabel_nodes=relabel_nodes
    )
    assert contents(out) == slow_subgraph(data, mask, relabel_nodes)
    assert contents(data) == before
    assert out.validate()
    assert type(out) is AnchorData


def test_hyperedge_subgraph_on_device(device: torch.device) -> None:
    data = valid()
    mask = torch.tensor([False, True])
    expected = contents(data.hyperedge_subgraph(mask, relabel_nodes=True))
    out = data.to(device).hyperedge_subgraph(mask.to(device), relabel_nodes=True)
    assert out.hyperedge_index.device.type == device.type
    assert contents(out) == expected
    assert out['node_id'] == ['n1', 'n2']


WRONG_SUBSETS = [
    (
        torch.tensor([True]),
        'must hold {size} booleans, one per {owner}, or the numbers of {owner}s (got '
        'torch.bool of shape [1])',
    ),
    (
        torch.ones(2, 1, dtype=torch.bool),
        'must hold {size} booleans, one per {owner}, or the numbers of {owner}s (got '
        'torch.bool of shape [2, 1])',
    ),
    (
        torch.tensor([0.0]),
        'must hold {size} booleans, one per {owner}, or the numbers of {owner}s (got '
        'torch.float32 of shape [1])',
    ),
    (torch.tensor([0, 3]), 'must hold numbers in [0, {size}) (got 3)'),
    (torch.tensor([-1]), 'must hold numbers in [0, {size}) (got -1)'),
    (torch.tensor([1, 0, 1]), 'must not repeat a {owner} (got 1 again)'),
]


@pytest.mark.parametrize(('subset', 'message'), WRONG_SUBSETS)
def test_subgraphs_refuse_other_subsets(subset: Tensor, message: str) -> None:
    with pytest.raises(ValueError, match='must') as caught:
        valid().hyperedge_subgraph(subset)
    assert str(caught.value) == f"'mask' {message.format(size=2, owner='hyperedge')}"
    with pytest.raises(ValueError, match='must') as caught:
        valid().subgraph(subset)
    assert str(caught.value) == f"'subset' {message.format(size=3, owner='node')}"


@pytest.mark.parametrize(
    'method',
    [
        'subgraph',
        'hyperedge_subgraph',
        'connected_components',
        'sort_by_time',
        'concat',
    ],
)
def test_parts_refuse_batch(method: str) -> None:
    batch = batch_of([valid(), valid()])
    args: dict[str, list[Any]] = {
        'subgraph': [torch.tensor([0])],
        'hyperedge_subgraph': [torch.tensor([0])],
        'concat': [valid()],
    }
    with pytest.raises(ValueError, match='takes one hypergraph') as caught:
        getattr(batch, method)(*args.get(method, []))
    assert str(caught.value) == (
        f"'{method}' takes one hypergraph (got a batch; use 'batch.to_data_list()')"
    )


@SETTINGS
@given(hypergraphs(), st.booleans(), st.booleans(), st.data())
def test_subgraph_against_loops(
    data: AnchorData, strings: bool, relabel: bool, draw: st.DataObject
) -> None:
    decorate(data, strings)
    flags = st.lists(st.booleans(), min_size=data.num_nodes, max_size=data.num_nodes)
    mask = draw.draw(flags)
    before = contents(data)
    out = data.subgraph(
        torch.tensor(mask, dtype=torch.bool), relabel_hyperedges=relabel
    )
    assert contents(data) == before
    assert out.validate()

    pairs = data.hyperedge_index.t().tolist()
    nodes = [v for v in range(data.num_nodes) if mask[v]]
    incidences = [i for i, (v, _) in enumerate(pairs) if mask[v]]
    hyperedges = list(range(data.num_hyperedges))
    if relabel:
        hyperedges = sorted({pairs[i][1] for i in incidences})
    expected = slow_rows(data, nodes, hyperedges, incidences)
    assert contents(out) == expected

    # Numbers in the same order give the same.
    again = data.subgraph(torch.tensor(nodes, dtype=torch.long), relabel)
    assert contents(again) == expected


def test_subgraph_by_hand() -> None:
    data = to_data([[0, 1, 2], [1, 3], [0]], 4, [[0], [3], [0]])
    data.node_id = list('abcd')
    data.hyperedge_id = ['x', 'y', 'z']
    data.train_mask = torch.tensor([True, True, False])
    out = data.subgraph(torch.tensor([3, 1]))
    # Nodes in the order that was asked for; 'x' has lost its anchor, 'z' is gone.
    assert to_groups(out) == [[1], [1, 0]]
    assert out['node_id'] == ['d', 'b']
    assert out['hyperedge_id'] == ['x', 'y']
    assert out['y'].tolist() == [False, False, True]
    assert out.known_mask.tolist() == [False, True]
    assert out['train_mask'].tolist() == [True, True]
    kept = data.subgraph(torch.tensor([3, 1]), relabel_hyperedges=False)
    assert to_groups(kept) == [[1], [1, 0], []]
    assert kept['hyperedge_id'] == ['x', 'y', 'z']


def test_hyperedge_subgraph_of_numbers() -> None:
    data = to_data([[0, 1, 2], [1, 3], [0]], 4, [[0], [3], [0]])
    data.hyperedge_id = ['x', 'y', 'z']
    out = data.hyperedge_subgraph(torch.tensor([2, 1]))
    assert to_groups(out) == [[0], [1, 3]]
    assert out['hyperedge_id'] == ['z', 'y']
    assert out['y'].tolist() == [True, False, True]
    assert out.validate()


def timed() -> AnchorData:
    data = to_data([[0, 1], [2], [1, 2], [0, 2]], 3, [[0], [2], [2], [0]])
    data.hyperedge_id = list('abcd')
    data.hyperedge_time = torch.tensor([3.0, torch.nan, 1.0, 2.0], dtype=torch.double)
    return data


def test_times() -> None:
    data = timed()
    assert data.validate()
    assert not data.is_sorted_by_time()
    out = data.sort_by_time()
    assert out['hyperedge_id'] == list('cdab')
    assert to_groups(out) == [[1, 2], [0, 2], [0, 1], [2]]
    assert out['y'].tolist() == [False, True, True, False, True, False, True]
    assert out.is_sorted_by_time()
    assert data.snapshot(1, 2)['hyperedge_id'] == ['c', 'd']
    assert data.up_to(2)['hyperedge_id'] == ['c', 'd']
    assert data.up_to(0).num_hyperedges == 0
    data.hyperedge_end = torch.tensor([1, 1, 2, 2])
    assert data.snapshot(2, 3, 'hyperedge_end')['hyperedge_id'] == ['c', 'd']


@pytest.mark.parametrize('method', ['snapshot', 'up_to', 'sort_by_time'])
def test_times_have_to_be_there(method: str) -> None:
    args: dict[str, list[int]] = {'snapshot': [0, 1], 'up_to': [1]}
    with pytest.raises(ValueError, match=r"^'hyperedge_time' is missing"):
        getattr(valid(), method)(*args.get(method, []))


@SETTINGS
@given(hypergraphs(), st.booleans())
def test_connected_components_against_search(data: AnchorData, strings: bool) -> None:
    decorate(data, strings)
    groups = to_groups(data)
    label = list(range(data.num_nodes))
    for _ in label:
        for group in groups:
            for v in group:
                label[v] = min(label[u] for u in group)
    pairs = data.hyperedge_index.t().tolist()
    expected = []
    for first in sorted(set(label)):
        nodes = [v for v in range(data.num_nodes) if label[v] == first]
        hyperedges = [e for e, g in enumerate(groups) if g and label[g[0]] == first]
        incidences = [i for i, (v, _) in enumerate(pairs) if label[v] == first]
        expected.append(slow_rows(data, nodes, hyperedges, incidences))
    found = data.connected_components()
    assert list(map(contents, found)) == expected
    assert all(part.validate() for part in found)


@SETTINGS
@given(hypergraphs(), hypergraphs(), st.booleans())
def test_concat_against_batch(one: AnchorData, two: AnchorData, strings: bool) -> None:
    decorate(one, strings)
    decorate(two, strings)
    out, batch = one.concat(two), batch_of([one, two])
    assert type(out) is AnchorData
    assert out.validate()
    assert (out.num_nodes, out.num_hyperedges) == (
        batch.num_nodes,
        batch.num_hyperedges,
    )
    for key in one.to_dict():
        if isinstance(one[key], Tensor) and one.level(key) is not None:
            assert out[key].tolist() == batch[key].tolist()
    assert out.hyperedge_index.tolist() == batch.hyperedge_index.tolist()
    assert out['node_id'] == one['node_id'] + two['node_id'] if strings else True
    assert out['title'] == one['title']


def test_concat_refuses_what_differs() -> None:
    other = valid()
    other.title = 'another one'
    with pytest.raises(ValueError, match=r"^'title' must be equal in both"):
        valid().concat(other)
    other = valid()
    del other.x
    with pytest.raises(ValueError, match=r"same attributes \(got 'x' in one"):
        valid().concat(other)


def test_coalesce() -> None:
    data = AnchorData(
        hyperedge_index=torch.tensor([[2, 0, 2, 0, 1], [0, 0, 0, 1, 1]]),
        num_nodes=3,
        num_hyperedges=2,
        y=torch.tensor([False, False, True, True, False]),
        role=torch.tensor([5, 6, 7, 8, 9]),
    )
    assert not data.is_coalesced()
    out = data.coalesce()
    assert out.is_coalesced()
    assert out.is_sorted(sort_by_row=True)
    assert to_groups(out) == [[0, 2], [0, 1]]
    assert out['role'].tolist() == [6, 5, 8, 9]
    assert out['y'].tolist() == [False, True, True, False]
    assert out.validate()


def test_is_sorted() -> None:
    data = to_data([[1, 0], [2]], 3)
    assert data.is_sorted()
    assert not data.is_sorted(sort_by_row=True)
    data.hyperedge_index = data.hyperedge_index.flip(1)
    assert not data.is_sorted()


def test_has_isolated_nodes() -> None:
    assert to_data([[0, 2]], 3).has_isolated_nodes()
    assert not to_data([[0, 2], [1]], 3).has_isolated_nodes()


def test_repr() -> None:
    data = to_data([[0, 1, 2], [1, 2], []], 5, [[0], [1], []])
    data.node_id = list('abcde')
    data.x = torch.zeros(5, 2)
    assert repr(data) == (
        'AnchorData(num_nodes=5, num_hyperedges=3, num_incidences=5, y=[5], '
        'node_id=[5], x=[5, 2])'
    )
    assert repr(batch_of([data, data])) == (
        'AnchorDataBatch(num_nodes=10, num_hyperedges=6, num_incidences=10, y=[10], '
        'node_id=[2], x=[10, 2], batch=[10], ptr=[3])'
    )


# Devices #########################################################################


@pytest.mark.parametrize('strings', [False, True])
def test_second_device(strings: bool) -> None:
    data = decorate(to_data([[0, 1, 2], [1, 2], [4], []], 5), strings)
    data.hyperedge_time = torch.tensor([3.0, torch.nan, 1.0, 2.0])

    def run(data: AnchorData, device: torch.device) -> list[Any]:
        nodes = torch.tensor([4, 1], device=device)
        return [
            data.subgraph(nodes),
            data.subgraph(nodes, relabel_hyperedges=False),
            data.hyperedge_subgraph(data.choice_mask, relabel_nodes=True),
            data.hyperedge_subgraph(data.known_mask),
            data.sort(sort_by_row=True),
            data.coalesce(),
            data.sort_by_time(),
            data.snapshot(1, 2),
            data.concat(data),
            *data.connected_components(),
            AnchorData.from_bipartite(data.to_bipartite()),
        ]

    with second_device() as device:
        moved = data.clone().to(device)
        assert moved.validate()
        assert moved.has_isolated_nodes()
        found = run(moved, device)
        for out in found:
            tensors = [v for v in out.to_dict().values() if isinstance(v, Tensor)]
            assert {value.device for value in tensors} == {device}
            assert out.validate()
        found = [out.cpu() for out in found]
    expected = run(data, torch.device('cpu'))
    assert list(map(str, map(contents, found))) == list(
        map(str, map(contents, expected))
    )


# Sources #########################################################################


def test_source() -> None:
    data = valid()
    assert data.source is None
    data.source = 'mail'
    assert data.validate()
    for other in (
        data.clone(),
        copy.copy(data),
        data.hyperedge_subgraph(torch.zeros(data.num_hyperedges, dtype=torch.bool)),
        data.sort(),
    ):
        assert other.source == 'mail'
    data.source = None
    assert data.source is None
    assert 'source' not in data


def test_source_of_a_batch() -> None:
    def batch(*parts: Any) -> Any:
        return Batch.from_data_list(list(parts))

    one, two = valid(), valid()
    one.source = 'mail'
    assert batch(one, two).source is None
    assert batch(one, two)[0].source == 'mail'
    assert batch(one, two)[1].source is None
    two.source = 'mail'
    assert batch(one, two).source == 'mail'
    assert batch(batch(one, two), batch(two, one)).source == 'mail'
    two.source = 'calls'
    assert batch(one, two).source is None


def test_bad_source() -> None:
    data: Any = valid()
    data.source = 7
    with one_line_error("'source'", '7'):
        data.validate()


def test_from_incidence_takes_the_options_of_the_reader() -> None:
    own = signature(AnchorData.from_incidence).parameters
    # Tables of known anchors alone are for commands, not for hypergraphs.
    read = dict(signature(inspect_incidence).parameters)
    del read['anchors_only']
    assert list(own) == list(read)
    assert {n: p.default for n, p in own.items()} == {
        n: p.default for n, p in read.items()
    }
    data = AnchorData.from_incidence(
        {'to': ['Bob <b@x.org>; c@x.org, A@x.org'], 'from': ['Ann <A@x.org>']},
        members='to',
        anchor='from',
        sep=None,
        addresses=True,
        tidy=True,
    )
    assert sorted(data.node_id) == ['a@x.org', 'b@x.org', 'c@x.org']
