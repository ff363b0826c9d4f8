import csv
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any, cast

import pytest

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.methods import one_split
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.paper import figure, figures
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.utils import group_rank

SEEDS = {'qaBI': 1, 'qaPH': 2, 'coDB_first': 3, 'coDB_first_second': 3}


@pytest.fixture(scope='module')
def benchmark_script() -> Iterator[ModuleType]:
    with load_script('anchor_radar') as module:
        yield module


def load_planted(setting: str, root: str | None) -> AnchorData:
    seed = SEEDS[setting]
    dataset = PlantedAnchorDataset(100 + seed, 400, 3.5, seed=seed)
    data = cast(AnchorData, dataset[0])
    if setting.endswith('first_second'):
        strength = data['node_strength'][data.hyperedge_index[0]]
        rank = group_rank(strength, data.hyperedge_index[1], data.num_hyperedges)
        data.y = rank < 2
    return data


@pytest.fixture
def fits(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    made: list[str] = []
    fit = AnchorRadar.fit

    def counted(self: AnchorRadar, data: AnchorData, **kwargs: Any) -> AnchorRadar:
        made.append(repr(self))
        return fit(self, data, **kwargs)

    monkeypatch.setattr(AnchorRadar, 'fit', counted)
    return made


def read(path: Path) -> list[dict[str, str]]:
    with path.open(newline='', encoding='utf-8') as file:
        return list(csv.DictReader(file))


def test_all_experiments(
    benchmark_script: ModuleType, tmp_path: Path, fits: list[str]
) -> None:
    out = tmp_path / 'results' / 'radar.csv'
    arguments = ['--settings', 'qaBI', 'qaPH', 'coDB_first', '--splits', '1']
    arguments += ['--seeds', '2', '--epochs', '2', '--out', str(out)]
    benchmark_script.main(arguments, load_planted)

    rows = read(out)
    names = ['experiment', 'setting', 'variant', 'protocol', 'split', 'seed']
    names += ['num_epochs', 'accuracy', 'mrr', 'ndcg', 'seconds']
    assert list(rows[0]) == names
    keys = [tuple(row.values())[:7] for row in rows]
    assert len(set(keys)) == len(keys)
    # Per protocol: two datasets of one domain, with stage 1 apart; two searches.
    assert Counter(row['experiment'] for row in rows) == {
        'main': 2 * 3,
        'ablation': 2 * 3 * 5,
        'ratios': 2 * 3 * 2,
        'inductive': 2 * 2 * 2,
        'multi': 2 * 2,
        'seeds': 2 * 3 * 2,
        'alignment': 2 * 3 * 3,
        'sensitivity': 2 * 3 * 16,
    }
    assert all(0 < float(row['accuracy']) <= float(row['mrr']) <= 1 for row in rows)

    text = out.with_suffix('.md').read_text(encoding='utf-8')
    assert [line[3:] for line in text.splitlines() if line.startswith('## ')] == list(
        benchmark_script.EXPERIMENTS
    )
    # Of the paper: main, MRR, ablation, ratios, inductive, two anchors, seeds.
    for printed in (
        figure('accuracy', 'AnchorRadar', 'qaBI'),
        figure('mrr', 'AnchorRadar', 'qaPH'),
        figure('ablation', 'Stage 1', 'coDB_first'),
        figure('accuracy_train5', 'AnchorRadar', 'qaBI'),
        figures('inductive')['inductive'][0],
        figure('multi_anchor', 'AnchorRadar', 'coDB'),
        figure('random_seeds', 'Average', 'qaPH'),
    ):
        assert printed
        assert f'| {printed} |' in text

    # Nothing is measured twice: neither what experiments share, nor in a second run.
    parts = ('setting', 'protocol', 'accuracy', 'mrr', 'ndcg', 'seconds')
    same = {
        ('main', 'AnchorRadar'),
        ('ablation', 'AnchorRadar'),
        ('seeds', 'Seed 1'),
        ('alignment', 'all'),
    }
    found = [row for row in rows if (row['experiment'], row['variant']) in same]
    assert len(found) == 4 * 2 * 3
    assert len({tuple(row[part] for part in parts) for row in found}) == 2 * 3
    # One fit per distinct measurement, and one for the search.
    num_shared = 2 * 3 * 3
    assert len(fits) == len(rows) - num_shared + 1
    fits.clear()
    before = out.read_bytes(), text
    benchmark_script.main(arguments, load_planted)
    assert not fits
    after = out.read_bytes(), out.with_suffix('.md').read_text(encoding='utf-8')
    assert after == before


def test_resumes_after_a_line_that_was_cut_off(
    benchmark_script: ModuleType,
    tmp_path: Path,
    fits: list[str],
) -> None:
    out = tmp_path / 'radar.csv'
    arguments = ['--settings', 'qaBI', '--experiments', 'main', '--splits', '2']
    arguments += ['--epochs', '30', '--out', str(out)]
    benchmark_script.main(arguments, load_planted)
    whole = read(out)
    assert len(fits) == 4
    # The planted strengths can be found: chance has less than 0.4.
    assert min(float(row['accuracy']) for row in whole) > 0.45

    text = out.read_text(encoding='utf-8')
    out.write_text(text[: text.rindex(',') - 12], encoding='utf-8')
    fits.clear()
    benchmark_script.main(arguments, load_planted)
    assert len(fits) == 1
    again = read(out)
    assert again[:3] == whole[:3]
    assert {**again[3], 'seconds': ''} == {**whole[3], 'seconds': ''}

    # What another experiment has measured before is not measured again, either.
    fits.clear()
    benchmark_script.main([*arguments, '--experiments', 'alignment'], load_planted)
    assert len(fits) == 2 * 4
    assert read(out)[4]['accuracy'] == whole[0]['accuracy']

    markdown = out.with_suffix('.md').read_text(encoding='utf-8')
    assert markdown.count('| qaBI |') == 3 + 3
    assert '| 2 |' in markdown


def test_refuses_a_file_with_other_columns(
    benchmark_script: ModuleType, tmp_path: Path
) -> None:
    out = tmp_path / 'other.csv'
    out.write_text('a,b\n1,2\n', encoding='utf-8')
    with pytest.raises(ValueError, match='must have the columns experiment, setting'):
        benchmark_script.main(['--out', str(out)], load_planted)
    assert out.read_text(encoding='utf-8') == 'a,b\n1,2\n'


def test_figures_are_those_of_the_package(benchmark_script: ModuleType) -> None:
    variant = benchmark_script.Variant('No LF', {'w': None}, local=False)
    key = ('ablation', 'qaBI', 'No LF')
    bench = benchmark_script.Workbench(load_planted, None, {key: variant})
    (row,) = bench(benchmark_script.Task(*key, 'train+val', 1, 0, 5), print)
    data = AddTopologicalFeatures(local=False)(load_planted('qaBI', None))
    data = one_split(data, 1)
    model = AnchorRadar.from_paper('qaBI', num_epochs=5, w=None)
    accuracy = model.fit(data, use_val=True).score(data, data.test_mask)
    assert row.accuracy == round(accuracy, 6)


def test_committed_results(benchmark_script: ModuleType) -> None:
    task = benchmark_script.Task
    table = ResultTable(benchmark_script.Row, benchmark_script.OUT, key=task._fields)
    assert len(table) == 1520
    text = benchmark_script.OUT.with_suffix('.md').read_text(encoding='utf-8')
    assert benchmark_script.markdown_report(table.rows) == text
