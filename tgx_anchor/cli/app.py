"""Puts the commands of :obj:`tgx-anchor` together."""

import sys

# Commands need it, and a missing package is reported before any work is done.
import rich  # noqa: F401
import typer

from tgx_anchor import __version__
from tgx_anchor.cli.benchmark import benchmark
from tgx_anchor.cli.datasets import datasets
from tgx_anchor.cli.demo import demo
from tgx_anchor.cli.evaluate import evaluate
from tgx_anchor.cli.explain import explain
from tgx_anchor.cli.fit import fit
from tgx_anchor.cli.identify import identify
from tgx_anchor.cli.launch import world_size
from tgx_anchor.cli.predict import predict
from tgx_anchor.cli.report import report
from tgx_anchor.cli.reproduce import reproduce
from tgx_anchor.cli.shard import shard
from tgx_anchor.cli.suggest import suggest
from tgx_anchor.cli.table_options import FLAWS, TABLES
from tgx_anchor.cli.threads import set_wait_policy

app = typer.Typer(
    name='tgx-anchor',
    help='Find the anchor of every group: the sender, the questioner, the lead.',
    no_args_is_help=True,
    rich_markup_mode='rich',
    pretty_exceptions_enable=False,
    context_settings={'help_option_names': ['-h', '--help']},
)
app.command()(demo)
for command in (identify, fit, predict, evaluate, explain, suggest, report):
    app.command(epilog=TABLES + FLAWS)(command)
app.command(epilog=FLAWS)(shard)
app.command()(datasets)
app.command()(benchmark)
app.command()(reproduce)
# Several processes of torchrun share the work of these.
_SHARED = ('identify', 'fit', 'predict', 'evaluate')


@app.callback(invoke_without_command=True)
def version(
    context: typer.Context,
    show: bool = typer.Option(False, '--version', help='Show the version and exit.'),
) -> None:
    """Find the anchor of every group: the sender, the questioner, the lead."""
    name = context.invoked_subcommand
    if world_size() > 1 and name not in (None, *_SHARED):
        raise ValueError(
            f'several processes must run one of {", ".join(_SHARED)} (got {name!r}: '
            f'run it without torchrun)'
        )
    if show:
        typer.echo(__version__)
        raise typer.Exit


def run(arguments: list[str]) -> int:
    r"""Runs the command line and returns its exit code.

    Args:
        arguments (list[str]): The words after the name of the program.
    """
    set_wait_policy()
    try:
        code = app(arguments, prog_name='tgx-anchor', standalone_mode=False)
    except typer.Abort:
        return 130
    except typer.Exit as done:
        return int(done.exit_code)
    except Exception as error:
        # Typer's usage errors have no base class that all its versions export.
        message = getattr(error, 'format_message', None)
        if message is None:
            raise
        text = message()
        if text:
            sys.stderr.write(f"tgx-anchor: {text} (try 'tgx-anchor --help')\n")
        return 2
    return code if isinstance(code, int) else 0
