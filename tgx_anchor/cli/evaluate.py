"""Compares anchors with the true ones."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from tgx_anchor.cli.processes import is_shards
from tgx_anchor.cli.sharded import score_shards
from tgx_anchor.cli.table_options import TableOptions, takes_table
from tgx_anchor.cli.talk import Talk

if TYPE_CHECKING:
    from tgx_anchor.data import AnchorData


@takes_table
def evaluate(
    found: Annotated[
        str,
        typer.Argument(
            help="A table of anchors, as 'identify' writes it, or a model.",
            show_default=False,
        ),
    ],
    truth: Annotated[
        str,
        typer.Argument(
            help='A table of groups with their true anchors; for comparison with a '
            "table of anchors, the columns 'group' and 'anchor' are enough.",
            show_default=False,
        ),
    ],
    table: TableOptions,
) -> None:
    """Compute the share of anchors that are right.

    Groups whose anchor was known beforehand and groups with a single member are not
    counted. A model is not shown the anchors that it is asked about.

    Example: tgx-anchor evaluate anchors.csv truth.csv --json

    Example: tgx-anchor evaluate model.tgx labelled.csv
    """
    if is_shards([truth]):
        if _is_table(found):
            raise ValueError(
                f'anchors are compared with a table, and shards are for a model (got '
                f'{found!r} and the shards {truth!r})'
            )
        talk, figures = score_shards(table, found, truth)
    else:
        talk = Talk(table)
        talk.load()
        figures = (_compare if _is_table(found) else _score)(talk, found, truth)
    from tgx_anchor.metrics import wilson_interval

    total = int(figures['num_hyperedges'])
    low, high = wilson_interval(figures['accuracy'] * total, total)
    lines = [
        f'accuracy {figures["accuracy"]:.1%} ({low:.1%} to {high:.1%} with 95 % '
        f'confidence) on {total:,} groups'
    ]
    if 'mrr' in figures:
        lines.append(f'MRR {figures["mrr"]:.4f}, NDCG {figures["ndcg"]:.4f}')
    for name, text in (
        ('num_known', 'groups with an anchor that was known beforehand'),
        ('num_single', 'groups with a single member'),
        ('num_missing', 'groups with a true anchor but none in the table of anchors'),
    ):
        if figures.get(name):
            lines.append(f'{figures[name]:,} {text} are not counted')
    talk.finish(
        {'command': 'evaluate', **figures, 'accuracy_interval': [low, high]},
        lines,
        is_result=True,
    )


def _is_table(path: str) -> bool:
    from tgx_anchor.io.table import SUFFIXES

    # The anchors of shards are a folder.
    is_file = path == '-' or path.lower().endswith(SUFFIXES)
    return is_file or Path(path).is_dir()


def _score(talk: Talk, path: str, truth: str) -> dict[str, Any]:
    from tgx_anchor.cli.learning import load_model
    from tgx_anchor.metrics import AnchorEvaluator
    from tgx_anchor.nn.predictors.known_anchors import without_anchors

    data = talk.read([truth]).data
    model, data = load_model(talk, path, data)
    mask = data.known_mask & data.choice_mask
    if not bool(mask.any()):
        raise ValueError(
            f'{truth!r} has no group with a known anchor and another member to '
            f"evaluate: name the column of anchors with '--anchor', or a table of "
            f"known ones with '--known'"
        )
    with talk.step('predicting'):
        shown = without_anchors(data, mask)
        score = model.predict_proba(shown)
        figures = AnchorEvaluator().eval(score, data, mask, model.rank_score(shown))
    return {**figures, 'num_single': int((data.known_mask & ~mask).sum())}


def _compare(talk: Talk, path: str, truth: str) -> dict[str, Any]:
    with talk.step('reading'):
        found = _read_anchors(path)
        right = _list_anchors(talk.options.read([truth], anchors_only=True).data)
    counts = {'num_known': 0, 'num_single': 0, 'num_missing': 0}
    judged: list[bool] = []
    for group, anchors in right.items():
        if group not in found:
            counts['num_missing'] += 1
            continue
        row = found[group]
        if row.get('source') == 'known':
            counts['num_known'] += 1
        elif 'runner_up' in row and row['runner_up'] is None:
            counts['num_single'] += 1
        else:
            judged.append(row['anchor'] in anchors)
    if not judged:
        raise ValueError(
            f'{path!r} and {truth!r} have no group in common to evaluate: of the '
            f'groups with a true anchor, {counts["num_missing"]:,} are not in the '
            f'table of anchors, {counts["num_known"]:,} were known beforehand and '
            f'{counts["num_single"]:,} have a single member'
        )
    accuracy = sum(judged) / len(judged)
    return {'accuracy': accuracy, 'num_hyperedges': len(judged), **counts}


def _read_anchors(path: str) -> dict[str, dict[str, str | None]]:
    # The rows of a table of anchors by their group, as text, None where it is empty.
    from tgx_anchor.io.table import Choice, read_table
    from tgx_anchor.utils.messages import listed

    needed, optional = ['group', 'anchor'], ['runner_up', 'source']

    def choose(names: Sequence[Any], _: Mapping[bytes, bytes]) -> Choice:
        if not set(needed) <= set(names):
            raise ValueError(
                f'a table of anchors needs the columns {listed(needed)} '
                f'(got the columns {listed(names)})'
            )
        return Choice([*needed, *(name for name in optional if name in names)])

    columns = read_table(path, choose).columns
    texts = [
        [
            None if value in (None, '') else str(value)
            for value in (column if isinstance(column, list) else column.to_pylist())
        ]
        for column in columns.values()
    ]
    rows = (dict(zip(columns, row, strict=True)) for row in zip(*texts, strict=True))
    return {str(row['group']): row for row in rows}


def _list_anchors(data: 'AnchorData') -> dict[str, set[str]]:
    # The known anchors by their group.
    out: dict[str, set[str]] = {}
    group_ids, person_ids = (
        [str(value) for value in (ids if isinstance(ids, list) else ids.tolist())]
        for ids in (data.hyperedge_id, data.node_id)
    )
    for node, hyperedge in data.hyperedge_index[:, data.y].T.tolist():
        out.setdefault(group_ids[hyperedge], set()).add(person_ids[node])
    return out
