r"""Measures how habits of the reference implementations, and other doubtful choices,
change the accuracy of the baselines.

Our baselines leave some habits of the references out (see :class:`AnchorPredictor`):

* :obj:`ours`: no habit.
* :obj:`stale`: HCHA and HNN are validated on the representations from before the last
  step, with dropout.
* :obj:`dropout`: HGNN and HAT use dropout in validation and testing, too.
* :obj:`scramble`: HNN multiplies with a matrix of pairs of hyperedges whose values are
  at wrong places. The reference reads the values in the order in which SciPy stores
  them, column by column and unsorted within columns, and the positions in the order of
  rows.
* :obj:`union`: nodes draw once for each layer of CoNHD, and all layers receive from the
  incidences of all draws.

Other choices may explain a difference from the paper as well:

* :obj:`logit`: anchors are picked by the logit of their role, by which the paper ranks
  members, and not by its probability, by which the paper picks anchors; same model.
* :obj:`rate`: HCHA and HNN learn with that rate of the paper's tables which finds most
  anchors of validation hyperedges. It shows how much depends on the learning rate,
  which was chosen for other random walks.
* :obj:`unranked`: CoNHD without the ranks of nodes in their hyperedges.
* :obj:`undropped`: CoNHD without dropout of its input, which the reference has on all
  datasets but those of e-mails.
* :obj:`gensim`: embeddings by gensim, which the references use, and not by our own
  skip-gram; same walks.
* :obj:`random`: random first features in place of embeddings.
"""

import argparse
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from tgx_anchor.benchmark import fill_table
from tgx_anchor.benchmark.methods import (
    cached_embedding,
    load_setting,
    new_model,
    one_split,
    prepare,
)
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.benchmark.tables import mean_text, publish_table
from tgx_anchor.data import AnchorData, HyperedgeIndex
from tgx_anchor.datasets.location import dataset_root
from tgx_anchor.io import ResultTable
from tgx_anchor.loader import HyperedgeLoader
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import HNN, AnchorPredictor, CoNHD, HNNConv
from tgx_anchor.nn.conv.aggregate import divisor
from tgx_anchor.nn.predictors.represent import log_proba, represent
from tgx_anchor.nn.predictors.training import PredictorTraining
from tgx_anchor.paper import figure
from tgx_anchor.transforms import AddRandomWalkEmbedding

HABITS: dict[str, tuple[str, ...]] = {
    'HGNN': ('dropout', 'gensim'),
    'HAT': ('dropout', 'gensim'),
    'UniGCN': ('gensim',),
    'HCHA': ('stale', 'rate', 'gensim'),
    'HNN': ('stale', 'scramble', 'rate', 'gensim'),
    'CoNHD-U': ('union', 'unranked', 'undropped', 'gensim', 'random'),
    'CoNHD-I': ('union', 'unranked', 'undropped', 'gensim', 'random'),
}
RATES = (0.005, 0.01, 0.03, 0.05, 0.1)
OUT = Path(__file__).parent / 'results' / 'reference_habits.csv'

# Setting, method, habit, number of the split.
Task = tuple[str, str, str, int]


@dataclass(frozen=True)
class Row:
    r"""The accuracy of a method with a habit, and the epochs until it stopped."""

    setting: str
    method: str
    habit: str
    split: int
    accuracy: float
    num_epochs: int
    best_epoch: int


class StaleTraining(PredictorTraining):
    r"""Validates on the representations from before the last step, with dropout."""

    seen: Tensor

    def loss(self, batch: AnchorData) -> Tensor:
        r"""Computes the loss on the whole hypergraph."""
        out = represent(self.encoder, batch, self.table)
        self.seen = out.detach()
        row = self.mask[batch.hyperedge_index[1]].nonzero().view(-1)
        return torch.nn.functional.cross_entropy(self.head(out[row]), self.role[row])

    def logits(self, row: Tensor) -> Tensor:
        r"""Computes the logits that are validated."""
        out: Tensor = self.head(self.seen[row])
        return out


class DroppingTraining(PredictorTraining):
    r"""Uses dropout in validation, too."""

    def logits(self, row: Tensor) -> Tensor:
        r"""Computes the logits that are validated."""
        self.encoder.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.epoch)
            out: Tensor = self.head(represent(self.encoder, self.data, self.table, row))
        return out


class UnionTraining(PredictorTraining):
    r"""Lets nodes draw once for each layer, for all layers."""

    def _new_loader(self) -> HyperedgeLoader | None:
        loader = super()._new_loader()
        if loader is not None:
            neighbours: Any = loader.collate_fn
            draw: Callable[..., Tensor] = neighbours._draw
            count = int(getattr(self.encoder, 'num_layers', 1))

            def draw_all(*args: Any) -> Tensor:
                out: Tensor = torch.cat([draw(*args) for _ in range(count)]).unique()
                return out

            neighbours._draw = draw_all
        return loader


TRAININGS = {
    'stale': StaleTraining,
    'dropout': DroppingTraining,
    'union': UnionTraining,
}


class ScrambledHNNConv(HNNConv):
    r"""Multiplies with a matrix of pairs of hyperedges whose values are at wrong
    places.
    """

    def _mix(self, a: Tensor, index: HyperedgeIndex) -> Tensor:
        return _multiply(scrambled_matrix(index, a.dtype), a)


class _Multiply(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, matrix: scipy.sparse.csr_matrix, a: Tensor) -> Tensor:
        ctx.matrix = matrix
        return torch.from_numpy(matrix @ a.numpy())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[None, Tensor]:
        return None, torch.from_numpy(ctx.matrix.T @ grads[0].contiguous().numpy())


_multiply: Callable[..., Tensor] = _Multiply.apply


@lru_cache(maxsize=1)
def scrambled_matrix(
    index: HyperedgeIndex, dtype: torch.dtype
) -> scipy.sparse.csr_matrix:
    r"""Returns the matrix
    :math:`\mathbf{H}^{\top} \mathbf{D}_V^{-1} \mathbf{H} \mathbf{D}_E^{-2}` of pairs of
    hyperedges that share a node, with its values in the order of the reference, which
    is that of other pairs.

    Args:
        index (HyperedgeIndex): The incidences.
        dtype (torch.dtype): The type of the values.
    """
    node, hyperedge = index.node.numpy(), index.hyperedge.numpy()
    shape = index.num_nodes, index.num_hyperedges
    h = scipy.sparse.csr_matrix((np.ones(node.size), (node, hyperedge)), shape)
    degree, size = (
        divisor(count, torch.double).view(-1).numpy()
        for count in (index.node_degree, index.hyperedge_size)
    )
    # The format of the first factor, columns, is that of the product.
    product = h.T @ scipy.sparse.diags(1 / degree) @ h @ scipy.sparse.diags(size**-2.0)
    # The positions are sorted by rows; 'data' stays as it is stored.
    rows = product.tocsr()
    data = torch.from_numpy(product.data).to(dtype).numpy()
    return scipy.sparse.csr_matrix((data, rows.indices, rows.indptr), product.shape)


def habit_data(task: Task, model: AnchorPredictor, root: str | None) -> AnchorData:
    r"""Returns the split of a task with the features that the model takes.

    Args:
        task (Task): The task.
        model (AnchorPredictor): The model.
        root (str, optional): The folder of the datasets.
    """
    setting, _, habit, split = task
    data = load_setting(setting, root)
    cache = dataset_root(root) / 'embedding'
    encoder: Any = model.encoder
    if habit == 'random':
        generator = torch.Generator().manual_seed(0)
        size = int(data.num_nodes or 0), encoder.in_channels
        data.x = torch.randn(size, generator=generator)
    if habit == 'gensim':
        walk = AddRandomWalkEmbedding(encoder.in_channels, backend='gensim')
        data.x = cached_embedding(
            data, repr(walk), lambda: walk(data.clone())['x'], cache
        )
    return one_split(prepare(data, model, cache), split)


def habit_model(task: Task, lr: float | None = None) -> AnchorPredictor:
    r"""Returns the model of a task, not yet fitted.

    Args:
        task (Task): The task.
        lr (float, optional): The learning rate; the published one if :obj:`None`.
            (default: :obj:`None`)
    """
    setting, method, habit, _ = task
    model = new_model(method, setting)
    if not isinstance(model, AnchorPredictor):
        raise ValueError(f"'method' must be a baseline (got {method!r})")
    model.training_class = TRAININGS.get(habit, PredictorTraining)
    if lr is not None:
        model.lr = lr
    encoder = model.encoder
    if habit == 'scramble' and isinstance(encoder, HNN):
        for i, widths in enumerate(pairwise(encoder.channel_list)):
            encoder.convs[i] = ScrambledHNNConv(*widths)
    if habit == 'undropped' and isinstance(encoder, CoNHD):
        encoder.input_dropout = 0.0
    if habit == 'unranked' and isinstance(encoder, CoNHD):
        model.encoder = CoNHD(
            encoder.in_channels,
            encoder.hidden_channels,
            encoder.num_layers,
            dropout=encoder.dropout,
            input_dropout=encoder.input_dropout,
            operator=encoder.operator,
            use_rank=False,
        )
    return model


def measure(task: Task, tell: Tell, *, root: str | None) -> list[Row]:
    r"""Trains a baseline with a habit, and returns a row; without a habit, also the row
    of :obj:`logit`.

    Args:
        task (Task): The task.
        tell (callable): Shows the progress.
        root (str, optional): The folder of the datasets.
    """
    setting, method, habit, split = task
    rates = RATES if habit == 'rate' else (None,)
    models = [habit_model(task, lr) for lr in rates]
    data = habit_data(task, models[0], root)
    for model in models:
        model.fit(
            data,
            callback=lambda record: tell(f'{method} {habit} {record["epoch"]:.0f}'),
            on_interrupt='raise',
        )
    model = max(models, key=lambda model: model.score(data, data.val_mask))
    model.train(habit == 'dropout')
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        logit = model(data)
    role = int(model.anchor_role)
    scores = {habit: log_proba(logit, role)}
    if habit == 'ours':
        scores['logit'] = logit[:, role]
    looks = [record for record in model.history if 'val_role_accuracy' in record]
    best = int(max(looks, key=lambda record: record['val_role_accuracy'])['epoch'])
    rows = []
    for name, score in scores.items():
        found = AnchorEvaluator().eval(score, data, data.test_mask)['accuracy']
        epochs = len(model.history), best
        rows.append(Row(setting, method, name, split, round(found, 6), *epochs))
    return rows


def make_table(rows: Sequence[Row]) -> list[list[str]]:
    r"""Returns the mean accuracies beside the paper's as lines of text, the header
    first.

    Args:
        rows (list[Row]): The rows.
    """
    groups: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        key = row.setting, row.method, row.habit
        groups.setdefault(key, []).append(row.accuracy)
    table = [['setting', 'method', 'habit', 'splits', 'accuracy (%)', 'paper']]
    for setting in sorted({row.setting for row in rows}):
        for method, habits in HABITS.items():
            for habit in ('ours', 'logit', *habits):
                values = groups.get((setting, method, habit))
                if values:
                    mean, count = mean_text(values, 1, 100), str(len(values))
                    paper = figure('accuracy', method, setting)
                    table.append([setting, method, habit, count, mean, paper])
    return table


def main(argv: Sequence[str] | None = None) -> int:
    r"""Measures what is missing, and writes the report.

    Args:
        argv (list[str], optional): The command line. (default: :obj:`None`)

    Returns:
        Zero, or one if a measurement failed.
    """
    habits = list(dict.fromkeys(['ours', *chain.from_iterable(HABITS.values())]))
    parser = argparse.ArgumentParser(description=(__doc__ or '').partition('\n\n')[0])
    add = parser.add_argument
    add('--datasets', nargs='+', default=['emER', 'qaBI'])
    add('--methods', nargs='+', default=list(HABITS), choices=HABITS)
    add('--habits', nargs='+', default=habits, choices=habits)
    add('--splits', type=int, default=1, help='the number of random splits')
    add('--jobs', type=int, default=1, help='the number of processes at a time')
    add('--root', help='the folder of the datasets (default: the cache of PyG)')
    add('--out', type=Path, default=OUT, help='the CSV file; the table goes next to it')
    add('--in-process', action='store_true', help='start no processes')
    args = parser.parse_args(argv)

    table = ResultTable(Row, args.out, key=('setting', 'method', 'habit', 'split'))
    tasks: list[Task] = [
        (setting, method, habit, split)
        for setting in args.datasets
        for split in range(args.splits)
        for method in args.methods
        for habit in ('ours', *HABITS[method])
        if habit in args.habits
    ]
    failures = fill_table(
        table,
        partial(measure, root=args.root),
        tasks,
        jobs=args.jobs,
        isolated=not args.in_process,
        progress=sys.stderr.isatty(),
    )
    for task, failure in failures.items():
        print(*task, 'failed:', failure.message)
    publish_table(make_table(table.rows), args.out, num_left=3)
    return 1 if failures else 0


if __name__ == '__main__':
    sys.exit(main())
