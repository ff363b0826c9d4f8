"""All methods side by side, from the command line."""

from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from tgx_anchor.benchmark.report import Metric


def benchmark(
    datasets: str = typer.Option(
        'planted',
        help="Settings, with commas: 'emER,qaBI,coDB_last', or 'planted' for synthetic "
        'groups.',
    ),
    methods: str | None = typer.Option(
        None, help='Methods, with commas.', show_default='all'
    ),
    splits: int = typer.Option(1, help='The number of random splits.'),
    epochs: int | None = typer.Option(
        None, help='Epochs of everything that learns.', show_default='as published'
    ),
    out: str = typer.Option(
        'comparison.csv',
        help='The CSV file that takes each result as it comes; a second run goes on '
        'where the first stopped. Tables and plots go next to it.',
    ),
    root: str | None = typer.Option(
        None, help='Where datasets are kept.', show_default='the cache of PyG'
    ),
    reference: str | None = typer.Option(
        None,
        help='A folder with the tables of the paper.',
        show_default="'reference' beside $TGX_ANCHOR_MIRROR",
    ),
    jobs: int = typer.Option(1, help='How many processes to run at once.'),
    threads: int = typer.Option(1, help='Threads of each of them.'),
) -> None:
    """Compare AnchorRadar with the nine baselines and the heuristics.

    Example: tgx-anchor benchmark --datasets emER,qaBI --methods AnchorRadar,HGNN,Degree
    """
    from rich.console import Console
    from rich.table import Table

    from tgx_anchor.benchmark import METHODS, PaperFigures, compare
    from tgx_anchor.benchmark.comparison_file import ComparisonFile
    from tgx_anchor.benchmark.report import (
        METRICS,
        headline,
        headline_text,
        make_table,
        summarise,
        write_reports,
    )

    shown: tuple[Metric, ...] = ('accuracy', 'train_seconds', 'num_parameters')
    console = Console()
    paper = PaperFigures(reference)
    compare(
        _names(datasets),
        list(METHODS) if methods is None else _names(methods),
        splits,
        epochs,
        out,
        root,
        jobs,
        threads,
        progress=console.is_terminal,
        report=None
        if console.is_terminal
        else lambda row: console.print(
            f'{row.setting} {row.method} split {row.split}: '
            f'{100 * row.accuracy:.2f} % in {row.train_seconds:.1f} s',
            highlight=False,
        ),
    )
    # All that the file holds: a table grows with every run.
    rows = ComparisonFile(out).rows
    for metric in shown:
        header, *lines = make_table(summarise(rows, metric, paper), metric, 'rich')
        table = Table(title=METRICS[metric])
        for name in header:
            table.add_column(name, justify='left' if name == 'method' else 'right')
        for line in lines:
            table.add_row(*line)
        console.print(table)
    found = headline(rows)
    if found.settings:
        console.print(headline_text(found), highlight=False)
    written = write_reports(rows, out, paper)
    names = ', '.join(str(path) for path in (out, *written))
    console.print(f'written to {names}', highlight=False)


def _names(words: str) -> list[str]:
    names = [word.strip() for word in words.split(',') if word.strip()]
    if not names:
        raise ValueError(
            f'names must be given, with commas between them (got {words!r})'
        )
    return names
