import pytest
import torch

from tests.report.conftest import FixedModel
from tgx_anchor.data import AnchorData
from tgx_anchor.report import LabelDoubt


def test_label_doubt_by_hand(model: FixedModel, data: AnchorData) -> None:
    # Ana is the known anchor of the first group, Chloe of the second.
    (doubt,) = LabelDoubt.find(data, model.proba, data['train_mask'])
    assert (doubt.group, doubt.person) == (0, 1)
    assert doubt.probability == pytest.approx(0.7)
    assert doubt.label_probability == pytest.approx(0.2)
    doubts = LabelDoubt.find(data, model.proba, torch.ones(5, dtype=torch.bool))
    assert sorted(doubt.group for doubt in doubts) == [0, 1]


def test_clearest_first(data: AnchorData) -> None:
    for first, wanted in (([0.1, 0.8, 0.1], [0, 1]), ([0.4, 0.5, 0.1], [1, 0])):
        proba = torch.tensor([*first, 0.75, 0.25, 1.0, 0.3, 0.1, 0.6])
        doubts = LabelDoubt.find(data, proba, data.known_mask)
        assert [doubt.group for doubt in doubts] == wanted
        doubts = LabelDoubt.find(data, proba, data.known_mask, limit=1)
        assert [doubt.group for doubt in doubts] == wanted[:1]


def test_several_anchors_and_ties(model: FixedModel, data: AnchorData) -> None:
    data['y'][1] = True
    assert LabelDoubt.find(data, model.proba, data['train_mask']) == ()
    # Ben is the likelier one of the two anchors.
    model.proba[:3] = torch.tensor([0.1, 0.5, 0.4])
    assert LabelDoubt.find(data, model.proba, data['train_mask']) == ()
    # Equal probabilities are no doubt.
    data['y'][1] = False
    tied = torch.tensor([0.4, 0.4, 0.2, 0.75, 0.25, 1.0, 0.3, 0.1, 0.6])
    assert LabelDoubt.find(data, tied, data['train_mask']) == ()


def test_nothing_known(model: FixedModel, data: AnchorData) -> None:
    everything = torch.ones(5, dtype=torch.bool)
    data['y'][:] = False
    assert LabelDoubt.find(data, model.proba, everything) == ()
    del data.y
    assert LabelDoubt.find(data, model.proba, everything) == ()
