import csv
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.strategies import one_line_error
from tgx_anchor.benchmark import METHODS
from tgx_anchor.benchmark.methods import (
    load_setting,
    new_model,
    one_split,
    prepare,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import HNN, AnchorPredictor, AnchorRadar
from tgx_anchor.nn.predictors.paper_baselines import BASELINES, IN_CHANNELS
from tgx_anchor.transforms import RandomHyperedgeSplit


def small() -> AnchorData:
    data: object = PlantedAnchorDataset(40, 120)[0]
    assert isinstance(data, AnchorData)
    return data


def test_all_methods() -> None:
    assert len(BASELINES) == 9
    assert len(METHODS) == 12
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


@pytest.mark.mirror
def test_published_settings(reference: Path) -> None:
    for method in BASELINES:
        name = method.lower().replace('-', '_')
        path = reference / f'hyperparameters_{name}.csv'
        with path.open(newline='', encoding='utf-8') as file:
            rows = {row['parameter']: row for row in csv.DictReader(file)}
        datasets = [key for key in rows['lr'] if key != 'parameter']
        assert len(datasets) == 13
        for dataset in datasets:
            if rows['lr'][dataset] == 'OOM':
                continue
            model = AnchorPredictor.from_paper(method, dataset)
            encoder: Any = model.encoder
            assert encoder.num_layers == int(rows['num_layers'][dataset])
            # The rate of UniGCN is overruled by its reference.
            if method != 'UniGCN':
                assert model.lr == float(rows['lr'][dataset])
            if 'batch_size' in rows:
                assert model.batch_size == int(rows['batch_size'][dataset])
                assert (encoder.dropout, model.num_epochs) == (0.7, 100)
            else:
                assert model.batch_size is None
                assert encoder.dropout == float(rows['dropout'][dataset])
                assert model.num_epochs == 300


@pytest.mark.parametrize(
    ('method', 'numbers'),
    [
        ('HNHN', [-1, 100, 100, 100, -1, 40]),
        ('HGNN', [-1, 40, 40, 40, -1, 100]),
        ('HAT', [-1, 40, 100, 40, -1, 100]),
        ('UniGCN', [-1, 40, 100, 100, -1, 100]),
        ('WHATsNet', [-1, 40, 40, 40, 40, 40]),
        ('CoNHD-U', [40] * 6),
        ('CoNHD-I', [40] * 6),
    ],
)
def test_published_neighbours(method: str, numbers: list[int]) -> None:
    datasets = ['coDB', 'coAA', 'emEN', 'emEU', 'qaBI', 'qaPH']
    for dataset, number in zip(
        [*datasets, 'emER', 'moML'], [*numbers, 40, 40], strict=True
    ):
        model = AnchorPredictor.from_paper(method, dataset)
        assert (dataset, model.num_neighbors) == (dataset, number)


def test_settings_of_the_optimiser() -> None:
    conhd = AnchorPredictor.from_paper('CoNHD-I', 'emEU')
    assert (conhd.eps, conhd.weight_decay, conhd.max_norm) == (1e-4, 1e-4, 1.0)
    assert conhd.encoder.input_dropout == 0
    assert AnchorPredictor.from_paper('CoNHD-U', 'qaBI').encoder.input_dropout == 0.7
    hgnn = AnchorPredictor.from_paper('HGNN', 'emEU')
    assert (hgnn.eps, hgnn.weight_decay, hgnn.max_norm) == (1e-8, 0.0, None)
    with one_line_error("'method'", "'GCN'"):
        AnchorPredictor.from_paper('GCN', 'emEU')
    with one_line_error("'setting'", "'emXX'"):
        AnchorPredictor.from_paper('HGNN', 'emXX')


def test_what_each_method_needs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    class Walk:
        def __init__(self, dim: int, progress: bool) -> None:
            self.dim, self.progress = dim, progress

        def __repr__(self) -> str:
            return f'Walk({self.dim})'

        def __call__(self, data: AnchorData) -> AnchorData:
            calls.append(self.dim)
            data.x = torch.ones(40, self.dim)
            return data

    monkeypatch.setattr('tgx_anchor.benchmark.methods.AddRandomWalkEmbedding', Walk)
    assert (
        prepare(small(), new_model('AnchorRadar', 'emER')).incidence_attr.size(1) == 33
    )
    assert 'x' not in prepare(small(), new_model('Degree', 'emER'))
    for method in BASELINES:
        data = prepare(small(), new_model(method, 'emER'), tmp_path / 'kept')
        assert data['x'].size() == (40, IN_CHANNELS[method])
        # Ranks for those who look at them.
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


@pytest.mark.parametrize('width', [-1, None, (3, 4)])
def test_an_encoder_of_any_width(width: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def walk(_: AnchorData, dim: int, *__: Any) -> Tensor:
        asked.append(dim)
        return torch.zeros(1000, dim)

    monkeypatch.setattr('tgx_anchor.benchmark.methods._embedding', walk)
    prepare(load_setting('planted'), of_width(width))
    assert asked == [48]
