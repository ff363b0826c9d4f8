r"""Measures AnchorRadar under other readings of the paper, where our figure and the
printed one differ.

Each question is a setting with the figure of the paper, and each reading changes one
thing that the paper leaves open:

* :obj:`ours`: what the package does.
* :obj:`train + val`: learns from the validation anchors, too.
* :obj:`cross-entropy`, :obj:`as printed`: other forms of the alignment of the stages.
* :obj:`no aggregation`, :obj:`stage 1 only`: without a part of the method.
* :obj:`split by hyperedge`: draws hyperedges, not distinct node sets, so that copies
  of a test hyperedge may be known.
* :obj:`one model per author`: the first and the second author are learnt separately,
  and the two members with the highest sum of probabilities are picked.
* :obj:`hyperparameters of the target`: instead of those of the source.
* :obj:`all hyperedges`: evaluates on all hyperedges of the target, none of which is
  known.
* :obj:`best of the grid`: the hyperparameters of the paper's search space that find
  most anchors of the test hyperedges. No choice of hyperparameters finds more.
"""

import argparse
import copy
import statistics
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import difference_text, publish_table
from tgx_anchor.data import AnchorData
from tgx_anchor.io import ResultTable
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.paper import figure, figures
from tgx_anchor.transforms import AddTopologicalFeatures

TWO, EMAIL, TRANSFER = 'coDB, two anchors', 'emER', 'qaPH to qaBI'
OURS, BEST = 'ours', 'best of the grid'
# Readings by question.
QUESTIONS: dict[str, tuple[str, ...]] = {
    EMAIL: (OURS, 'train + val', 'as printed', 'cross-entropy', 'split by hyperedge'),
    TWO: (
        OURS,
        'train + val',
        'cross-entropy',
        'no aggregation',
        'stage 1 only',
        'one model per author',
        'split by hyperedge',
        BEST,
    ),
    TRANSFER: (
        OURS,
        'train + val',
        'stage 1 only',
        'hyperparameters of the target',
        'all hyperedges',
    ),
}
# The setting to evaluate on, and the one to fit on.
SETTINGS = {
    EMAIL: ('emER', 'emER'),
    TWO: ('coDB_first_second', 'coDB_first_second'),
    TRANSFER: ('qaBI', 'qaPH'),
}
CHANGES: dict[str, dict[str, Any]] = {
    'as printed': {'alignment': 'known'},
    'cross-entropy': {'alignment': 'cross_entropy'},
    'no aggregation': {'w': None},
    'stage 1 only': {'stages': 'first'},
}
# emER is small, and its splits differ most.
NUM_SPLITS, NUM_SPLITS_SMALL = 5, 20
OUT = Path(__file__).parent / 'results' / 'readings.csv'


class Task(NamedTuple):
    r"""One measurement."""

    question: str
    reading: str
    split: int


@dataclass(frozen=True)
class Row:
    r"""The accuracy under a reading."""

    question: str
    reading: str
    split: int
    accuracy: float


def printed(question: str) -> str:
    r"""Returns the figure of the paper.

    Args:
        question (str): One of :obj:`QUESTIONS`.
    """
    if question == TWO:
        return figure('multi_anchor', 'AnchorRadar', 'coDB')
    if question == EMAIL:
        return figure('accuracy', 'AnchorRadar', 'emER')
    table = figures('inductive')
    pairs = list(zip(table['train'], table['test'], strict=True))
    return table['inductive'][pairs.index(('qaPH', 'qaBI'))]


def make_model(question: str, reading: str) -> AnchorRadar:
    r"""Returns the model of a reading, not yet fitted.

    Args:
        question (str): One of :obj:`QUESTIONS`.
        reading (str): One of its readings.
    """
    target, source = SETTINGS[question]
    like = target if reading == 'hyperparameters of the target' else source
    model = new_model('AnchorRadar', like)
    if not isinstance(model, AnchorRadar):
        raise TypeError(f'AnchorRadar expected (got {type(model).__name__})')
    # Calibration changes no accuracy.
    params = {**model.get_params(), 'calibration': None, **CHANGES.get(reading, {})}
    return AnchorRadar(**params)


def load(setting: str, split: int, reading: str, root: str | None) -> AnchorData:
    r"""Returns a split of a setting with its features.

    Args:
        setting (str): The setting.
        split (int): The number of the split.
        reading (str): The reading.
        root (str, optional): The folder of the datasets.
    """
    data = AddTopologicalFeatures()(load_setting(setting, root))
    data = one_split(data, split)
    if reading == 'split by hyperedge':
        # As many of each part as before.
        generator = torch.Generator().manual_seed(split)
        choice = data.choice_mask.nonzero().view(-1)
        size = choice.numel()
        order = choice[torch.randperm(size, generator=generator)]
        ends = round(0.075 * size), round(0.075 * size) + round(0.025 * size)
        names = 'train_mask', 'val_mask', 'test_mask'
        for name, part in zip(names, order.tensor_split(ends), strict=True):
            data[name] = torch.zeros_like(data.choice_mask)
            data[name][part] = True
    return data


def score_of(task: Task, root: str | None) -> tuple[Tensor, AnchorData]:
    r"""Fits the model of a task, and returns its scores and the hypergraph.

    Args:
        task (Task): The task.
        root (str, optional): The folder of the datasets.
    """
    target, source = SETTINGS[task.question]
    data = load(source, task.split, task.reading, root)
    if task.reading == 'one model per author':
        first = load_setting('coDB_first', root)['y']
        scores = []
        for y in (first, data['y'] & ~first):
            part = copy.copy(data)
            part.y = y
            model = make_model(task.question, task.reading)
            scores.append(model.fit(part, on_interrupt='raise').predict_proba(part))
        return scores[0] + scores[1], data
    model = make_model(task.question, task.reading)
    model.fit(data, use_val=task.reading == 'train + val', on_interrupt='raise')
    if target != source:
        data = load(target, task.split, task.reading, root)
    return model.predict_proba(data), data


def measure(task: Task, tell: Tell, *, root: str | None) -> list[Row]:
    r"""Measures the accuracy of a task.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        root (str, optional): The folder of the datasets.
    """
    tell(f'{task.question}: {task.reading}')
    if task.reading == BEST:
        data = load(SETTINGS[task.question][0], task.split, task.reading, root)
        # The search chooses on the test hyperedges.
        data.val_mask = data.test_mask
        table = AnchorRadar.tune(data, progress=False, calibration=None).table
        accuracy = max(row['val_accuracy'] for row in table)
        return [Row(*task, round(accuracy, 6))]
    score, data = score_of(task, root)
    mask = data.test_mask
    if task.reading == 'all hyperedges':
        mask = data.known_mask & data.choice_mask
    found = AnchorEvaluator().eval(score, data, mask)
    return [Row(*task, round(found['accuracy'], 6))]


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the report as lines of text, the header first.

    Args:
        rows (list[Row]): The rows.
    """
    lines = [['question', 'reading', 'accuracy', 'paper', 'difference', 'splits']]
    for question, readings in QUESTIONS.items():
        for reading in readings:
            values = [
                row.accuracy
                for row in rows
                if (row.question, row.reading) == (question, reading)
            ]
            if not values:
                continue
            mean = f'{100 * statistics.fmean(values):.2f}'
            if len(values) > 1:
                error = statistics.stdev(values) / len(values) ** 0.5
                mean += f' ± {100 * error:.2f}'
            paper = printed(question)
            gap = difference_text(values, paper, 2, 100)
            lines.append([question, reading, mean, paper, gap, str(len(values))])
    return lines


def main(argv: Sequence[str] | None = None) -> None:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)
    """
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    add = parser.add_argument
    add('--questions', nargs='+', default=list(QUESTIONS), choices=QUESTIONS)
    add('--splits', type=int, help='the number of splits (default: 5, 20 on emER)')
    add('--jobs', type=int, default=1, help='the number of processes at a time')
    add('--root', help='the folder of the datasets (default: the cache of PyG)')
    add('--out', type=Path, default=OUT, help='the CSV file; the report is next to it')
    options = parser.parse_args(argv)
    table = ResultTable(Row, options.out, key=Task._fields)
    tasks = [
        Task(question, reading, split)
        for question in options.questions
        for reading in QUESTIONS[question]
        for split in range(
            options.splits or (NUM_SPLITS_SMALL if question == EMAIL else NUM_SPLITS)
        )
    ]
    failures = fill_table(
        table,
        partial(measure, root=options.root),
        tasks,
        jobs=options.jobs,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        print(*task, 'failed:', failure.message)
    publish_table(make_table(table.rows), options.out, 'readings', num_left=2)


if __name__ == '__main__':
    main()
