"""One of several processes speaks."""

import tempfile
from pathlib import Path

import pytest

from tgx_anchor.cli import launch


def test_first_process_speaks(
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
    tmp_path: Path,
) -> None:
    monkeypatch.setattr(tempfile, 'tempdir', str(tmp_path))
    monkeypatch.setenv('WORLD_SIZE', '2')
    for text in ('one', 'two'):
        launch.speak_once(text)
    monkeypatch.setenv('TORCHELASTIC_RESTART_COUNT', '1')
    launch.speak_once('three')
    assert capsys.readouterr().err == 'tgx-anchor: one\ntgx-anchor: three\n'
    # Another run, whose launcher has the number of one that is gone.
    monkeypatch.setenv('MASTER_PORT', '29501')
    launch.speak_once('again')
    assert capsys.readouterr().err == 'tgx-anchor: again\n'
    monkeypatch.setenv('WORLD_SIZE', '1')
    launch.speak_once('four')
    launch.speak_once('five')
    assert capsys.readouterr().err == 'tgx-anchor: four\ntgx-anchor: five\n'
    monkeypatch.setenv('RANK', '1')
    assert not launch.is_first()
