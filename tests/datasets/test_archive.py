"""Archives with the raw files, and archives that are refused."""

import io
import shutil
import stat
import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from tgx_anchor.datasets.archive import extract_raw_files

TABLES = {
    'incidence.csv': b'node,edge,role\n' + b'1,2,0\n' * 9000,
    'roles.csv': b'0,from\n',
    'edges.csv': b',date\n',
}


def write_zip(path: Path, files: Mapping[str, bytes] = TABLES) -> Path:
    with zipfile.ZipFile(path, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    path = tmp_path / 'raw'
    path.mkdir()
    return path


@pytest.mark.parametrize('prefix', ['', 'sub/deep/', 'sub\\', '../../', '/', 'C:/'])
def test_tables_come_from_any_folder(tmp_path: Path, folder: Path, prefix: str) -> None:
    # Even a name that points outside ends up in the folder.
    files = {prefix + name: content for name, content in TABLES.items()}
    archive = write_zip(tmp_path / 'a.zip', {'sub/': b'', 'x/README': b'x', **files})
    assert extract_raw_files(archive, folder) == [folder / name for name in TABLES]
    assert contents(folder) == TABLES
    assert sorted(path.name for path in tmp_path.iterdir()) == ['a.zip', 'raw']


def test_tables_come_before_records(tmp_path: Path, folder: Path) -> None:
    records = {'a/enron_hypergraph_annotated.json': b'[]', '._roles.csv': b'hidden'}
    extract_raw_files(write_zip(tmp_path / 'a.zip', {**TABLES, **records}), folder)
    assert contents(folder) == TABLES


def test_records_if_a_table_is_missing(tmp_path: Path, folder: Path) -> None:
    files = {'roles.csv': b'', 'a/enron_hypergraph_annotated.json': b'[]'}
    extract_raw_files(write_zip(tmp_path / 'a.zip', files), folder)
    assert contents(folder) == {'hypergraph_annotated.json': b'[]'}


def test_link_is_written_as_a_file(tmp_path: Path, folder: Path) -> None:
    archive = write_zip(tmp_path / 'a.zip', {'roles.csv': b'', 'edges.csv': b''})
    with zipfile.ZipFile(archive, 'a') as target:
        info = zipfile.ZipInfo('incidence.csv')
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(info, '/etc/passwd')
    extract_raw_files(archive, folder)
    assert not (folder / 'incidence.csv').is_symlink()
    assert (folder / 'incidence.csv').read_bytes() == b'/etc/passwd'


def check_refusal(archive: Path, folder: Path, *parts: str, most: int = 2**20) -> None:
    """Checks that nothing is unpacked, and that the old files stay."""
    (folder / 'roles.csv').write_bytes(b'old')
    with pytest.raises(ValueError, match='must ') as caught:
        extract_raw_files(archive, folder, most)
    message = str(caught.value)
    assert len(message.splitlines()) == 1
    assert all(part in message for part in (archive.name, *parts))
    assert contents(folder) == {'roles.csv': b'old'}


def test_size_is_bounded(tmp_path: Path, folder: Path) -> None:
    archive = write_zip(tmp_path / 'a.zip')
    size = sum(map(len, TABLES.values()))
    check_refusal(archive, folder, f'at most {size - 1} bytes', most=size - 1)
    extract_raw_files(archive, folder, size)
    assert contents(folder) == TABLES


def test_false_size_is_refused(tmp_path: Path, folder: Path) -> None:
    # The entry promises ten bytes, and much more was packed.
    archive = write_zip(tmp_path / 'a.zip', {**TABLES, 'edges.csv': bytes(2**22)})
    packed = archive.read_bytes()
    size = (2**22).to_bytes(4, 'little')
    assert packed.count(size) == 2
    archive.write_bytes(packed.replace(size, (10).to_bytes(4, 'little')))
    check_refusal(archive, folder, 'intact ZIP file')


def test_missing_files_are_named(tmp_path: Path, folder: Path) -> None:
    archive = write_zip(tmp_path / 'a.zip', {'data.txt': b''})
    check_refusal(archive, folder, 'incidence.csv', 'annotated.json', "'data.txt'")


@pytest.mark.parametrize('content', [b'', b'no archive', b'<html>', b'PK\x03\x04'])
def test_other_files_are_refused(tmp_path: Path, folder: Path, content: bytes) -> None:
    (tmp_path / 'a.zip').write_bytes(content)
    check_refusal(tmp_path / 'a.zip', folder, 'intact ZIP file')


def cut(packed: bytearray) -> None:
    del packed[-30:]


def overwrite(packed: bytearray) -> None:
    place = packed.index(b'incidence.csv') + 40
    packed[place : place + 8] = b'\xff' * 8


def change_checksum(packed: bytearray) -> None:
    packed[packed.rindex(b'PK\x01\x02') + 16] ^= 1


def encrypt(packed: bytearray) -> None:
    packed[packed.rindex(b'PK\x01\x02') + 8] |= 1
    packed[packed.rindex(b'PK\x03\x04') + 6] |= 1


@pytest.mark.parametrize('damage', [cut, overwrite, change_checksum, encrypt])
def test_damage_is_refused(
    tmp_path: Path, folder: Path, damage: Callable[[bytearray], None]
) -> None:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, 'w', zipfile.ZIP_DEFLATED) as archive:
        for name, content in reversed(TABLES.items()):
            archive.writestr(name, content)
    packed = bytearray(buffer.getvalue())
    damage(packed)
    (tmp_path / 'a.zip').write_bytes(packed)
    check_refusal(tmp_path / 'a.zip', folder, 'intact ZIP file')


def test_full_disk_is_not_the_fault_of_the_archive(
    tmp_path: Path, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(28, 'No space left on device')

    archive = write_zip(tmp_path / 'a.zip')
    monkeypatch.setattr(shutil, 'copyfileobj', fail)
    with pytest.raises(OSError, match='No space left'):
        extract_raw_files(archive, folder)
    assert contents(folder) == {}


def test_missing_archive(tmp_path: Path, folder: Path) -> None:
    with pytest.raises(FileNotFoundError, match='missing'):
        extract_raw_files(tmp_path / 'missing.zip', folder)
