r"""The command line, :obj:`tgx-anchor`.

The modules of this package import neither PyTorch nor PyG, which take seconds, until a
command runs: help, the version and wrong arguments answer at once.
"""

import sys
from collections.abc import Sequence

__all__ = ['main']


def main() -> None:
    r"""Runs :obj:`tgx-anchor` with the arguments of the process, and exits.

    Wrong input ends with exit code 2 and one line on the standard error, followed by up
    to ten bad rows if a table has any. :kbd:`Ctrl-C` ends with one line and exit code
    130.
    """
    from tgx_anchor.cli.interrupt import STOPPED, Interrupt

    interrupt = Interrupt()
    try:
        interrupt.install()
        code = _run()
    except KeyboardInterrupt:
        code = STOPPED
    except BrokenPipeError:
        # The reader of our output has closed it, as 'head' does.
        sys.stdout = None  # or Python flushes it again
        code = 1
    except (ValueError, OSError) as error:
        # Packages that are being imported turn Ctrl-C into errors of their own.
        code = STOPPED
        if not interrupt.is_set:
            code = _fail(_message(error), getattr(error, 'lines', ()))
    except Exception:
        if not interrupt.is_set:
            raise
        code = STOPPED
    interrupt.finish()
    if code == STOPPED:
        interrupt.stop()
    sys.exit(code)


def _run() -> int:
    try:
        from tgx_anchor.cli.app import run
    except ModuleNotFoundError as error:
        package = (error.name or '').partition('.')[0]
        if package not in ('rich', 'typer'):
            raise
        return _fail(f"{package} is missing: pip install 'tgx_anchor[cli]'")
    return run(sys.argv[1:])


def _message(error: ValueError | OSError) -> str:
    if isinstance(error, OSError) and error.filename and error.strerror:
        return f"'{error.filename}' cannot be used: {error.strerror.lower()}"
    return str(error)


def _fail(message: str, lines: Sequence[str] = ()) -> int:
    from tgx_anchor.cli.launch import speak_once

    speak_once(' '.join(message.split()))
    for line in lines:
        sys.stderr.write(f'  {line}\n')
    return 2
