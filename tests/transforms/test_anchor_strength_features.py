import math
import statistics
from types import SimpleNamespace
from typing import Any

import pytest
import torch
from hypothesis import given
from torch import Tensor

from tests.devices import second_device
from tests.strategies import SETTINGS, hypergraphs, one_line_error, to_data, to_groups
from tests.transforms.groups import GROUPS, NUM_NODES
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.transforms import AnchorStrengthFeatures


def random_strengths(num_nodes: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return 3 * torch.randn(num_nodes, generator=generator).double()


def slow_features(data: AnchorData, strength: Tensor) -> list[list[float]]:
    rows = []
    for group in to_groups(data):
        s = [float(strength[v]) for v in group]
        if not s:
            rows.append([0.0] * 11)
            continue
        total = sum(math.exp(value) for value in s)
        t = [math.exp(value) / total for value in s]
        row = []
        for part in (s, t):
            row += [max(part), min(part), max(part) - min(part)]
            row += [statistics.fmean(part), statistics.pstdev(part)]
            row += [sum(part)]
        rows.append(row[:11])
    return rows


@SETTINGS
@given(hypergraphs())
def test_slow_version(data: AnchorData) -> None:
    strength = random_strengths(data.num_nodes)
    out = AnchorStrengthFeatures(strength)(data)
    expected = torch.tensor(slow_features(data, strength)).view(-1, 11)
    assert out.hyperedge_attr.dtype == torch.float
    torch.testing.assert_close(out.hyperedge_attr, expected, atol=1e-5, rtol=1e-5)
    assert out.validate()


def test_by_hand() -> None:
    # Strengths with the shares 1/4 and 3/4; a singleton; an empty group.
    strength = torch.tensor([0.0, math.log(3.0), 5.0])
    data = to_data([[0, 1], [2], []], 3)
    out = AnchorStrengthFeatures(strength)(data)
    log3 = math.log(3)
    expected = [
        [log3, 0, log3, log3 / 2, log3 / 2, log3, 0.75, 0.25, 0.5, 0.5, 0.25],
        [5, 5, 0, 5, 0, 5, 1, 1, 0, 1, 0],
        [0] * 11,
    ]
    torch.testing.assert_close(out.hyperedge_attr, torch.tensor(expected))
    assert data.get('hyperedge_attr') is None
    assert out.names('hyperedge_attr') == [
        'strength_max',
        'strength_min',
        'strength_range',
        'strength_mean',
        'strength_std',
        'strength_sum',
        'strength_share_max',
        'strength_share_min',
        'strength_share_range',
        'strength_share_mean',
        'strength_share_std',
    ]


def test_large_strengths() -> None:
    strength = torch.tensor([1e4, 1e4 - 1, -1e4])
    out = AnchorStrengthFeatures(strength)(to_data([[0, 1, 2], [2]], 3))
    share = out.hyperedge_attr[0, 6:8]
    expected = torch.tensor([1 / (1 + math.exp(-1)), 0.0])
    torch.testing.assert_close(share, expected)
    assert bool(torch.isfinite(out.hyperedge_attr).all())


def test_cat() -> None:
    data = to_data(GROUPS, NUM_NODES)
    data.hyperedge_attr = torch.arange(2.0 * len(GROUPS)).view(-1, 2)
    strength = random_strengths(NUM_NODES)
    both = AnchorStrengthFeatures(strength)(data)
    alone = AnchorStrengthFeatures(strength, cat=False)(data)
    assert torch.equal(both.hyperedge_attr[:, :2], data.hyperedge_attr)
    assert torch.equal(both.hyperedge_attr[:, 2:], alone.hyperedge_attr)
    names = alone.names('hyperedge_attr')
    assert both.names('hyperedge_attr') == ['hyperedge_0', 'hyperedge_1', *names]
    assert len(names) == alone.hyperedge_attr.size(1) == 11


def test_names_of_nodes_and_order_of_members() -> None:
    strength = random_strengths(NUM_NODES)
    expected = AnchorStrengthFeatures(strength)(to_data(GROUPS, NUM_NODES))
    perm = torch.randperm(NUM_NODES, generator=torch.Generator().manual_seed(1))
    place = torch.argsort(perm).tolist()
    groups = [[place[v] for v in reversed(group)] for group in GROUPS]
    renamed = AnchorStrengthFeatures(strength[perm])(to_data(groups, NUM_NODES))
    torch.testing.assert_close(renamed.hyperedge_attr, expected.hyperedge_attr)
    # Copies of a group are alike.
    assert GROUPS[0] == GROUPS[1]
    assert torch.equal(expected.hyperedge_attr[0], expected.hyperedge_attr[1])


def test_fitted_model() -> None:
    data: Any = PlantedAnchorDataset(30, 60)[0]
    model = AnchorRadar(8, num_epochs=5).fit(AnchorRadar().required_transform()(data))
    out = AnchorStrengthFeatures(model)(data)
    expected = AnchorStrengthFeatures(model.strength)(data)
    assert torch.equal(out.hyperedge_attr, expected.hyperedge_attr)
    with one_line_error("'strength'", "'fit'"):
        AnchorStrengthFeatures(AnchorRadar())


def test_repr_tells_strengths_apart() -> None:
    first = AnchorStrengthFeatures(torch.zeros(3))
    assert repr(first) == repr(AnchorStrengthFeatures(torch.zeros(3)))
    assert repr(first) != repr(AnchorStrengthFeatures(torch.ones(3)))
    assert repr(first) != repr(AnchorStrengthFeatures(torch.zeros(3), cat=False))
    assert len(repr(first)) < 120


@pytest.mark.parametrize('strength', [3.0, None, SimpleNamespace()], ids=str)
def test_no_strengths(strength: Any) -> None:
    with one_line_error("'strength'", type(strength).__name__):
        AnchorStrengthFeatures(strength)


def test_bad_strengths() -> None:
    with one_line_error("'strength'", '[3, 1]'):
        AnchorStrengthFeatures(torch.zeros(3, 1))
    with one_line_error("'strength'", 'finite'):
        AnchorStrengthFeatures(torch.tensor([0.0, math.nan]))
    with one_line_error("'strength'", str(NUM_NODES), '3'):
        AnchorStrengthFeatures(torch.zeros(3))(to_data(GROUPS, NUM_NODES))


def test_second_device() -> None:
    data, strength = to_data(GROUPS, NUM_NODES), random_strengths(NUM_NODES)
    expected = AnchorStrengthFeatures(strength)(data).hyperedge_attr
    with second_device() as device:
        out = AnchorStrengthFeatures(strength)(data.clone().to(device)).hyperedge_attr
        assert out.device == device
    assert torch.equal(out.cpu(), expected)
