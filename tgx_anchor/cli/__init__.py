r"""The command line, :obj:`tgx-anchor`."""

import sys


def main() -> None:
    r"""Runs :obj:`tgx-anchor`: what goes wrong with the user's input ends with one
    line on the standard error and the exit code 2.
    """
    try:
        from tgx_anchor.cli.app import run
    except ModuleNotFoundError as error:
        package = (error.name or '').partition('.')[0]
        if package not in ('rich', 'typer'):
            raise
        sys.exit(_fail(f"{package} is missing: pip install 'tgx_anchor[cli]'"))
    try:
        code = run(sys.argv[1:])
    except (ValueError, OSError) as error:
        code = _fail(str(error))
    sys.exit(code)


def _fail(message: str) -> int:
    sys.stderr.write(f'tgx-anchor: {" ".join(message.split())}\n')
    return 2


__all__ = ['main']
