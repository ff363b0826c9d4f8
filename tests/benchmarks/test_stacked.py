from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.benchmarks.scripts import load_script
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorRadar, StackedAnchorRadar
from tgx_anchor.transforms import RandomHyperedgeSplit


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    for name in ('lightgbm', 'matplotlib', 'rich'):
        pytest.importorskip(name)
    with load_script('stacked') as module:
        yield module


def write_table(path: Path, time: bool) -> Path:
    data: Any = PlantedAnchorDataset(60, 400, seed=3)[0]
    lines = ['group,member,is_anchor' + ',time' * time]
    for (node, group), anchor in zip(
        data.hyperedge_index.t().tolist(), data.y.tolist(), strict=True
    ):
        lines.append(f'g{group},p{node},{int(anchor)}' + f',{group}' * time)
    path.write_text('\n'.join(lines) + '\n', encoding='utf-8')
    return path


def test_table(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out, table = tmp_path / 'out.csv', write_table(tmp_path / 'own.csv', time=True)
    words = ['--experiments', 'other', '--tables', str(table), '--splits', '1']
    words += ['--in-process', '--out', str(out)]
    assert script.main(words) == 0
    shown = capsys.readouterr().out
    rows = {row.model: row for row in ResultTable(script.Row, out).rows}
    assert list(rows) == ['Random', 'AnchorRadar', 'both', 'both+time']
    # Each as its name says, by hand.
    for name, model in (
        ('AnchorRadar', AnchorRadar()),
        ('both', StackedAnchorRadar('both', time=False)),
        ('both+time', StackedAnchorRadar('both')),
    ):
        row = rows[name]
        data = AnchorData.from_incidence(table, time='time')
        data = RandomHyperedgeSplit(0.075, 0.025, seed=0)(data)
        data = model.required_transform()(data)
        model.fit(data)
        assert row.accuracy == pytest.approx(
            model.score(data, data.test_mask), abs=1e-6
        )
        val_accuracy = model.score(data, data.val_mask)
        assert row.val_accuracy == pytest.approx(val_accuracy, abs=1e-6)
        assert (row.experiment, row.setting, row.threads) == ('other', 'own', 1)
        assert row.fit_seconds > 0
        assert row.accuracy < row.mrr < row.ndcg < 1
        assert f'{100 * row.accuracy:.2f}' in shown
    text = out.with_suffix('.md').read_text(encoding='utf-8')
    assert '## other' in text
    assert (
        f'{100 * (rows["both"].accuracy - rows["AnchorRadar"].accuracy):+.2f}' in text
    )
    # A second run measures nothing.
    content = out.read_bytes()
    assert script.main(words) == 0
    assert out.read_bytes() == content


def test_wrong_tables(script: ModuleType, tmp_path: Path) -> None:
    for names in (['emER.csv'], ['a.csv', 'b/a.csv']):
        paths = [str(tmp_path / name) for name in names]
        with pytest.raises(SystemExit):
            script.main(['--tables', *paths, '--out', str(tmp_path / 'out.csv')])


def test_times(script: ModuleType, tmp_path: Path) -> None:
    tables = {
        name: write_table(tmp_path / f'{name}.csv', time=name == 'dated')
        for name in ('dated', 'plain')
    }

    def times(setting: str, model: str, split: int = 0) -> torch.Tensor:
        task = script.Task('other', setting, model, 0.075, split)
        out: torch.Tensor = script.load(task, None, tables).get('hyperedge_time')
        return out

    order = torch.arange(400.0, dtype=torch.double)
    assert times('plain', 'both') is None
    # The order of the file, if there is no time.
    assert torch.equal(times('plain', script.TIME), order)
    assert torch.equal(times('dated', script.TIME), times('dated', 'both'))
    shuffled = times('plain', script.SHUFFLED)
    assert not torch.equal(shuffled, order)
    assert torch.equal(shuffled.sort().values, order)
    assert torch.equal(shuffled, times('plain', script.SHUFFLED))
    assert not torch.equal(shuffled, times('plain', script.SHUFFLED, split=1))


def test_models(script: ModuleType) -> None:
    def params(name: str) -> dict[str, Any]:
        out: dict[str, Any] = script.make_model(name, 'emER').get_params()
        return out

    whole = StackedAnchorRadar('both', time=False).get_params()
    assert params('both') == whole
    assert params('mlp') == {**whole, 'learner': 'mlp'}
    assert params('both+time') == params('both+shuffled time')
    assert params('both+time') == {**whole, 'time': True}
    assert params('views none') == {**whole, 'views': ''}
    assert params('views ABF') == {**whole, 'views': 'ABF'}
    assert params('last share') == {**whole, 'last_step': 'share'}
    assert params('AnchorRadar') == AnchorRadar.from_paper('emER').get_params()
    other = script.make_model('AnchorRadar', 'own')
    assert other.get_params() == AnchorRadar().get_params()


def test_structureless_data(script: ModuleType) -> None:
    data = [
        script.load(script.Task('structureless', name, 'both', 0.075, 1), None, {})
        for name in script.PLANTED
    ]
    # The same groups, other anchors.
    assert torch.equal(data[0].hyperedge_index, data[1].hyperedge_index)
    assert not torch.equal(data[0].y, data[1].y)
    for each in data:
        each.validate()


def test_tasks(script: ModuleType) -> None:
    settings = ['qaBI', 'emER']
    tasks = script.make_tasks(['main', 'curve', 'ablation'], settings, None, {})
    places = [(task.split, task.setting) for task in tasks]
    # By split, the cheap setting first, and without repetition.
    assert places == sorted(places)
    assert len({task[1:] for task in tasks}) == len(tasks)
    for setting, count in (('emER', 20), ('qaBI', 5)):
        first = [task for task in tasks if task[1:] == (setting, *task[2:4], 0)]
        assert len(first) == 4 + 10 + 12
        assert sum(task.setting == setting for task in tasks) == count * len(first)
    time = script.make_tasks(['time'], script.SETTINGS, 1, {})
    assert {task.setting for task in time} == set(script.TIMED)


def made_up(script: ModuleType) -> list[Any]:
    rows = []
    for model, train, accuracies in (
        ('AnchorRadar', 0.075, (0.6, 0.7, 0.8)),
        ('both', 0.075, (0.7, 0.74)),
        ('both+time', 0.075, (0.8,)),
        ('views AB', 0.075, (0.69, 0.71)),
        ('AnchorRadar', 0.05, (0.5, 0.6)),
        ('both', 0.05, (0.5, 0.7)),
        ('both', 0.01, (0.4,)),
    ):
        for split, accuracy in enumerate(accuracies):
            # The shortest time counts.
            seconds = (2.0 if model == 'AnchorRadar' else 9.0) + split
            rows.append(
                script.Row(
                    *('main', 'emER', model, train, split, accuracy, 0.9, 0.95),
                    *(0.5, seconds, 0.25, 1.5, 1),
                )
            )
    return rows


def test_report(script: ModuleType, tmp_path: Path) -> None:
    rows = made_up(script)
    report = {title: lines for title, (_, lines) in script.make_report(rows).items()}
    titles = ['main', 'main, MRR', 'main, NDCG', 'cost', 'time', 'scarce', 'curve']
    assert list(report) == ['summary', *titles, 'ablation']

    def cells(title: str, line: int = 1) -> dict[str, str]:
        return dict(zip(report[title][0], report[title][line], strict=True))

    assert report['summary'] == [
        ['accuracy in %', 'emER'],
        ['best of the ten in the paper', '67.8±2.6 (AnchorRadar)'],
        ['AnchorRadar, measured here', '70.00 ± 5.77'],
        ["StackedAnchorRadar, 'mlp'", ''],
        ["StackedAnchorRadar, 'boosting'", ''],
        ["StackedAnchorRadar, 'both'", '72.00 ± 2.00'],
        ['gain of the last over AnchorRadar', '+7.00 ± 3.00'],
        ['with time', '80.00'],
    ]
    # The standard error of 60, 70, 80 is 10 / sqrt(3); gains of +10 and +4.
    main = cells('main')
    assert main['AnchorRadar'] == '70.00 ± 5.77'
    assert main['both'] == '72.00 ± 2.00'
    assert main['both - AnchorRadar'] == '+7.00 ± 3.00'
    assert main['splits'] == '3/2'
    assert main['paper'] == '67.8±2.6 (AnchorRadar)'
    assert 'mlp' not in main
    assert cells('main, MRR')['both - AnchorRadar'] == '+0.000 ± 0.000'
    assert cells('main, MRR')['paper'] == '0.831 (AnchorRadar)'
    assert cells('cost')['both'] == '4.5 x'
    assert cells('cost')['mlp'] == ''
    assert cells('cost')['memory both'] == '1.50 GiB'
    assert cells('time')['both+time - both'] == '+10.00'
    assert cells('scarce')['both - AnchorRadar'] == '+5.00 ± 5.00'
    assert cells('scarce')['paper'] == '66.84 (AnchorRadar)'
    assert [line[1] for line in report['curve'][1:]] == ['1 %', '5 %', '7.5 %']
    assert cells('ablation') == {'variant': 'views AB', 'emER': '-2.00 ± 1.00'}
    assert cells('ablation', 2) == {'variant': 'both', 'emER': '72.00 ± 2.00'}

    text = script.markdown_report(rows)
    assert all(f'\n## {title}\n' in text for title in report)
    path = tmp_path / 'curve.png'
    script.plot([row for row in rows if row.model == 'AnchorRadar'], path)
    assert not path.exists()
    script.plot(rows, path)
    assert path.stat().st_size > 0


def test_best_printed(script: ModuleType) -> None:
    # HNN ran out of memory on emEU.
    assert script.best_printed('emEU', 0.075) == '52.8±0.3 (CoNHD-U)'
    assert script.best_printed('emEU', 0.2) == ''
    assert script.best_printed('emEU', 0.05, 'mrr') == ''
    assert script.best_printed('own', 0.075) == ''


def test_size_of_the_largest_dataset(
    script: ModuleType, monkeypatch: pytest.MonkeyPatch
) -> None:
    (ours,) = [
        task
        for task in script.make_tasks(['size'], script.SETTINGS, 1, {})
        if task.model == 'both'
    ]
    assert ours.setting == script.LARGE
    made: list[tuple[int, int]] = []

    def small(num_nodes: int, num_hyperedges: int, seed: int) -> PlantedAnchorDataset:
        made.append((num_nodes, num_hyperedges))
        return PlantedAnchorDataset(60, 400, seed=seed)

    monkeypatch.setattr(script, 'PlantedAnchorDataset', small)
    assert script.load(ours, None, {}).num_hyperedges == 400
    assert made == [(1712433, 2037605)]


def test_rival(script: ModuleType) -> None:
    tasks = script.make_tasks(['rival'], script.SETTINGS, 1, {})
    assert {task.setting for task in tasks} == {'emER', 'qaBI'}
    assert max(task.train for task in tasks) == 0.2
    model = script.make_model('CoNHD-U', 'emER')
    assert type(model.encoder).__name__ == 'CoNHD'


def test_printed_curve(script: ModuleType) -> None:
    assert script.printed_curve('WHATsNet', 'emER') == {2.5: 65.05, 5: 66.4, 7.5: 66.6}
    assert script.printed_curve('HNN', 'emEU') == {}
    assert script.printed_curve('WHATsNet', 'own table') == {}
