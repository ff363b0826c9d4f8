from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.benchmarks.scripts import load_script
from tests.strategies import to_index
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.benchmark.tables import markdown_table
from tgx_anchor.data import HyperedgeIndex
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorModel, CoNHD
from tgx_anchor.nn.predictors.represent import represent

KEY = ('setting', 'method', 'habit', 'split')


def short_model(method: str, setting: str) -> AnchorModel:
    return new_model(method, setting, num_epochs=5)


def silent(_: str) -> None:
    pass


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    with load_script('reference_habits') as module:
        module.new_model = short_model  # type: ignore[attr-defined]
        yield module


@pytest.fixture(scope='module')
def root(tmp_path_factory: pytest.TempPathFactory) -> str:
    # Keeps the embeddings.
    return str(tmp_path_factory.mktemp('root'))


def test_ours_is_the_model_of_the_package(script: ModuleType, root: str) -> None:
    task = ('planted', 'HNN', 'ours', 1)
    ours, logit = script.measure(task, silent, root=root)
    model: Any = short_model('HNN', 'planted')
    cache = Path(root) / 'embedding'
    data = one_split(prepare(load_setting('planted'), model, cache), 1)
    model.fit(data)
    accuracy = round(model.score(data, data.test_mask), 6)
    assert ours == script.Row(*task, accuracy, 5, 5)
    assert (logit.habit, logit.num_epochs) == ('logit', 5)
    assert logit.accuracy != ours.accuracy


@pytest.mark.parametrize('habit', ['stale', 'dropout'])
def test_habits_are_repeatable(script: ModuleType, root: str, habit: str) -> None:
    # Two layers, of which the second one drops out.
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        task = ('planted', 'HCHA', habit, 0)
        found.append(script.measure(task, silent, root=root))
    assert found[0] == found[1]
    ours, _ = script.measure(('planted', 'HCHA', 'ours', 0), silent, root=root)
    # With one validation, a stale one makes the same choice.
    assert (found[0][0].accuracy == ours.accuracy) == (habit == 'stale')


def test_stale_validation(script: ModuleType, root: str) -> None:
    histories, trainings = [], []
    for habit in ('stale', 'ours'):
        task = ('planted', 'HCHA', habit, 0)
        model = script.habit_model(task)
        data = script.habit_data(task, model, root)
        kind = model.training_class
        training = kind(model.encoder, data, model._options())
        histories.append(list(training.run()))
        trainings.append(training)
    # The same steps, seen one step late and through dropout.
    losses = [[record['loss'] for record in history] for history in histories]
    assert losses[0] == pytest.approx(losses[1])
    stale = trainings[0]
    clean = represent(stale.encoder.eval(), stale.data, stale.table)
    assert stale.seen.size() == clean.size()
    assert not torch.allclose(stale.seen, clean)
    # What was seen decides.
    stale.seen = torch.ones_like(stale.seen)
    row = torch.arange(3)
    expected = stale.head.weight.sum(dim=1) + stale.head.bias
    assert torch.allclose(stale.logits(row), expected.expand(3, -1), atol=1e-5)


def test_best_rate(
    script: ModuleType, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, 'RATES', (1e-9, 0.03, 1e-8))
    task = ('planted', 'HNN', 'rate', 0)
    (found,) = script.measure(task, silent, root=root)
    model = script.habit_model(task, 0.03)
    data = script.habit_data(task, model, root)
    model.fit(data)
    assert found.accuracy == round(model.score(data, data.test_mask), 6)


def test_embeddings_by_gensim(script: ModuleType, root: str) -> None:
    pytest.importorskip('gensim')
    x = {}
    for habit in ('gensim', 'ours'):
        task = ('planted', 'HNN', habit, 0)
        x[habit] = script.habit_data(task, script.habit_model(task), root)['x']
    assert x['gensim'].size() == x['ours'].size() == (1000, 48)
    assert not torch.allclose(x['gensim'], x['ours'], atol=0.1)
    task = ('planted', 'HNN', 'gensim', 0)
    again = script.habit_data(task, script.habit_model(task), root)
    assert torch.equal(again['x'], x['gensim'])


def test_without_ranks(script: ModuleType) -> None:
    encoders = [
        script.habit_model(('planted', 'CoNHD-U', habit, 0)).encoder
        for habit in ('ours', 'unranked')
    ]
    assert [encoder.use_rank for encoder in encoders] == [True, False]
    assert encoders[0].hidden_channels == encoders[1].hidden_channels


def test_without_dropout_of_the_input(script: ModuleType) -> None:
    for setting, ours in (('qaBI', 0.7), ('emER', 0.0)):
        encoders = [
            script.habit_model((setting, 'CoNHD-U', habit, 0)).encoder
            for habit in ('ours', 'undropped')
        ]
        assert [encoder.input_dropout for encoder in encoders] == [ours, 0.0]
        assert encoders[0].dropout == encoders[1].dropout > 0


def test_random_first_features(script: ModuleType, root: str) -> None:
    x = {}
    for habit in ('random', 'ours'):
        task = ('planted', 'CoNHD-I', habit, 0)
        model = script.habit_model(task)
        data = script.habit_data(task, model, root)
        x[habit] = data['x']
        assert torch.equal(script.habit_data(task, model, root)['x'], data['x'])
    assert x['random'].size() == x['ours'].size()
    assert abs(float(x['random'].mean())) < 0.05
    assert float(x['random'].std()) == pytest.approx(1, abs=0.05)
    assert not torch.allclose(x['random'], x['ours'], atol=0.1)
    (row,) = script.measure((*task[:2], 'random', 0), silent, root=root)
    assert (row.habit, row.num_epochs) == ('random', 5)


def test_scrambled_matrix(script: ModuleType) -> None:
    # Hyperedge 0 = {0, 1}, 1 = {1, 2, 3}, 2 = {3}, and 3 has no neighbour.
    groups = [[0, 1], [1, 2, 3], [3], [4]]
    index = HyperedgeIndex(to_index(groups), 5, 4)
    matrix = script.scrambled_matrix(index, torch.double)
    right = torch.zeros(4, 4, dtype=torch.double)
    for i, a in enumerate(groups):
        for j, b in enumerate(groups):
            shared = [1 / float(index.node_degree[v]) for v in a if v in b]
            right[i, j] = sum(shared) / len(b) ** 2
    found = torch.from_numpy(matrix.toarray())
    assert torch.equal(found != 0, right != 0)
    # Each column has become a row, in any order.
    torch.testing.assert_close(found.sort(dim=1)[0], right.T.sort(dim=1)[0])
    assert not torch.allclose(found, right)
    conv = script.ScrambledHNNConv(3, 2).double()
    value = torch.rand(4, 3, dtype=torch.double, requires_grad=True)
    out = conv._mix(value, index)
    torch.testing.assert_close(out, found @ value)
    grad = torch.rand_like(out)
    torch.testing.assert_close(torch.autograd.grad(out, value, grad)[0], found.T @ grad)


def test_scrambled_model(script: ModuleType, root: str) -> None:
    models = {}
    for habit in ('scramble', 'ours'):
        task = ('planted', 'HNN', habit, 0)
        models[habit] = model = script.habit_model(task)
        data = script.habit_data(task, model, root)
        model.fit(data)
    found = [model(data) for model in models.values()]
    assert found[0].size() == found[1].size()
    assert not torch.allclose(found[0], found[1])
    sizes = [[p.size() for p in model.parameters()] for model in models.values()]
    assert sizes[0] == sizes[1]


def test_union_of_draws(script: ModuleType, root: str) -> None:
    counts = {}
    for habit in ('union', 'ours'):
        task = ('planted', 'CoNHD-U', habit, 0)
        model = script.habit_model(task)
        model.encoder = CoNHD(44, 8, num_layers=2)
        model.num_neighbors = 3
        data = script.habit_data(task, model, root)
        kind = model.training_class
        training = kind(model.encoder, data, model._options())
        batch = next(iter(training.loader))
        node = batch.hyperedge_index[0]
        drawn = torch.bincount(node[batch.incidence_drawn], minlength=batch.num_nodes)
        target = node[batch.hyperedge_index[1] < batch.num_targets].unique()
        few = batch.node_degree[target] <= 3
        assert torch.equal(drawn[target][few], batch.node_degree[target][few])
        counts[habit] = drawn[target][~few]
    assert (counts['ours'] == 3).all()
    assert (counts['union'] >= 3).all()
    assert (counts['union'] <= 6).all()
    assert counts['union'].double().mean() > 3.5


def test_second_run_continues(
    script: ModuleType, root: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'new' / 'rows.csv'
    words = ['--datasets', 'planted', '--methods', 'HNN', '--root', root]
    words += ['--in-process', '--habits', 'ours', 'stale', '--out']
    assert script.main([*words, str(path)]) == 0
    content = path.read_bytes()
    rows = ResultTable(script.Row, path, key=KEY).rows
    assert [row.habit for row in rows] == ['ours', 'logit', 'stale']
    assert 'stale' in capsys.readouterr().out
    lines = path.with_suffix('.md').read_text(encoding='utf-8').splitlines()
    assert lines[2] == f'| planted | HNN | ours | 1 | {100 * rows[0].accuracy:.1f} |  |'
    assert len(lines) == 5
    script.main([*words, str(path)])
    assert path.read_bytes() == content
    # A line that was cut off is measured again.
    path.write_bytes(content[:-3])
    script.main([*words, str(path)])
    assert path.read_bytes() == content


def test_committed_results(script: ModuleType) -> None:
    rows = ResultTable(script.Row, script.OUT, key=KEY).rows
    assert len(rows) == 151
    text = script.OUT.with_suffix('.md').read_text(encoding='utf-8')
    assert markdown_table(script.make_table(rows), num_left=3) == text
