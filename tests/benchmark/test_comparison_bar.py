import pytest
from tqdm import tqdm

from tests.benchmark.test_comparison_row import row
from tgx_anchor.benchmark.comparison_bar import ComparisonBar
from tgx_anchor.benchmark.comparison_row import Task
from tgx_anchor.benchmark.measure import Progress


def test_bar(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shown: list[str] = []
    monkeypatch.setattr(tqdm, 'set_postfix_str', lambda _, text: shown.append(text))
    first, second = Task('emER', 'HGNN', 0), Task('emER', 'HNN', 0)
    with ComparisonBar(total=3, left=2, progress=True) as bar:
        bar.tell(Progress(first, 1, 9, None))
        bar.tell(Progress(second, 5, 9, 0.25))
        bar.end(first, row(accuracy=0.75))
        assert bar.bar.n == 2
        # What failed is not done.
        bar.end(second, None)
        assert bar.bar.n == 2
        bar.tell(Progress(first, 2, 9, None))
    assert shown == [
        'emER HGNN 1/9',
        'emER HGNN 1/9, emER HNN 5/9 (val 25.0 %)',
        'emER HNN 5/9 (val 25.0 %), emER HGNN 75.0 %',
        'emER HGNN 2/9',
    ]
    assert '2/3' in capsys.readouterr().err
    with ComparisonBar(total=3, left=3, progress=False) as bar:
        bar.end(first, row())
    assert capsys.readouterr().err == ''
