from typing import Any

import pytest
import torch
from torch_geometric.data import Batch

from tests.strategies import one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.people import People, has_ids, node_texts


def table(ids: Any, source: str | None = None) -> AnchorData:
    data = to_data([[0, 1], [1, 2]], 3)
    data.node_id, data.source = ids, source
    return data


def test_find() -> None:
    people = People.of(table(['a', 'b', 'c']))
    assert len(people) == 3
    assert repr(people) == 'People(3)'
    assert people.find(table(['c', 'x', 'a'])).tolist() == [2, -1, 0]
    assert people.find(table(['x', 'y', 'z'])).tolist() == [-1, -1, -1]
    # Two nodes of one person, in either table.
    assert People.of(table(['a', 'a', 'b'])).find(table(['b', 'a', 'a'])).tolist() == [
        2,
        0,
        0,
    ]
    numbers = People.of(table(torch.tensor([5, 7, 9])))
    assert numbers.find(table(['9', '5', '05'])).tolist() == [2, 0, -1]


@pytest.mark.parametrize(
    ('ours', 'theirs', 'found'),
    [
        (None, None, True),
        ('qaBI', 'qaBI', True),
        ('qaBI', 'qaPH', False),
        ('qaBI', None, False),
        (None, 'qaBI', False),
    ],
)
def test_sources_decide(ours: str | None, theirs: str | None, found: bool) -> None:
    people = People.of(table(['a', 'b', 'c'], ours))
    other = table(['a', 'b', 'c'], theirs)
    assert people.are_in(other) == found
    assert people.are_in(other, True)
    assert not people.are_in(other, False)


def test_without_ids() -> None:
    named, nameless = People.of(table(['a', 'b', 'c'])), People.of(table(None))
    assert not named.are_in(table(None))
    assert not nameless.are_in(table(None))
    assert not nameless.are_in(table(['a', 'b', 'c']))
    assert nameless.are_in(table(None), True)
    assert nameless.find(table(None)).tolist() == [0, 1, 2]
    for people, data in ((named, table(None)), (nameless, table(['a', 'b', 'c']))):
        with one_line_error("'same_people'", "'data.node_id'"):
            people.are_in(data, True)


def test_batches_name_nobody() -> None:
    batch: Any = Batch.from_data_list([table(['a', 'b', 'c'])] * 2)
    assert not has_ids(batch)
    assert node_texts(batch).to_pylist() == [str(i) for i in range(6)]


def test_state() -> None:
    people = People.of(table(['a', 'b', 'ö'], 'qaBI'))
    twin = People()
    twin.load_state_dict(people.state_dict())
    assert twin.are_in(table(['a', 'b', 'ö'], 'qaBI'))
    assert twin.find(table(['ö', 'b', 'a'])).tolist() == [2, 1, 0]
    twin.validate()
    assert twin.source is not None
    twin.source = twin.ids
    with one_line_error("'people'"):
        twin.validate()
