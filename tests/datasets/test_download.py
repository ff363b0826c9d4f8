import gzip
import hashlib
import io
import re
import socket
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import requests
import urllib3

from tgx_anchor.datasets import download
from tgx_anchor.datasets.download import (
    CHUNK_BYTES,
    RemoteFile,
    copy_file,
    download_file,
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
        self.end_headers()
        self.wfile.write(body)

    def requested_start(self) -> int:
        match = re.fullmatch(r'bytes=(\d+)-', self.headers.get('Range', ''))
        return 0 if match is None else int(match.group(1))


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


def fetch(file: RemoteFile, path: Path, retries: int = 2) -> None:
    download_file(
        file, path, timeout=TIMEOUT, retries=retries, backoff=0.001, progress=False
    )


def put(path: Path, content: bytes) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def put_part(path: Path, content: bytes) -> Path:
    return put(path.with_name(f'{path.name}.part'), content)


def names(folder: Path) -> list[str]:
    return sorted(p.name for p in folder.iterdir())


def check_message(info: pytest.ExceptionInfo[BaseException], *parts: str) -> None:
    message = str(info.value)
    assert '\n' not in message
    for part in parts:
        assert part in message


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
    check_message(info, PATH, server.url, f'expected {file.sha256}', 'attempts: 2')
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
    check_message(info, PATH, server.url, 'attempts: 4')
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
    check_message(info, PATH, server.url)
    assert len(server.seen) == 1
    assert path.read_bytes() == b'old'
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize('url', ['numbers.bin', 'ftp://a.test/x', 'http://'])
def test_download_fails_on_invalid_address(path: Path, url: str) -> None:
    with pytest.raises(ValueError, match='invalid address') as info:
        fetch(remote(url), path)
    check_message(info, PATH, url)


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
    check_message(info, PATH, server.url, 'consent page')
    assert len(server.seen) == 1
    assert names(path.parent) == []


def test_download_recognises_page_instead_of_known_content(
    server: Server, path: Path
) -> None:
    file = RemoteFile(PATH, server.url, hashlib.sha256(BODY).hexdigest())
    server.script = [send_page('application/octet-stream')] * 2
    with pytest.raises(ValueError, match='got an HTML page') as info:
        fetch(file, path, retries=1)
    check_message(info, PATH, server.url, f'expected {file.sha256}')
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
    with pytest.raises(ConnectionError, match='Exceeded 30 redirects') as info:
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
    check_message(info, str(source), f'expected {len(BODY)} bytes')
    assert path.read_bytes() == b'old'
    assert names(path.parent) == [path.name]


def test_copy_file_without_source(tmp_path: Path, path: Path) -> None:
    with pytest.raises(FileNotFoundError, match='missing'):
        copy_file(remote('http://a.test'), tmp_path / 'missing', path)
    assert names(path.parent) == []


def test_mismatch_names_the_size_before_the_digest(tmp_path: Path) -> None:
    local = put(tmp_path / 'a', BODY)
    digest = hashlib.sha256(BODY).hexdigest()
    cases: list[tuple[str | None, int | None, str | None]] = [
        (None, None, None),
        (digest.upper(), len(BODY), None),
        ('0' * 64, 4, f'got {len(BODY)} bytes, expected 4 bytes'),
        ('0' * 64, None, f'got sha256 {digest}, expected {"0" * 64}'),
    ]
    for sha256, size, expected in cases:
        file = RemoteFile('a', 'http://a.test', sha256, size)
        assert file.find_mismatch(local) == expected


def test_unreachable_address_is_not_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(time, 'sleep', pytest.fail)
    with socket.socket() as unused:
        unused.bind(('127.0.0.1', 0))
        url = f'http://127.0.0.1:{unused.getsockname()[1]}/numbers.bin'
        with pytest.raises(ConnectionError, match='Connection refused') as info:
            fetch(remote(url), path)
    check_message(info, f"'{PATH}' cannot be downloaded from {url} (")
    assert 'Max retries' not in str(info.value)
    assert names(path.parent) == []


def test_unknown_host_is_not_tried_again(
    path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def resolve(*_: object, **__: object) -> None:
        raise socket.gaierror(-2, 'Name or service not known')

    monkeypatch.setattr(time, 'sleep', pytest.fail)
    monkeypatch.setattr(socket, 'getaddrinfo', resolve)
    with pytest.raises(ConnectionError, match='Name or service not known') as info:
        fetch(remote('https://a.test/numbers.bin'), path)
    check_message(info, f"'{PATH}' cannot be downloaded from https://a.test/")


@pytest.mark.parametrize('known', [True, False])
def test_part_stays_only_if_its_digest_is_known(
    server: Server, path: Path, known: bool
) -> None:
    server.script = [truncate(1000), truncate(2000)]
    with pytest.raises(ConnectionError, match='broke off after 2000 bytes') as info:
        fetch(remote(server.url, known=known), path, retries=1)
    check_message(info, PATH, server.url)
    assert server.ranges == [None, 'bytes=1000-' if known else None]
    part = path.with_name('numbers.bin.part')
    assert names(path.parent) == ([part.name] if known else [])
    assert not known or part.read_bytes() == BODY[:2000]


def test_unasked_partial_content_is_refused(server: Server, path: Path) -> None:
    server.script = [omit_range]
    with pytest.raises(ConnectionError, match='206 Partial Content') as info:
        fetch(remote(server.url), path)
    check_message(info, PATH, server.url)
    assert names(path.parent) == []


@pytest.mark.parametrize('known', [True, False])
def test_download_is_bounded(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch, known: bool
) -> None:
    def send_much(handler: Handler) -> None:
        handler.answer(200, bytes(100 * CHUNK_BYTES))

    server.script = [send_much]
    monkeypatch.setattr(download, 'MAX_BYTES', 10 * CHUNK_BYTES)
    expected = f'expected {len(BODY)} bytes' if known else 'more than 655360 bytes'
    with pytest.raises(ValueError, match=expected):
        fetch(remote(server.url, known=known), path, retries=0)
    assert names(path.parent) == []


@pytest.mark.parametrize('hops', [1, 2])
def test_downgrade_to_http_is_refused(
    server: Server, path: Path, monkeypatch: pytest.MonkeyPatch, hops: int
) -> None:
    insecure = SecureHost(server.url)
    secure = SecureHost('https://b.test/numbers.bin')
    hosts = {
        'https://a.test/x': insecure if hops == 1 else secure,
        'https://b.test/numbers.bin': insecure,
    }
    monkeypatch.setattr(requests.Session, 'get_adapter', lambda _, url: hosts[url])
    with pytest.raises(ConnectionError, match='insecure redirect to') as info:
        fetch(remote('https://a.test/x'), path)
    check_message(info, PATH, 'https://a.test/x', server.url)
    assert server.seen == []
    assert names(path.parent) == []
    # Certificates are verified on the way.
    assert hosts['https://a.test/x'].verify == [True]


@pytest.mark.parametrize('progress', [True, False])
def test_progress_and_waits_are_shown(
    server: Server, path: Path, capsys: pytest.CaptureFixture[str], progress: bool
) -> None:
    server.script = [fail(503)]
    download_file(remote(server.url), path, backoff=0.001, progress=progress)
    captured = capsys.readouterr()
    assert captured.out == ''
    if progress:
        assert '503 Service Unavailable); trying again in 0.001 s\n' in captured.err
        assert 'numbers.bin: 100%' in captured.err
    else:
        assert captured.err == ''
