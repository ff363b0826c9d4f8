"""The command that fits a model."""

import json
from pathlib import Path

import torch

from tests.cli.command import Run
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel, AnchorRadar, StackedAnchorRadar


def test_saves_the_model_that_python_fits(
    run: Run, mails: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / 'own.tgx'
    words = ('fit', str(mails), '--out', str(out), '--model', model.stem)
    code, shown, _ = run(*words)
    assert code == 0
    assert shown.startswith('learnt from 30 known anchors of 90 groups of 30 people\n')
    assert shown.endswith(f'written to {out}\n')
    loaded, expected = AnchorModel.load(out), AnchorModel.load(model)
    assert type(loaded) is type(expected)
    data = loaded.required_transform()(AnchorData.from_incidence(mails))
    assert torch.equal(loaded.predict_proba(data), expected.predict_proba(data))


def test_seed_and_json(run: Run, mails: Path, tmp_path: Path) -> None:
    out = tmp_path / 'own.tgx'
    words = ('fit', str(mails), '--out', str(out), '--seed', '3', '--json')
    code, shown, _ = run(*words)
    assert code == 0
    summary = json.loads(shown)
    assert (summary['num_groups'], summary['num_known']) == (90, 30)
    assert summary['model'] == 'stacked'
    assert summary['model_reason'].startswith('30 different groups of two or more')
    loaded = AnchorModel.load(out)
    assert isinstance(loaded, StackedAnchorRadar)
    assert (loaded.learner, loaded.seed) == ('both', 3)


def test_wide_table_gives_the_same_model(run: Run, mails: Path, tmp_path: Path) -> None:
    data = AnchorData.from_incidence(mails)
    lines = ['group,anchor,members']
    members: dict[str, list[str]] = {name: [] for name in data.hyperedge_id}
    anchor = dict.fromkeys(members, '')
    index = data.hyperedge_index.T.tolist()
    for (node, hyperedge), is_anchor in zip(index, data['y'].tolist(), strict=True):
        group, person = data.hyperedge_id[hyperedge], data.node_id[node]
        members[group].append(person)
        if is_anchor:
            anchor[group] = person
    lines += [f'{g},{anchor[g]},{";".join(members[g])}' for g in members]
    wide = tmp_path / 'wide.csv'
    wide.write_text('\n'.join(lines), encoding='utf-8')
    for source in (mails, wide):
        words = ('fit', str(source), '-o', f'{source}.tgx', '-q')
        assert run(*words, '--model', 'anchor-radar')[:2] == (0, '')
    first, second = (AnchorModel.load(f'{source}.tgx') for source in (mails, wide))
    assert isinstance(first, AnchorRadar)
    assert isinstance(second, AnchorRadar)
    assert torch.allclose(first.strength, second.strength, atol=1e-5)


def test_errors(run: Run, mails: Path, tmp_path: Path) -> None:
    code, _, err = run('fit', str(mails), '--out', str(tmp_path))
    assert code == 2
    assert "'--out' must be a file" in err
    single = tmp_path / 'single.csv'
    single.write_text('group,member,is_anchor\na,x,1\nb,x,\nb,y,\n', encoding='utf-8')
    code, _, err = run('fit', str(single), '--quiet')
    assert code == 2
    assert err.startswith('tgx-anchor: no group with a known anchor has another member')
    assert err.count('\n') == 1
