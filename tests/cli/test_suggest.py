"""The command that suggests groups to label."""

import csv
import io
from pathlib import Path

from tests.cli.command import Run
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel


def test_is_the_table_of_python(run: Run, mails: Path, model: Path) -> None:
    code, out, _ = run('suggest', str(model), str(mails), '-n', '7', '-q')
    assert code == 0
    found = list(csv.DictReader(io.StringIO(out)))
    assert len(found) == 7
    radar = AnchorModel.load(model)
    data = radar.required_transform()(AnchorData.from_incidence(mails))
    expected = radar.suggest(data, 7)
    assert [row['group'] for row in found] == expected['group'].to_pylist()
    known = {f'm{i}' for i in range(0, 90, 3)}
    assert not known & {row['group'] for row in found}


def test_number_must_be_positive(run: Run, mails: Path, model: Path) -> None:
    code, out, err = run('suggest', str(model), str(mails), '-n', '0')
    assert (code, out) == (2, '')
    assert "'-n'" in err
    assert err.count('\n') == 1
