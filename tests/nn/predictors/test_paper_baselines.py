from typing import Any

import pytest

from tests.strategies import one_line_error
from tgx_anchor.nn import CoNHD
from tgx_anchor.nn.predictors.paper_baselines import (
    BASELINES,
    IN_CHANNELS,
    paper_baseline,
)
from tgx_anchor.paper import DATASETS, SETTINGS, figures, hyperparameters


def test_baselines_are_those_of_the_paper() -> None:
    assert len(BASELINES) == 9
    assert set(BASELINES) <= set(figures('accuracy')['method'])


@pytest.mark.parametrize('method', BASELINES)
def test_published_hyperparameters(method: str) -> None:
    for dataset in DATASETS:
        published: Any = hyperparameters(method, dataset)
        if not published:
            continue
        params = paper_baseline(method, dataset)
        encoder = params['encoder']
        assert encoder.num_layers == published['num_layers']
        assert encoder.in_channels == IN_CHANNELS[method]
        # The reference of UniGCN overrules the rate.
        assert params['lr'] == (0.01 if method == 'UniGCN' else published['lr'])
        assert params['batch_size'] == published.get('batch_size')
        assert encoder.dropout == published.get('dropout', 0.7)
        # Whatever the kind of anchor.
        for setting in SETTINGS:
            if setting.partition('_')[0] == dataset:
                twin = paper_baseline(method, setting)
                assert twin['lr'] == params['lr']
                assert repr(twin['encoder']) == repr(encoder)


def test_typed_in_values() -> None:
    # A sample, read from the paper by eye.
    params = paper_baseline('WHATsNet', 'coAA')
    assert (params['lr'], params['batch_size']) == (0.001, 512)
    assert repr(params['encoder']) == 'WHATsNet(44, 128, num_layers=1)'
    params = paper_baseline('HCHA', 'qaMA')
    assert (params['lr'], params['encoder'].dropout) == (0.005, 0.3)
    assert (params['batch_size'], params['num_epochs']) == (None, 300)
    assert params['encoder'].num_layers == 2
    params = paper_baseline('HGNN', 'emER')
    assert (params['lr'], params['batch_size']) == (0.0001, 128)
    assert 'num_epochs' not in params


def test_out_of_memory_in_the_paper() -> None:
    params, like = paper_baseline('HNN', 'emEU'), paper_baseline('HNN', 'emEN')
    assert params.pop('encoder').dropout == like.pop('encoder').dropout == 0.7
    assert params == like


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
def test_neighbours(method: str, numbers: list[int]) -> None:
    datasets = ['coDB', 'coAA', 'emEN', 'emEU', 'qaBI', 'qaPH']
    for dataset, number in zip(
        [*datasets, 'emER', 'moML'], [*numbers, 40, 40], strict=True
    ):
        found = paper_baseline(method, dataset)['num_neighbors']
        assert (dataset, found) == (dataset, number)


def test_conhd() -> None:
    for method, operator in (('CoNHD-U', 'unb'), ('CoNHD-I', 'isab')):
        params = paper_baseline(method, 'emEU')
        encoder = params['encoder']
        assert isinstance(encoder, CoNHD)
        assert (encoder.operator, encoder.hidden_channels) == (operator, 128)
        assert (encoder.dropout, encoder.input_dropout) == (0.7, 0.0)
        assert paper_baseline(method, 'qaBI')['encoder'].input_dropout == 0.7
        names = ('eps', 'weight_decay', 'max_norm')
        assert [params[name] for name in names] == [1e-4, 1e-4, 1.0]
    assert 'eps' not in paper_baseline('HGNN', 'emEU')


def test_unknown_names() -> None:
    with one_line_error("'method'", 'WHATsNet', "'GCN'"):
        paper_baseline('GCN', 'emEU')
    for setting in ('emXX', 'qaBI_first', ''):
        with one_line_error("'setting'", 'emEU', repr(setting)):
            paper_baseline('HGNN', setting)
