"""Headless Chromium, driven through the pipe of its DevTools protocol."""

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from typing import Any

from typing_extensions import Self

_FLAGS = [
    '--headless=new',
    '--no-sandbox',
    '--disable-gpu',
    '--disable-quic',
    '--no-first-run',
    '--disable-background-networking',
    '--disable-component-update',
    '--disable-sync',
    '--disable-dev-shm-usage',
    '--remote-debugging-pipe',
]
_NAMES = ('chromium', 'chromium-browser', 'google-chrome', 'google-chrome-stable')
_KEYS = {
    'ArrowDown': 40,
    'ArrowUp': 38,
    'End': 35,
    'Enter': 13,
    'Escape': 27,
    'Home': 36,
    'PageDown': 34,
    'PageUp': 33,
    'Tab': 9,
}
_TIMEOUT = 60.0


def find_chromium() -> str | None:
    found = (shutil.which(name) for name in _NAMES)
    return next((path for path in found if path is not None), None)


class Browser:
    """One tab, with all it says on the console and all it asks of the network."""

    def __init__(self, binary: str, profile: Path) -> None:
        self.messages: list[str] = []
        self.requests: list[str] = []
        self._number = 0
        self._buffer = b''
        their_input, self._input = os.pipe()
        self._output, their_output = os.pipe()
        # Chromium reads from descriptor 3 and writes to 4: not to overwrite one with
        # the other, both are first moved out of the way.
        ends = [
            fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10)
            for end in (their_input, their_output)
        ]

        def connect() -> None:
            os.dup2(ends[0], 3)
            os.dup2(ends[1], 4)

        self._process = subprocess.Popen(
            [binary, *_FLAGS, f'--user-data-dir={profile}', 'about:blank'],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            close_fds=False,
            preexec_fn=connect,
        )
        for end in (their_input, their_output, *ends):
            os.close(end)
        targets = self._call('Target.getTargets', session=None)['targetInfos']
        page = next(target for target in targets if target['type'] == 'page')
        self._session = self._call(
            'Target.attachToTarget',
            session=None,
            targetId=page['targetId'],
            flatten=True,
        )['sessionId']
        for domain in ('Page', 'Runtime', 'Log', 'Network'):
            self._call(f'{domain}.enable')

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        try:
            self._call('Browser.close', session=None)
            self._process.wait(10)
        except (ConnectionError, TimeoutError, subprocess.TimeoutExpired):
            self._process.kill()
            self._process.wait()
        os.close(self._input)
        os.close(self._output)

    # Protocol ########################################################################

    def _call(self, method: str, session: str | None = '', **params: Any) -> Any:
        self._number += 1
        number = self._number
        request: dict[str, Any] = {'id': number, 'method': method, 'params': params}
        if session is not None:
            request['sessionId'] = self._session
        os.write(self._input, json.dumps(request).encode() + b'\0')
        while True:
            message = self._receive()
            if message.get('id') == number:
                if 'error' in message:
                    raise RuntimeError(f'{method}: {message["error"]["message"]}')
                return message['result']

    def _receive(self) -> dict[str, Any]:
        end = time.monotonic() + _TIMEOUT
        while b'\0' not in self._buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self._output], [], [], left)[0]:
                raise TimeoutError('Chromium did not answer in time')
            part = os.read(self._output, 1 << 20)
            if not part:
                raise ConnectionError('Chromium ended')
            self._buffer += part
        line, _, self._buffer = self._buffer.partition(b'\0')
        message: dict[str, Any] = json.loads(line)
        self._note(message)
        return message

    def _note(self, message: dict[str, Any]) -> None:
        method, params = message.get('method'), message.get('params', {})
        if method == 'Runtime.consoleAPICalled':
            said = [str(arg.get('value', arg)) for arg in params['args']]
            self.messages.append(' '.join(said))
        elif method == 'Runtime.exceptionThrown':
            detail = params['exceptionDetails']
            self.messages.append(str(detail.get('exception', detail)))
        elif method == 'Log.entryAdded':
            self.messages.append(params['entry']['text'])
        elif method == 'Page.javascriptDialogOpening':
            self.messages.append(f'dialog: {params["message"]}')
        elif method == 'Network.requestWillBeSent':
            self.requests.append(params['request']['url'])

    # What a user does ################################################################

    def open(
        self,
        path: Path,
        width: int = 1280,
        height: int = 900,
        dark: bool = False,
        fragment: str = '',
    ) -> None:
        self.resize(width, height)
        self.prefer(dark)
        self._call('Page.navigate', url='about:blank')
        self.messages.clear()
        self.requests.clear()
        self._call('Page.navigate', url=path.absolute().as_uri() + fragment)
        while not self.evaluate(
            'location.protocol === "file:" && document.readyState === "complete"'
        ):
            time.sleep(0.02)

    def resize(self, width: int, height: int) -> None:
        self._call(
            'Emulation.setDeviceMetricsOverride',
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )

    def prefer(self, dark: bool, media: str = '') -> None:
        scheme = 'dark' if dark else 'light'
        feature = {'name': 'prefers-color-scheme', 'value': scheme}
        self._call('Emulation.setEmulatedMedia', media=media, features=[feature])

    def evaluate(self, expression: str) -> Any:
        out = self._call(
            'Runtime.evaluate',
            expression=expression,
            returnByValue=True,
            awaitPromise=True,
        )
        if 'exceptionDetails' in out:
            raise RuntimeError(str(out['exceptionDetails']))
        return out['result'].get('value')

    def text(self, selector: str) -> str:
        return str(self.evaluate(f'document.querySelector({selector!r}).innerText'))

    def texts(self, selector: str) -> list[str]:
        found: list[str] = self.evaluate(
            f'Array.from(document.querySelectorAll({selector!r}), (e) => e.innerText)'
        )
        return found

    def click(self, selector: str) -> None:
        # Two frames later, what was scrolled or opened is where the mouse finds it.
        x, y = self.evaluate(
            f'(async () => {{ const e = document.querySelector({selector!r});'
            f'e.scrollIntoView({{block: "center"}});'
            f'for (let i = 0; i < 2; i++) await new Promise(requestAnimationFrame);'
            f'const r = e.getBoundingClientRect();'
            f'return [r.left + r.width / 2, r.top + r.height / 2] }})()'
        )
        for kind in ('mousePressed', 'mouseReleased'):
            self._call(
                'Input.dispatchMouseEvent',
                type=kind,
                x=x,
                y=y,
                button='left',
                clickCount=1,
            )

    def press(self, key: str) -> None:
        code = _KEYS[key]
        text = {'text': '\r'} if key == 'Enter' else {}
        for kind in ('keyDown', 'keyUp'):
            self._call(
                'Input.dispatchKeyEvent',
                type=kind,
                key=key,
                code=key,
                windowsVirtualKeyCode=code,
                **(text if kind == 'keyDown' else {}),
            )

    def settle(self) -> None:
        """Waits for two frames, and for the events that are due by then."""
        self.evaluate(
            '(async () => { for (let i = 0; i < 2; i++)'
            ' await new Promise(requestAnimationFrame);'
            ' await new Promise((done) => setTimeout(done)) })()'
        )

    def write(self, selector: str, text: str) -> None:
        """Replaces the text of an input field."""
        self.evaluate(
            f'(() => {{ const e = document.querySelector({selector!r});'
            f'e.focus(); e.select() }})()'
        )
        if text:
            self._call('Input.insertText', text=text)
        else:
            self.evaluate('document.execCommand("delete")')

    def choose(self, selector: str, value: str) -> None:
        """Chooses an option of a list."""
        self.evaluate(
            f'(() => {{ const e = document.querySelector({selector!r});'
            f'e.value = {value!r};'
            f'for (const kind of ["input", "change"])'
            f' e.dispatchEvent(new Event(kind, {{bubbles: true}})) }})()'
        )

    # What a user sees ################################################################

    def screenshot(self, path: Path, whole: bool = False) -> None:
        out = self._call('Page.captureScreenshot', captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(out['data']))

    def pdf(self) -> bytes:
        out = self._call(
            'Page.printToPDF',
            preferCSSPageSize=True,
            paperWidth=8.27,
            paperHeight=11.69,
        )
        return base64.b64decode(out['data'])
