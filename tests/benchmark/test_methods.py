from pathlib import Path
from typing import Any

import pytest
import torch

from tests.strategies import one_line_error
from tgx_anchor.benchmark import METHODS
from tgx_anchor.benchmark.methods import (
    load_setting,
    make_model,
    new_model,
    one_split,
    prepare,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import HNN, AnchorPredictor, AnchorRadar
from tgx_anchor.nn.predictors.paper_baselines import IN_CHANNELS
from tgx_anchor.paper import BASELINES
from tgx_anchor.transforms import AddRandomWalkEmbedding, RandomHyperedgeSplit


def small() -> AnchorData:
    data: object = PlantedAnchorDataset(40, 120)[0]
    assert isinstance(data, AnchorData)
    return data


def test_all_methods() -> None:
    assert len(BASELINES) == 9
    assert len(METHODS) == 13
    for method in METHODS:
        for setting in ('planted', 'emER', 'coDB_last', 'emEU'):
            model = new_model(method, setting, num_epochs=3, seed=7)
            assert model.seed == 7
            assert getattr(model, 'num_epochs', 3) == 3
    with one_line_error("'method'", "'HGCN'"):
        new_model('HGCN', 'emER')
    for method in ('AnchorRadar', 'HGNN'):
        with one_line_error("'setting'", "'nowhere'"):
            new_model(method, 'nowhere')


def test_required_features_and_their_cache(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def walk(self: AddRandomWalkEmbedding, data: AnchorData) -> AnchorData:
        calls.append(self.dim)
        data.x = torch.ones(40, self.dim)
        return data

    monkeypatch.setattr(AddRandomWalkEmbedding, 'forward', walk)
    assert (
        prepare(small(), new_model('AnchorRadar', 'emER')).incidence_attr.size(1) == 33
    )
    assert 'x' not in prepare(small(), new_model('Degree', 'emER'))
    for method in BASELINES:
        data = prepare(small(), new_model(method, 'emER'), tmp_path / 'kept')
        assert data['x'].size() == (40, IN_CHANNELS[method])
        assert ('incidence_rank' in data) == (IN_CHANNELS[method] == 44)
    # Each width is walked for once, and another hypergraph is another one.
    assert sorted(calls) == [44, 48]
    assert len(list((tmp_path / 'kept').iterdir())) == 2
    hgnn = new_model('HGNN', 'emER')
    other = PlantedAnchorDataset(40, 121)[0]
    assert isinstance(other, AnchorData)
    prepare(other, hgnn, tmp_path / 'kept')
    assert len(calls) == 3
    prepare(small(), hgnn)
    assert len(calls) == 4
    # Features that are there stay.
    data = small()
    data.x = torch.zeros(40, 48)
    assert not prepare(data, hgnn, tmp_path / 'kept')['x'].any()
    # A damaged file is named.
    for path in (tmp_path / 'kept').iterdir():
        path.write_bytes(b'nothing')
    with one_line_error(str(tmp_path / 'kept'), 'embedding', 'remove'):
        prepare(small(), hgnn, tmp_path / 'kept')


def test_splits() -> None:
    data = small()
    whole = RandomHyperedgeSplit(num_splits=3)(small())
    for number in range(3):
        part = one_split(small(), number)
        assert torch.equal(part.train_mask, whole.train_mask[:, number])
        assert torch.equal(part.test_mask, whole.test_mask[:, number])
    fewer = RandomHyperedgeSplit(train=0.025, num_splits=2)(small())
    part = one_split(small(), 1, train=0.025)
    assert torch.equal(part.train_mask, fewer.train_mask[:, 1])
    assert data.num_hyperedges == 120


def test_planted_setting() -> None:
    data = load_setting('planted')
    assert data.num_hyperedges == 10000
    model = new_model('AnchorRadar', 'planted')
    assert isinstance(model, AnchorRadar)
    assert repr(model) == repr(AnchorRadar())


def of_width(width: Any = -1) -> AnchorPredictor:
    encoder = HNN(4, 4, 1)
    encoder.in_channels = width
    return AnchorPredictor(encoder)


def test_models_of_the_user() -> None:
    draws: list[float] = []

    def make(_: str) -> AnchorPredictor:
        draws.append(float(torch.rand(())))
        return of_width()

    state = torch.get_rng_state()
    make_model(make, 'Mine', 'planted')
    make_model(make, 'Mine', 'planted')
    # Always from the same seed, and without a trace outside.
    assert draws[0] == draws[1]
    assert torch.equal(torch.get_rng_state(), state)
    with one_line_error("'Mine'", 'HNN', "'planted'"):
        make_model(lambda _: HNN(4, 4, 1), 'Mine', 'planted')  # type: ignore[arg-type, return-value]
