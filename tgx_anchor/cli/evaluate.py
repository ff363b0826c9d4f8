"""Compares anchors with the true ones."""

from typing import Annotated, Any

import typer

from tgx_anchor.cli.table_options import TableOptions, standard_input, takes_table
from tgx_anchor.cli.talk import Talk


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
            help='A table of groups with their true anchors, or for a table of anchors '
            "the columns 'group' and 'anchor' alone.",
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
    talk = Talk(table)
    talk.load()
    if _is_table(found):
        figures = _compare(talk, found, truth)
    else:
        figures = _score(talk, found, truth)
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

    return path == '-' or path.lower().endswith(SUFFIXES)


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
            f"evaluate: name the column of anchors by '--anchor', or '--known'"
        )
    with talk.step('predicting'):
        shown = without_anchors(data, mask)
        score = model.predict_proba(shown)
        figures = AnchorEvaluator().eval(score, data, mask, model.rank_score(shown))
    return {**figures, 'num_single': int((data.known_mask & ~mask).sum())}


def _compare(talk: Talk, path: str, truth: str) -> dict[str, Any]:
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from tgx_anchor.io.group_table import read_known_anchors, read_texts

    options = talk.options
    with talk.step('reading'), standard_input([path, truth]) as (first, second):
        anchors = read_texts(first, ['group', 'anchor'], ['runner_up', 'source'])
        right = read_known_anchors(
            second,
            options.columns(),
            separator=options.sep,
            addresses=options.addresses,
        )
    size = anchors.num_rows
    place = pc.index_in(right['group'], value_set=anchors['group'])
    met = np.asarray(pc.is_valid(place))
    row = np.asarray(pc.fill_null(place, 0))[met]
    name = anchors['anchor'].take(pa.array(row))
    same = pc.fill_null(pc.equal(name, right['anchor'].filter(pa.array(met))), False)
    judged = np.bincount(row, minlength=size) > 0
    is_right = np.bincount(row[np.asarray(same)], minlength=size) > 0
    known = single = np.zeros(size, dtype=np.bool_)
    if 'source' in anchors.column_names:
        known = np.asarray(pc.fill_null(pc.equal(anchors['source'], 'known'), False))
    if 'runner_up' in anchors.column_names:
        single = np.asarray(pc.is_null(anchors['runner_up'])) & ~known
    counted = judged & ~known & ~single
    figures = {
        'num_known': int((judged & known).sum()),
        'num_single': int((judged & single).sum()),
        'num_missing': len(pc.unique(right['group'].filter(pa.array(~met)))),
    }
    total = int(counted.sum())
    if not total:
        raise ValueError(
            f'{path!r} and {truth!r} have no group in common to evaluate: of the '
            f'groups with a true anchor, {figures["num_missing"]:,} are not in the '
            f'table of anchors, {figures["num_known"]:,} were known beforehand and '
            f'{figures["num_single"]:,} have a single member'
        )
    accuracy = int((counted & is_right).sum()) / total
    return {'accuracy': accuracy, 'num_hyperedges': total, **figures}
