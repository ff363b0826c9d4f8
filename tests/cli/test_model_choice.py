"""The rule that chooses the model, and its reason."""

import sys
from pathlib import Path

import pytest
import torch

from tests.cli.command import Run
from tests.strategies import one_line_error, to_data
from tgx_anchor.cli import model_choice
from tgx_anchor.cli.model_choice import MAX_ROWS, MIN_KNOWN, ModelName, choose_model
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorRadar, ContextAnchorRadar, StackedAnchorRadar
from tgx_anchor.nn.predictors import anchor_model

PAGE = Path(__file__).parents[2] / 'docs' / 'start' / 'own_data.md'


def known(num_known: int) -> AnchorData:
    """Pairs with a known anchor; a copy, a single member and an unknown pair."""
    groups = [[0, i + 1] for i in range(num_known)]
    anchors = [[0] for _ in groups]
    return to_data(
        [*groups, [0, 1], [2], [1, 2]],
        num_known + 1,
        [*anchors, [1], [2], []],
    )


def test_rule() -> None:
    for count, stacked in ((MIN_KNOWN - 1, False), (MIN_KNOWN, True)):
        choice = choose_model(ModelName.AUTO, known(count), seed=4)
        expected = StackedAnchorRadar if stacked else AnchorRadar
        assert type(choice.model) is expected
        assert choice.model.seed == 4
        name = 'stacked' if stacked else 'anchor-radar'
        assert choice.summary == {'model': name, 'model_reason': choice.reason}
        assert choice.name == name
    assert isinstance(choice.model, StackedAnchorRadar)
    assert choice.model.learner == 'both'
    assert choice.reason == (
        '20 different groups of two or more with a known anchor, at least 20; 45 rows '
        'of one member each, at most 2,000,000'
    )
    reason = choose_model(ModelName.AUTO, known(19)).reason
    assert reason == (
        '19 different groups of two or more with a known anchor, fewer than 20'
    )


def test_numbers() -> None:
    assert MIN_KNOWN == anchor_model._MIN_HELD_OUT
    assert MAX_ROWS == 2_000_000


def test_many_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    data = known(25)
    for limit, name in ((data.num_incidences, 'stacked'), (54, 'anchor-radar')):
        monkeypatch.setattr(model_choice, 'MAX_ROWS', limit)
        choice = choose_model(ModelName.AUTO, data)
        assert choice.name == name
    assert choice.reason == '55 rows of one member each, more than 54'


def test_by_name() -> None:
    choice = choose_model(ModelName.STACKED, known(1))
    assert type(choice.model) is StackedAnchorRadar
    assert choice.reason == "chosen by '--model'"
    assert type(choose_model(ModelName.ANCHOR_RADAR, known(30)).model) is AnchorRadar


def test_time() -> None:
    data = known(20)
    data.hyperedge_time = torch.full((data.num_hyperedges,), torch.nan)
    assert 'time' not in choose_model(ModelName.AUTO, data).reason
    data.hyperedge_time[3] = 7.0
    for name, text in (
        (ModelName.AUTO, '; times are used'),
        (ModelName.ANCHOR_RADAR, '; times are not used'),
    ):
        assert choose_model(name, data).reason.endswith(text)


def test_installed_packages_do_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'lightgbm', None)
    for name in (ModelName.AUTO, ModelName.STACKED):
        with one_line_error('LightGBM', "pip install 'tgx_anchor[cli]'"):
            choose_model(name, known(20))
    assert choose_model(ModelName.AUTO, known(19)).name == 'anchor-radar'


def test_broken_library_is_one_line(
    run: Run, mails: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = tmp_path / 'broken'
    broken.mkdir()
    (broken / 'lightgbm.py').write_text("raise OSError('libgomp.so.1: cannot open')")
    monkeypatch.syspath_prepend(str(broken))
    monkeypatch.delitem(sys.modules, 'lightgbm', raising=False)
    for command in ('identify', 'fit'):
        code, out, err = run(command, str(mails), '-q')
        assert (code, out) == (2, '')
        assert err == (
            'tgx-anchor: the stacked model needs LightGBM, which cannot be imported: '
            "pip install 'tgx_anchor[cli]', or choose '--model anchor-radar'\n"
        )


def test_sides_and_types() -> None:
    data = known(30)
    with one_line_error("'--model context' needs sides or types", '--side'):
        choose_model(ModelName.CONTEXT, data)
    assert 'sides' not in choose_model(ModelName.AUTO, data).reason
    data.incidence_side = torch.zeros(data.num_incidences, dtype=torch.long)
    data.node_type = torch.zeros(int(data.num_nodes or 0), dtype=torch.long)
    reason = choose_model(ModelName.ANCHOR_RADAR, data).reason
    assert reason.endswith('; sides and types are not used')
    choice = choose_model(ModelName.CONTEXT, data, seed=4)
    assert type(choice.model) is ContextAnchorRadar
    assert (choice.name, choice.model.seed) == ('context', 4)
    assert choice.reason == "chosen by '--model'"


@pytest.mark.parametrize('command', ['identify', 'fit'])
def test_help_and_page_state_the_numbers(
    run: Run, command: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv('COLUMNS', '200')
    text = ' '.join(run(command, '--help').out.replace('│', ' ').split())
    assert 'auto|stacked|anchor-radar|context' in text
    assert f'at least {MIN_KNOWN} ' in text
    assert f'at most {MAX_ROWS:,} ' in text
    page = ' '.join(PAGE.read_text(encoding='utf-8').split())
    assert f'at least {MIN_KNOWN} different groups' in page
    assert f'at most {MAX_ROWS:,} rows' in page
