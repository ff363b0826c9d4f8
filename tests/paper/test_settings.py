import pytest

from tgx_anchor.paper import (
    BASELINES,
    DATASETS,
    SETTINGS,
    figure,
    figures,
    hyperparameters,
    tables,
)


def test_settings_are_the_columns_of_the_main_table() -> None:
    assert len(DATASETS) == 13
    assert list(figures('accuracy')) == ['method', *SETTINGS]


@pytest.mark.parametrize('table', tables())
def test_columns_are_equally_long(table: str) -> None:
    lengths = {len(column) for column in figures(table).values()}
    assert len(lengths) == 1
    assert lengths.pop() > 0


def test_figures() -> None:
    columns = figures('accuracy')
    assert columns['method'][-1] == 'AnchorRadar'
    assert columns['qaBI'][-1] == '87.4±0.2'
    columns['qaBI'].clear()
    assert figures('accuracy')['qaBI'][0] == '85.6±0.4'


def test_figure() -> None:
    assert figure('accuracy', 'WHATsNet', 'coDB_last') == '45.4±0.2'
    assert figure('heuristics', 'Degree', 'emER') == '66.2'
    assert figure('accuracy', 'Degree', 'emER') == ''
    assert figure('multi_anchor', 'WHATsNet', 'emER') == ''


def test_hyperparameters() -> None:
    published = {'lr_stage1': 0.001, 'lr_stage2': 0.1, 'alpha': 0.09, 'w': 3.0}
    assert hyperparameters('AnchorRadar', 'coDB_last') == published
    assert hyperparameters('AnchorRadar', 'moML')['w'] is None
    hat = {'lr': 0.0001, 'batch_size': 64.0, 'num_layers': 1.0}
    assert hyperparameters('HAT', 'qaBI') == hat
    assert hyperparameters('CoNHD-I', 'coDB_first') == hyperparameters(
        'CoNHD-I', 'coDB'
    )
    assert hyperparameters('HNN', 'emEU') == {}


def test_unknown_names_are_told() -> None:
    with pytest.raises(ValueError, match=r"accuracy.*\(got 'nothing'\)"):
        figures('nothing')
    with pytest.raises(ValueError, match=r"hgnn.*\(got 'nothing'\)"):
        hyperparameters('nothing', 'qaBI')
    with pytest.raises(ValueError, match=r"'setting' must be .*\(got 'coDB'\)"):
        hyperparameters('AnchorRadar', 'coDB')
    with pytest.raises(ValueError, match=r"'setting' must be .*\(got 'qaBI_last'\)"):
        hyperparameters('HAT', 'qaBI_last')


def test_baselines() -> None:
    assert len(BASELINES) == 9
    for method in BASELINES:
        # Each has hyperparameters, and a figure in the main table.
        assert hyperparameters(method, 'qaBI')
        assert figure('accuracy', method, 'qaBI')
    assert 'AnchorRadar' not in BASELINES
