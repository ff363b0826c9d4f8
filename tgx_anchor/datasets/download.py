"""Downloads or copies the raw files of the datasets, and checks them."""

import hashlib
import re
import shutil
import sys
import time
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any
from urllib.parse import urljoin, urlsplit

import requests
import urllib3
from tqdm import tqdm

from tgx_anchor.io.files import replace_file
from tgx_anchor.utils.messages import one_line

CHUNK_BYTES = 2**16
# Bounds a download of unknown size: the largest raw file known has 36 MB.
MAX_BYTES = 2**30
_CONNECT_SECONDS = 10.0
_HTML_STARTS = (b'<!doctype html', b'<html')
_HTML_SNIFF_BYTES = 512


@dataclass(frozen=True)
class RemoteFile:
    r"""A published raw file: its address and, where known, its digest and size.

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

    def find_mismatch(self, path: Path) -> str | None:
        r"""Compares the size and the digest of a local file with the published ones,
        as far as they are known. Returns the difference in words, or :obj:`None`.
        """
        size = path.stat().st_size
        if self.num_bytes is not None and size != self.num_bytes:
            return f'got {size} bytes, expected {self.num_bytes} bytes'
        if self.sha256 is None:
            return None
        digest = hashlib.sha256()
        with path.open('rb') as stream:
            while chunk := stream.read(CHUNK_BYTES):
                digest.update(chunk)
        if digest.hexdigest() != self.sha256.lower():
            return f'got sha256 {digest.hexdigest()}, expected {self.sha256.lower()}'
        return None


def copy_file(file: RemoteFile, source: Path, path: Path) -> None:
    r"""Copies a file from a mirror, unless :obj:`path` already holds it.

    Args:
        file (RemoteFile): The file to copy.
        source (pathlib.Path): The copy of the file in the mirror.
        path (pathlib.Path): The path to copy it to.

    Raises:
        ValueError: If the copy in the mirror has another size or digest.
    """
    if path.exists() and file.find_mismatch(path) is None:
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as part:
        shutil.copyfile(source, part)
        mismatch = file.find_mismatch(part)
        if mismatch is not None:
            raise ValueError(f"the mirror's copy '{source}' is wrong: {mismatch}")


def download_file(
    file: RemoteFile,
    path: Path,
    *,
    timeout: float = 30.0,
    retries: int = 4,
    backoff: float = 1.0,
    progress: bool = True,
) -> None:
    r"""Downloads a file, unless :obj:`path` already holds it.

    The content is collected in :obj:`<path>.part`, which is renamed to :obj:`path`
    once its size and digest have been checked. If the digest is known, an interrupted
    download is resumed, also by a later call.

    Args:
        file (RemoteFile): The file to download.
        path (pathlib.Path): The path to download it to.
        timeout (float, optional): The number of seconds to wait for each piece of the
            content. (default: :obj:`30.0`)
        retries (int, optional): The number of further attempts after an error of the
            server, a broken transfer or wrong content. An address that cannot be
            reached at all is not tried again. (default: :obj:`4`)
        backoff (float, optional): The number of seconds to wait before the next
            attempt, doubled each time. (default: :obj:`1.0`)
        progress (bool, optional): Whether to show a progress bar, and a line for each
            wait. (default: :obj:`True`)

    Raises:
        ConnectionError: If the server cannot be reached, refuses, or breaks off.
        ValueError: If the address is invalid, or the content is not as published.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and file.find_mismatch(path) is None:
        return
    part = path.with_name(f'{path.name}.part')
    try:
        for attempt in range(retries + 1):
            try:
                _fetch(file, part, timeout, progress)
                break
            except _TransientError as transient:
                if attempt == retries:
                    error = transient.error
                    raise type(error)(f'{error} (attempts: {attempt + 1})') from None
                seconds = backoff * 2**attempt
                if progress:
                    message = f'{transient}; trying again in {seconds:g} s'
                    tqdm.write(message, file=sys.stderr)
                time.sleep(seconds)
        part.replace(path)
    finally:
        # Without a digest, a later call could not tell whether the file has changed.
        if part.exists() and (file.sha256 is None or part.stat().st_size == 0):
            part.unlink()


class _TransientError(Exception):
    """An error that may not occur at the next attempt."""

    def __init__(self, error: ConnectionError | ValueError) -> None:
        super().__init__(str(error))
        self.error = error


def _fetch(file: RemoteFile, part: Path, timeout: float, progress: bool) -> None:
    resumable = file.sha256 is not None and part.exists()
    offset = part.stat().st_size if resumable else 0
    with requests.Session() as session, _get(session, file, offset, timeout) as answer:
        start = _start_of_body(file, answer, offset)
        if start is not None:
            _save_body(file, answer, part, start, progress)
    if start is not None:
        mismatch = file.find_mismatch(part)
        is_html = _is_html(answer, part)
        if mismatch is None and not (is_html and file.sha256 is None):
            return
        if start == 0:
            part.unlink()
            page = 'got an HTML page, such as an error page or a consent page'
            message = ': '.join(filter(None, [page if is_html else None, mismatch]))
            wrong = ValueError(_say(file, message))
            raise wrong if mismatch is None else _TransientError(wrong)
    # The part of an earlier download does not continue into the file of today.
    part.unlink()
    _fetch(file, part, timeout, progress)


def _get(
    session: requests.Session, file: RemoteFile, offset: int, timeout: float
) -> requests.Response:
    # Digests and offsets refer to the file itself, not to a compressed form.
    headers = {'Accept-Encoding': 'identity'}
    if offset:
        headers['Range'] = f'bytes={offset}-'
    try:
        return session.get(
            file.url,
            headers=headers,
            hooks={'response': _refuse_downgrade},
            stream=True,
            timeout=(_CONNECT_SECONDS, timeout),
        )
    except requests.RequestException as error:
        if isinstance(error, ValueError):
            raise ValueError(
                _say(file, f'invalid address: {one_line(error)}')
            ) from None
        # The message of an exhausted retry, which is never asked for, hides the reason.
        inner = error.args[0] if error.args else None
        reason = getattr(inner, 'reason', None) or error
        failure = ConnectionError(_say(file, one_line(reason)))
        if isinstance(error, requests.ReadTimeout) or isinstance(
            inner, urllib3.exceptions.ProtocolError
        ):
            raise _TransientError(failure) from error
        raise failure from error


def _refuse_downgrade(response: requests.Response, *_: Any, **__: Any) -> None:
    if not response.is_redirect or urlsplit(response.url).scheme != 'https':
        return
    target = urljoin(response.url, response.headers['Location'])
    if urlsplit(target).scheme != 'https':
        response.close()
        raise requests.RequestException(f'insecure redirect to {target}')


def _start_of_body(
    file: RemoteFile, response: requests.Response, offset: int
) -> int | None:
    """Returns the position of the body in the file, or :obj:`None` if the server
    cannot continue at the offset.
    """
    status = response.status_code
    if status == HTTPStatus.OK:
        return 0
    if offset and status == HTTPStatus.REQUESTED_RANGE_NOT_SATISFIABLE:
        return None
    if offset and status == HTTPStatus.PARTIAL_CONTENT:
        sent = response.headers.get('Content-Range', '')
        return offset if re.match(rf'bytes {offset}-', sent) else None
    error = ConnectionError(
        _say(file, f'the server answered {status} {response.reason}')
    )
    if status >= HTTPStatus.INTERNAL_SERVER_ERROR or status in (
        HTTPStatus.REQUEST_TIMEOUT,
        HTTPStatus.TOO_MANY_REQUESTS,
    ):
        raise _TransientError(error)
    raise error


def _save_body(
    file: RemoteFile,
    response: requests.Response,
    part: Path,
    start: int,
    progress: bool,
) -> None:
    length = response.headers.get('Content-Length', '')
    # A server may send less than the rest of the file at once.
    total = int(length) if length.isdecimal() and not start else file.num_bytes
    most = MAX_BYTES if file.num_bytes is None else file.num_bytes
    with (
        part.open('ab' if start else 'wb') as sink,
        tqdm(
            desc=part.stem,
            initial=start,
            total=total,
            unit='B',
            unit_scale=True,
            unit_divisor=1024,
            disable=not progress,
        ) as bar,
    ):
        why = 'connection closed'
        try:
            for chunk in response.raw.stream(CHUNK_BYTES, decode_content=False):
                sink.write(chunk)
                bar.update(len(chunk))
                if sink.tell() > most:
                    # Longer than published: the comparison that follows says so.
                    break
        except urllib3.exceptions.HTTPError as error:
            why = one_line(error)
            total = sink.tell() + 1 if total is None else total
        # Older versions of urllib3 take a short body for a complete one.
        if total is not None and sink.tell() < min(total, most):
            message = f'broke off after {sink.tell()} bytes: {why}'
            raise _TransientError(ConnectionError(_say(file, message)))
        if file.num_bytes is None and sink.tell() > most:
            raise ValueError(_say(file, f'more than {most} bytes'))


def _is_html(response: requests.Response, path: Path) -> bool:
    if response.headers.get('Content-Type', '').lower().startswith('text/html'):
        return True
    with path.open('rb') as stream:
        head = stream.read(_HTML_SNIFF_BYTES)
    return head.removeprefix(b'\xef\xbb\xbf').lstrip().lower().startswith(_HTML_STARTS)


def _say(file: RemoteFile, what: str) -> str:
    return f"'{file.path}' cannot be downloaded from {file.url} ({what})"
