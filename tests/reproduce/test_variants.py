import pytest
import torch

from tgx_anchor.benchmark.methods import PLANTED, load_setting
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.paper import SETTINGS
from tgx_anchor.reproduce.variants import (
    ATTRIBUTES,
    RadarVariant,
    planted_attributes,
    radar_variants,
)
from tgx_anchor.transforms import AddTopologicalFeatures


def test_names_of_emER() -> None:  # noqa: N802
    names = list(radar_variants('emER'))
    assert names[:5] == ['train + val', 'Stage 1', 'Stage 2', 'No GA', 'No LF']
    assert 'Seed 1' not in names
    assert 'Seed 5' in names
    assert 'lr_stage1 x √2' in names
    assert not any(name.startswith('from') for name in names)


def test_inductive_sources() -> None:
    names = [name for name in radar_variants('qaPH') if name.startswith('from')]
    assert names == ['from qaBI']
    assert radar_variants('qaPH')['from qaBI'].source == 'qaBI'


@pytest.mark.parametrize('setting', SETTINGS)
def test_factors_are_those_of_the_paper(setting: str) -> None:
    published = AnchorRadar.from_paper(setting).get_params()
    variants = radar_variants(setting)
    for name in ('lr_stage1', 'lr_stage2', 'alpha', 'w'):
        if not published[name]:
            assert f'{name} x 2' not in variants
            continue
        found = variants[f'{name} / 2'].model(setting).get_params()
        assert found[name] == pytest.approx(published[name] / 2)
        changed = [key for key in found if found[key] != published[key]]
        assert set(changed) <= {name, 'calibration'}


def test_hyperparameters_are_those_of_the_source() -> None:
    model = RadarVariant(source='qaPH').model('qaBI', num_epochs=3)
    published = AnchorRadar.from_paper('qaPH').get_params()
    assert model.get_params()['alpha'] == published['alpha']
    assert model.get_params()['num_epochs'] == 3


def test_no_local_features() -> None:
    data = AddTopologicalFeatures()(load_setting(PLANTED))
    found = RadarVariant(local=False).split(data, 0)
    expected = AddTopologicalFeatures(local=False)(load_setting(PLANTED))
    assert torch.equal(found.incidence_attr, expected.incidence_attr)
    assert data.incidence_attr.size(1) > found.incidence_attr.size(1)


def test_attributes_correlate_with_strength() -> None:
    data = load_setting(PLANTED)
    x = planted_attributes(data)
    assert x.shape == (data.num_nodes, 4)
    assert torch.equal(x, planted_attributes(data))
    for column in x.t():
        pair = torch.stack([column, data.node_strength.double()])
        assert float(torch.corrcoef(pair)[0, 1]) == pytest.approx(0.5, abs=0.1)
    (variant,) = radar_variants(PLANTED).values()
    assert list(radar_variants(PLANTED)) == [ATTRIBUTES]
    assert torch.equal(variant.split(data, 0)['x'], x)
