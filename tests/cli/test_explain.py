"""The command that explains predictions."""

import json
from pathlib import Path

from tests.cli.command import Run
from tgx_anchor.data import AnchorData
from tgx_anchor.explain import explain
from tgx_anchor.nn import AnchorModel


def test_sentences_are_those_of_python(run: Run, mails: Path, model: Path) -> None:
    code, out, _ = run(
        'explain', str(model), str(mails), '--id', 'm4', '--id', 'm0', '-q'
    )
    assert code == 0
    radar = AnchorModel.load(model)
    data = radar.required_transform()(AnchorData.from_incidence(mails))
    texts = [str(explain(radar, data, name)) for name in ('m4', 'm0')]
    assert out == '\n\n'.join(texts) + '\n'
    assert 'm4' in texts[0]


def test_least_certain_group_by_default(run: Run, mails: Path, model: Path) -> None:
    code, out, _ = run('explain', str(model), str(mails), '--json')
    assert code == 0
    (found,) = json.loads(out)['explanations']
    radar = AnchorModel.load(model)
    data = radar.required_transform()(AnchorData.from_incidence(mails))
    table = radar.predictions(data).to_pydict()
    margins = dict(zip(table['group'], table['margin'], strict=True))
    assert margins[found['group']] == min(margins.values())


def test_unknown_group_is_one_line(run: Run, mails: Path, model: Path) -> None:
    code, out, err = run('explain', str(model), str(mails), '--id', 'none', '-q')
    assert (code, out) == (2, '')
    assert "'none'" in err
    assert err.count('\n') == 1
