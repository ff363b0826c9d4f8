"""Finds anchors in synthetic groups with several methods."""

import sys
import time
from typing import TYPE_CHECKING

import typer

from tgx_anchor.cli.threads import set_threads

if TYPE_CHECKING:
    from tgx_anchor.data import AnchorData
    from tgx_anchor.nn import AnchorModel


def demo(
    num_nodes: int = typer.Option(1000, min=1, help='The number of people.'),
    num_hyperedges: int = typer.Option(10000, min=1, help='The number of groups.'),
    train: float = typer.Option(
        0.075, min=0, max=1, help='The share of distinct groups with a known anchor.'
    ),
    seed: int = typer.Option(0, min=0, help='The seed of all random draws.'),
    threads: int | None = typer.Option(
        None,
        min=1,
        help='The number of PyTorch threads.',
        show_default='OMP_NUM_THREADS or 1',
    ),
    out: str | None = typer.Option(
        None,
        '--out',
        '-o',
        help='Write the groups and their known anchors to a table instead: .csv, .tsv, '
        '.jsonl or .parquet.',
    ),
) -> None:
    """Make groups with known anchors, hide most of the anchors, and find them again.

    Example: tgx-anchor demo --num-hyperedges 20000 --seed 1

    Example: tgx-anchor demo --out groups.csv
    """
    if out is not None:
        _write_groups(num_nodes, num_hyperedges, train, seed, out)
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
    from rich.table import Table

    console = Console(highlight=False)
    # Rich also takes a stream for a terminal where FORCE_COLOR is set.
    is_terminal = sys.stdout.isatty()
    table = Table(title='Anchors found in the test groups')
    for column in ('method', 'accuracy', 'MRR', 'NDCG', 'seconds', 'parameters'):
        table.add_column(column, justify='left' if column == 'method' else 'right')
    with Progress(
        TextColumn('{task.description}'),
        BarColumn(),
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=not is_terminal,
    ) as progress:
        task = progress.add_task('loading PyTorch', total=None)

        from tgx_anchor.datasets import PlantedAnchorDataset
        from tgx_anchor.metrics import AnchorEvaluator
        from tgx_anchor.transforms import RandomHyperedgeSplit

        set_threads(threads)
        split = RandomHyperedgeSplit(train, 0.025, seed=seed)
        data = split(PlantedAnchorDataset(num_nodes, num_hyperedges, seed=seed)[0])
        for line in _describe_split(data, train):
            console.print(line)
        prepared: dict[str, AnchorData] = {}
        for name, model in _models(seed).items():
            transform = model.required_transform()
            key = repr(transform)
            if key not in prepared:
                progress.update(task, description=f'features for {name}', total=None)
                prepared[key] = transform(data.clone())
            progress.update(task, description=name, completed=0, total=None)
            start = time.perf_counter()
            model.fit(
                prepared[key],
                callback=lambda record: progress.update(
                    task, completed=record['epoch'], total=record['num_epochs']
                ),
                on_interrupt='raise',
            )
            score = model.predict_proba(prepared[key])
            seconds = time.perf_counter() - start
            ranks = model.rank_score(prepared[key])
            result = AnchorEvaluator().eval(score, data, data.test_mask, ranks)
            figures = [
                f'{100 * result[key]:.1f}' for key in ('accuracy', 'mrr', 'ndcg')
            ]
            size = sum(p.numel() for p in model.parameters())
            table.add_row(name, *figures, f'{seconds:.2f}', f'{size:,}')
            if not is_terminal:
                console.print(f'{name}: {figures[0]} % in {seconds:.2f} s')
    console.print(table)


def _write_groups(
    num_nodes: int, num_hyperedges: int, train: float, seed: int, out: str
) -> None:
    from tgx_anchor.cli.anchor_table import check_output

    check_output(out)

    from tgx_anchor.data import AnchorData
    from tgx_anchor.datasets import PlantedAnchorDataset
    from tgx_anchor.transforms import RandomHyperedgeSplit

    split = RandomHyperedgeSplit(train, 0.0, seed=seed)
    data = split(PlantedAnchorDataset(num_nodes, num_hyperedges, seed=seed)[0])
    known = data['y'] & data.train_mask[data.hyperedge_index[1]]
    # Roles would tell the other anchors.
    AnchorData(
        hyperedge_index=data.hyperedge_index,
        num_nodes=data.num_nodes,
        num_hyperedges=data.num_hyperedges,
        y=known,
    ).to_incidence(out)
    typer.echo(
        f'{num_hyperedges:,} groups, of which {int(data.train_mask.sum()):,} have a '
        f'known anchor, written to {out}'
    )


def _models(seed: int) -> 'dict[str, AnchorModel]':
    from tgx_anchor.nn import (
        HAT,
        HGNN,
        HNHN,
        AnchorPredictor,
        AnchorRadar,
        DegreeHeuristic,
        RandomHeuristic,
        StackedAnchorRadar,
    )

    models: dict[str, AnchorModel] = {
        'RandomHeuristic': RandomHeuristic(seed),
        'DegreeHeuristic': DegreeHeuristic(seed),
    }
    for encoder in (HGNN, HNHN, HAT):
        # Settings that train in seconds, not the best ones.
        models[encoder.__name__] = AnchorPredictor(
            encoder(48, 64, 1, 128),
            lr=0.01,
            batch_size=128,
            num_neighbors=10,
            num_epochs=50,
            seed=seed,
        )
    models['AnchorRadar'] = AnchorRadar(seed=seed)
    models['StackedAnchorRadar'] = StackedAnchorRadar('both', seed=seed)
    return models


def _describe_split(data: 'AnchorData', train: float) -> list[str]:
    from tgx_anchor.utils import distinct_hyperedges

    number = distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )
    num_distinct = number[data.choice_mask].unique().numel()
    num_trivial = int((~data.choice_mask).sum())
    return [
        f'{data.num_nodes:,} people in {data.num_hyperedges:,} groups. The anchor is '
        f'known in {int(data.train_mask.sum()):,} groups, and '
        f'{int(data.test_mask.sum()):,} groups are tested.',
        f'The split draws {train:.1%} of the {num_distinct:,} distinct groups, so that '
        f'copies of a group stay together; {num_trivial:,} groups with a single member '
        f'leave no choice and are not drawn.',
    ]
