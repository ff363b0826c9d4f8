"""Finds anchors in synthetic groups with several methods."""

import time
from typing import Any

import typer

from tgx_anchor.cli.threads import set_threads

# How the baselines are trained: in seconds, not to their best.
_BASELINE: dict[str, Any] = {
    'lr': 0.01,
    'batch_size': 128,
    'num_neighbors': 10,
    'num_epochs': 50,
}


def demo(
    num_nodes: int = typer.Option(1000, min=1, help='How many people to plant.'),
    num_hyperedges: int = typer.Option(10000, min=1, help='How many groups they form.'),
    train: float = typer.Option(
        0.075, min=0, max=1, help='The share of distinct groups with a known anchor.'
    ),
    seed: int = typer.Option(0, min=0, help='Decides all random draws.'),
    threads: int | None = typer.Option(
        None, min=1, help='Threads of PyTorch.', show_default='OMP_NUM_THREADS or 1'
    ),
) -> None:
    """Plant groups with known anchors, hide most of them, and find them again.

    Example: tgx-anchor demo --num-hyperedges 20000 --seed 1
    """
    from rich.console import Console
    from rich.progress import Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
    from rich.table import Table

    from tgx_anchor.datasets import PlantedAnchorDataset
    from tgx_anchor.metrics import AnchorEvaluator
    from tgx_anchor.nn import (
        HAT,
        HGNN,
        HNHN,
        AnchorModel,
        AnchorPredictor,
        AnchorRadar,
        DegreeHeuristic,
        RandomHeuristic,
    )
    from tgx_anchor.transforms import (
        AddRandomWalkEmbedding,
        AddTopologicalFeatures,
        RandomHyperedgeSplit,
    )

    set_threads(threads)
    console = Console()
    models: dict[str, AnchorModel] = {
        'RandomHeuristic': RandomHeuristic(seed),
        'DegreeHeuristic': DegreeHeuristic(seed),
        **{
            encoder.__name__: AnchorPredictor(
                encoder(48, 64, 1, 128), seed=seed, **_BASELINE
            )
            for encoder in (HGNN, HNHN, HAT)
        },
        'AnchorRadar': AnchorRadar(seed=seed),
    }
    table = Table(title='Anchors found in the groups that were hidden')
    for column in ('method', 'accuracy', 'MRR', 'NDCG', 'seconds', 'parameters'):
        table.add_column(column, justify='left' if column == 'method' else 'right')

    with Progress(
        SpinnerColumn(),
        TextColumn('{task.description}'),
        TimeElapsedColumn(),
        console=console,
        transient=True,
    ) as progress:
        task = progress.add_task('planting groups', total=None)
        dataset = PlantedAnchorDataset(num_nodes, num_hyperedges, seed=seed)
        data = dataset[0]
        progress.update(task, description='topological features')
        data = AddTopologicalFeatures()(data)
        progress.update(task, description='split')
        data = RandomHyperedgeSplit(train, 0.025, seed=seed)(data)
        progress.update(task, description='random walks')
        # Apart, since AnchorRadar would use features of nodes as well.
        walked = AddRandomWalkEmbedding(48, seed=seed)(data.clone())
        for name, model in models.items():
            progress.update(task, description=name)
            start = time.perf_counter()
            given = walked if isinstance(model, AnchorPredictor) else data
            model.fit(given, on_interrupt='raise')
            score = model.predict_proba(given)
            seconds = time.perf_counter() - start
            ranks = model.rank_score(given)
            result = AnchorEvaluator().eval(score, data, data.test_mask, ranks)
            table.add_row(
                name,
                *(f'{100 * result[key]:.1f}' for key in ('accuracy', 'mrr', 'ndcg')),
                f'{seconds:.2f}',
                f'{sum(p.numel() for p in model.parameters()):,}',
            )
    console.print(
        f'{data.num_nodes:,} people in {data.num_hyperedges:,} groups; the anchor is '
        f'known in {int(data.train_mask.sum()):,} of them, '
        f'{int(data.test_mask.sum()):,} are tested.'
    )
    console.print(table)
