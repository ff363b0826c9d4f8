"""Predictions of known hyperedges by models that have not learnt from them."""

import copy
from collections.abc import Callable
from typing import NamedTuple

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.degree_score import degree_sign, log_degree

_NUM_FOLDS = 5
# With many known node sets, only this many are held out, by as few models as needed.
_MIN_HELD_OUT = 2000


class HeldOutScores(NamedTuple):
    r"""Scores of hyperedges by models that have not learnt from them.

    Shapes:
        - **mask:** :math:`(M)`, the hyperedges that were held out
        - **proba:** :math:`(P)`, the probabilities of their members, or
          :math:`(P, C)`, several columns
        - **degree:** :math:`(P)`, the score of the degree heuristic
    """

    mask: Tensor
    proba: Tensor
    degree: Tensor


def cross_fit(
    data: AnchorData,
    mask: Tensor,
    number: Tensor,
    fit_predict: Callable[[AnchorData], Tensor],
    seed: int = 0,
) -> HeldOutScores:
    r"""Divides known hyperedges into five folds, and predicts each fold by a model that
    was fitted on the others. If there are many node sets, not all folds are predicted,
    only as many as hold 2,000 of them.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): The hyperedges with known anchors.
        number (torch.Tensor): The number of the node set of each hyperedge; copies are
            in the same fold.
        fit_predict (callable): Fits a model on :obj:`train_mask` of the hypergraph it
            is given, and returns its probabilities, in one or several columns.
        seed (int, optional): The seed of the folds. (default: :obj:`0`)

    Shapes:
        - **mask, number:** :math:`(M)`
    """
    kept = torch.unique(data.ranks.gather(torch.unique(number[mask])))
    place = torch.searchsorted(kept, number[mask])
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(kept.numel(), generator=generator).to(place.device)
    fold = torch.full_like(number, -1)
    fold[mask] = (order % _NUM_FOLDS)[place]
    held_out = torch.zeros_like(mask)
    proba = by_degree = torch.empty(0)
    num_done = 0
    for each in range(min(_NUM_FOLDS, kept.numel())):
        if num_done >= _MIN_HELD_OUT:
            break
        chosen = fold == each
        part = copy.copy(data)
        part.train_mask = mask & ~chosen
        row = chosen[data.hyperedge_index[1]]
        found = fit_predict(part).double()
        # Not before the model is fitted, since it takes as much memory.
        score = log_degree(data)
        if num_done == 0:
            proba, by_degree = torch.zeros_like(found), torch.zeros_like(score)
        proba[row] = found[row]
        by_degree[row] = degree_sign(data, part.train_mask) * score[row]
        held_out |= chosen
        num_done += int((order % _NUM_FOLDS == each).sum())
    return HeldOutScores(held_out, proba, by_degree)
