from pathlib import Path

import pytest
import torch

from tgx_anchor.io.files import remove_parts, replace_file


def test_file_is_replaced_whole(tmp_path: Path) -> None:
    path = tmp_path / 'table.csv'
    for text in ('first', 'second'):
        with replace_file(path) as part:
            part.write_text(text, encoding='utf-8')
            # Not yet, and under the same name.
            assert not path.exists() or path.read_text(encoding='utf-8') == 'first'
            assert part.name == path.name
        assert path.read_text(encoding='utf-8') == text
        assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize('error', [RuntimeError, KeyboardInterrupt, SystemExit])
def test_failure_leaves_the_old_file(
    error: type[BaseException], tmp_path: Path
) -> None:
    path = tmp_path / 'table.csv'
    path.write_text('first', encoding='utf-8')

    def fail() -> None:
        with replace_file(path) as part:
            part.write_text('sec', encoding='utf-8')
            raise error

    with pytest.raises(error):
        fail()
    assert path.read_text(encoding='utf-8') == 'first'
    assert list(tmp_path.iterdir()) == [path]


def test_relative_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with replace_file(Path('here')) as part:
        part.touch()
    assert [path.name for path in tmp_path.iterdir()] == ['here']


def test_equal_contents_make_equal_files(tmp_path: Path) -> None:
    # PyTorch writes the name of the file into it.
    for folder in ('a', 'b'):
        (tmp_path / folder).mkdir()
        with replace_file(tmp_path / folder / 'model.pt') as part:
            torch.save({'weight': torch.ones(2)}, part)
    first, second = sorted(tmp_path.glob('*/model.pt'))
    assert first.read_bytes() == second.read_bytes()


def test_parts_of_killed_writers_are_removed(tmp_path: Path) -> None:
    path = tmp_path / 'model.pt'
    path.write_text('old', encoding='utf-8')
    kept = ['model.pt.part', 'model.pt.mine.part', 'other.pt.abcd_123.part']
    for name in [*kept, 'model.pt.abcd_123.part']:
        (tmp_path / name).mkdir()
        (tmp_path / name / 'model.pt').touch()
    remove_parts(path)
    found = {each.name for each in tmp_path.iterdir()}
    assert found == {'model.pt', *kept}
    # It knows the names that a writer gives.
    with replace_file(path) as part:
        remove_parts(path)
        assert not part.parent.exists()
        part.parent.mkdir()
        part.touch()
    assert {each.name for each in tmp_path.iterdir()} == {'model.pt', *kept}
