import subprocess
import sys

import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.nn import HGNN, CoNHD, models
from tgx_anchor.nn.predictors.packed_encoder import (
    encoder_class,
    pack_encoder,
    unpack_encoder,
)


@pytest.mark.parametrize('name', ['HGNN', 'UniGCN', 'WHATsNet', 'HypergraphEncoder'])
def test_encoders_by_name(name: str) -> None:
    assert encoder_class(name) is getattr(models, name)


@pytest.mark.parametrize('name', ['IncidenceScorer', 'hgnn', '__all__', 'torch', ''])
def test_only_encoders_of_this_package(name: str) -> None:
    assert encoder_class(name) is None


def test_there_and_back() -> None:
    encoder = CoNHD(6, 8, 2, dropout=0.25, heads=2, operator='isab')
    packed = pack_encoder(encoder)
    assert packed['name'] == 'CoNHD'
    assert packed['params']['dropout'] == 0.25
    twin = unpack_encoder(packed)
    assert type(twin) is CoNHD
    assert pack_encoder(twin) == packed
    shapes = {key: value.size() for key, value in encoder.state_dict().items()}
    assert {key: value.size() for key, value in twin.state_dict().items()} == shapes


def test_encoders_of_the_user() -> None:
    class Mine(torch.nn.Module):
        pass

    # Of the same name, but not ours.
    fake = type('HGNN', (HGNN,), {})(6, 8, 1)
    assert pack_encoder(fake) == {'name': 'HGNN', 'params': {}}
    packed = pack_encoder(Mine())
    assert packed == {'name': 'Mine', 'params': {}}
    with one_line_error("'Mine'", 'encoder=...'):
        unpack_encoder(packed)


def test_predictors_do_not_import_the_encoders() -> None:
    # Not by themselves: the namespace 'tgx_anchor.nn' holds them all.
    code = (
        'import ast, pathlib, tgx_anchor.nn.predictors as p\n'
        'ours = {"hgnn", "hnhn", "hcha", "hat", "hnn", "unigcn", "whatsnet", "conhd"}\n'
        'for path in pathlib.Path(p.__file__).parent.glob("*.py"):\n'
        '    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):\n'
        '        module = getattr(node, "module", None) or ""\n'
        '        assert module.rpartition(".")[2] not in ours, (path.name, module)\n'
    )
    subprocess.run([sys.executable, '-c', code], check=True)


def test_more_layers_than_tensors() -> None:
    packed = pack_encoder(HGNN(4, 8, 3))
    assert repr(unpack_encoder(packed, 3)) == repr(unpack_encoder(packed))
    with one_line_error("'num_layers'", '3'):
        unpack_encoder(packed, 2)
