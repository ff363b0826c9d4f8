"""Probabilities against accuracy, in bins."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch_geometric.utils import scatter


class CalibrationBins(NamedTuple):
    r"""Mean probability and accuracy of predictions in bins of rising probability.

    Shapes:
        - **probability:** :math:`(B)`, the mean probability of each bin
        - **accuracy:** :math:`(B)`, the share of right predictions in each bin
        - **size:** :math:`(B)`, the number of predictions in each bin
    """

    probability: Tensor
    accuracy: Tensor
    size: Tensor


def calibration_bins(
    probability: Tensor, correct: Tensor, num_bins: int = 15
) -> CalibrationBins:
    r"""Sorts predictions by probability, cuts them into bins of equal count, and
    returns mean probability and accuracy of each bin.

    Equal probabilities share their mean correctness, so that the bins do not depend on
    the order of the predictions.

    Args:
        probability (torch.Tensor): The probability given to each prediction.
        correct (torch.Tensor): Whether each prediction is right, as booleans or, where
            ties make it a matter of chance, as the probability of being right.
        num_bins (int, optional): The number of bins; their counts differ by at most
            one. With fewer predictions, there is one bin for each.
            (default: :obj:`15`)

    Shapes:
        - **probability, correct:** :math:`(n)`
    """
    if probability.dim() != 1 or probability.size() != correct.size():
        raise ValueError(
            f"'probability' and 'correct' must be two vectors of the same length "
            f'(got shapes {list(probability.size())} and {list(correct.size())})'
        )
    if num_bins < 1:
        raise ValueError(f"'num_bins' must be positive (got {num_bins})")
    count = probability.numel()
    if count == 0:
        raise ValueError("'probability' must hold at least one prediction (got 0)")
    # Negated, so that NaN is refused as well.
    if not ((probability >= 0) & (probability <= 1)).all():
        place = int((~((probability >= 0) & (probability <= 1))).nonzero()[0])
        raise ValueError(
            f"'probability' must lie in [0, 1] (got {float(probability[place])} "
            f'at {place})'
        )
    value, level = torch.unique(probability.double(), return_inverse=True)
    share = scatter(correct.double(), level, 0, value.numel(), 'mean')
    level = torch.sort(level).values
    size = min(num_bins, count)
    which = torch.arange(count, device=level.device) * size // count
    return CalibrationBins(
        scatter(value[level], which, 0, size, 'mean'),
        scatter(share[level], which, 0, size, 'mean'),
        torch.bincount(which, minlength=size),
    )
