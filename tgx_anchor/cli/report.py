"""Writes a page with the anchors of all groups."""

from pathlib import Path
from typing import Annotated

import typer

from tgx_anchor.cli.anchor_table import check_folder
from tgx_anchor.cli.learning import (
    assess,
    count_anchors,
    describe,
    least_certain,
    load_model,
)
from tgx_anchor.cli.table_options import Files, Model, TableOptions, takes_table
from tgx_anchor.cli.talk import Talk


@takes_table
def report(
    model: Model,
    files: Files,
    table: TableOptions,
    out: Annotated[str, typer.Option('--out', '-o', help='The page.')] = 'report.html',
    title: Annotated[
        str | None,
        typer.Option(help='The title of the page.', show_default='name of the table'),
    ] = None,
    reasons: Annotated[
        int,
        typer.Option(
            min=0,
            help='The number of groups to explain, the least certain ones first.',
        ),
    ] = 5000,
) -> None:
    """Write a page with the anchors of all groups, which opens offline.

    Example: tgx-anchor report model.tgx mails.csv --out report.html
    """
    talk = Talk(table, out)
    talk.load()
    from tgx_anchor.explain import Explainer
    from tgx_anchor.report import ReportContent, write_report

    check_folder(Path(out))
    groups = talk.read(files)
    predictor, data = load_model(talk, model, groups.data)
    assessment = assess(talk, predictor, data)
    with talk.step('predicting'):
        anchors = predictor.predictions(data)
    with talk.step('explaining'):
        explained = Explainer(predictor, data).explain_all(
            least_certain(anchors, reasons)
        )
        sentences = {each.number: each.sentences() for each in explained}
    name = 'standard input' if files[0] == '-' else Path(files[0]).name
    with talk.step('writing'):
        content = ReportContent.from_model(
            predictor,
            data,
            title=name if title is None else title,
            predictions=anchors,
            expected_accuracy=getattr(assessment, 'expected_accuracy', None),
            calibration=getattr(assessment, 'calibration', None),
            warnings=talk.warnings,
            reasons=sentences,
        )
        write_report(content, out)
    counts, line = count_anchors(data, anchors)
    figures, lines = describe(assessment)
    talk.finish(
        {
            'command': 'report',
            **counts,
            **figures,
            'num_doubts': len(content.doubts),
            'num_bad_rows': len(groups.bad_rows),
            'rejected': talk.rejected,
            'out': out,
        },
        [line, *lines, f'written to {out}'],
    )
