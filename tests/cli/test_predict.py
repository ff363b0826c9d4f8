"""The command that predicts with a saved model."""

import csv
import io
from pathlib import Path

from tests.cli.command import Run
from tests.cli.examples import write_mails
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_is_the_table_of_python(run: Run, mails: Path, model: Path) -> None:
    code, out, _ = run('predict', str(model), str(mails), '-q')
    assert code == 0
    radar = AnchorModel.load(model)
    data = radar.required_transform()(AnchorData.from_incidence(mails))
    expected = radar.predictions(data).to_pydict()
    found = rows(out)
    for column in ('group', 'anchor', 'runner_up', 'source'):
        assert [row[column] for row in found] == [v or '' for v in expected[column]]
    for column in ('probability', 'margin'):
        assert [float(row[column]) for row in found] == expected[column]


def test_same_people_carry_over(run: Run, model: Path, tmp_path: Path) -> None:
    new = tmp_path / 'new.csv'
    anchors = write_mails(new, seed=5)
    accuracy = []
    for words in ((), ('--other-people',)):
        out = run('predict', str(model), str(new), *words, '-q').out
        judged = [row for row in rows(out) if row['source'] == 'predicted']
        right = [row['anchor'] == anchors[row['group']] for row in judged]
        assert len(judged) == 60
        accuracy.append(sum(right) / 60)
    assert accuracy[0] > accuracy[1] + 0.1
    assert accuracy[0] > 0.8


def test_known_anchors_stay_unless_asked(run: Run, mails: Path, model: Path) -> None:
    words = ('predict', str(model), str(mails), '-q')
    kept = rows(run(*words).out)
    own = rows(run(*words, '--ignore-known').out)
    assert {row['source'] for row in own} == {'predicted'}
    assert [row['source'] for row in kept].count('known') == 30
    differ = [a['anchor'] != b['anchor'] for a, b in zip(kept, own, strict=True)]
    known = [row['source'] == 'known' for row in kept]
    assert all(k for d, k in zip(differ, known, strict=True) if d)


def test_damaged_model_is_one_line(run: Run, mails: Path, tmp_path: Path) -> None:
    foreign = tmp_path / 'model.tgx'
    foreign.write_bytes(b'no model')
    for path in (foreign, tmp_path / 'nowhere.tgx'):
        code, out, err = run('predict', str(path), str(mails), '-q')
        assert (code, out) == (2, '')
        assert err.startswith('tgx-anchor: ')
        assert str(path) in err
        assert err.count('\n') == 1
