r"""What some habits of the reference implementations do to the baselines, and what
else may.

Our baselines leave out what does no good (see :class:`AnchorPredictor`). Where an
accuracy of ours is far from the paper's, this shows how much of it is due to that:

* :obj:`ours`: no habit.
* :obj:`stale`: HCHA and HNN are validated on what they represented before the last
  step, with dropout.
* :obj:`dropout`: HGNN and HAT drop out in validation and testing, too.

and to what is no habit, but open to doubt:

* :obj:`logit`: anchors are picked by the logit of their role, by which the paper ranks
  members, not by its probability, by which the paper picks anchors; of the same model.
* :obj:`rate`: HCHA and HNN learn with that rate of the paper's tables which finds most
  anchors of validation hyperedges: how much hangs on a rate that was chosen for other
  random walks.
* :obj:`unranked`: CoNHD without the ranks of nodes in their hyperedges.
* :obj:`gensim`: embeddings of the same walks by the skip-gram that the references use,
  not by ours.

Each result goes to a CSV file at once; a second run continues where the first one
stopped.
"""

import argparse
import csv
import io
from functools import lru_cache
from itertools import chain
from pathlib import Path

import torch
from rich.console import Console
from rich.table import Table
from torch import Tensor
from tqdm import tqdm

from tgx_anchor.benchmark import PaperFigures
from tgx_anchor.benchmark.methods import load_setting, new_model, one_split, prepare
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets.location import dataset_root
from tgx_anchor.io.files import replace_file
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorPredictor, CoNHD
from tgx_anchor.nn.predictors.represent import log_proba, represent
from tgx_anchor.nn.predictors.training import PredictorTraining
from tgx_anchor.transforms import AddRandomWalkEmbedding
from tgx_anchor.transforms.add_random_walk_embedding import standardize

HABITS: dict[str, tuple[str, ...]] = {
    'HGNN': ('dropout', 'gensim'),
    'HAT': ('dropout', 'gensim'),
    'UniGCN': ('gensim',),
    'HCHA': ('stale', 'rate', 'gensim'),
    'HNN': ('stale', 'rate', 'gensim'),
    'CoNHD-U': ('unranked', 'gensim'),
    'CoNHD-I': ('unranked', 'gensim'),
}
HEADER = ['setting', 'method', 'habit', 'split', 'accuracy', 'num_epochs', 'best_epoch']
RATES = (0.005, 0.01, 0.03, 0.05, 0.1)
OUT = Path(__file__).parent / 'results' / 'reference_habits.csv'


class StaleTraining(PredictorTraining):
    r"""Validates on what was represented before the last step, with dropout."""

    seen: Tensor

    def loss(self, batch: AnchorData) -> Tensor:
        r"""Keeps what it represents."""
        out = represent(self.encoder, batch, self.table)
        self.seen = out.detach()
        row = self.mask[batch.hyperedge_index[1]].nonzero().view(-1)
        return torch.nn.functional.cross_entropy(self.head(out[row]), self.role[row])

    def logits(self, row: Tensor) -> Tensor:
        r"""Returns those of what was kept."""
        out: Tensor = self.head(self.seen[row])
        return out


class DroppingTraining(PredictorTraining):
    r"""Drops out in validation, too."""

    def logits(self, row: Tensor) -> Tensor:
        r"""Computes them with dropout."""
        self.encoder.train()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(self.epoch)
            out: Tensor = self.head(represent(self.encoder, self.data, self.table, row))
        return out


TRAININGS = {'stale': StaleTraining, 'dropout': DroppingTraining}


@lru_cache
def gensim_embedding(setting: str, root: str | None, dim: int) -> Tensor:
    r"""What gensim makes of the walks, with its defaults but where the reference
    differs from them.
    """
    from gensim.models import Word2Vec

    data = load_setting(setting, root)
    walks = AddRandomWalkEmbedding(dim).walk(data)
    order = torch.randperm(len(walks), generator=torch.Generator().manual_seed(0))
    model = Word2Vec(
        [[str(node) for node in walk] for walk in walks[order].tolist()],
        vector_size=dim,
        window=10,
        min_count=0,
        sg=1,
        epochs=1,
        # Only one of them repeats itself.
        workers=1,
        seed=0,
    )
    names = [str(node) for node in range(int(data.num_nodes or 0))]
    return standardize(torch.tensor(model.wv[names]))


def train(
    setting: str,
    method: str,
    habit: str,
    split: int,
    root: str | None,
    lr: float | None,
) -> tuple[AnchorPredictor, PredictorTraining]:
    r"""Trains a baseline with a habit, to the end."""
    model = new_model(method, setting)
    if not isinstance(model, AnchorPredictor):
        raise ValueError(f"'method' must be a baseline (got {method!r})")
    if lr is not None:
        model.lr = lr
    cache = dataset_root(root) / 'embedding'
    data = one_split(prepare(load_setting(setting, root), model, cache), split)
    if habit == 'gensim':
        data.x = gensim_embedding(setting, root, data['x'].size(1))
    encoder = model.encoder
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
    kind = TRAININGS.get(habit, PredictorTraining)
    training = kind(model.encoder, data, model._options())
    # None: shown where there is a terminal.
    bar = tqdm(total=model.num_epochs, desc=f'{setting} {method} {habit}', disable=None)
    with bar:
        for _ in training.run():
            bar.update()
    training.finish()
    model.encoder, model.head = training.encoder, training.head
    model.table = training.table
    model.fitted_on = model._fingerprint(data)
    model.anchor_role = torch.tensor(training.anchor_role)
    model.eval()
    return model, training


def measure(
    setting: str, method: str, habit: str, split: int, root: str | None
) -> dict[str, list[float]]:
    r"""The accuracy, the number of epochs and the best one, by habit."""
    model, training = max(
        (
            train(setting, method, habit, split, root, lr)
            for lr in (RATES if habit == 'rate' else [None])
        ),
        key=lambda pair: pair[0].score(pair[1].data, pair[1].data.val_mask),
    )
    data = training.data
    model.train(habit == 'dropout')
    with torch.no_grad(), torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        logit = model(data)
    role = int(model.anchor_role)
    scores = {habit: log_proba(logit, role)}
    if habit == 'ours':
        scores['logit'] = logit[:, role]
    looks = [record for record in training.history if 'val_role_accuracy' in record]
    best = max(looks, key=lambda record: record['val_role_accuracy'])['epoch']
    found = {}
    for name, score in scores.items():
        accuracy = AnchorEvaluator().eval(score, data, data.test_mask)['accuracy']
        found[name] = [round(accuracy, 6), len(training.history), int(best)]
    return found


def read_rows(path: Path) -> list[dict[str, str]]:
    r"""The whole rows of a CSV file, which is left with these, or begun."""
    text = path.read_text(encoding='utf-8') if path.exists() else ''
    # A line that was cut off is measured again.
    whole = text[: text.rfind('\n') + 1]
    rows = list(csv.DictReader(io.StringIO(whole)))
    path.parent.mkdir(parents=True, exist_ok=True)
    lines = [HEADER, *([row[name] for name in HEADER] for row in rows)]
    text = ''.join(','.join(line) + '\n' for line in lines)
    with replace_file(path) as part:
        part.write_text(text, encoding='utf-8')
    return rows


def run(arguments: argparse.Namespace, console: Console) -> list[dict[str, str]]:
    r"""Measures what is not in the file yet, and returns all that is then."""
    rows = read_rows(arguments.out)
    done = {tuple(row[name] for name in HEADER[:4]) for row in rows}
    tasks = [
        (setting, method, habit, split)
        for setting in arguments.datasets
        for split in range(arguments.splits)
        for method in arguments.methods
        for habit in ('ours', *HABITS[method])
        if habit in arguments.habits
    ]
    for setting, method, habit, split in tasks:
        if (setting, method, habit, str(split)) in done:
            continue
        found = measure(setting, method, habit, split, arguments.root)
        lines = [
            [setting, method, name, str(split), *map(str, values)]
            for name, values in found.items()
        ]
        # At once, so that a kill does not part them.
        with arguments.out.open('a', encoding='utf-8') as file:
            file.write(''.join(','.join(line) + '\n' for line in lines))
        for line in lines:
            rows.append(dict(zip(HEADER, line, strict=True)))
            console.print(*line, highlight=False)
    return rows


def summarise(rows: list[dict[str, str]]) -> list[list[str]]:
    r"""A table of mean accuracies, a header first, beside the paper's."""
    paper = PaperFigures()
    groups: dict[tuple[str, str, str], list[float]] = {}
    for row in rows:
        key = row['setting'], row['method'], row['habit']
        groups.setdefault(key, []).append(100 * float(row['accuracy']))
    table = [['setting', 'method', 'habit', 'splits', 'accuracy (%)', 'paper']]
    # In the order of the script, whatever was measured first.
    order = [
        (method, habit)
        for method, habits in HABITS.items()
        for habit in ('ours', 'logit', *habits)
    ]
    for key, values in sorted(
        groups.items(), key=lambda item: (item[0][0], order.index(item[0][1:]))
    ):
        mean = f'{sum(values) / len(values):.1f}'
        printed = paper.cell('accuracy', key[1], key[0])
        table.append([*key, str(len(values)), mean, printed])
    return table


def main() -> None:
    r"""Runs the script."""
    habits = list(dict.fromkeys(['ours', *chain.from_iterable(HABITS.values())]))
    parser = argparse.ArgumentParser(description=__doc__.split('\n')[0])
    parser.add_argument('--datasets', nargs='+', default=['emER', 'qaBI'])
    parser.add_argument('--methods', nargs='+', default=list(HABITS), choices=HABITS)
    parser.add_argument('--habits', nargs='+', default=habits, choices=habits)
    parser.add_argument('--splits', type=int, default=1)
    parser.add_argument('--root')
    parser.add_argument('--out', type=Path, default=OUT)
    arguments, console = parser.parse_args(), Console()
    header, *lines = summarise(run(arguments, console))
    table = Table(*header)
    for line in lines:
        table.add_row(*line)
    console.print(table)
    rule = ['---'] * len(header)
    with replace_file(arguments.out.with_suffix('.md')) as part:
        text = ''.join(f'| {" | ".join(line)} |\n' for line in (header, rule, *lines))
        part.write_text(text, encoding='utf-8')


if __name__ == '__main__':
    main()
