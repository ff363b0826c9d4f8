"""Finds the anchors of a table of groups with a saved model."""

from typing import Annotated

import typer

from tgx_anchor.cli.anchor_table import check_output, write_output
from tgx_anchor.cli.identify import Out
from tgx_anchor.cli.learning import count_anchors, load_model
from tgx_anchor.cli.processes import is_shards
from tgx_anchor.cli.sharded import predict_shards
from tgx_anchor.cli.table_options import Files, Model, TableOptions, takes_table
from tgx_anchor.cli.talk import Talk


@takes_table
def predict(
    model: Model,
    files: Files,
    table: TableOptions,
    out: Out = '-',
    model_word: Annotated[
        bool,
        typer.Option(
            '--ignore-known',
            help='Predict groups with a known anchor, too, instead of keeping it.',
        ),
    ] = False,
    other_people: Annotated[
        bool,
        typer.Option(
            '--other-people',
            help='The same name in this table and in that of the model stands for '
            'different people.',
        ),
    ] = False,
) -> None:
    """Find the anchor of every group of a table with a saved model.

    The model uses what it has learnt about people it knows, and anchors that are known
    in this table count as evidence.

    Example: tgx-anchor predict model.tgx may.csv --out anchors.csv
    """
    if is_shards(files):
        predict_shards(table, model, files[0], out, model_word, other_people)
        return
    talk = Talk(table, out)
    talk.load()

    check_output(out)
    groups = talk.read(files)
    predictor, data = load_model(talk, model, groups.data)
    with talk.step('predicting'):
        anchors = predictor.predictions(
            data,
            known='model' if model_word else 'keep',
            same_people=False if other_people else None,
        )
    with talk.step('writing'):
        write_output(anchors, out)
    counts, line = count_anchors(data, anchors)
    talk.finish(
        {
            'command': 'predict',
            **counts,
            'num_rows': groups.num_rows,
            'num_bad_rows': len(groups.bad_rows),
            'rejected': talk.rejected,
            'out': out,
        },
        [line, *([] if out == '-' else [f'written to {out}'])],
    )
