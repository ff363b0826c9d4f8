import bz2
import gzip
import hashlib
import inspect
import io
import lzma
import re
import socket
import stat
import subprocess
import sys
import tarfile
import threading
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3

from tgx_anchor.datasets.download import (
    CHUNK_BYTES,
    RemoteFile,
    copy_file,
    download_file,
    extract_archive,
    verify_file,
)

BODY = hashlib.shake_128(b'numbers').digest(3 * CHUNK_BYTES + 17)
PAGE = b'\n<!DOCTYPE html><html><body>Please confirm the download</body></html>'
PATH = 'collection/numbers.bin'
# Long enough for a busy machine to answer in.
TIMEOUT = 1.5

Behaviour = Callable[['Handler'], None]


class Server(ThreadingHTTPServer):
    """Answers by a script, then well, and remembers what it was asked."""

    def __init__(self) -> None:
        super().__init__(('127.0.0.1', 0), Handler)
        self.script: list[Behaviour] = []
        self.seen: list[Mapping[str, str]] = []
        self.etag: str | None = None
        self.gate = threading.Event()
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f'http://127.0.0.1:{self.server_port}/numbers.bin'

    @property
    def ranges(self) -> list[str | None]:
        return [headers.get('Range') for headers in self.seen]

    def next_behaviour(self, headers: Mapping[str, str]) -> Behaviour:
        with self.lock:
            self.seen.append(headers)
            return self.script.pop(0) if self.script else serve


class Handler(BaseHTTPRequestHandler):
    server: Server

    def do_GET(self) -> None:
        behaviour = self.server.next_behaviour(dict(self.headers.items()))
        # The client hangs up in the middle of some of these answers.
        with suppress(ConnectionError):
            behaviour(self)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass

    def answer(self, status: int, body: bytes, **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name.replace('_', '-'), value)
        if self.server.etag is not None:
            self.send_header('ETag', self.server.etag)
        self.end_headers()
        self.wfile.write(body)

    def requested_start(self) -> int:
        match = re.fullmatch(r'bytes=(\d+)-', self.headers.get('Range', ''))
        if match is None or self.headers.get('If-Range') not in (
            None,
            self.server.etag,
        ):
            return 0
        return int(match.group(1))


def serve(handler: Handler) -> None:
    send_part(handler, len(BODY))


def send_part(handler: Handler, stop: int) -> None:
    start = handler.requested_start()
    if start >= len(BODY):
        handler.answer(416, b'', Content_Range=f'bytes */{len(BODY)}')
    elif start:
        handler.answer(
            206,
            BODY[start:stop],
            Content_Length=str(len(BODY) - start),
            Content_Range=f'bytes {start}-{len(BODY) - 1}/{len(BODY)}',
        )
    else:
        handler.answer(200, BODY[:stop], Content_Length=str(len(BODY)))


def truncate(stop: int) -> Behaviour:
    return lambda handler: send_part(handler, stop)


def truncate_without_length(handler: Handler) -> None:
    handler.answer(200, BODY[:1000])


def cap(handler: Handler) -> None:
    start = handler.requested_start()
    stop = start + 1000
    handler.answer(
        206,
        BODY[start:stop],
        Content_Length='1000',
        Content_Range=f'bytes {start}-{stop - 1}/{len(BODY)}',
    )


def ignore_range(handler: Handler) -> None:
    handler.answer(200, BODY, Content_Length=str(len(BODY)))


def shift_range(handler: Handler) -> None:
    start = handler.requested_start() + 1
    handler.answer(
        206,
        BODY[start:],
        Content_Length=str(len(BODY) - start),
        Content_Range=f'bytes {start}-{len(BODY) - 1}/{len(BODY)}',
    )


def omit_range(handler: Handler) -> None:
    handler.answer(206, BODY, Content_Length=str(len(BODY)))


def corrupt(handler: Handler) -> None:
    body = bytes([BODY[0] ^ 1]) + BODY[1:]
    handler.answer(200, body, Content_Length=str(len(body)))


def shorten(handler: Handler) -> None:
    handler.answer(200, BODY[:-1], Content_Length=str(len(BODY) - 1))


def stall(handler: Handler) -> None:
    handler.server.gate.wait(10 * TIMEOUT)


def stall_in_body(handler: Handler) -> None:
    send_part(handler, CHUNK_BYTES)
    handler.server.gate.wait(10 * TIMEOUT)


def serve_after_gate(handler: Handler) -> None:
    handler.server.gate.wait(10)
    serve(handler)


def fail(status: int) -> Behaviour:
    return lambda handler: handler.answer(status, b'', Content_Length='0')


def redirect(location: str) -> Behaviour:
    return lambda handler: handler.answer(
        302, b'', Location=location, Content_Length='0'
    )


def send_page(content_type: str, page: bytes = PAGE) -> Behaviour:
    return lambda handler: handler.answer(
        200, page, Content_Type=content_type, Content_Length=str(len(page))
    )


@pytest.fixture(autouse=True)
def _direct_connections(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv('NO_PROXY', '127.0.0.1,a.test,b.test')
    monkeypatch.delenv('REQUESTS_CA_BUNDLE', raising=False)
    monkeypatch.delenv('CURL_CA_BUNDLE', raising=False)


@pytest.fixture
def server() -> Iterator[Server]:
    with Server() as running:
        thread = threading.Thread(target=running.serve_forever, args=(0.01,))
        thread.start()
        yield running
        running.gate.set()
        running.shutdown()
        thread.join()


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / 'raw' / 'numbers.bin'


def remote(url: str, *, known: bool = True) -> RemoteFile:
    if not known:
        return RemoteFile(PATH, url)
    return RemoteFile(PATH, url, hashlib.sha256(BODY).hexdigest(), len(BODY))


def fetch(
    file: RemoteFile,
    path: Path,
    retries: int = 2,
    session: requests.Session | None = None,
) -> None:
    download_file(
        file,
        path,
        timeout=TIMEOUT,
        retries=retries,
        backoff=0.001,
        progress=False,
        session=session,
    )


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def put_part(path: Path, content: bytes) -> Path:
    return put(path.with_name(f'{path.name}.part'), content)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir() if p.suffix != '.lock')


def check_message(info: pytest.ExceptionInfo[BaseException], *parts: str) -> None:
    message = str(info.value)
    assert '\n' not in message
    for part in parts:
        assert part in message


def test_verify_file_right(tmp_path: Path) -> None:
    local = put(tmp_path / 'a', BODY)
    digest = hashlib.sha256(BODY).hexdigest()
    verify_file(local, RemoteFile('a', 'http://a.test'))
    verify_file(local, RemoteFile('a', 'http://a.test', digest.upper(), len(BODY)))


def test_verify_file_wrong_size_before_digest(tmp_path: Path) -> None:
    local = put(tmp_path / 'a', b'123')
    with pytest.raises(ValueError, match='got 3 bytes, expected 4 bytes') as info:
        verify_file(local, RemoteFile('a', 'http://a.test', '0' * 64, 4))
    check_message(info, str(local))


def test_verify_file_wrong_digest(tmp_path: Path) -> None:
    local = put(tmp_path / 'a', b'123')
    with pytest.raises(ValueError, match='got sha256 a665a4') as info:
        verify_file(local, RemoteFile('a', 'http://a.test', '0' * 64, 3))
    check_message(info, str(local), 'expected sha256 ' + '0' * 64)


@pytest.mark.parametrize('known', [True, False])
def test_download(server: Server, path: Path, known: bool) -> None:
    fetch(remote(server.url, known=known), path)
    assert path.read_bytes() == BODY
    assert names(path.parent) == [path.name]
    assert server.ranges == [None]
    assert server.seen[0]['Accept-Encoding'] == 'identity'


def test_download_skips_right_file(server: Server, path: Path) -> None:
    put(path, BODY)
    fetch(remote(server.url), path)
    assert server.seen == []


def test_download_replaces_wrong_file(server: Server, path: Path) -> None:
    put(path, BODY[:-1] + b'?')
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY


def test_download_resumes_truncated_bodies(server: Server, path: Path) -> None:
    server.script = [truncate(1000), truncate(70000)]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None, 'bytes=1000-', 'bytes=70000-']


def test_download_resumes_part_of_earlier_call(server: Server, path: Path) -> None:
    put_part(path, BODY[:1234])
    fetch(remote(server.url), path, retries=0)
    assert path.read_bytes() == BODY
    assert names(path.parent) == [path.name]
    assert server.ranges == ['bytes=1234-']


def test_download_resumes_capped_answers(server: Server, path: Path) -> None:
    put_part(path, BODY[:500])
    server.script = [cap, cap]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert server.ranges == ['bytes=500-', 'bytes=1500-', 'bytes=2500-']


def test_download_takes_short_body_without_length_as_truncated(
    server: Server, path: Path
) -> None:
    server.script = [truncate_without_length]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None, 'bytes=1000-']


def test_download_starts_over_if_range_is_ignored(server: Server, path: Path) -> None:
    put_part(path, BODY[:1234])
    server.script = [ignore_range]
    fetch(remote(server.url), path, retries=0)
    assert path.read_bytes() == BODY
    assert server.ranges == ['bytes=1234-']


@pytest.mark.parametrize('behaviour', [fail(416), shift_range, omit_range])
def test_download_starts_over_if_range_is_refused(
    server: Server, path: Path, behaviour: Behaviour
) -> None:
    put_part(path, BODY[:1234])
    server.script = [behaviour]
    fetch(remote(server.url), path, retries=0)
    assert path.read_bytes() == BODY
    assert server.ranges == ['bytes=1234-', None]


def test_download_fails_if_partial_content_comes_unasked(
    server: Server, path: Path
) -> None:
    server.script = [shift_range, omit_range]
    with pytest.raises(ConnectionError, match='206 Partial Content') as info:
        fetch(remote(server.url), path, retries=1)
    check_message(info, PATH, server.url, 'expected 200 OK')
    assert names(path.parent) == []


def test_download_starts_over_once_if_resumed_file_is_wrong(
    server: Server, path: Path
) -> None:
    put_part(path, b'?' * 1234)
    fetch(remote(server.url), path, retries=0)
    assert path.read_bytes() == BODY
    assert server.ranges == ['bytes=1234-', None]


def test_download_starts_over_if_part_is_too_long(server: Server, path: Path) -> None:
    put_part(path, BODY + b'?')
    fetch(remote(server.url), path, retries=0)
    assert path.read_bytes() == BODY
    assert server.ranges == [f'bytes={len(BODY) + 1}-', None]


def test_download_retries_wrong_content(server: Server, path: Path) -> None:
    server.script = [corrupt, shorten]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None, None, None]


def test_download_fails_on_wrong_content(server: Server, path: Path) -> None:
    server.script = [corrupt, corrupt]
    file = remote(server.url)
    with pytest.raises(ValueError, match='got sha256') as info:
        fetch(file, path, retries=1)
    check_message(info, PATH, server.url, f'expected sha256 {file.sha256}', '2')
    assert server.ranges == [None, None]
    assert names(path.parent) == []


def test_download_fails_on_wrong_size(server: Server, path: Path) -> None:
    server.script = [shorten]
    with pytest.raises(ValueError, match=f'got {len(BODY) - 1} bytes') as info:
        fetch(remote(server.url), path, retries=0)
    check_message(info, PATH, server.url, f'expected {len(BODY)} bytes')
    assert names(path.parent) == []


def test_download_fails_on_wrong_content_after_starting_over(
    server: Server, path: Path
) -> None:
    put_part(path, b'?' * 1234)
    server.script = [serve, corrupt]
    with pytest.raises(ValueError, match='got sha256'):
        fetch(remote(server.url), path, retries=0)
    assert server.ranges == ['bytes=1234-', None]
    assert names(path.parent) == []


def test_download_retries_stalled_answer(server: Server, path: Path) -> None:
    server.script = [stall, stall_in_body]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None, None, f'bytes={CHUNK_BYTES}-']


@pytest.mark.parametrize(
    ('behaviour', 'left'),
    [(stall, []), (stall_in_body, ['numbers.bin.part'])],
)
def test_download_gives_up_on_stalled_answer(
    server: Server, path: Path, behaviour: Behaviour, left: list[str]
) -> None:
    server.script = [behaviour]
    with pytest.raises(ConnectionError, match='Read timed out') as info:
        fetch(remote(server.url), path, retries=0)
    check_message(info, PATH, server.url)
    assert names(path.parent) == left


@pytest.mark.parametrize('status', [408, 429, 500, 503])
def test_download_retries_transient_status(
    server: Server, path: Path, status: int
) -> None:
    server.script = [fail(status)]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert len(server.seen) == 2


def test_download_backs_off_exponentially(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    delays: list[float] = []
    monkeypatch.setattr(time, 'sleep', delays.append)
    server.script = [fail(503)] * 4
    with pytest.raises(ConnectionError, match='503 Service Unavailable') as info:
        download_file(remote(server.url), path, retries=3, backoff=0.5, progress=False)
    check_message(info, PATH, server.url, 'expected 200 OK', 'attempts: 4')
    assert delays == [0.5, 1.0, 2.0]
    assert len(server.seen) == 4
    assert names(path.parent) == []


@pytest.mark.parametrize('status', [400, 403, 404, 410, 416])
def test_download_fails_at_once_if_refused(
    server: Server, path: Path, status: int
) -> None:
    put(path, b'old')
    server.script = [fail(status)]
    with pytest.raises(ConnectionError, match=f'answered {status} ') as info:
        fetch(remote(server.url), path)
    check_message(info, PATH, server.url, 'expected 200 OK')
    assert len(server.seen) == 1
    assert path.read_bytes() == b'old'
    assert names(path.parent) == [path.name]


def test_download_fails_without_server(path: Path) -> None:
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        url = f'http://127.0.0.1:{unused.getsockname()[1]}/numbers.bin'
        with pytest.raises(ConnectionError, match='got no answer') as info:
            fetch(remote(url), path, retries=1)
    check_message(info, PATH, url, 'Connection refused', 'attempts: 2')
    assert 'Max retries' not in str(info.value)
    assert names(path.parent) == []


@pytest.mark.parametrize('url', ['numbers.bin', 'ftp://a.test/x', 'http://'])
def test_download_fails_on_invalid_address(path: Path, url: str) -> None:
    with pytest.raises(ValueError, match='is impossible') as info:
        fetch(remote(url), path)
    check_message(info, PATH, url, 'expected a URL')


@pytest.mark.parametrize('known', [True, False])
def test_download_keeps_part_only_if_resumable(
    server: Server, path: Path, known: bool
) -> None:
    server.script = [truncate(1000), truncate(2000)]
    server.etag = '"1"'
    with pytest.raises(ConnectionError, match='broke off after 2000 bytes') as info:
        fetch(remote(server.url, known=known), path, retries=1)
    check_message(info, PATH, server.url, f'expected {len(BODY)} bytes')
    assert server.ranges == [None, 'bytes=1000-']
    part = path.with_name('numbers.bin.part')
    assert names(path.parent) == ([part.name] if known else [])
    assert not known or part.read_bytes() == BODY[:2000]


def test_download_keeps_no_empty_part(server: Server, path: Path) -> None:
    server.script = [truncate(0)]
    with pytest.raises(ConnectionError, match='broke off after 0 bytes'):
        fetch(remote(server.url), path, retries=0)
    assert names(path.parent) == []


def test_download_of_unknown_content_does_not_trust_earlier_part(
    server: Server, path: Path
) -> None:
    put_part(path, b'?' * 1234)
    fetch(remote(server.url, known=False), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None]


@pytest.mark.parametrize(
    ('etag', 'expected'),
    [('"1"', 'bytes=1000-'), ('W/"1"', None), (None, None)],
)
def test_download_of_unknown_content_resumes_same_version(
    server: Server, path: Path, etag: str | None, expected: str | None
) -> None:
    server.etag = etag
    server.script = [truncate(1000)]
    fetch(remote(server.url, known=False), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None, expected]
    assert server.seen[1].get('If-Range') == (etag if expected else None)


def test_download_of_unknown_content_starts_over_at_other_version(
    server: Server, path: Path
) -> None:
    def truncate_old_version(handler: Handler) -> None:
        handler.answer(200, b'?' * 1000, Content_Length='5000')
        handler.server.etag = '"2"'

    server.etag = '"1"'
    server.script = [truncate_old_version]
    fetch(remote(server.url, known=False), path)
    assert path.read_bytes() == BODY
    assert server.seen[1]['If-Range'] == '"1"'


@pytest.mark.parametrize(
    ('content_type', 'page'),
    [
        ('text/html; charset=utf-8', b'Sign in to continue'),
        ('application/octet-stream', PAGE),
        ('application/octet-stream', b'\xef\xbb\xbf<HTML><body>Oops'),
    ],
)
def test_download_recognises_page_instead_of_unknown_content(
    server: Server, path: Path, content_type: str, page: bytes
) -> None:
    server.script = [send_page(content_type, page)]
    with pytest.raises(ValueError, match='got an HTML page') as info:
        fetch(remote(server.url, known=False), path)
    check_message(info, PATH, server.url, 'consent page', 'expected the file itself')
    assert len(server.seen) == 1
    assert names(path.parent) == []


def test_download_recognises_page_instead_of_known_content(
    server: Server, path: Path
) -> None:
    file = RemoteFile(PATH, server.url, hashlib.sha256(BODY).hexdigest())
    server.script = [send_page('application/octet-stream')] * 2
    with pytest.raises(ValueError, match='got an HTML page') as info:
        fetch(file, path, retries=1)
    check_message(info, PATH, server.url, f'expected sha256 {file.sha256}')
    assert len(server.seen) == 2
    assert names(path.parent) == []


def test_download_accepts_page_if_it_is_the_known_content(
    server: Server, path: Path
) -> None:
    server.script = [send_page('text/html')]
    fetch(RemoteFile(PATH, server.url, hashlib.sha256(PAGE).hexdigest()), path)
    assert path.read_bytes() == PAGE


def test_download_keeps_compressed_file_compressed(server: Server, path: Path) -> None:
    packed = gzip.compress(BODY)
    server.script = [
        lambda handler: handler.answer(
            200, packed, Content_Encoding='gzip', Content_Length=str(len(packed))
        )
    ]
    fetch(RemoteFile(PATH, server.url, hashlib.sha256(packed).hexdigest()), path)
    assert path.read_bytes() == packed


def test_download_follows_redirects(server: Server, path: Path) -> None:
    server.script = [redirect('/elsewhere'), truncate(1000), redirect(server.url)]
    fetch(remote(server.url), path)
    assert path.read_bytes() == BODY
    assert server.ranges == [None, None, 'bytes=1000-', 'bytes=1000-']


def test_download_fails_on_endless_redirects(server: Server, path: Path) -> None:
    server.script = [redirect(server.url)] * 40
    with pytest.raises(ConnectionError, match='TooManyRedirects') as info:
        fetch(remote(server.url), path)
    check_message(info, PATH, server.url)
    assert len(server.seen) == 31


class SecureHost(requests.adapters.BaseAdapter):
    """Stands for a host with a valid certificate."""

    def __init__(self, location: str) -> None:
        super().__init__()
        self.location = location
        self.verify: list[bool | str] = []

    def send(
        self, request: requests.PreparedRequest, *_args: Any, **kwargs: Any
    ) -> requests.Response:
        self.verify.append(kwargs['verify'])
        response = requests.Response()
        response.request = request
        response.url = request.url or ''
        response.raw = urllib3.HTTPResponse(io.BytesIO(BODY), preload_content=False)
        response.status_code = 200
        if response.url != self.location:
            response.status_code = 302
            response.headers['Location'] = self.location
        return response

    def close(self) -> None:
        pass


@pytest.mark.parametrize('hops', [1, 2])
def test_download_refuses_downgrade(server: Server, path: Path, hops: int) -> None:
    insecure = SecureHost(server.url)
    secure = SecureHost('https://b.test/numbers.bin')
    with requests.Session() as session:
        session.mount('https://a.test', insecure if hops == 1 else secure)
        session.mount('https://b.test', insecure)
        with pytest.raises(ConnectionError, match='got a redirect to') as info:
            fetch(remote('https://a.test/x'), path, session=session)
    check_message(info, PATH, 'https://a.test/x', server.url, 'expected an https')
    assert server.seen == []
    assert names(path.parent) == []


@pytest.mark.parametrize(
    ('setting', 'expected'), [(True, True), (False, True), ('/ca.pem', '/ca.pem')]
)
def test_download_always_verifies_certificates(
    path: Path, setting: bool | str, expected: bool | str
) -> None:
    host = SecureHost('https://b.test/numbers.bin')
    with requests.Session() as session:
        session.verify = setting
        session.mount('https://', host)
        fetch(remote('https://a.test/x'), path, session=session)
    assert host.verify == [expected, expected]
    assert path.read_bytes() == BODY


@pytest.mark.parametrize('progress', [True, False])
def test_download_shows_progress(
    server: Server, path: Path, capsys: pytest.CaptureFixture[str], progress: bool
) -> None:
    download_file(remote(server.url), path, progress=progress)
    captured = capsys.readouterr()
    assert captured.out == ''
    if progress:
        assert 'numbers.bin: 100%' in captured.err
    else:
        assert captured.err == ''


def test_download_in_threads_happens_once(server: Server, path: Path) -> None:
    server.script = [serve_after_gate]
    barrier = threading.Barrier(5)

    def run() -> None:
        barrier.wait(10)
        download_file(remote(server.url), path, progress=False)

    with ThreadPoolExecutor(4) as pool:
        futures = [pool.submit(run) for _ in range(4)]
        barrier.wait(10)
        time.sleep(0.2)
        server.gate.set()
        for future in futures:
            future.result(10)
    assert path.read_bytes() == BODY
    assert names(path.parent) == [path.name]
    assert server.ranges == [None]


# The module is run on its own, since importing the whole package takes seconds.
PROCESS = """
import runpy, sys
from pathlib import Path
module = runpy.run_path(sys.argv[1])
file = module['RemoteFile']('x', sys.argv[2], sys.argv[3])
print('ready', flush=True)
module['download_file'](file, Path(sys.argv[4]), progress=False)
"""


def test_download_in_processes_happens_once(server: Server, path: Path) -> None:
    server.script = [serve_after_gate]
    digest = hashlib.sha256(BODY).hexdigest()
    arguments = [inspect.getfile(download_file), server.url, digest, str(path)]
    command = [sys.executable, '-c', PROCESS, *arguments]
    with (
        subprocess.Popen(command, stdout=subprocess.PIPE) as first,
        subprocess.Popen(command, stdout=subprocess.PIPE) as second,
    ):
        for process in (first, second):
            assert process.stdout is not None
            assert process.stdout.readline() == b'ready\n'
        time.sleep(0.3)
        server.gate.set()
        assert [first.wait(10), second.wait(10)] == [0, 0]
    assert path.read_bytes() == BODY
    assert names(path.parent) == [path.name]
    assert server.ranges == [None]


def test_copy_file(tmp_path: Path, path: Path) -> None:
    source = put(tmp_path / 'mirror', BODY)
    put(path, b'old')
    part = put_part(path, b'1234')
    copy_file(remote('http://a.test'), source, path)
    assert path.read_bytes() == BODY
    assert part.read_bytes() == b'1234'
    assert names(path.parent) == [path.name, part.name]


def test_copy_file_skips_right_file(tmp_path: Path, path: Path) -> None:
    put(path, BODY)
    copy_file(remote('http://a.test'), tmp_path / 'missing', path)
    assert path.read_bytes() == BODY


def test_copy_file_refuses_wrong_file(tmp_path: Path, path: Path) -> None:
    source = put(tmp_path / 'mirror', BODY[:-1])
    put(path, b'old')
    with pytest.raises(ValueError, match=f'got {len(BODY) - 1} bytes') as info:
        copy_file(remote('http://a.test'), source, path)
    check_message(info, PATH, str(source), f'expected {len(BODY)} bytes')
    assert path.read_bytes() == b'old'
    assert names(path.parent) == [path.name]


def test_copy_file_without_source(tmp_path: Path, path: Path) -> None:
    with pytest.raises(FileNotFoundError, match='missing'):
        copy_file(remote('http://a.test'), tmp_path / 'missing', path)
    assert names(path.parent) == []


FILES = {'b.txt': b'bb' * 9000, 'sub/a.txt': b'a', 'sub/deep/c.bin': BODY}


def write_zip(archive: Path, files: Mapping[str, bytes] = FILES) -> Path:
    with zipfile.ZipFile(archive, 'w', zipfile.ZIP_DEFLATED) as target:
        for name, content in files.items():
            target.writestr(name, content)
    return archive


def write_tar(
    archive: Path,
    files: Mapping[str, bytes] = FILES,
    compress: Callable[[bytes], bytes] = gzip.compress,
) -> Path:
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode='w') as target:
        for name, content in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(content)
            target.addfile(info, io.BytesIO(content))
    archive.write_bytes(compress(packed.getvalue()))
    return archive


def write_special_tar(archive: Path, kind: bytes) -> Path:
    with tarfile.open(archive, 'w') as target:
        target.addfile(tarfile.TarInfo('good.txt'))
        info = tarfile.TarInfo('bad')
        info.type = kind
        info.linkname = 'good.txt'
        target.addfile(info)
    return archive


def write_symlink_zip(archive: Path) -> Path:
    with zipfile.ZipFile(archive, 'w') as target:
        target.writestr('good.txt', b'')
        info = zipfile.ZipInfo('bad')
        info.external_attr = (stat.S_IFLNK | 0o777) << 16
        target.writestr(info, '/etc/passwd')
    return archive


def contents(folder: Path) -> dict[str, bytes]:
    return {
        file.relative_to(folder).as_posix(): file.read_bytes()
        for file in folder.rglob('*')
        if file.is_file()
    }


def check_refusal(archive: Path, *parts: str, max_bytes: int = 2**30) -> None:
    """Checks that an archive is refused, and the old folder stays as it was."""
    folder = archive.parent / 'out'
    put(folder / 'old.txt', b'old')
    before = sorted(archive.parent.rglob('*'))
    with pytest.raises(ValueError, match=re.escape(str(archive))) as info:
        extract_archive(archive, folder, max_bytes=max_bytes)
    check_message(info, *parts)
    assert sorted(archive.parent.rglob('*')) == before
    assert contents(folder) == {'old.txt': b'old'}


@pytest.mark.parametrize(
    'compress', [bytes, gzip.compress, bz2.compress, lzma.compress]
)
def test_extract_tar(tmp_path: Path, compress: Callable[[bytes], bytes]) -> None:
    archive = write_tar(tmp_path / 'misnamed.zip', compress=compress)
    paths = extract_archive(archive, tmp_path / 'new' / 'out')
    assert paths == [tmp_path / 'new' / 'out' / name for name in sorted(FILES)]
    assert contents(tmp_path / 'new' / 'out') == FILES


def test_extract_zip(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / 'misnamed.tar.gz')
    paths = extract_archive(archive, tmp_path / 'out')
    assert paths == [tmp_path / 'out' / name for name in sorted(FILES)]
    assert contents(tmp_path / 'out') == FILES
    assert names(tmp_path) == ['misnamed.tar.gz', 'out']


def test_extract_folders(tmp_path: Path) -> None:
    files = {'empty/': b'', 'sub\\': b'', 'sub\\a.txt': b'a', './b.txt': b'b'}
    paths = extract_archive(write_zip(tmp_path / 'a.zip', files), tmp_path / 'out')
    assert paths == [tmp_path / 'out' / 'b.txt', tmp_path / 'out' / 'sub' / 'a.txt']
    assert (tmp_path / 'out' / 'empty').is_dir()
    assert names(tmp_path / 'out') == ['b.txt', 'empty', 'sub']


def test_extract_tar_with_root_folder(tmp_path: Path) -> None:
    (tmp_path / 'in').mkdir()
    put(tmp_path / 'in' / 'a.txt', b'a')
    with tarfile.open(tmp_path / 'a.tar', 'w') as target:
        target.add(tmp_path / 'in', '.')
    paths = extract_archive(tmp_path / 'a.tar', tmp_path / 'out')
    assert paths == [tmp_path / 'out' / 'a.txt']


def test_extract_gives_usual_permissions(tmp_path: Path) -> None:
    (tmp_path / 'usual').mkdir()
    extract_archive(write_zip(tmp_path / 'a.zip'), tmp_path / 'out')
    expected = (tmp_path / 'usual').stat().st_mode
    assert (tmp_path / 'out').stat().st_mode == expected
    assert (tmp_path / 'out' / 'sub').stat().st_mode == expected


def test_extract_replaces_folder(tmp_path: Path) -> None:
    put(tmp_path / 'out' / 'old.txt', b'old')
    extract_archive(write_tar(tmp_path / 'a.tar.gz'), tmp_path / 'out')
    assert contents(tmp_path / 'out') == FILES
    assert names(tmp_path) == ['a.tar.gz', 'out']


def test_extract_puts_old_folder_back_if_renaming_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail_for_new(source: Path, target: Path) -> Path:
        if source.name == 'new':
            raise PermissionError(13, 'no')
        return rename(source, target)

    archive = write_zip(tmp_path / 'a.zip')
    put(tmp_path / 'out' / 'old.txt', b'old')
    monkeypatch.setattr(Path, 'rename', fail_for_new)
    with pytest.raises(PermissionError, match='no'):
        extract_archive(archive, tmp_path / 'out')
    assert contents(tmp_path / 'out') == {'old.txt': b'old'}
    assert names(tmp_path) == ['a.zip', 'out']


def test_extract_does_not_blame_archive_for_full_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail_to_copy(*_args: object) -> None:
        raise OSError(28, 'No space left on device')

    archive = write_tar(tmp_path / 'a.tar.gz')
    monkeypatch.setattr('shutil.copyfileobj', fail_to_copy)
    with pytest.raises(OSError, match='No space left on device'):
        extract_archive(archive, tmp_path / 'out')
    assert names(tmp_path) == ['a.tar.gz']


@pytest.mark.parametrize('write', [write_zip, write_tar])
@pytest.mark.parametrize(
    'name',
    [
        '../x',
        'sub/../../x',
        '..\\x',
        '/x',
        '\\x',
        '//host/share/x',
        'C:/x',
        'C:x',
    ],
)
def test_extract_refuses_escape(
    tmp_path: Path, write: Callable[[Path, Mapping[str, bytes]], Path], name: str
) -> None:
    archive = write(tmp_path / 'archive', {'good.txt': b'', name: b'bad'})
    check_refusal(archive, repr(name), 'outside of the folder')


@pytest.mark.parametrize(
    'kind', [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE, tarfile.CHRTYPE]
)
def test_extract_refuses_special_tar_members(tmp_path: Path, kind: bytes) -> None:
    archive = write_special_tar(tmp_path / 'a.tar', kind)
    check_refusal(archive, "'bad'", 'neither a file nor a folder')


def test_extract_refuses_symlink_in_zip(tmp_path: Path) -> None:
    archive = write_symlink_zip(tmp_path / 'a.zip')
    check_refusal(archive, "'bad'", 'neither a file nor a folder')


def test_extract_checks_members_before_writing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened: list[object] = []
    monkeypatch.setattr('shutil.copyfileobj', lambda *args: opened.append(args))
    check_refusal(write_tar(tmp_path / 'a.tar', {'good.txt': b'', '../x': b''}))
    assert opened == []


@pytest.mark.parametrize('name', ['.', 'a\0b'])
def test_extract_refuses_unusable_name(tmp_path: Path, name: str) -> None:
    with tarfile.open(tmp_path / 'a.tar', 'w') as target:
        info = tarfile.TarInfo('a')
        info.pax_headers = {'path': name}
        target.addfile(info)
    check_refusal(tmp_path / 'a.tar', repr(name), 'no usable name')


@pytest.mark.parametrize('write', [write_zip, write_tar])
def test_extract_refuses_file_that_is_also_folder(
    tmp_path: Path, write: Callable[[Path, Mapping[str, bytes]], Path]
) -> None:
    archive = write(tmp_path / 'archive', {'a': b'', 'a/b': b''})
    check_refusal(archive, "'a/b'", 'file here and a folder there')


@pytest.mark.parametrize('write', [write_zip, write_tar])
def test_extract_refuses_bomb(
    tmp_path: Path, write: Callable[[Path, Mapping[str, bytes]], Path]
) -> None:
    files = {'a': bytes(60_000), 'b': bytes(60_000)}
    archive = write(tmp_path / 'archive', files)
    check_refusal(archive, "'b'", '120000 bytes', '119999', max_bytes=119_999)
    extract_archive(archive, tmp_path / 'out', max_bytes=120_000)
    assert contents(tmp_path / 'out') == files


@pytest.mark.parametrize('content', [b'', b'no archive', PAGE, BODY, b'PK\x03\x04'])
def test_extract_refuses_other_files(tmp_path: Path, content: bytes) -> None:
    archive = put(tmp_path / 'archive.zip', content)
    check_refusal(archive, 'expected an intact ZIP or TAR file')


@pytest.mark.parametrize(
    'compress', [bytes, gzip.compress, bz2.compress, lzma.compress]
)
@pytest.mark.parametrize('fraction', [0.3, 0.7])
def test_extract_refuses_truncated_tar(
    tmp_path: Path, compress: Callable[[bytes], bytes], fraction: float
) -> None:
    archive = write_tar(tmp_path / 'archive', compress=compress)
    packed = archive.read_bytes()
    archive.write_bytes(packed[: int(fraction * len(packed))])
    check_refusal(archive, 'expected an intact ZIP or TAR file')


def test_extract_refuses_tar_that_ends_after_member(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / 'a.tar', compress=bytes)
    with tarfile.open(archive) as source:
        end = source.getmembers()[1].offset
    archive.write_bytes(archive.read_bytes()[:end])
    check_refusal(archive, 'bad header or missing end')


def test_extract_refuses_tar_with_wrong_checksum(tmp_path: Path) -> None:
    archive = write_tar(tmp_path / 'a.tar.gz')
    packed = bytearray(archive.read_bytes())
    packed[-8] ^= 1
    archive.write_bytes(packed)
    check_refusal(archive, 'CRC', 'expected an intact ZIP or TAR file')


@pytest.mark.parametrize('fraction', [0.5, 0.99])
def test_extract_refuses_truncated_zip(tmp_path: Path, fraction: float) -> None:
    archive = write_zip(tmp_path / 'a.zip')
    packed = archive.read_bytes()
    archive.write_bytes(packed[: int(fraction * len(packed))])
    check_refusal(archive, 'expected an intact ZIP or TAR file')


def write_encrypted_zip(archive: Path) -> Path:
    write_zip(archive)
    packed = bytearray(archive.read_bytes())
    packed[packed.index(b'PK\x01\x02') + 8] |= 1
    packed[6] |= 1
    archive.write_bytes(packed)
    return archive


def test_extract_refuses_encrypted_zip(tmp_path: Path) -> None:
    archive = write_encrypted_zip(tmp_path / 'a.zip')
    check_refusal(archive, 'b.txt', 'encrypted', 'expected an intact ZIP or TAR file')


@pytest.mark.parametrize(
    'write',
    [
        write_zip,
        write_tar,
        partial(write_tar, compress=bz2.compress),
        partial(write_tar, compress=lzma.compress),
    ],
)
def test_extract_refuses_overwritten_bytes(
    tmp_path: Path, write: Callable[[Path, Mapping[str, bytes]], Path]
) -> None:
    numbers = ' '.join(map(str, range(20_000))).encode()
    archive = write(tmp_path / 'archive', {'numbers.txt': numbers})
    packed = bytearray(archive.read_bytes())
    middle = len(packed) // 2
    packed[middle : middle + 8] = b'\xff' * 8
    archive.write_bytes(packed)
    check_refusal(archive, 'expected an intact ZIP or TAR file')


def test_extract_refuses_zip_with_wrong_checksum(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / 'a.zip')
    packed = bytearray(archive.read_bytes())
    packed[len(packed) // 2] ^= 1
    archive.write_bytes(packed)
    check_refusal(archive, 'CRC', 'expected an intact ZIP or TAR file')


def test_extract_refuses_folder_that_holds_archive(tmp_path: Path) -> None:
    archive = write_zip(tmp_path / 'a.zip')
    with pytest.raises(ValueError, match='which unpacking would replace') as info:
        extract_archive(archive, tmp_path)
    check_message(info, str(archive), str(tmp_path))
    assert names(tmp_path) == ['a.zip']


def test_extract_without_archive(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match='missing'):
        extract_archive(tmp_path / 'missing', tmp_path / 'out')
    assert names(tmp_path) == []
