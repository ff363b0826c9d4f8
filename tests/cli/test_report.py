"""The command that writes the page."""

import json
from pathlib import Path

from tests.cli.command import Run


def test_page_holds_groups_and_reasons(
    run: Run, mails: Path, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / 'page.html'
    words = ('report', str(model), str(mails), '--out', str(out))
    code, shown, _ = run(
        *words, '--json', '--title', 'Mails of <May>', '--reasons', '2'
    )
    assert code == 0
    summary = json.loads(shown)
    assert (summary['num_groups'], summary['num_known']) == (90, 30)
    page = out.read_text(encoding='utf-8')
    assert 'Mails of &lt;May&gt;' in page
    assert page.count('the runner-up is ') == 2
    code, shown, _ = run(*words)
    assert code == 0
    assert shown.endswith(f'written to {out}\n')
    page = out.read_text(encoding='utf-8')
    assert 'mails.csv' in page
    assert page.count('the runner-up is ') > 60


def test_page_needs_a_folder(run: Run, mails: Path, model: Path) -> None:
    code, _, err = run('report', str(model), str(mails), '-o', 'nowhere/a.html')
    assert code == 2
    assert 'a folder that exists' in err
    assert err.count('\n') == 1
