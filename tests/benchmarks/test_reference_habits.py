import sys
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest
import torch
from torch_geometric.utils import scatter

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.nn import AnchorModel
from tgx_anchor.nn.predictors.represent import represent


def short_model(method: str, setting: str) -> AnchorModel:
    return new_model(method, setting, num_epochs=5)


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
    found = script.measure('planted', 'HNN', 'ours', 1, root)
    assert list(found) == ['ours', 'logit']
    model = short_model('HNN', 'planted')
    cache = Path(root) / 'embedding'
    data = one_split(prepare(load_setting('planted'), model, cache), 1)
    model.fit(data)
    accuracy = model.score(data, data.test_mask)
    assert found['ours'] == [round(accuracy, 6), 5, 5]


@pytest.mark.parametrize('habit', ['stale', 'dropout'])
def test_habits_are_repeatable(script: ModuleType, root: str, habit: str) -> None:
    # Two layers, of which the second one drops out.
    found = []
    for seed in (1, 2):
        torch.manual_seed(seed)
        found.append(script.measure('planted', 'HCHA', habit, 0, root))
    assert found[0] == found[1]
    ours = script.measure('planted', 'HCHA', 'ours', 0, root)
    # With one look, a stale one makes the same choice.
    assert (found[0][habit] == ours['ours']) == (habit == 'stale')


def test_stale_looks(script: ModuleType, root: str) -> None:
    stale, ours = (
        script.train('planted', 'HCHA', habit, 0, root, None)[1]
        for habit in ('stale', 'ours')
    )
    # The same steps, seen one step late and through dropout.
    losses = [[record['loss'] for record in each.history] for each in (stale, ours)]
    assert losses[0] == pytest.approx(losses[1])
    clean = represent(stale.encoder.eval(), stale.data, stale.table)
    assert stale.seen.size() == clean.size()
    assert not torch.allclose(stale.seen, clean)
    # What was seen decides.
    row = stale.val_mask[stale.data.hyperedge_index[1]]
    for role in (0, 1):
        with torch.no_grad():
            stale.head.weight.zero_()[role].fill_(1.0)
            stale.head.bias.zero_()
        stale.seen = torch.ones_like(stale.seen)
        share = float((stale.role[row] == role).double().mean())
        found = stale._accuracy(stale.val_mask)['val_role_accuracy']
        assert found == pytest.approx(share)


def test_best_rate(
    script: ModuleType, root: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(script, 'RATES', (1e-9, 0.03, 1e-8))
    found = script.measure('planted', 'HNN', 'rate', 0, root)['rate']
    model, training = script.train('planted', 'HNN', 'ours', 0, root, 0.03)
    data = training.data
    assert found[0] == round(model.score(data, data.test_mask), 6)


def test_skip_gram_of_the_references(script: ModuleType, root: str) -> None:
    x = script.gensim_embedding('planted', root, 6)
    assert x.size() == (1000, 6)
    assert torch.allclose(x.mean(dim=0), torch.zeros(6), atol=1e-5)
    # Members of a group are alike, as ours are.
    data = load_setting('planted')
    node, hyperedge = data.hyperedge_index
    mean = scatter(x[node], hyperedge, 0, data.num_hyperedges, 'mean')
    within = (x[node] - mean[hyperedge]).square().mean()
    assert within < 0.9 * x[node].square().mean()
    script.gensim_embedding.cache_clear()
    assert torch.equal(script.gensim_embedding('planted', root, 6), x)
    _, training = script.train('planted', 'HNN', 'gensim', 0, root, None)
    x = script.gensim_embedding('planted', root, 48)
    assert torch.equal(training.data['x'], x)


def test_without_ranks(script: ModuleType, root: str) -> None:
    model, training = script.train('planted', 'CoNHD-U', 'unranked', 0, root, None)
    assert not model.encoder.use_rank
    assert len(training.history) == 5


def test_goes_on(
    script: ModuleType,
    root: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = tmp_path / 'new' / 'rows.csv'
    words = ['x', '--datasets', 'planted', '--methods', 'HNN', '--root', root]
    monkeypatch.setattr(sys, 'argv', [*words, '--out', str(path)])
    script.main()
    content = path.read_bytes()
    assert [line.split(b',')[2] for line in content.splitlines()] == [
        b'habit',
        b'ours',
        b'logit',
        b'stale',
        b'rate',
        b'gensim',
    ]
    assert 'stale' in capsys.readouterr().out
    lines = path.with_suffix('.md').read_text(encoding='utf-8').splitlines()
    accuracy = 100 * float(content.splitlines()[1].split(b',')[4])
    assert lines[2] == f'| planted | HNN | ours | 1 | {accuracy:.1f} |  |'
    assert len(lines) == 7
    script.main()
    assert path.read_bytes() == content
    # One habit alone.
    other = tmp_path / 'other.csv'
    monkeypatch.setattr(sys, 'argv', [*words, '--habits', 'stale', '--out', str(other)])
    script.main()
    assert other.read_bytes().splitlines()[1:] == content.splitlines()[3:4]
    monkeypatch.setattr(sys, 'argv', [*words, '--out', str(path)])
    # A line that was cut off is measured again.
    path.write_bytes(content[:-3])
    script.main()
    assert path.read_bytes() == content
