"""Commands on a folder of shards, in one or several processes."""

import shutil
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tgx_anchor.cli.anchor_table import check_folder
from tgx_anchor.cli.learning import assess, check_known, describe
from tgx_anchor.cli.model_choice import ModelName
from tgx_anchor.cli.processes import (
    check_no_table,
    open_shards,
    process_group,
)
from tgx_anchor.cli.table_options import TableOptions
from tgx_anchor.cli.talk import Talk

if TYPE_CHECKING:
    from tgx_anchor.data import ShardedAnchorData
    from tgx_anchor.nn import AnchorRadar
    from tgx_anchor.utils import Ranks

_REASON = 'a folder of shards'


def identify_shards(
    options: TableOptions, path: str, out: str, kind: ModelName
) -> None:
    r"""Finds the anchors of all groups in shards, and writes a file per shard.

    Args:
        options (TableOptions): The options of the command.
        path (str): The folder of shards.
        out (str): The folder of anchors.
        kind (ModelName): The model.
    """
    talk = _begin(options, out, kind)
    with process_group() as ranks:
        _check_anchors(out)
        shards, model = _fit(talk, path, out, ranks)
        figures, lines = describe(assess(talk, model, shards.part()))
        with talk.step('predicting'):
            counts = model.write_predictions(shards, out)
        sent = shards.part().ranks.num_bytes
        _clean(out, ranks)
    talk.finish(
        {
            'command': 'identify',
            **counts,
            **_summary(shards, ranks),
            **figures,
            'num_bytes_sent': sent,
            'num_bytes_per_epoch': _bytes_per_epoch(model),
            'out': out,
        },
        [_count_line(counts), *lines, f'written to {out}'],
    )


def fit_shards(options: TableOptions, path: str, out: str, kind: ModelName) -> None:
    r"""Fits a model to shards and saves it.

    Args:
        options (TableOptions): The options of the command.
        path (str): The folder of shards.
        out (str): The file of the model.
        kind (ModelName): The model.
    """
    talk = _begin(options, out, kind)
    with process_group() as ranks:
        check_folder(Path(out))
        shards, model = _fit(talk, path, out, ranks)
        figures, lines = describe(assess(talk, model, shards.part()))
        with talk.step('writing'):
            ranks.together(lambda: model.save(out) if ranks.is_first else None)
        _clean(out, ranks)
    known = sum(shard.num_known for shard in shards.manifest.shards)
    talk.finish(
        {
            'command': 'fit',
            'num_groups': shards.num_hyperedges,
            'num_people': shards.num_nodes,
            'num_known': known,
            **_summary(shards, ranks),
            **figures,
            'out': out,
        },
        [
            f'learnt from {known:,} known anchors of {shards.num_hyperedges:,} groups '
            f'of {shards.num_nodes:,} people',
            *lines,
            f'written to {out}',
        ],
    )


def predict_shards(
    options: TableOptions,
    model_path: str,
    path: str,
    out: str,
    ignore_known: bool,
    other_people: bool,
) -> None:
    r"""Finds the anchors of all groups in shards with a saved model.

    Args:
        options (TableOptions): The options of the command.
        model_path (str): The file of the model.
        path (str): The folder of shards.
        out (str): The folder of anchors.
        ignore_known (bool): Whether the model is asked about known anchors, too.
        other_people (bool): Whether the people are others than those of the model.
    """
    talk = _begin(options, out, ModelName.AUTO)
    with process_group() as ranks:
        _check_anchors(out)
        shards, model = _load(talk, model_path, path)
        with talk.step('predicting'):
            counts = model.write_predictions(
                shards,
                out,
                'model' if ignore_known else 'keep',
                False if other_people else None,
            )
    talk.finish(
        {'command': 'predict', **counts, **_summary(shards, ranks), 'out': out},
        [_count_line(counts), f'written to {out}'],
    )


def score_shards(
    options: TableOptions, model_path: str, path: str
) -> tuple[Talk, dict[str, Any]]:
    r"""Returns how well a saved model finds the known anchors of shards, which it is
    not shown.

    Args:
        options (TableOptions): The options of the command.
        model_path (str): The file of the model.
        path (str): The folder of shards.
    """
    talk = _begin(options, None, ModelName.AUTO)
    with process_group() as ranks:
        from tgx_anchor.metrics import AnchorEvaluator
        from tgx_anchor.nn.predictors.known_anchors import without_anchors

        shards, model = _load(talk, model_path, path)
        data = shards.part()
        known = data.known_mask
        mask = known & data.choice_mask
        if not ranks.any(mask):
            raise ValueError(
                f'{path!r} has no group with a known anchor and another member to '
                f'evaluate'
            )
        with talk.step('predicting'):
            shown = without_anchors(data, mask)
            score, rank = model.predict_proba(shown), model.rank_score(shown)
            figures = AnchorEvaluator().eval(score, data, mask, rank)
        single = int(ranks.total(int((known & ~mask).sum())))
    return talk, {**figures, 'num_single': single}


def _begin(options: TableOptions, out: str | None, kind: ModelName) -> Talk:
    check_no_table(options)
    if out == '-':
        raise ValueError("'--out' must be named: the anchors of shards go to a folder")
    if kind not in (ModelName.AUTO, ModelName.ANCHOR_RADAR):
        raise ValueError(
            f"'--model {kind.value}' cannot be fitted on shards: use anchor-radar, or "
            f'the tables themselves'
        )
    talk = Talk(options, out)
    talk.load()
    return talk


def _check_anchors(out: str) -> None:
    from tgx_anchor.nn.predictors.shard_predictions import check_folder

    try:
        check_folder(Path(out))
    except ValueError as error:
        raise ValueError(str(error).replace("'root'", "'--out'")) from None


def _work_folder(out: str) -> Path:
    path = Path(out)
    return path.with_name(f'{path.name}.work')


def _clean(out: str, ranks: 'Ranks') -> None:
    if ranks.is_first:
        shutil.rmtree(_work_folder(out), ignore_errors=True)


def _fit(
    talk: Talk, path: str, out: str, ranks: 'Ranks'
) -> 'tuple[ShardedAnchorData, AnchorRadar]':
    from tgx_anchor.nn import AnchorRadar

    with talk.step('reading'):
        shards = open_shards(path)
    hint = "name the column of anchors with '--anchor' of 'tgx-anchor shard'"
    check_known(shards.part(), hint)
    word = 'process' if ranks.size == 1 else 'processes'
    talk.note(f'model: anchor-radar ({_REASON}; {ranks.size} {word})')
    model = AnchorRadar(seed=talk.options.seed)
    with talk.step('features'):
        model.required_transform()(shards.part())
    with talk.step('fitting'):
        model.fit(
            shards,
            callback=talk.show_epoch,
            on_interrupt='raise',
            checkpoint=_work_folder(out),
        )
    return shards, model


def _load(
    talk: Talk, model_path: str, path: str
) -> 'tuple[ShardedAnchorData, AnchorRadar]':
    from tgx_anchor.nn import AnchorModel, AnchorRadar

    with talk.step('loading'):
        model = AnchorModel.load(model_path)
    if not isinstance(model, AnchorRadar):
        raise ValueError(
            f'{model_path!r} must hold an AnchorRadar to predict shards (got '
            f'{type(model).__name__})'
        )
    with talk.step('reading'):
        shards = open_shards(path)
    return shards, model


def _summary(shards: 'ShardedAnchorData', ranks: 'Ranks') -> dict[str, Any]:
    return {
        'model': ModelName.ANCHOR_RADAR.value,
        'model_reason': _REASON,
        'num_rows': shards.num_incidences,
        'num_shards': shards.num_shards,
        'num_processes': ranks.size,
    }


def _bytes_per_epoch(model: 'AnchorRadar') -> int:
    # What a process sends in an epoch of stage 2.
    return int(model.history[-1].get('num_bytes', 0)) if model.history else 0


def _count_line(counts: dict[str, int]) -> str:
    line = (
        f'{counts["num_groups"]:,} groups of {counts["num_people"]:,} people: '
        f'{counts["num_known"]:,} anchors known, {counts["num_predicted"]:,} predicted'
    )
    if counts['num_empty']:
        line += f', {counts["num_empty"]:,} groups without members'
    return line
