r"""Measures how often an explanation names the true cause of an anchor first, on
planted groups whose anchors are decided by one known cause.

All causes share the same groups and the same four random attributes of people. The
anchor is the member with the highest value of the cause (:obj:`scale` infinite), or
drawn from the softmax of :obj:`scale` times its standardised value.
"""

import argparse
import math
import statistics
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import torch

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import mean_text, publish_table
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import PlantedAnchorDataset
from tgx_anchor.explain import Explainer
from tgx_anchor.io import ResultTable
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.transforms import AddTopologicalFeatures, RandomHyperedgeSplit
from tgx_anchor.utils import degree, draw_priority, group_topk

OUT = Path(__file__).parent / 'results' / 'explain.csv'

# By the name of the reason: the personal strength, the number of groups, an attribute.
CAUSES = ('strength', 'degree', 'attribute_2')
NUM_ATTRIBUTES = 4

# Cause, scale, seed.
Task = tuple[str, float, int]


@dataclass(frozen=True)
class Row:
    r"""The rate of explanations that name the true cause first, over the correctly
    predicted ones of the groups with unknown anchors.
    """

    cause: str
    scale: float
    seed: int
    num_known: int
    num_correct: int
    accuracy: float
    true_cause_first: float
    often_instead: str
    prepare_seconds: float
    seconds_per_1000: float


def planted(
    cause: str,
    scale: float = math.inf,
    seed: int = 0,
    num_nodes: int = 400,
    num_hyperedges: int = 4000,
    train: float = 0.075,
) -> AnchorData:
    r"""Makes groups whose anchors are decided by one cause.

    Args:
        cause (str): The cause, one of :obj:`CAUSES`.
        scale (float, optional): The weight of the cause against chance.
            (default: :obj:`math.inf`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
        num_nodes (int, optional): The number of people. (default: :obj:`400`)
        num_hyperedges (int, optional): The number of groups. (default: :obj:`4000`)
        train (float, optional): The share of groups with a known anchor.
            (default: :obj:`0.075`)
    """
    data: Any = PlantedAnchorDataset(
        num_nodes, num_hyperedges, mean_size=4.0, correlation=0.0, seed=seed
    )[0]
    generator = torch.Generator().manual_seed(seed)
    data.x = torch.randn(num_nodes, NUM_ATTRIBUTES, generator=generator)
    data.name_columns('x', [f'attribute_{i}' for i in range(NUM_ATTRIBUTES)])
    index = data.hyperedge_index
    if cause == 'strength':
        value = data.node_strength.double()
    elif cause == 'degree':
        value = degree(index, num_nodes, num_hyperedges).double().log()
    else:
        value = data.x[:, data.names('x').index(cause)].double()
    value = (value - value.mean()) / value.std()
    if scale < math.inf:
        # The largest of the values plus Gumbel noise is a draw from their softmax.
        uniform = torch.rand(index.size(1), generator=generator).double()
        score = scale * value[index[0]] - uniform.clamp(min=1e-12).log().neg().log()
    else:
        score = value[index[0]]
    incidence = torch.arange(index.size(1))
    best = group_topk(
        score,
        torch.stack([incidence, index[1]]),
        num_hyperedges,
        1,
        draw_priority(index.size(1), seed),
    )
    data.y = torch.isin(incidence, best)
    data = AddTopologicalFeatures()(data)
    out: AnchorData = RandomHyperedgeSplit(train, 0.0, seed=seed)(data)
    return out


def measure(
    task: Task, tell: Tell, *, num_nodes: int, num_hyperedges: int, train: float
) -> list[Row]:
    r"""Fits AnchorRadar, explains its correct predictions, and returns their row.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        num_nodes (int): The number of people.
        num_hyperedges (int): The number of groups.
        train (float): The share of groups with a known anchor.
    """
    cause, scale, seed = task
    data = planted(cause, scale, seed, num_nodes, num_hyperedges, train)
    tell(f'{cause} {seed}')
    model = AnchorRadar(seed=seed).fit(data)
    choice = ~data.train_mask & data.choice_mask
    index, y = data.hyperedge_index, data['y']
    # Wrong predictions, or those of empty groups, have no anchor here.
    anchor = torch.full((num_hyperedges,), -2).index_put((index[1][y],), index[0][y])
    correct = choice & (model.predict(data) == anchor)

    begin = time.perf_counter()
    explainer = Explainer(model, data)
    ready = time.perf_counter()
    named: Counter[str] = Counter()
    for explanation in explainer.explain_all(correct):
        explanation.sentences()
        first = explanation.reasons[:1]
        named[first[0].name if first else 'nothing'] += 1
    end = time.perf_counter()
    num_correct = max(int(correct.sum()), 1)
    rate = named.pop(cause, 0) / num_correct
    return [
        Row(
            *task,
            int(data.train_mask.sum()),
            int(correct.sum()),
            round(float(correct.sum() / choice.sum()), 4),
            round(rate, 4),
            ', '.join(name for name, _ in named.most_common(2)),
            round(ready - begin, 4),
            round(1000 * (end - ready) / num_correct, 4),
        )
    ]


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the means over seeds by cause as lines of text, header first.

    Args:
        rows (list[Row]): The rows.
    """
    table = [
        [
            'cause',
            'scale',
            'accuracy (%)',
            'cause first (%)',
            'lowest (%)',
            'ms per group',
        ]
    ]
    for key in dict.fromkeys((row.cause, row.scale) for row in rows):
        found = [row for row in rows if (row.cause, row.scale) == key]
        rates = [row.true_cause_first for row in found]
        table.append(
            [
                key[0],
                f'{key[1]:g}',
                mean_text([row.accuracy for row in found], 1, 100),
                mean_text(rates, 1, 100),
                f'{100 * min(rates):.1f}',
                f'{statistics.median(row.seconds_per_1000 for row in found):.3f}',
            ]
        )
    return table


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the table.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    add = parser.add_argument
    add('--causes', nargs='+', default=list(CAUSES), choices=CAUSES)
    add('--scales', nargs='+', type=float, default=[math.inf, 2.5])
    add('--seeds', type=int, default=5, help='the number of seeds')
    add('--people', type=int, default=400)
    add('--groups', type=int, default=4000)
    add('--known', type=float, default=0.075, help='the share of known groups')
    add('--out', type=Path, default=OUT, help='the CSV file; the table goes next to it')
    add('--in-process', action='store_true', help='start no processes')
    args = parser.parse_args(argv)

    table = ResultTable(Row, args.out, key=('cause', 'scale', 'seed'))
    tasks: list[Task] = [
        (cause, scale, seed)
        for scale in args.scales
        for cause in args.causes
        for seed in range(args.seeds)
    ]
    failures = fill_table(
        table,
        partial(
            measure,
            num_nodes=args.people,
            num_hyperedges=args.groups,
            train=args.known,
        ),
        tasks,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        print(*task, 'failed:', failure.message)
    publish_table(make_table(table.rows), args.out, num_left=1)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
