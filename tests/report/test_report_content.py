import dataclasses

import numpy as np
import pytest
import torch

from tests.report.conftest import FixedModel
from tests.strategies import one_line_error
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.metrics import AnchorEvaluator, wilson_interval
from tgx_anchor.nn import AnchorModel, DegreeHeuristic
from tgx_anchor.report import ReportContent


def test_report_content_by_hand(model: FixedModel, data: AnchorData) -> None:
    content = ReportContent.from_model(model, data, title='Mails', warnings=['Few.'])
    assert (content.title, content.model_name) == ('Mails', 'FixedModel')
    assert content.warnings == ('Few.',)
    assert content.group_id == ['mail-1', 'mail-2', 'mail-3', 'mail-10', 'mail-9']
    assert content.group_known.tolist() == [True, False, False, True, False]
    assert content.group_anchor.tolist() == [0, 1, 2, 1, -1]
    assert content.group_runner_up.tolist() == [-1, 2, -1, -1, -1]
    nan = float('nan')
    assert content.group_probability.tolist() == pytest.approx(
        [1, 0.75, 1, 1, nan], nan_ok=True
    )
    assert content.group_runner_up_probability.tolist() == pytest.approx(
        [nan, 0.25, nan, nan, nan], nan_ok=True
    )
    assert content.group_margin.tolist() == pytest.approx(
        [1, 0.5, 1, 1, nan], nan_ok=True
    )
    assert content.group_size.tolist() == [3, 2, 1, 3, 0]
    assert content.member_ptr.tolist() == [0, 3, 5, 6, 9, 9]
    assert content.member_person.tolist() == [0, 1, 2, 1, 2, 2, 0, 3, 1]
    assert content.member_is_anchor.nonzero()[0].tolist() == [0, 3, 5, 8]
    assert content.person_groups.tolist() == [2, 3, 3, 1, 0]
    assert content.person_anchored.tolist() == [1, 2, 1, 0, 0]


def test_held_out_groups_measure_accuracy(model: FixedModel, data: AnchorData) -> None:
    content = ReportContent.from_model(model, data)
    # Only the second group is labelled, leaves a choice and is not learnt from.
    assert content.expected_accuracy is not None
    assert content.expected_accuracy.value == 0.0
    assert content.expected_accuracy.num_hyperedges == 1
    assert content.expected_accuracy.high == pytest.approx(wilson_interval(0, 1)[1])
    assert content.calibration is not None
    assert content.calibration.probability.tolist() == [0.75]
    assert content.calibration.accuracy.tolist() == [0.0]
    assert content.accuracy_by_size is not None
    assert list(content.accuracy_by_size) == [2]
    assert content.accuracy_by_size[2]['accuracy'] == 0.0


def test_without_a_mask_all_labels_are_known(
    model: FixedModel, data: AnchorData
) -> None:
    del data.train_mask
    content = ReportContent.from_model(model, data)
    assert content.group_known.tolist() == [True, True, False, True, False]
    assert content.expected_accuracy is None
    assert content.calibration is None
    assert content.accuracy_by_size is None


def test_validation_groups_are_not_held_out(
    model: FixedModel, data: AnchorData
) -> None:
    data.val_mask = torch.tensor([False, True, False, False, False])
    assert ReportContent.from_model(model, data).expected_accuracy is None


@pytest.mark.parametrize('name', ['train_mask', 'val_mask'])
def test_several_splits(model: FixedModel, data: AnchorData, name: str) -> None:
    data[name] = torch.zeros(5, 3, dtype=torch.bool)
    with one_line_error(f"'{name}'", 'got shape [5, 3]', 'take one column'):
        ReportContent.from_model(model, data)


def test_doubts(model: FixedModel, data: AnchorData) -> None:
    (doubt,) = ReportContent.from_model(model, data).doubts
    assert (doubt.group, doubt.person) == (0, 1)
    assert doubt.probability == pytest.approx(0.7)
    assert doubt.label_probability == pytest.approx(0.2)


def test_several_known_anchors(model: FixedModel, data: AnchorData) -> None:
    data['y'][1] = True
    content = ReportContent.from_model(model, data)
    assert content.group_anchor[0] == 0
    assert content.member_is_anchor[:3].tolist() == [True, True, False]
    assert content.doubts == ()


def test_strength_histogram(model: FixedModel, data: AnchorData) -> None:
    histogram = ReportContent.from_model(model, data).strength_histogram
    assert histogram is not None
    count, edge = histogram
    # Eva, of strength 9, is in no group.
    assert int(count.sum()) == 4
    assert (edge[0], edge[-1]) == (-1.0, 2.0)
    assert count[0] == count[-1] == 1


def test_models_without_strengths(data: AnchorData) -> None:
    content = ReportContent.from_model(DegreeHeuristic().fit(data), data)
    assert content.person_strength is None
    assert content.strength_histogram is None
    given = torch.arange(5.0)
    content = ReportContent.from_model(
        DegreeHeuristic().fit(data), data, strength=given
    )
    assert content.person_strength is not None
    assert content.person_strength.tolist() == given.tolist()


def test_names_default_to_numbers(model: FixedModel, data: AnchorData) -> None:
    del data.node_id
    data.hyperedge_id = torch.tensor([10, 20, 30, 40, 50])
    content = ReportContent.from_model(model, data)
    assert content.person_id == ['0', '1', '2', '3', '4']
    assert content.group_id == ['10', '20', '30', '40', '50']
    assert content.group_time is None


def test_time(model: FixedModel, data: AnchorData) -> None:
    data.hyperedge_time = torch.tensor([3, 1, 2, 5, 4])
    content = ReportContent.from_model(model, data)
    assert content.group_time == ['3', '1', '2', '5', '4']
    seconds = [1e9, 0.5, 2.0, 5.0, 4.0]
    data.hyperedge_time = torch.tensor(seconds, dtype=torch.double)
    content = ReportContent.from_model(model, data)
    assert content.group_time == ['1000000000', '0.5', '2', '5', '4']
    data.hyperedge_time = torch.tensor([1.0, float('nan'), 2.0, 3.0, 4.0])
    content = ReportContent.from_model(model, data)
    assert content.group_time == ['1', '', '2', '3', '4']
    content = ReportContent.from_model(model, data, time=list('abcde'))
    assert content.group_time == list('abcde')


def predictions() -> dict[str, list[object]]:
    return {
        'group': ['mail-1', 'mail-2', 'mail-3', 'mail-10', 'mail-9'],
        'anchor': ['Ben', 'Chloe', 'Chloe', 'Ben', None],
        'probability': [0.7, 0.5, 1.0, 1.0, None],
        'runner_up': ['Ana', 'Ben', None, None, None],
        'runner_up_probability': [0.2, 0.4, None, None, None],
        'margin': [0.5, 0.1, 1.0, 1.0, None],
        'source': ['predicted', 'predicted', 'predicted', 'known', 'predicted'],
    }


@pytest.mark.parametrize('as_arrow', [False, True])
def test_given_predictions(model: FixedModel, data: AnchorData, as_arrow: bool) -> None:
    table: object = predictions()
    if as_arrow:
        table = pytest.importorskip('pyarrow').table(table)
    content = ReportContent.from_model(model, data, predictions=table)
    assert content.group_anchor.tolist() == [1, 2, 2, 1, -1]
    assert content.group_runner_up.tolist() == [0, 1, -1, -1, -1]
    assert content.group_probability[:4].tolist() == [0.7, 0.5, 1.0, 1.0]
    assert np.isnan(content.group_probability[4])
    assert content.group_known.tolist() == [False, False, False, True, False]
    # What counts as known is what the table says.
    assert content.member_is_anchor.nonzero()[0].tolist() == [1, 4, 5, 8]
    assert content.doubts == ()


@pytest.mark.parametrize(
    ('column', 'value', 'words'),
    [
        ('anchor', ['Zoe', *'12'], ["'anchor'", "'Zoe'"]),
        ('group', ['mail-1'], ['in their order', 'got 1 rows']),
        ('source', ['guessed'] * 5, ["'known' or 'predicted'", "'guessed'"]),
        ('margin', None, ['columns', 'got no margin']),
    ],
)
def test_wrong_predictions(
    model: FixedModel,
    data: AnchorData,
    column: str,
    value: list[object] | None,
    words: list[str],
) -> None:
    table = predictions()
    if value is None:
        del table[column]
    else:
        table[column] = value
    with one_line_error("'predictions'", *words):
        ReportContent.from_model(model, data, predictions=table)


@pytest.mark.parametrize(
    ('name', 'value', 'words'),
    [
        ('group_anchor', np.array([0, 1]), ['5 values', 'got 2']),
        ('group_anchor', np.array([0, 1, 2, 1, 5]), ['5 people', 'got 5']),
        ('member_ptr', np.array([0, 3, 5, 6, 8, 8]), ['from 0 to 9', 'to 8']),
        ('person_strength', np.zeros(4), ['one per person', 'got 4']),
        ('reasons', {5: ['No.']}, ['one of 5 groups', 'got 5']),
    ],
)
def test_wrong_content(
    model: FixedModel, data: AnchorData, name: str, value: object, words: list[str]
) -> None:
    content = ReportContent.from_model(model, data)
    with one_line_error(f"'{name}'", *words):
        dataclasses.replace(content, **{name: value})  # type: ignore[arg-type]


def test_agrees_with_the_model() -> None:
    data = PlantedAnchorDataset(num_nodes=60, num_hyperedges=400, seed=1)[0]
    assert isinstance(data, AnchorData)
    data.train_mask = torch.arange(400) % 4 == 0
    model: AnchorModel = DegreeHeuristic().fit(data)
    content = ReportContent.from_model(model, data)
    best, known = model.predict(data).numpy(), content.group_known
    assert content.group_anchor[~known].tolist() == best[~known].tolist()
    held_out = ~data.train_mask & data.choice_mask
    figures = AnchorEvaluator().eval(model.predict_proba(data), data, held_out)
    assert content.expected_accuracy is not None
    assert content.expected_accuracy.value == pytest.approx(figures['accuracy'])
    given = dataclasses.replace(content.expected_accuracy, value=0.5)
    content = ReportContent.from_model(model, data, expected_accuracy=given)
    assert content.expected_accuracy is given


def test_no_groups() -> None:
    data = AnchorData(
        hyperedge_index=torch.empty(2, 0, dtype=torch.long),
        num_nodes=0,
        num_hyperedges=0,
    )
    content = ReportContent.from_model(FixedModel(torch.empty(0)), data)
    assert (content.num_groups, content.num_people) == (0, 0)
    assert content.strength_histogram is None
