import json

import pytest
import torch

from tests.nn.predictors.radar import planted, quick
from tests.strategies import one_line_error, to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.nn import DegreeHeuristic, RandomHeuristic
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit


def held_out(correct: list[float], by_degree: float, chance: float) -> HeldOut:
    out = HeldOut()
    rows = [[value, by_degree, chance, 0.7, i] for i, value in enumerate(correct)]
    out.table = torch.tensor(rows, dtype=torch.double)
    return out


def test_figures() -> None:
    data = planted()
    model = quick(num_epochs=50).fit(data)
    found = model.assess(data)
    assert found.expected_accuracy == model.held_out.accuracy()
    assert found.chance == model.held_out.mean('chance')
    assert found.degree_accuracy == model.held_out.mean('by_degree')
    assert found.num_known == int(data.train_mask.sum())
    assert 100 < found.num_distinct < found.num_known
    assert found.num_groups == 600
    assert found.calibrated
    assert found.calibration is not None
    assert int(found.calibration.size.sum()) == len(model.held_out)
    first, second, *warnings = found.sentences()
    assert first == (
        f'The anchor is known in {found.num_known} of 600 groups '
        f'({found.num_distinct} different sets of members).'
    )
    percent = 100 * model.held_out.mean('correct')
    assert second.startswith(f'Expected accuracy {percent:.1f} %')
    assert tuple(warnings) == found.warnings
    assert json.loads(json.dumps(found.to_dict()))['num_groups'] == 600
    assert found.to_dict()['calibration']['size'] == found.calibration.size.tolist()


def test_interval_holds_the_accuracy_of_other_groups() -> None:
    hits = 0
    for seed in range(4):
        data = PlantedAnchorDataset(200, 1500, seed=seed)[0]
        data = RandomHyperedgeSplit(0.2, 0.0, seed=seed)(AddTopologicalFeatures()(data))
        model = quick().fit(data)
        found = model.assess(data).expected_accuracy
        assert found is not None
        hits += found.low <= model.score(data, data.test_mask) <= found.high
    assert hits >= 3


def words(data: AnchorData, rows: HeldOut, calibrated: bool = True) -> str:
    model = RandomHeuristic()
    model.held_out = rows
    if calibrated:
        model.calibrator.num_hyperedges.fill_(1)
    return ' '.join(model.assess(data).warnings)


def test_warnings_of_weak_models() -> None:
    data = planted()
    good = [1.0] * 80 + [0.0] * 20
    assert words(data, held_out(good, 0.4, 0.3)) == ''
    text = words(data, held_out(good, 0.78, 0.3))
    assert text == (
        'On known groups that the model had not learnt from, its accuracy of 80.0 % is '
        'not clearly above that of the degree heuristic, 78.0 %.'
    )
    text = words(data, held_out([1.0] * 30 + [0.0] * 70, 0.1, 0.31))
    assert 'not clearly above that of chance, 31.0 %' in text
    assert 'degree' not in text
    # The same figures on few groups are no proof.
    assert 'chance' in words(data, held_out([1.0] * 3 + [0.0], 0.4, 0.4))
    assert 'not calibrated' in words(data, held_out(good, 0.4, 0.3), calibrated=False)
    text = words(data, HeldOut())
    assert text.startswith('The accuracy to expect is unknown')


def test_few_groups_are_not_compared() -> None:
    data = planted()
    model = quick().fit(data)
    place = torch.argsort(data.hyperedge_size, descending=True)
    for number, is_told in ((9, False), (40, True)):
        data.train_mask = torch.zeros(data.num_hyperedges, dtype=torch.bool)
        data.train_mask[place[:number]] = True
        data.train_mask &= data.choice_mask
        told = any('differ from the others' in w for w in model.assess(data).warnings)
        assert told == is_told


def test_warns_of_few_known_groups() -> None:
    data = planted()
    data.train_mask = data.train_mask & (data.train_mask.cumsum(0) <= 30)
    model = quick().fit(data)
    first = model.assess(data).warnings[0]
    assert first.startswith('Only ')
    assert 'different groups have a known anchor' in first
    # Copies do not help.
    copies = to_data([[0, 1]] * 200 + [[2, 3]], 4, [[0]] * 200 + [[]])
    found = RandomHeuristic().assess(copies)
    assert found.num_known == 200
    assert found.num_distinct == 1
    assert found.warnings[0].startswith('Only 1 different')


@pytest.mark.parametrize('kind', ['size', 'degree'])
def test_warns_of_unlike_groups(kind: str) -> None:
    data = planted()
    model = quick().fit(data)
    assert not any('differ' in each for each in model.assess(data).warnings)
    size = data.hyperedge_size.double()
    if kind == 'size':
        level = size
    else:
        index = data.hyperedge_index
        degree = torch.bincount(index[0])[index[0]].double().log()
        level = torch.zeros(600).double().index_add(0, index[1], degree) / size
    # The largest ones are known.
    place = torch.argsort(level, descending=True)
    data.train_mask = torch.zeros(600, dtype=torch.bool)
    data.train_mask[place[:200]] = True
    data.train_mask &= data.choice_mask
    (found,) = [
        each
        for each in model.assess(data).warnings
        if ('members,' if kind == 'size' else 'groups per member') in each
    ]
    assert found.startswith('Known groups differ from the others: they typically have ')
    first, second = (
        float(word.rstrip('.')) for word in found.split() if word[0].isdigit()
    )
    assert first > second


def test_heuristics_and_errors() -> None:
    data = planted()
    found = DegreeHeuristic().fit(data).assess(data)
    assert found.expected_accuracy is not None
    assert found.expected_accuracy.value == pytest.approx(found.degree_accuracy)
    assert any('not calibrated' in each for each in found.warnings)
    with one_line_error("'data' has no known anchors"):
        DegreeHeuristic().assess(to_data([[0, 1]], 2))
    with one_line_error("'data' must be an AnchorData"):
        DegreeHeuristic().assess(3)  # type: ignore[arg-type]
