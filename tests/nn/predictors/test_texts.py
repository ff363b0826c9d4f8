import numpy as np
import pyarrow as pa
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS
from tgx_anchor.nn.predictors.texts import Texts, to_texts

words = st.lists(st.text(st.characters(codec='utf-8')), max_size=6)


@SETTINGS
@given(words, st.integers(0, 3))
def test_round_trip(values: list[str], start: int) -> None:
    # Also a part of an array, and through the state of a module.
    array = pa.array(values, pa.large_string()).slice(start)
    texts = Texts(array)
    assert len(texts) == len(array)
    assert texts.array().to_pylist() == values[start:]
    twin = Texts()
    twin.load_state_dict(texts.state_dict())
    assert twin.array().equals(texts.array())


def test_repr() -> None:
    assert repr(Texts(pa.array(['a', 'bc'], pa.large_string()))) == 'Texts(2)'


def test_bytes() -> None:
    texts = Texts(pa.array(['a', '', 'ö'], pa.large_string()))
    assert texts.code.tolist() == [97, 0xC3, 0xB6]
    assert texts.end.tolist() == [1, 1, 3]


@pytest.mark.parametrize('end', [[1, 0, 3], [1, 1, 9], [-1, 1, 3], [1, 2, 3]])
def test_wrong_ends_are_refused(end: list[int]) -> None:
    # The last one cuts a character.
    texts = Texts(pa.array(['a', '', 'ö'], pa.large_string()))
    texts.end = torch.tensor(end)
    with pytest.raises(ValueError):  # noqa: PT011
        texts.array()


@pytest.mark.parametrize(
    ('value', 'found'),
    [
        (torch.tensor([3, -1]), ['3', '-1']),
        (np.array([3, -1]), ['3', '-1']),
        (['3', '-1'], ['3', '-1']),
        ([3, -1], ['3', '-1']),
        (['a', 1], ['a', '1']),
        (['a', None], ['a', '']),
        (None, ['0', '1']),
    ],
)
def test_ids_are_compared_as_texts(value: object, found: list[str]) -> None:
    assert to_texts(value, 2).to_pylist() == found


def test_nobody() -> None:
    assert to_texts([], 0).to_pylist() == []
    assert to_texts(None, 0).to_pylist() == []
