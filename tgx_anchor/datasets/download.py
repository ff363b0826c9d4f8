"""Fetch, check and unpack the raw files of the datasets."""

import errno
import hashlib
import lzma
import re
import shutil
import stat
import tarfile
import tempfile
import time
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from pathlib import Path, PureWindowsPath
from typing import IO, Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from filelock import FileLock
from tqdm import tqdm

from tgx_anchor.io.files import replace_file

__all__ = [
    'RemoteFile',
    'copy_file',
    'download_file',
    'extract_archive',
    'verify_file',
]

CHUNK_BYTES = 2**16
HTML_STARTS = (b'<!doctype html', b'<html')
HTML_SNIFF_BYTES = 512
TRANSIENT_STATUSES = frozenset(
    {HTTPStatus.REQUEST_TIMEOUT, HTTPStatus.TOO_MANY_REQUESTS}
)
ZIP_STARTS = (b'PK\x03\x04', b'PK\x05\x06')
CORRUPT_ARCHIVE_ERRORS = (
    EOFError,
    RuntimeError,
    lzma.LZMAError,
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class RemoteFile:
    r"""A raw file, where it comes from, and what is known of its content.

    Args:
        path (str): The path below a mirror or root folder, with forward slashes,
            *e.g.*, :obj:`"edge_dependent_node_classification/DBLP/hypergraph.txt"`.
        url (str): The address to download the file from.
        sha256 (str, optional): The hexadecimal SHA-256 digest of the file.
            (default: :obj:`None`)
        num_bytes (int, optional): The size of the file. (default: :obj:`None`)
    """

    path: str
    url: str
    sha256: str | None = None
    num_bytes: int | None = None


def verify_file(path: Path, file: RemoteFile) -> None:
    r"""Checks the size and then the SHA-256 digest of a local file, as far as they
    are known.

    Args:
        path (pathlib.Path): The local file.
        file (RemoteFile): What the local file should be.

    Raises:
        ValueError: If the size or the digest is another one.
    """
    mismatch = _find_mismatch(path, file)
    if mismatch is not None:
        raise ValueError(f'{path}: {mismatch}')


def download_file(
    file: RemoteFile,
    path: Path,
    *,
    timeout: float = 30.0,
    retries: int = 4,
    backoff: float = 1.0,
    progress: bool = True,
    session: requests.Session | None = None,
) -> None:
    r"""Downloads a file, unless it already stands at :obj:`path` and is right.

    The body is collected in :obj:`<path>.part` and renamed to :obj:`path` only after
    it was checked.
    An interrupted download is resumed, also by a later call if the digest of the file
    is known; otherwise, only within the same call and if the server names the version
    it sends by a strong entity tag.
    Processes that start at once wait for each other at :obj:`<path>.lock`.

    Args:
        file (RemoteFile): The file to download.
        path (pathlib.Path): Where to put it.
        timeout (float, optional): The number of seconds to wait for a connection and
            for each piece of the body. (default: :obj:`30.0`)
        retries (int, optional): How often to try again after trouble that may pass.
            (default: :obj:`4`)
        backoff (float, optional): The number of seconds to wait before trying again,
            doubled each time. (default: :obj:`1.0`)
        progress (bool, optional): If set to :obj:`False`, will not show a progress
            bar. (default: :obj:`True`)
        session (requests.Session, optional): The session to send requests with.
            Its certificate checks stay on, whatever it says.
            (default: :obj:`None`)

    Raises:
        ConnectionError: If the server cannot be reached, refuses, or breaks off.
        ValueError: If the address is invalid or the server sends other content than
            expected.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    own: AbstractContextManager[requests.Session] = (
        requests.Session() if session is None else nullcontext(session)
    )
    with FileLock(f'{path}.lock'), own as active:
        if path.exists() and _find_mismatch(path, file) is None:
            return
        part = path.with_name(f'{path.name}.part')
        try:
            _Transfer(file, part, active, timeout, progress).run(retries, backoff)
            part.replace(path)
        finally:
            # Without a digest, a later call could not tell if the file has changed.
            if part.exists() and (file.sha256 is None or part.stat().st_size == 0):
                part.unlink()


def copy_file(file: RemoteFile, source: Path, path: Path) -> None:
    r"""Copies a file from a mirror, unless it already stands at :obj:`path` and is
    right.

    Args:
        file (RemoteFile): The file to copy.
        source (pathlib.Path): The copy of the file in the mirror.
        path (pathlib.Path): Where to put it.

    Raises:
        ValueError: If the copy in the mirror has another size or digest.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(f'{path}.lock'):
        if path.exists() and _find_mismatch(path, file) is None:
            return
        with replace_file(path) as part:
            shutil.copyfile(source, part)
            mismatch = _find_mismatch(part, file)
            if mismatch is not None:
                raise ValueError(f'{file.path}: mirror file {source}: {mismatch}')


def extract_archive(
    archive: Path,
    folder: Path,
    *,
    max_bytes: int = 16 * 2**30,
) -> list[Path]:
    r"""Unpacks a ZIP file or a (compressed) TAR file, recognised by its content.

    An existing :obj:`folder` is replaced as a whole, and only after everything was
    unpacked.

    Args:
        archive (pathlib.Path): The archive.
        folder (pathlib.Path): The folder to put its content in.
        max_bytes (int, optional): The largest total size of the unpacked files.
            (default: :obj:`16 * 2**30`)

    Returns:
        list[pathlib.Path]: The unpacked files in sorted order.

    Raises:
        ValueError: If the file is corrupt or not an archive, unpacks to more than
            :obj:`max_bytes` bytes, lies in the folder it would replace, or has a
            member that is a link, a device, or would land outside of the folder.
    """
    if folder.resolve() in archive.resolve().parents:
        raise ValueError(f'{archive}: lies in {folder}, which unpacking would replace')
    folder.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(
        prefix=f'.{folder.name}.', dir=folder.parent
    ) as scratch:
        # The scratch folder itself is private to the user, which must not be inherited.
        unpacked = Path(scratch) / 'new'
        unpacked.mkdir()
        paths = _unpack(archive, unpacked, max_bytes)
        _replace_folder(unpacked, folder, Path(scratch) / 'old')
    return sorted(folder / path for path in paths)


def _find_mismatch(path: Path, file: RemoteFile) -> str | None:
    size = path.stat().st_size
    if file.num_bytes is not None and size != file.num_bytes:
        return f'got {size} bytes, expected {file.num_bytes} bytes'
    if file.sha256 is None:
        return None
    digest = _sha256(path)
    if digest != file.sha256.lower():
        return f'got sha256 {digest}, expected sha256 {file.sha256.lower()}'
    return None


def _sha256(path: Path) -> str:
    digest = hashlib.sha256()
    with path.open('rb') as stream:
        while chunk := stream.read(CHUNK_BYTES):
            digest.update(chunk)
    return digest.hexdigest()


class _StalePartError(Exception):
    """The part file does not continue into what the server has now."""


class _TransientError(Exception):
    """Trouble that another attempt may not meet, and the error to end with if not."""

    def __init__(self, error: ConnectionError | ValueError) -> None:
        super().__init__(str(error))
        self.error = error


@dataclass
class _Transfer:
    """The attempts of one call to bring one file into its part file."""

    file: RemoteFile
    part: Path
    session: requests.Session
    timeout: float
    progress: bool
    etag: str | None = None

    def run(self, retries: int, backoff: float) -> None:
        failures = 0
        while (transient := self._try()) is not None:
            failures += 1
            if failures > retries:
                error = transient.error
                raise type(error)(f'{error} (attempts: {failures})') from transient
            time.sleep(backoff * 2 ** (failures - 1))

    def _try(self) -> _TransientError | None:
        try:
            self._attempt()
        except _StalePartError:
            # No failure of its own, and not twice in a row: what is gone is not stale.
            self.part.unlink()
            return self._try()
        except _TransientError as transient:
            return transient
        return None

    def _attempt(self) -> None:
        offset = self._resumable_bytes()
        with self._request(offset) as response:
            start, total = self._locate_body(response, offset)
            if start == 0:
                self.etag = _strong_etag(response)
            self._save_body(response, start, total)
        is_html = _is_html(response, self.part)
        self._check_body(is_html, resumed=start > 0)

    def _resumable_bytes(self) -> int:
        if not self.part.exists() or (self.file.sha256 is None and self.etag is None):
            return 0
        return self.part.stat().st_size

    def _request(self, offset: int) -> requests.Response:
        # The digest and the offsets are of the file itself, not of a compressed form.
        headers = {'Accept-Encoding': 'identity'}
        if offset:
            headers['Range'] = f'bytes={offset}-'
            if self.etag is not None:
                headers['If-Range'] = self.etag
        try:
            return self.session.get(
                self.file.url,
                headers=headers,
                hooks={'response': self._refuse_downgrade},
                stream=True,
                timeout=self.timeout,
                verify=self.session.verify or True,
            )
        except requests.RequestException as error:
            if isinstance(error, ValueError):
                raise ValueError(
                    self._say(f'is impossible ({_one_line(error)}), expected a URL')
                ) from error
            message = self._say(
                f'got no answer ({_one_line(_reason(error))}), expected 200 OK'
            )
            if isinstance(error, requests.ConnectionError | requests.Timeout):
                raise _TransientError(ConnectionError(message)) from error
            raise ConnectionError(message) from error

    def _refuse_downgrade(
        self, response: requests.Response, *_args: Any, **_kwargs: Any
    ) -> None:
        if not response.is_redirect or urlsplit(response.url).scheme != 'https':
            return
        target = urljoin(response.url, response.headers['Location'])
        if urlsplit(target).scheme != 'https':
            response.close()
            raise ConnectionError(
                self._say(f'got a redirect to {target!r}, expected an https address')
            )

    def _locate_body(
        self, response: requests.Response, offset: int
    ) -> tuple[int, int | None]:
        """Returns where the body belongs in the file, and the size of the file."""
        status = response.status_code
        if status == HTTPStatus.OK:
            length = response.headers.get('Content-Length', '')
            return 0, int(length) if length.isdecimal() else self.file.num_bytes
        if status == HTTPStatus.PARTIAL_CONTENT:
            start, total = _parse_content_range(response)
            if start == offset:
                return offset, self.file.num_bytes if total is None else total
        if offset and status in (
            HTTPStatus.PARTIAL_CONTENT,
            HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE,
        ):
            raise _StalePartError
        answer = ConnectionError(
            self._say(f'answered {status} {response.reason}, expected 200 OK')
        )
        if (
            status == HTTPStatus.PARTIAL_CONTENT
            or status >= HTTPStatus.INTERNAL_SERVER_ERROR
            or status in TRANSIENT_STATUSES
        ):
            raise _TransientError(answer)
        raise answer

    def _save_body(
        self, response: requests.Response, start: int, total: int | None
    ) -> None:
        with (
            self.part.open('ab' if start else 'wb') as sink,
            tqdm(
                desc=self.part.stem,
                initial=start,
                total=total,
                unit='B',
                unit_scale=True,
                unit_divisor=1024,
                disable=not self.progress,
            ) as bar,
        ):
            try:
                for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
                    sink.write(chunk)
                    bar.update(len(chunk))
            except urllib3.exceptions.HTTPError as error:
                raise self._break_off(sink.tell(), total, _one_line(error)) from error
            # Older versions of urllib3 take a short body for a complete one.
            if total is not None and sink.tell() < total:
                raise self._break_off(sink.tell(), total, 'connection closed')

    def _break_off(self, size: int, total: int | None, why: str) -> _TransientError:
        expected = 'the whole file' if total is None else f'{total} bytes'
        message = self._say(
            f'broke off after {size} bytes ({why}), expected {expected}'
        )
        return _TransientError(ConnectionError(message))

    def _check_body(self, is_html: bool, resumed: bool) -> None:
        page = 'got an HTML page, such as an error page or a consent page'
        if is_html and self.file.sha256 is None:
            raise ValueError(self._say(f'{page}, expected the file itself'))
        mismatch = _find_mismatch(self.part, self.file)
        if mismatch is None:
            return
        if resumed:
            raise _StalePartError
        self.part.unlink()
        message = self._say(f'{page}: {mismatch}' if is_html else mismatch)
        raise _TransientError(ValueError(message))

    def _say(self, what: str) -> str:
        return f'{self.file.path}: download from {self.file.url} {what}'


def _one_line(error: Exception) -> str:
    return ' '.join(f'{type(error).__name__}: {error}'.split())


def _reason(error: requests.RequestException) -> Exception:
    """Returns what lies below an exhausted retry of urllib3, which is never asked to
    retry here and whose message buries the trouble.
    """
    inner = error.args[0] if error.args else None
    if isinstance(inner, urllib3.exceptions.MaxRetryError) and inner.reason is not None:
        return inner.reason
    return error


def _strong_etag(response: requests.Response) -> str | None:
    etag = response.headers.get('ETag', '')
    return etag if etag.startswith('"') else None


def _parse_content_range(response: requests.Response) -> tuple[int | None, int | None]:
    match = re.fullmatch(
        r'bytes (\d+)-\d+/(\d+|\*)', response.headers.get('Content-Range', '')
    )
    if match is None:
        return None, None
    start, total = match.groups()
    return int(start), None if total == '*' else int(total)


def _is_html(response: requests.Response, path: Path) -> bool:
    if response.headers.get('Content-Type', '').lower().startswith('text/html'):
        return True
    with path.open('rb') as stream:
        head = stream.read(HTML_SNIFF_BYTES)
    return head.removeprefix(b'\xef\xbb\xbf').lstrip().lower().startswith(HTML_STARTS)


@dataclass(frozen=True)
class _Member:
    """What ZIP and TAR files have in common about a member."""

    name: str
    num_bytes: int
    is_folder: bool
    is_special: bool
    open: Callable[[], IO[bytes]]

    def target(self) -> Path:
        """Returns the path below the folder to unpack to, read as on Windows since
        that finds drives and both kinds of slashes on every system.
        """
        path = PureWindowsPath(self.name)
        if path.drive or path.root or '..' in path.parts:
            raise ValueError(f'member {self.name!r} would land outside of the folder')
        if '\0' in self.name or not (self.is_folder or path.parts):
            raise ValueError(f'member {self.name!r} has no usable name')
        if self.is_special:
            raise ValueError(f'member {self.name!r} is neither a file nor a folder')
        return Path(*path.parts)


def _unpack(archive: Path, folder: Path, max_bytes: int) -> set[Path]:
    with archive.open('rb') as stream:
        is_zip = stream.read(len(ZIP_STARTS[0])) in ZIP_STARTS
    unpack = _unpack_zip if is_zip else _unpack_tar
    try:
        return unpack(archive, folder, max_bytes)
    except CORRUPT_ARCHIVE_ERRORS as error:
        raise _corrupt(archive, error) from error
    except ValueError as error:
        raise ValueError(f'{archive}: {error}') from error
    except OSError as error:
        # Decompressors give no number, and a seek to a bogus offset gives EINVAL;
        # anything else, such as a full disk, is not the fault of the archive.
        if error.errno not in (None, errno.EINVAL):
            raise
        raise _corrupt(archive, error) from error


def _corrupt(archive: Path, error: Exception) -> ValueError:
    return ValueError(
        f'{archive}: got {_one_line(error)}, expected an intact ZIP or TAR file'
    )


def _unpack_zip(archive: Path, folder: Path, max_bytes: int) -> set[Path]:
    with zipfile.ZipFile(archive) as source:
        return _write_members(_plan(_zip_members(source), max_bytes), folder)


def _unpack_tar(archive: Path, folder: Path, max_bytes: int) -> set[Path]:
    with tarfile.open(archive, 'r:*') as source:
        paths = _write_members(_plan(_tar_members(source), max_bytes), folder)
        _check_tar_end(source)
        return paths


def _zip_members(archive: zipfile.ZipFile) -> Iterator[_Member]:
    for info in archive.infolist():
        yield _Member(
            name=info.filename,
            num_bytes=info.file_size,
            is_folder=info.filename.endswith(('/', '\\')),
            is_special=stat.S_IFMT(info.external_attr >> 16)
            not in (0, stat.S_IFREG, stat.S_IFDIR),
            open=partial(archive.open, info),
        )


def _tar_members(archive: tarfile.TarFile) -> Iterator[_Member]:
    for info in archive:
        yield _Member(
            name=info.name,
            num_bytes=info.size,
            is_folder=info.isdir(),
            is_special=not (info.isfile() or info.isdir()),
            open=partial(_open_tar_member, archive, info),
        )


def _open_tar_member(archive: tarfile.TarFile, info: tarfile.TarInfo) -> IO[bytes]:
    stream = archive.extractfile(info)
    if stream is None:
        raise tarfile.ReadError(f'member {info.name!r} has no content')
    return stream


def _check_tar_end(archive: tarfile.TarFile) -> None:
    """Raises an error if members may be missing or corrupt, since :obj:`tarfile` takes
    any bad header for the end, and checksums only come after the last byte.
    """
    stream = archive.fileobj
    if stream is None:
        raise tarfile.ReadError('archive is closed')
    stream.seek(archive.offset)
    if stream.read(tarfile.BLOCKSIZE) != bytes(tarfile.BLOCKSIZE):
        raise tarfile.ReadError('bad header or missing end')
    while stream.read(CHUNK_BYTES):
        pass


def _plan(members: Iterable[_Member], max_bytes: int) -> list[tuple[Path, _Member]]:
    plan = []
    num_bytes = 0
    for member in members:
        num_bytes += member.num_bytes
        if num_bytes > max_bytes:
            raise ValueError(
                f'member {member.name!r} brings the unpacked size to {num_bytes} '
                f'bytes, expected at most {max_bytes} bytes'
            )
        plan.append((member.target(), member))
    return plan


def _write_members(plan: list[tuple[Path, _Member]], folder: Path) -> set[Path]:
    paths = set()
    for path, member in plan:
        target = folder / path
        try:
            if member.is_folder:
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            with member.open() as source, target.open('wb') as sink:
                shutil.copyfileobj(source, sink)
        except (FileExistsError, IsADirectoryError, NotADirectoryError) as error:
            raise ValueError(
                f'member {member.name!r} is a file here and a folder there'
            ) from error
        paths.add(path)
    return paths


def _replace_folder(new: Path, folder: Path, old: Path) -> None:
    if folder.exists():
        folder.rename(old)
    try:
        new.rename(folder)
    except OSError:
        if old.exists():
            old.rename(folder)
        raise
