"""The command that compares anchors with the true ones."""

import json
from pathlib import Path

import pytest

from tests.cli.command import Run
from tests.cli.examples import write_mails
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel


def write(path: Path, text: str) -> str:
    path.write_text(text, encoding='utf-8')
    return str(path)


def test_counts_by_hand(run: Run, tmp_path: Path) -> None:
    anchors = write(
        tmp_path / 'anchors.csv',
        'group,anchor,probability,runner_up,source\n'
        '1,ann,0.9,bob,predicted\n'  # right
        '2,bob,0.6,ann,predicted\n'  # wrong
        '3,cat,1,,known\n'  # not counted
        '4,dan,1,,predicted\n'  # a single member
        '5,,,,predicted\n'  # nobody
        '6,eve,0.6,bob,predicted\n'  # one of two
        '8,eve,0.6,bob,predicted\n',  # no truth
    )
    truth = write(
        tmp_path / 'truth.csv',
        'group,anchor\n2,ann\n1,ann\n3,bob\n4,dan\n6,bob\n6,eve\n7,ann\n',
    )
    code, out, _ = run('evaluate', anchors, truth, '--json')
    assert code == 0
    found = json.loads(out)
    assert found['accuracy'] == 2 / 3
    assert found['num_hyperedges'] == 3
    assert (found['num_known'], found['num_single'], found['num_missing']) == (1, 1, 1)
    assert found['accuracy_interval'] == pytest.approx([0.2077, 0.9385], abs=1e-4)
    code, out, _ = run('evaluate', anchors, truth)
    assert out.splitlines()[0] == (
        'accuracy 66.7% (20.8% to 93.9% with 95 % confidence) on 3 groups'
    )
    assert out.splitlines()[1] == (
        '1 groups with an anchor that was known beforehand are not counted'
    )


def test_truth_may_be_long_or_wide(run: Run, tmp_path: Path) -> None:
    anchors = write(tmp_path / 'a.csv', 'group,anchor\nx,ann\ny,bob\n')
    long = 'g,m,boss\nx,ann,1\nx,bob,0\ny,ann,1\ny,bob,0\n'
    wide = 'g,people,boss\nx,ann;bob,ann\ny,ann;bob,ann\n'
    for text, words in (
        (long, ['--group', 'g', '--member', 'm', '--anchor', 'boss']),
        (wide, ['--group', 'g', '--members', 'people', '--anchor', 'boss']),
    ):
        truth = write(tmp_path / 'truth.csv', text)
        code, out, _ = run('evaluate', anchors, truth, *words, '--json')
        assert code == 0
        assert json.loads(out)['accuracy'] == 0.5


def test_model_is_not_shown_the_answers(run: Run, model: Path, tmp_path: Path) -> None:
    labelled = tmp_path / 'labelled.csv'
    write_mails(labelled, seed=5, hide=False)
    code, out, _ = run('evaluate', str(model), str(labelled), '--json')
    assert code == 0
    found = json.loads(out)
    radar = AnchorModel.load(model)
    data = radar.required_transform()(AnchorData.from_incidence(labelled))
    assert found['accuracy'] == pytest.approx(radar.score(data))
    assert 0.4 < found['accuracy'] < 1
    assert found['num_hyperedges'] == 90
    assert 0 < found['mrr'] <= 1


def test_errors(run: Run, model: Path, tmp_path: Path) -> None:
    anchors = write(tmp_path / 'a.csv', 'group,anchor\nx,ann\n')
    other = write(tmp_path / 'o.csv', 'group,anchor\ny,ann\n')
    odd = write(tmp_path / 'c.csv', 'group,who\ny,ann\n')
    plain = write(tmp_path / 'p.csv', 'group,member\ny,ann\ny,bob\n')
    for words, message in (
        ([anchors, other], 'no group in common to evaluate'),
        ([odd, other], "needs the columns 'group', 'anchor'"),
        ([anchors, odd], "must have the column 'is_anchor' for '--anchor'"),
        ([str(model), plain], 'no group with a known anchor'),
    ):
        code, out, err = run('evaluate', *words, '-q')
        assert (code, out) == (2, '')
        assert message in err
        assert err.count('\n') == 1
