from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import torch

from tests.benchmarks.scripts import load_script
from tgx_anchor.benchmark.methods import load_setting
from tgx_anchor.nn import AnchorRadar, DegreeHeuristic


def short_model(setting: str, params: str) -> AnchorRadar:
    return AnchorRadar(16, num_epochs=30)


@pytest.fixture(scope='module')
def script() -> Iterator[ModuleType]:
    with load_script('old_and_new') as module:
        module.make_model = short_model  # type: ignore[attr-defined]
        yield module


def test_halves(script: ModuleType) -> None:
    data = load_setting('planted')
    old, new, whole = script.halves(data, 0.5)
    assert old.num_hyperedges + new.num_hyperedges == whole.num_hyperedges
    ids = torch.cat([old.hyperedge_id, new.hyperedge_id])
    assert torch.equal(ids, data.hyperedge_id)
    assert old.source == new.source is not None
    assert not new.train_mask.any()
    assert torch.equal(whole.train_mask[: old.num_hyperedges], old.train_mask)
    assert whole.train_mask.sum() == old.train_mask.sum()
    share = old.train_mask.sum() / (old.known_mask & old.choice_mask).sum()
    assert 0.45 < float(share) < 0.55


def test_rows(
    script: ModuleType, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / 'out.csv'
    words = ['--datasets', 'planted', '--params', 'default', '--known', '1']
    words += ['--in-process', '--out', str(path)]
    assert script.main(words) == 0
    head, line = path.read_text(encoding='utf-8').splitlines()
    row: dict[str, Any] = dict(zip(head.split(','), line.split(','), strict=True))
    # Each as its name says, by hand.
    model = short_model('planted', 'default')
    old, new, whole = map(
        model.required_transform(), script.halves(load_setting('planted'), 1.0)
    )
    model.fit(old)
    assert float(row['carried']) == pytest.approx(model.score(new), abs=1e-6)
    mask = torch.arange(whole.num_hyperedges) >= old.num_hyperedges
    mask &= whole.known_mask & whole.choice_mask
    degree = DegreeHeuristic().fit(whole).score(whole, mask)
    assert float(row['degree']) == pytest.approx(degree, abs=1e-6)
    assert float(row['inductive']) < float(row['carried']) - 0.05
    assert abs(float(row['both']) - float(row['carried'])) < 0.05
    assert f'{100 * float(row["carried"]):.1f}' in capsys.readouterr().out
    lines = path.with_suffix('.md').read_text(encoding='utf-8').splitlines()
    assert lines[2].startswith('| planted | default | 100 % |')
    # A second run measures nothing.
    content = path.read_bytes()
    assert script.main(words) == 0
    assert path.read_bytes() == content
