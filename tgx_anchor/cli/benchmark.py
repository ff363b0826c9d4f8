"""The command that benchmarks all methods."""

import sys

import typer

from tgx_anchor.cli.measuring_options import measuring_options, names_in


def benchmark(
    datasets: str = typer.Option(
        'planted',
        help="Settings, separated by commas: 'emER,qaBI,coDB_last', or 'planted' for "
        'synthetic groups.',
    ),
    methods: str | None = typer.Option(
        None,
        help="Methods, separated by commas: 'AnchorRadar,WHATsNet,Degree'.",
        show_default='all',
    ),
    splits: int = typer.Option(1, help='The number of random splits.'),
    epochs: int | None = typer.Option(
        None, help='The number of epochs of all methods.', show_default='as published'
    ),
    out: str = typer.Option(
        'benchmark.csv',
        help='The CSV file to which each result is added once it is measured; a second '
        'run continues where the first one stopped. Tables and plots go next to it.',
    ),
    root: str | None = typer.Option(
        None, help='The folder of the datasets.', show_default='the cache of PyG'
    ),
    jobs: int = typer.Option(1, help='The number of processes to run at a time.'),
    threads: int = typer.Option(1, help='The number of threads of each process.'),
) -> None:
    """Compare AnchorRadar with the nine baselines of the paper and two heuristics.

    Example: tgx-anchor benchmark --datasets emER,qaBI --methods AnchorRadar,HGNN,Degree
    """
    # PyTorch and PyG take seconds to import, which '--help' must not wait for.
    from rich.console import Console
    from tqdm import tqdm

    from tgx_anchor.benchmark import METHODS, run_benchmark
    from tgx_anchor.benchmark.report import (
        METRICS,
        Metric,
        headline,
        headline_text,
        make_table,
        summarise,
        write_reports,
    )
    from tgx_anchor.benchmark.results import benchmark_table
    from tgx_anchor.benchmark.tables import rich_table

    console = Console()
    with measuring_options():
        run_benchmark(
            names_in(datasets, '--datasets'),
            METHODS if methods is None else names_in(methods, '--methods'),
            splits,
            epochs,
            out,
            root,
            jobs,
            threads,
            progress=sys.stdout.isatty(),
            # Above the progress bar, if there is one.
            callback=lambda row: tqdm.write(
                f'{row.setting} {row.method} split {row.split}: '
                f'{100 * row.accuracy:.2f} % in {row.train_seconds:.1f} s'
            ),
        )
    # All rows of the file, also those of earlier runs with other arguments.
    rows = benchmark_table(out).rows
    shown: tuple[Metric, ...] = ('accuracy', 'train_seconds', 'num_parameters')
    for metric in shown:
        table = make_table(summarise(rows, metric), metric, 'rich')
        console.print(rich_table(table, METRICS[metric]))
    found = headline(rows)
    if found.settings:
        console.print(headline_text(found), highlight=False)
    written = write_reports(rows, out)
    names = ', '.join(map(str, (out, *written)))
    console.print(f'written to {names}', highlight=False)
    if not any(path.suffix == '.png' for path in written):
        console.print(
            "no plot, which needs matplotlib: pip install 'tgx_anchor[viz]'",
            highlight=False,
            markup=False,
        )
