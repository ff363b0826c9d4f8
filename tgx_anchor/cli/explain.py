"""Explains the anchors of groups."""

from typing import Annotated

import typer

from tgx_anchor.cli.learning import least_certain, load_model
from tgx_anchor.cli.table_options import Files, Model, TableOptions, takes_table
from tgx_anchor.cli.talk import Talk


@takes_table
def explain(
    model: Model,
    files: Files,
    table: TableOptions,
    group_id: Annotated[
        list[str] | None,
        typer.Option(
            '--id',
            help='The group to explain; may be repeated.',
            show_default='the least certain group',
        ),
    ] = None,
) -> None:
    """Explain in words why a model predicts the anchor of a group.

    Example: tgx-anchor explain model.tgx mails.csv --id 'mail 17'
    """
    talk = Talk(table)
    talk.load()
    from tgx_anchor.explain import Explainer

    groups = talk.read(files)
    predictor, data = load_model(talk, model, groups.data)
    with talk.step('explaining'):
        explainer = Explainer(predictor, data)
        if group_id:
            found = [explainer.explain(each) for each in group_id]
        else:
            rows = least_certain(predictor.predictions(data), 1)
            found = list(explainer.explain_all(rows))
    lines: list[str] = []
    for explanation in found:
        lines += [*([''] if lines else []), *explanation.sentences()]
    talk.finish(
        {
            'command': 'explain',
            'explanations': [explanation.to_dict() for explanation in found],
        },
        lines,
        is_result=True,
    )
