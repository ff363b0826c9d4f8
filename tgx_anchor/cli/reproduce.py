"""The command that measures the tables of the paper again."""

import shlex
import sys

import typer

from tgx_anchor.cli.measuring_options import measuring_options, names_in

# A trial: few epochs, one split, the smallest dataset and the planted one.
_QUICK_EPOCHS = 2
_SPLITS = 5
_QUICK_DATASETS = ['emER', 'planted']


def reproduce(
    table: str = typer.Argument(
        ...,
        help="A table, several separated by commas, 'all', or 'list' to see all names.",
    ),
    datasets: str | None = typer.Option(
        None,
        help="Datasets, separated by commas: 'emER,qaBI,coDB_last'.",
        show_default='all that are available',
    ),
    methods: str | None = typer.Option(
        None,
        help='Methods and variants to measure, separated by commas: '
        "'AnchorRadar,WHATsNet'.",
        show_default='all',
    ),
    splits: int | None = typer.Option(
        None, help='The number of random splits.', show_default='5'
    ),
    epochs: int | None = typer.Option(
        None,
        help='The number of epochs of AnchorRadar and the baselines, and of VilLain '
        "in 'downstream'.",
        show_default='as published',
    ),
    quick: bool = typer.Option(
        False,
        '--quick',
        help='Make a trial run: few epochs, one split, emER and planted data only, '
        "into 'reproduced-quick'.",
    ),
    report_only: bool = typer.Option(
        False, '--report-only', help='Measure nothing, only write the tables again.'
    ),
    out: str | None = typer.Option(
        None,
        help='The folder to which each result is added once it is measured; a second '
        'run continues where the first one stopped.',
        show_default='reproduced',
    ),
    root: str | None = typer.Option(
        None, help='The folder of the datasets.', show_default='the cache of PyG'
    ),
    jobs: int = typer.Option(1, help='The number of processes to run at a time.'),
    threads: int = typer.Option(1, help='The number of threads of each process.'),
) -> None:
    """Reproduce a table of the paper, and compare it with the printed figures.

    Example: TGX_ANCHOR_MIRROR=/data tgx-anchor reproduce ablation --datasets emER
    """
    # PyTorch and PyG take seconds to import, which '--help' must not wait for.
    from pathlib import Path

    from rich.console import Console
    from tqdm import tqdm

    from tgx_anchor.benchmark.tables import rich_table
    from tgx_anchor.reproduce import TABLES, Cell
    from tgx_anchor.reproduce import reproduce as run
    from tgx_anchor.reproduce.cell import cell_table
    from tgx_anchor.reproduce.report import NUM_LEFT, extra_text, make_lines, summary
    from tgx_anchor.reproduce.reproduction import CELLS

    console = Console()
    if not console.is_terminal:
        # A pipe has no width of its own.
        console = Console(width=120)
    if table == 'list':
        lines = [['table', 'what the paper shows', 'where']]
        lines += [[each.name, each.title, each.place] for each in TABLES.values()]
        console.print(rich_table(lines, num_left=3))
        return
    chosen = None if table == 'all' else names_in(table, 'table')
    asked = None if datasets is None else names_in(datasets, '--datasets')
    if quick and asked is None:
        known = {
            entry.setting
            for each in TABLES.values()
            if chosen is None or each.name in chosen
            for entry in each.entries()
        }
        asked = [name for name in _QUICK_DATASETS if name in known]
    if splits is None:
        splits = 1 if quick else _SPLITS
    if epochs is None and quick:
        epochs = _QUICK_EPOCHS
    if out is None:
        out = 'reproduced-quick' if quick else 'reproduced'
    # Without folders, which are those of one machine.
    words = ['tgx-anchor', 'reproduce', table, '--splits', str(splits)]
    for option, value in (
        ('--datasets', None if asked is None else ','.join(asked)),
        ('--methods', methods),
        ('--epochs', epochs),
        ('--jobs', jobs),
        ('--threads', threads),
    ):
        words += [] if value is None else [option, str(value)]

    def say(cell: Cell) -> None:
        # Above the progress bar, if there is one.
        if cell.metric == 'accuracy':
            tqdm.write(
                f'{cell.setting} {cell.variant} ({cell.experiment}) split '
                f'{cell.split}: {100 * cell.value:.2f} %',
                file=sys.stderr,
            )

    with measuring_options():
        filled = run(
            chosen,
            asked,
            None if methods is None else names_in(methods, '--methods'),
            splits,
            epochs,
            out,
            root,
            jobs,
            threads,
            progress=sys.stderr.isatty(),
            measure=not report_only,
            command=shlex.join(words),
            callback=say,
        )
    cells = cell_table(Path(out) / CELLS).rows
    for name, found in filled.items():
        shown = [each for each in found if each.values]
        if shown:
            lines = make_lines(shown, 'rich')
            console.print(rich_table(lines, TABLES[name].title, NUM_LEFT))
        else:
            console.print(f'{TABLES[name].title}: nothing is measured', highlight=False)
        for text in (extra_text(TABLES[name], found, cells), summary(found)):
            if text:
                console.print(text, highlight=False, markup=False)
    console.print(f'written to {out}', highlight=False, markup=False)
