"""Accuracy with a confidence interval."""

from dataclasses import dataclass

from torch import Tensor
from typing_extensions import Self

from tgx_anchor.metrics.wilson_interval import wilson_interval


@dataclass(frozen=True)
class ExpectedAccuracy:
    r"""The expected accuracy on groups whose anchor is not known, with an interval.

    Args:
        value (float): The accuracy on held-out groups.
        low (float): The lower end of the interval.
        high (float): The upper end of the interval.
        num_hyperedges (int): The number of held-out groups.
    """

    value: float
    low: float
    high: float
    num_hyperedges: int

    @classmethod
    def from_correct(cls, correct: Tensor, confidence: float = 0.95) -> Self:
        r"""Computes the mean and its interval
        (:func:`~tgx_anchor.metrics.wilson_interval`).

        Args:
            correct (torch.Tensor): Whether the prediction of each held-out hyperedge
                is right, as booleans or as :obj:`accuracy` of
                :meth:`AnchorEvaluator.per_hyperedge`.
            confidence (float, optional): The confidence level of the interval.
                (default: :obj:`0.95`)

        Shapes:
            - **correct:** :math:`(n)`
        """
        if correct.dim() != 1 or correct.numel() == 0:
            raise ValueError(
                f"'correct' must hold one value for each of at least one hyperedge "
                f'(got shape {list(correct.size())})'
            )
        total, count = float(correct.double().sum()), correct.numel()
        return cls(total / count, *wilson_interval(total, count, confidence), count)
