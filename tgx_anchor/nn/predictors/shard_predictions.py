"""Writes the predictions for a hypergraph in shards, one file per shard."""

import json
import shutil
from os import PathLike
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet
import torch
from torch import Tensor

from tgx_anchor.data import AnchorData, ShardedAnchorData
from tgx_anchor.data.rank_part import RankPart
from tgx_anchor.nn.predictors.known_anchors import given_mask
from tgx_anchor.nn.predictors.prediction_table import prediction_table
from tgx_anchor.utils import ALONE

SUMMARY = '_summary.json'


def write_shard_predictions(
    proba: Tensor,
    data: ShardedAnchorData,
    root: str | PathLike[str],
    keep_known: bool,
    seed: int,
) -> dict[str, int]:
    r"""Writes the table of predictions of each shard of this process to a Parquet file,
    and returns the numbers of anchors of all processes. The folder appears when all
    files are complete, and replaces an older one of the same kind.

    Args:
        proba (torch.Tensor): The probability of each incidence of :obj:`data.part()`.
        data (ShardedAnchorData): The hypergraph.
        root (str or os.PathLike): The folder.
        keep_known (bool): Whether known anchors stay as they are.
        seed (int): The seed of draws between equals.

    Shapes:
        - **proba:** :math:`(P)`
    """
    part = data.part()
    if part.part is None:
        raise ValueError("'data' must be a part of a hypergraph in shards")
    ranks, target = part.ranks, Path(root)
    work = target.with_name(f'{target.name}.part')

    def prepare() -> None:
        check_folder(target)
        if ranks.is_first:
            shutil.rmtree(work, ignore_errors=True)
            work.mkdir()

    ranks.together(prepare)

    def write() -> Tensor:
        # Anchors that are known, that are predicted, and groups without members.
        count = torch.zeros(3, dtype=torch.long)
        begin = 0
        for number in part.part.shards if part.part else ():
            shard = data.shard(number)
            end = begin + shard.num_incidences
            first = part.part.first_incidence + begin if part.part else 0
            count += _write(
                work / f'shard-{number:05d}.parquet',
                proba[begin:end],
                _named(shard, data, number, first),
                keep_known,
                seed,
            )
            begin = end
        return count

    try:
        written = ranks.together(write)
    except BaseException:
        if ranks.is_first:
            shutil.rmtree(work, ignore_errors=True)
        raise
    known, predicted, empty = ranks.sum_(written.to(ranks.device)).tolist()
    counts = {
        'num_groups': data.num_hyperedges,
        'num_people': data.num_nodes,
        'num_known': known,
        'num_predicted': predicted,
        'num_empty': empty,
    }

    def finish() -> None:
        if not ranks.is_first:
            return
        text = json.dumps({'num_files': data.num_shards, **counts}, indent=1)
        (work / SUMMARY).write_text(text + '\n', encoding='utf-8')
        if target.exists():
            shutil.rmtree(target)
        work.rename(target)

    ranks.together(finish)
    return counts


def check_folder(target: Path) -> None:
    r"""Raises a :class:`ValueError` if predictions cannot be written to a folder.

    Args:
        target (Path): The folder.
    """
    if target.name in ('', '..'):
        # The folder is replaced as a whole, under its own name.
        raise ValueError(
            f"'root' must be the name of a folder, new or of earlier predictions (got "
            f'{str(target)!r})'
        )
    if not target.absolute().parent.is_dir():
        raise ValueError(
            f"'root' must be in a folder that exists (got {str(target)!r})"
        )
    is_other = target.exists() and not (target / SUMMARY).is_file()
    if is_other and (not target.is_dir() or any(target.iterdir())):
        raise ValueError(
            f"'root' must be a new folder, or one of earlier predictions, which are "
            f'replaced (got {str(target)!r})'
        )


def _named(
    shard: AnchorData, data: ShardedAnchorData, number: int, first_incidence: int
) -> AnchorData:
    shard['node_id'] = data.node_ids
    shard.part = RankPart(
        ALONE, range(number, number + 1), data.first_hyperedge(number), first_incidence
    )
    return shard


def _write(
    path: Path, proba: Tensor, shard: AnchorData, keep_known: bool, seed: int
) -> Tensor:
    mask = given_mask(shard) if keep_known else None
    table = prediction_table(proba, shard, mask, seed)
    pyarrow.parquet.write_table(table, path)
    known = pc.sum(pc.equal(table['source'], 'known')).as_py() or 0
    empty = table['anchor'].null_count
    return torch.tensor([known, table.num_rows - known - empty, empty])
