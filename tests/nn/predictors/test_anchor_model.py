from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from tests.strategies import (
    SETTINGS,
    by_group,
    one_line_error,
    scored_hypergraphs,
    to_data,
    to_groups,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import DegreeHeuristic, RandomHeuristic
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.utils import Ranks


class Fixed(AnchorModel):
    """Predicts what it was given."""

    def __init__(self, value: Tensor, seed: int = 0) -> None:
        super().__init__(seed)
        self.value = value

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        pass

    def predict_proba(
        self,
        data: AnchorData,  # noqa: ARG002
        same_people: bool | None = None,  # noqa: ARG002
    ) -> Tensor:
        return self.value


def test_fit_and_predict_proba_are_left_to_subclasses() -> None:
    with pytest.raises(TypeError, match=r'_fit.*predict_proba'):
        AnchorModel()  # type: ignore[abstract]


@SETTINGS
@given(scored_hypergraphs(), st.integers(1, 6), st.integers(0, 9))
def test_best_first(drawn: tuple[AnchorData, Tensor], k: int, seed: int) -> None:
    data, value = drawn
    out = Fixed(value, seed).predict(data, k)
    assert out.size() == (
        (data.num_hyperedges,) if k == 1 else (data.num_hyperedges, k)
    )
    for best, group, row in zip(
        out.view(-1, k).tolist(), to_groups(data), by_group(data, value), strict=True
    ):
        score = dict(zip(group, row, strict=True))
        chosen = best[: len(group)]
        assert len(set(chosen)) == len(chosen)
        top = sorted(row, reverse=True)[:k]
        assert [score[v] for v in chosen] == top
        assert best[len(group) :] == [-1] * (k - len(top))


def test_by_hand(device: torch.device) -> None:
    data = to_data([[2, 0], [], [1], [0, 1, 2]], 3).to(device)
    value = torch.tensor([0.25, 0.75, 1.0, 0.5, 0.2, 0.3], device=device)
    model = Fixed(value)
    assert model.predict(data).tolist() == [0, -1, 1, 0]
    assert model.predict(data, k=2).tolist() == [[0, 2], [-1, -1], [1, -1], [0, 2]]
    assert model.predict(data, k=2).device.type == device.type


def test_ties_are_drawn_with_the_seed() -> None:
    data = to_data([[0, 1, 2]] * 300, 3)
    value = torch.full((900,), 1 / 3)
    first = Fixed(value, seed=1).predict(data)
    assert torch.equal(first, Fixed(value, seed=1).predict(data))
    model = Fixed(value, seed=1)
    assert torch.equal(model.predict(data), model.predict(data))
    assert not torch.equal(first, Fixed(value, seed=2).predict(data))
    # All members get their share: 100 each, give or take five deviations.
    assert all(abs(first.tolist().count(v) - 100) < 41 for v in range(3))


@pytest.mark.parametrize('k', [0, -1])
def test_bad_k(k: int) -> None:
    data = to_data([[0, 1]], 2)
    with one_line_error("'k'", str(k)):
        Fixed(torch.zeros(2)).predict(data, k)


def test_score() -> None:
    data = to_data([[0, 1], [1, 2], [0, 2, 1], [2]], 3, [[0], [2], [1], [2]])
    model = Fixed(torch.tensor([0.6, 0.4, 0.9, 0.1, 0.4, 0.2, 0.4, 1.0]))
    # Right, wrong, half right; the singleton leaves no choice.
    assert model.score(data) == pytest.approx(0.5)
    mask = torch.tensor([True, True, False, True])
    assert model.score(data, mask) == pytest.approx(2 / 3)


class Peeking(Fixed):
    """Finds the anchors that it is shown."""

    def predict_proba(
        self,
        data: AnchorData,
        same_people: bool | None = None,  # noqa: ARG002
    ) -> Tensor:
        y: Tensor = data['y']
        return y.double()


def test_score_shows_no_answers() -> None:
    data = to_data([[0, 1], [1, 2], [0, 2]], 3, [[0], [2], [0]])
    data.train_mask = torch.tensor([True, True, False])
    model = Peeking(torch.zeros(6))
    assert model.score(data) == 0.5
    assert model.score(data, data.train_mask) == 0.5
    assert data['y'].sum() == 3
    with one_line_error("'mask'"):
        model.score(data, torch.tensor([True]))


def test_same_people_need_not_be_taken() -> None:
    # A model of the user that needs no ids.
    class Simple(AnchorModel):
        def _fit(self, data: AnchorData, run: FitRun) -> None:
            pass

        def predict_proba(self, data: AnchorData) -> Tensor:  # type: ignore[override]
            return torch.ones(data.num_incidences)

    data = to_data([[0, 1], [1]], 2, [[0], [1]])
    model = Simple()
    assert model.predict(data)[1] == 1
    assert model.predictions(data)['source'].to_pylist() == ['known'] * 2
    assert model.score(data) == 0.5


def test_score_without_labels() -> None:
    # Nobody passed a mask, so that none is to blame.
    model = Fixed(torch.tensor([0.6, 0.4]))
    with one_line_error("'data.y'", "'is_anchor'"):
        model.score(to_data([[0, 1]], 2))
    for data in (to_data([[0, 1]], 2, [[]]), to_data([[0, 1]], 2, [[0, 1]])):
        with one_line_error('no hyperedge to evaluate', "'data.y'"):
            model.score(data)


def test_options_of_fit() -> None:
    data = to_data([[0, 1], [0, 2], [1, 2, 3]], 4, [[1], [2], [3]])
    seen: list[object] = []
    model = DegreeHeuristic()
    assert model.fit(data, progress=True, callback=seen.append, checkpoint='x') is model
    # There are no epochs, so that nothing is reported or kept.
    assert (seen, model.history, model.interrupted) == ([], [], False)
    wrong: Any = 'never'
    with one_line_error("'on_interrupt'", "'never'"):
        RandomHeuristic().fit(data, on_interrupt=wrong)
    data.train_mask = torch.tensor([True, False, False])
    data.val_mask = torch.tensor([False, True, True])
    assert DegreeHeuristic().fit(data, use_val=True).sign == -1


class Unsure(Fixed):
    """Learns in three epochs."""

    def _fit(self, data: AnchorData, run: FitRun) -> None:  # noqa: ARG002
        records = ({'epoch': float(i), 'num_epochs': 3.0} for i in (1, 2, 3))
        run.epochs(records, 'unsure', 3)


def test_history_and_interrupt() -> None:
    def stop(record: dict[str, float]) -> None:
        if record['epoch'] == 2:
            raise KeyboardInterrupt

    data = to_data([[0, 1]], 2, [[0]])
    model = Unsure(torch.tensor([0.6, 0.4]))
    with pytest.warns(UserWarning, match='after epoch 2 of 3') as caught:
        model.fit(data, callback=stop)
    assert caught[0].filename == __file__
    assert model.interrupted
    assert len(model.history) == 2
    with pytest.raises(KeyboardInterrupt):
        model.fit(data, callback=stop, on_interrupt='raise')
    assert len(model.history) == 2
    assert len(model.fit(data).history) == 3
    assert not model.interrupted


@pytest.mark.parametrize('kind', [DegreeHeuristic, RandomHeuristic])
def test_save_and_load(
    kind: type[DegreeHeuristic | RandomHeuristic], tmp_path: Path
) -> None:
    data = to_data([[0, 1], [0, 2], [1, 2, 3]], 4, [[1], [2], [3]])
    model = kind(seed=7).fit(data)
    assert model.get_params() == {'seed': 7}
    model.save(tmp_path / 'model')
    assert [path.name for path in tmp_path.iterdir()] == ['model']
    twin = kind.load(str(tmp_path / 'model'))
    assert repr(twin) == repr(model)
    assert torch.equal(twin.predict_proba(data), model.predict_proba(data))
    assert torch.equal(twin.predict(data), model.predict(data))


def test_load_of_another_class(tmp_path: Path) -> None:
    path = tmp_path / 'model'
    RandomHeuristic().save(path)
    with one_line_error(str(path), "'DegreeHeuristic'", "'RandomHeuristic'"):
        DegreeHeuristic.load(path)
    with pytest.raises(FileNotFoundError):
        DegreeHeuristic.load(tmp_path / 'nothing')
    path.write_bytes(b'nonsense')
    with one_line_error(str(path), 'saved model'):
        DegreeHeuristic.load(path)


def test_a_process_without_training_groups_validates_with_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    size = 30
    groups = [[i, i + 1] for i in range(size)]
    data = to_data(groups, size + 1, [[i] for i in range(size)])
    data.train_mask = torch.zeros(size, dtype=torch.bool)
    data.val_mask = ~data.train_mask
    model = Fixed(torch.full((2 * size,), 0.5))
    monkeypatch.setattr(model, '_validated_proba', model.predict_proba)
    number = torch.arange(size)
    assert model._held_out_scores(data, FitRun(), number) is None
    # It would leave them waiting.
    monkeypatch.setattr(Ranks, 'any', lambda *_: True)
    scores = model._held_out_scores(data, FitRun(), number)
    assert scores is not None
    assert torch.equal(scores.mask, data.val_mask)
