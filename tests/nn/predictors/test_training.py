from pathlib import Path
from typing import Any

import pytest
import torch

from tests.nn.predictors import killed_training
from tests.nn.predictors.test_anchor_predictor import (
    planted,
    planted_without_val,
    quick,
)
from tests.nn.predictors.training_cases import BY_CHANCE, EXACT, everything
from tests.processes import in_processes, torchrun
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import HGNN, AnchorPredictor
from tgx_anchor.nn.predictors.training import PredictorTraining


def training_of(model: AnchorPredictor, data: AnchorData) -> PredictorTraining:
    return PredictorTraining(model.encoder, data, model._options())


def test_one_step_by_hand() -> None:
    # The first step of the whole-hypergraph form, with nothing but autograd.
    data = planted()
    model = quick(batch_size=None, num_epochs=1).fit(data)
    training = training_of(quick(batch_size=None), data)
    encoder, head, table = training.encoder, training.head, training.table
    row = data.train_mask[data.hyperedge_index[1]]
    node, hyperedge = data.hyperedge_index
    x, e = encoder.train()(table, data.hyperedge_index, num_hyperedges=400)
    logit = head(torch.cat([e[hyperedge], x[node]], dim=1))[row]
    target = data.role[row]
    loss = -logit.log_softmax(1)[torch.arange(len(target)), target].mean()
    parts = [table, *encoder.parameters(), *head.parameters()]
    grads = torch.autograd.grad(loss, parts)
    assert model.history[0]['loss'] == pytest.approx(loss.item(), rel=1e-6)
    learnt = [
        model.table,
        *model.encoder.parameters(),
        *(model.head or head).parameters(),
    ]
    for before, after, grad in zip(parts, learnt, grads, strict=True):
        # The first step of Adam is the sign of the gradient times the rate.
        assert after is not None
        step = 0.02 * grad / (grad.abs() + 1e-8)
        torch.testing.assert_close(after, before - step, rtol=1e-4, atol=1e-5)


def test_the_best_state_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    # Accuracies at the looks after epochs 2, 4, ...: the second one is the best.
    data, found = planted(), iter([0.3, 0.6, 0.6, 0.5, 0.4, 0.9])
    monkeypatch.setattr(
        PredictorTraining, '_accuracy', lambda *_: {'val_accuracy': next(found)}
    )
    model = quick(num_epochs=100, patience=3).fit(data)
    assert [record.get('val_accuracy') for record in model.history] == [
        *(None, 0.3, None, 0.6, None, 0.6, None, 0.5, None, 0.4)
    ]
    # Without validation, there is also less to calibrate with.
    best = quick(num_epochs=4).fit(planted_without_val())
    assert all(map(torch.equal, model.parameters(), best.parameters()))


def test_rate_decays(monkeypatch: pytest.MonkeyPatch) -> None:
    rates = []
    step = torch.optim.Adam.step

    def spy(self: torch.optim.Adam, *args: Any) -> Any:
        rates.append(self.param_groups[0]['lr'])
        return step(self, *args)

    monkeypatch.setattr(torch.optim.Adam, 'step', spy)
    quick(batch_size=None, num_epochs=3, gamma=0.5, lr=0.08).fit(planted())
    assert rates == pytest.approx([0.08, 0.04, 0.02])


def test_clipping() -> None:
    data = planted()
    norms: dict[str, float] = {}
    training = training_of(quick(batch_size=None, max_norm=1e-3), data)
    next(training.run())
    for name, part in (
        ('table', [training.table]),
        ('encoder', training.encoder.parameters()),
        ('head', training.head.parameters()),
    ):
        grads = [p.grad.norm() for p in part if p.grad is not None]
        norms[name] = float(torch.stack(grads).norm())
    assert norms == {name: pytest.approx(1e-3, rel=1e-3) for name in norms}


def test_groups_of_parameters() -> None:
    class Own(HGNN):
        def parameter_groups(self) -> list[dict[str, Any]]:
            return [{'params': list(self.parameters()), 'weight_decay': 0.5}]

    model = AnchorPredictor(Own(6, 8, 1, 12), weight_decay=0.1, lr=0.3)
    groups = training_of(model, planted()).optimizer.param_groups
    assert [group['weight_decay'] for group in groups] == [0.5, 0.1, 0.1]
    assert [group['lr'] for group in groups] == [0.3, 0.3, 0.3]


def test_subclass_validates_in_another_way() -> None:
    class Constant(PredictorTraining):
        def logits(self, row: torch.Tensor) -> torch.Tensor:
            # All members are anchors, in role 0.
            return torch.tensor([[1.0, 0.0]]).expand(row.numel(), 2)

    class Mine(AnchorPredictor):
        training_class = Constant

    data = planted()
    model = Mine(HGNN(6, 8, 1, 12), num_epochs=1).fit(data)
    row = data.val_mask[data.hyperedge_index[1]]
    share = float((data.role[row] == 0).double().mean())
    assert model.history[0]['val_role_accuracy'] == pytest.approx(share)
    chance = float((1 / data.hyperedge_size[data.val_mask].double()).mean())
    assert model.history[0]['val_accuracy'] == pytest.approx(chance)


def test_same_roles_other_anchors(tmp_path: Any) -> None:
    # Roles 0, 1, 2 in turn: the first or the last may be the anchor.
    data = planted()
    size = data.hyperedge_size
    data = data.hyperedge_subgraph(size > 1)
    ptr, number = data.hyperedge_ptr, data.num_incidences
    data.role_names = ['first', 'middle', 'last']
    data.role = torch.ones(number, dtype=torch.long)
    data.role[ptr[:-1]] = 0
    data.role[ptr[1:] - 1] = 2
    last = data.clone()
    data.y, last.y = data.role == 0, data.role == 2
    trained = quick(num_epochs=4).fit(data, checkpoint=tmp_path)
    epochs: list[Any] = []
    other = quick(num_epochs=4).fit(last, checkpoint=tmp_path, callback=epochs.append)
    # One training for both; accuracies of the other anchors are not its own.
    assert epochs == []
    assert len(list(tmp_path.iterdir())) == 1
    assert torch.equal(trained(data), other(last))
    assert (int(trained.anchor_role), int(other.anchor_role)) == (0, 2)
    assert 'val_accuracy' in trained.history[-1]
    assert 'val_accuracy' not in other.history[-1]
    assert 'val_role_accuracy' in other.history[-1]


def test_roles_choose_the_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    # As in the paper: the second validation has the best roles, the first one the best
    # anchors.
    found = iter([(0.9, 0.3), (0.1, 0.6), (0.8, 0.5)])

    def accuracy(*_: Any) -> dict[str, float]:
        anchors, roles = next(found)
        return {'val_accuracy': anchors, 'val_role_accuracy': roles}

    monkeypatch.setattr(PredictorTraining, '_accuracy', accuracy)
    model = quick(num_epochs=6).fit(planted())
    assert [record.get('val_accuracy') for record in model.history] == [
        *(None, 0.9, None, 0.1, None, 0.8)
    ]
    # Without validation, there is also less to calibrate with.
    best = quick(num_epochs=4).fit(planted_without_val())
    assert all(map(torch.equal, model.parameters(), best.parameters()))


# Several processes ###############################################################


@pytest.fixture(scope='module')
def alone(tmp_path_factory: pytest.TempPathFactory) -> Any:
    return everything(tmp_path_factory.mktemp('alone'))


@pytest.fixture(scope='module', params=[2, pytest.param(3, marks=pytest.mark.slow)])
def together(request: Any, tmp_path_factory: pytest.TempPathFactory) -> list[Any]:
    folder = tmp_path_factory.mktemp('together')
    return in_processes(request.param, folder, everything, folder)


def assert_same(one: Any, other: Any) -> None:
    torch.testing.assert_close(one, other, rtol=0, atol=0)


@pytest.mark.parametrize('name', EXACT)
def test_as_one_process(name: str, alone: Any, together: list[Any]) -> None:
    one, other = alone['trainings'][name], together[0]['trainings'][name]
    for key in ('state', 'history', 'proba'):
        torch.testing.assert_close(one[key], other[key], rtol=1e-4, atol=1e-5)


@pytest.mark.parametrize('name', [*EXACT, *BY_CHANCE, 'own weights', 'averages'])
def test_all_have_the_same_model(name: str, together: list[Any]) -> None:
    first, *others = (result['trainings'][name] for result in together)
    for other in others:
        assert_same(first, other)


def test_chance(alone: Any, together: list[Any]) -> None:
    one, many = alone['trainings'], together[0]['trainings']
    assert_same(many['dropout'], many['again'])
    for name in BY_CHANCE:
        assert one[name]['history'][0] != many[name]['history'][0]


def test_weights_of_the_first_process(alone: Any, together: list[Any]) -> None:
    one = alone['trainings']['own weights']
    other = together[0]['trainings']['own weights']
    torch.testing.assert_close(one['state'], other['state'], rtol=1e-4, atol=1e-5)


def test_the_first_process_writes(alone: Any, together: list[Any]) -> None:
    one = alone['first']
    for rank, result in enumerate(together):
        other = result['first']
        is_first = rank == 0
        assert (other['num_calls'], other['shown']) == (3 * is_first, is_first)
        assert other['files'] == ['state.pt']
        torch.testing.assert_close(one['state'], other['state'], rtol=1e-4, atol=1e-5)
        # From a checkpoint, and yet as in one go.
        assert_same(other['state'], result['trainings']['mini-batches']['state'])
        torch.testing.assert_close(
            one['gradient'], other['gradient'], rtol=1e-3, atol=1e-3
        )


def test_errors_of_all_processes(together: list[Any]) -> None:
    differ = "'data', the model and its options must be the same in all processes"
    for result in together:
        found = result['errors']
        for name in ('data', 'options', 'encoder'):
            assert found[name] == f'{differ} (rank 1 differs from rank 0)'
        assert 'must be a checkpoint' in found['checkpoint']
        assert "'lr' must be smaller" in found['lr']


@pytest.mark.slow
@pytest.mark.parametrize('size', [2, 3])
def test_killed_processes(size: int, tmp_path: Path) -> None:
    # While the first checkpoint is written, and in the middle of the next epoch.
    kills = '0 0 1 11'
    models = {}
    for name, arguments in (('undisturbed', ''), ('killed', kills)):
        folder = tmp_path / name
        folder.mkdir()
        script = Path(killed_training.__file__)
        run = torchrun(size, script, str(folder), *arguments.split(), max_restarts=2)
        assert run.returncode == 0, run.stderr
        files = [f'model_{rank}.tgx' for rank in range(size)]
        found = sorted(path.name for path in folder.iterdir())
        assert found == [*files, 'state.pt']
        models[name] = [AnchorPredictor.load(folder / file) for file in files]
    assert 'another process of the group has ended' in run.stderr
    first = models['undisturbed'][0]
    for model in models['undisturbed'] + models['killed']:
        assert_same(model.state_dict(), first.state_dict())


@pytest.mark.slow
def test_script_of_the_docs(tmp_path: Path) -> None:
    page = Path(__file__).parents[3] / 'docs' / 'many_processes.md'
    text = page.read_text(encoding='utf-8')
    script, command = (
        text.split(f'```{language} train\n')[1].split('```')[0]
        for language in ('python', 'bash')
    )
    assert command == 'torchrun --standalone --nproc-per-node 2 train.py\n'
    (tmp_path / 'train.py').write_text(script, encoding='utf-8')
    run = torchrun(2, tmp_path / 'train.py')
    assert run.returncode == 0, run.stderr
    said = [line for line in run.stdout.splitlines() if 'accuracy' in line]
    # One process says it, and both had a part in it.
    assert len(said) == 1
    assert 'arning' not in run.stderr
    model = AnchorPredictor.load(tmp_path / 'hgnn.tgx')
    assert model.head is not None
