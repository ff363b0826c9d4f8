r"""The command line, :obj:`tgx-anchor`.

The modules of this package import neither PyTorch nor PyG, which take seconds, until a
command runs: help, the version and wrong arguments answer at once.
"""

import sys

__all__ = ['main']


def main() -> None:
    r"""Runs :obj:`tgx-anchor` with the arguments of the process, and exits.

    Wrong input ends with one line on the standard error and exit code 2,
    :kbd:`Ctrl-C` with one line and exit code 130.
    """
    try:
        code = _run()
    except KeyboardInterrupt:
        code = 130
    except BrokenPipeError:
        # The reader of our output has closed it, as 'head' does.
        sys.stdout = None  # or Python flushes it again
        code = 1
    except (ValueError, OSError) as error:
        code = _fail(str(error))
    if code == 130:
        sys.stderr.write('tgx-anchor: stopped\n')
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


def _fail(message: str) -> int:
    sys.stderr.write(f'tgx-anchor: {" ".join(message.split())}\n')
    return 2
