import hashlib
import json
import re
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.nn.predictors.radar import planted, quick, same_state
from tests.strategies import SETTINGS, one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import (
    HGNN,
    AnchorModel,
    AnchorPredictor,
    AnchorRadar,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.nn.predictors.model_file import ModelContent, read_model, write_model

HEADER = struct.Struct('<16sIQ32s')
DTYPES = [torch.bool, torch.uint8, torch.int64, torch.float16, torch.float64]


def named() -> AnchorData:
    data = planted()
    data.node_id = [f'Zoë <{i}@x.org>' for i in range(120)]
    return data


@pytest.fixture(scope='module')
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[AnchorRadar, bytes]:
    path = tmp_path_factory.mktemp('saved') / 'model.tgx'
    model = quick().fit(named())
    model.save(path)
    return model, path.read_bytes()


def forge(content: bytes, change: Callable[[dict[str, Any]], object]) -> bytes:
    """Changes the description, and makes the checksum right again."""
    (length,) = struct.unpack('<Q', content[HEADER.size : HEADER.size + 8])
    start = HEADER.size + 8
    head = json.loads(content[start : start + length])
    change(head)
    text = json.dumps(head).encode()
    rest = struct.pack('<Q', len(text)) + text + content[start + length :]
    magic, version, *_ = HEADER.unpack(content[: HEADER.size])
    code = hashlib.sha256(rest).digest()
    return HEADER.pack(magic, version, len(rest), code) + rest


def refusal(path: Path) -> str:
    """The one sentence with which a file is refused."""
    with pytest.raises(ValueError, match=re.escape(str(path))) as caught:
        AnchorModel.load(path)
    message = str(caught.value)
    assert '\n' not in message
    assert 'weights_only' not in message
    return message


tensors = st.builds(
    lambda dtype, size, seed: (
        torch.rand(size, generator=torch.Generator().manual_seed(seed)).mul(5).to(dtype)
    ),
    st.sampled_from(DTYPES),
    st.lists(st.integers(0, 4), max_size=3),
    st.integers(0, 99),
)
plain = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda part: st.lists(part, max_size=3) | st.dictionaries(st.text(), part),
    max_leaves=5,
)


@SETTINGS
@given(st.dictionaries(st.text(), tensors), st.dictionaries(st.text(), plain))
def test_round_trip(
    tmp_path_factory: pytest.TempPathFactory,
    state: dict[str, Tensor],
    params: dict[str, Any],
) -> None:
    path = tmp_path_factory.mktemp('trip') / 'model'
    write_model(path, ModelContent('Any', params, state))
    found = read_model(path)
    assert (found.name, found.params, list(found.state)) == ('Any', params, list(state))
    for key, value in state.items():
        assert found.state[key].dtype == value.dtype
        assert torch.equal(found.state[key], value)


def test_tensors_need_not_be_contiguous(tmp_path: Path) -> None:
    value = torch.arange(6).view(2, 3).t()
    write_model(tmp_path / 'model', ModelContent('Any', {}, {'value': value}))
    assert torch.equal(read_model(tmp_path / 'model').state['value'], value)


def test_models_that_cannot_be_saved(tmp_path: Path) -> None:
    path = tmp_path / 'model'
    with one_line_error("'Any'", 'numbers'):
        write_model(path, ModelContent('Any', {'value': torch.ones(2)}, {}))
    with one_line_error("'a'", 'cannot be saved'):
        write_model(path, ModelContent('Any', {}, {'a': torch.ones(2).to_sparse()}))
    with one_line_error("'a'", 'cannot be saved'):
        state: Any = {'a': torch.ones(2, dtype=torch.complex64)}
        write_model(path, ModelContent('Any', {}, state))
    assert list(tmp_path.iterdir()) == []


# The right class #################################################################


@pytest.mark.parametrize('kind', [DegreeHeuristic, RandomHeuristic, AnchorRadar])
def test_base_class_loads_any(kind: type[AnchorModel], tmp_path: Path) -> None:
    data = planted()
    model = (quick() if kind is AnchorRadar else kind()).fit(data)
    model.save(tmp_path / 'model')
    twin = AnchorModel.load(tmp_path / 'model')
    assert type(twin) is kind
    assert repr(twin) == repr(model)
    assert torch.equal(twin.predict_proba(data), model.predict_proba(data))


def test_base_class_loads_encoders(tmp_path: Path) -> None:
    data = planted()
    data.x = torch.rand(120, 4, generator=torch.Generator().manual_seed(0))
    model = AnchorPredictor(HGNN(4, 8, 2), num_epochs=2).fit(data)
    model.save(tmp_path / 'model')
    twin = AnchorModel.load(tmp_path / 'model')
    assert isinstance(twin, AnchorPredictor)
    assert torch.equal(twin.predict_proba(data), model.predict_proba(data))
    # It may go on learning.
    assert all(value.requires_grad for value in twin.parameters())
    assert all(value.device.type == 'cpu' for value in twin.state_dict().values())


class Own(RandomHeuristic):
    pass


def test_class_of_the_user(tmp_path: Path) -> None:
    path = tmp_path / 'model'
    Own(seed=4).save(path)
    assert Own.load(path).seed == 4
    with one_line_error(str(path), "'Own'", 'of this package'):
        AnchorModel.load(path)
    with one_line_error(str(path), "'Own'", "'RandomHeuristic'"):
        RandomHeuristic.load(path)


# Damage ##########################################################################


def test_truncated(saved: tuple[AnchorRadar, bytes], tmp_path: Path) -> None:
    path, (_, content) = tmp_path / 'model', saved
    draw = np.random.default_rng(0)
    sizes = {*range(80), *draw.integers(len(content), size=200).tolist()}
    for size in sizes:
        path.write_bytes(content[:size])
        word = 'not a saved model' if size == 0 else 'not complete'
        assert word in refusal(path)
    path.write_bytes(content + b'\0')
    with one_line_error(str(path), 'damaged'):
        AnchorModel.load(path)


def test_flipped(saved: tuple[AnchorRadar, bytes], tmp_path: Path) -> None:
    path, (model, content) = tmp_path / 'model', saved
    draw = np.random.default_rng(1)
    # Every bit of the header, and 800 places anywhere.
    places = [divmod(i, 8) for i in range(8 * (HEADER.size + 8))]
    places += draw.integers([len(content), 8], size=(800, 2)).tolist()
    for byte, bit in places:
        damaged = bytearray(content)
        damaged[byte] ^= 1 << bit
        path.write_bytes(damaged)
        refusal(path)
    path.write_bytes(content)
    assert same_state(AnchorRadar.load(path), model)


@pytest.mark.parametrize(
    'content',
    [b'', b'hello world', b'group,member\n1,2\n' * 9, b'\x80\x02.', b'{"a": 1}'],
)
def test_foreign(content: bytes, tmp_path: Path) -> None:
    path = tmp_path / 'model'
    path.write_bytes(content)
    with one_line_error(str(path), 'not a saved model'):
        AnchorModel.load(path)


def test_newer(saved: tuple[AnchorRadar, bytes], tmp_path: Path) -> None:
    path, (_, content) = tmp_path / 'model', saved
    magic, version, *rest = HEADER.unpack(content[: HEADER.size])
    newer = HEADER.pack(magic, version + 1, *rest)
    path.write_bytes(newer + content[HEADER.size :])
    with one_line_error(str(path), 'newer version', 'update'):
        AnchorModel.load(path)


class Touch:
    """Creates a file as soon as it is unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, tuple[str]]:
        return _touch, (str(self.path),)


def _touch(path: str) -> None:
    Path(path).touch()


def test_code_is_refused(tmp_path: Path) -> None:
    path, trace = tmp_path / 'model', tmp_path / 'trace'
    torch.save({'model': Touch(trace)}, path)
    assert 'not a saved model' in refusal(path)
    assert not trace.exists()


# Hostile files, with the right checksum ##########################################


def set_param(name: str, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda head: head['params'].update({name: value})


def entry(head: dict[str, Any], key: str) -> list[Any]:
    found: list[Any] = next(each for each in head['state'] if each[0] == key)
    return found


def set_entry(key: str, place: int, value: Any) -> Callable[[dict[str, Any]], object]:
    return lambda head: entry(head, key).__setitem__(place, value)


def all_at_the_first(head: dict[str, Any]) -> None:
    for each in head['state']:
        each[3] = 0


@pytest.mark.parametrize(
    ('change', 'word'),
    [
        # Were it allocated first, there would be no shape to compare with.
        (set_param('hidden_channels', 10**12), 'size mismatch'),
        (set_param('hidden_channels', 10**40), 'whole model'),
        (set_param('alpha', -1.0), "'alpha'"),
        (set_param('depth', 3), 'depth'),
        (set_param('seed', 10**40), 'whole model'),
        (lambda head: head.update(params=None), 'does not fit'),
        (lambda head: head.update(params=[1]), 'does not fit'),
        (lambda head: head.update(model='HGNN'), 'HGNN'),
        (lambda head: head.update(model='AnchorModel'), 'AnchorModel'),
        (lambda head: head.update(model=['AnchorRadar']), 'does not fit'),
        (lambda head: head.pop('state'), 'does not fit'),
        (lambda head: head['state'].pop(0), 'whole model'),
        (lambda head: head.update(state=[]), 'whole model'),
        (set_entry('share', 2, [10**12]), 'does not fit'),
        (set_entry('share', 2, [-1, -120]), 'does not fit'),
        (set_entry('share', 2, 'x'), 'does not fit'),
        (set_entry('share', 1, 'object'), 'does not fit'),
        (set_entry('share', 3, -8), 'does not fit'),
        (set_entry('share', 3, 10**9), 'does not fit'),
        (set_entry('fitted_on', 1, 'float64'), "'fitted_on'"),
        (set_entry('scale', 2, [0]), "'scale'"),
        (all_at_the_first, 'does not fit'),
        (set_entry('memory.known_mask', 2, [0, 5]), 'whole model'),
        (set_entry('memory.reference', 1, 'int32'), 'whole groups'),
        (set_entry('memory.people.ids.code', 2, [3]), 'whole model'),
    ],
)
def test_hostile(
    change: Callable[[dict[str, Any]], object],
    word: str,
    saved: tuple[AnchorRadar, bytes],
    tmp_path: Path,
) -> None:
    path = tmp_path / 'model'
    path.write_bytes(forge(saved[1], change))
    with one_line_error(str(path), word):
        AnchorModel.load(path)


def test_numbers_out_of_range(tmp_path: Path) -> None:
    model = quick().fit(named())
    for place, value in ((0, 10**6), (0, -1), (1, 10**6)):
        twin = quick()
        twin.load_state_dict(model.state_dict())
        twin.memory.hyperedge_index[place, -1] = value
        twin.save(tmp_path / 'model')
        with one_line_error(str(value)):
            AnchorModel.load(tmp_path / 'model')
    for name, number in (('end', 5), ('end', -3), ('code', 255)):
        twin.load_state_dict(model.state_dict())
        getattr(twin.memory.people.ids, name)[2] = number
        twin.save(tmp_path / 'model')
        with one_line_error('whole model'):
            AnchorModel.load(tmp_path / 'model')


def test_number_of_layers(tmp_path: Path) -> None:
    path, data = tmp_path / 'model', to_data([[0, 1], [1, 2]], 3, [[0], [1]])
    data.x = torch.ones(3, 4)
    AnchorPredictor(HGNN(4, 8, 2), num_epochs=1).fit(data).save(path)

    def deeper(head: dict[str, Any]) -> None:
        head['params']['encoder']['params']['num_layers'] = 10**9

    path.write_bytes(forge(path.read_bytes(), deeper))
    with one_line_error("'num_layers'", '1000000000'):
        AnchorModel.load(path)


def test_nested_description(saved: tuple[AnchorRadar, bytes], tmp_path: Path) -> None:
    path = tmp_path / 'model'
    text = b'[' * 10**5
    rest = struct.pack('<Q', len(text)) + text
    magic, version, *_ = HEADER.unpack(saved[1][: HEADER.size])
    code = hashlib.sha256(rest).digest()
    path.write_bytes(HEADER.pack(magic, version, len(rest), code) + rest)
    with one_line_error(str(path), 'does not fit'):
        AnchorModel.load(path)
