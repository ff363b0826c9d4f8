"""Predictions of known groups that a model has not learnt from."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import (
    AnchorEvaluator,
    CalibrationBins,
    ExpectedAccuracy,
    calibration_bins,
    wilson_interval,
)
from tgx_anchor.nn.predictors.copy_weight import copy_weight
from tgx_anchor.nn.predictors.cross_fit import HeldOutScores

_COLUMNS = ('correct', 'by_degree', 'chance', 'probability', 'number')


class HeldOut(torch.nn.Module):
    r"""Keeps the figures of known hyperedges that a model has not learnt from, one row
    per hyperedge: whether the model and the degree heuristic find the anchor, the
    accuracy of a blind guess, the calibrated probability of the most likely member, and
    the number of the node set. They are saved with the model.
    """

    table: Tensor

    def __init__(self) -> None:
        super().__init__()
        empty = torch.empty((0, len(_COLUMNS)), dtype=torch.double)
        self.register_buffer('table', empty)

    def __len__(self) -> int:
        return self.table.size(0)

    @property
    def num_distinct(self) -> int:
        r"""The number of distinct node sets."""
        return int(torch.unique(self._column('number')).numel())

    def keep(
        self,
        scores: HeldOutScores,
        data: AnchorData,
        probability: Tensor | None,
        number: Tensor,
    ) -> None:
        r"""Replaces the rows by those of held-out hyperedges.

        Args:
            scores (HeldOutScores): The hyperedges and the scores of their members.
            data (AnchorData): The hypergraph.
            probability (torch.Tensor, optional): The calibrated probability of the most
                likely member of each held-out hyperedge of all processes; that of
                :obj:`scores` if :obj:`None`.
            number (torch.Tensor): The number of the node set of each hyperedge.

        Shapes:
            - **probability:** :math:`(H)`
            - **number:** :math:`(M)`
        """
        mask, hyperedge = scores.mask, data.hyperedge_index[1]
        evaluator = AnchorEvaluator(chance=True)
        figures = evaluator.per_hyperedge(scores.proba, data, mask)
        degree = evaluator.per_hyperedge(scores.degree, data, mask)['accuracy']
        if probability is None:
            best = scatter(scores.proba, hyperedge, 0, data.num_hyperedges, 'max')
            probability = best[mask]
            probability = data.ranks.gather(probability)
        parts = (figures['accuracy'], degree, figures['chance'], number[mask])
        *found, number = (data.ranks.gather(part) for part in parts)
        _, copies = torch.unique(number, return_inverse=True)
        columns = (*found, probability, copies)
        self.table = torch.stack([column.double() for column in columns], dim=1)

    def accuracy(self, confidence: float = 0.95) -> ExpectedAccuracy:
        r"""Computes the expected accuracy with its Wilson interval. Copies of a group
        are weighted by :func:`~tgx_anchor.nn.predictors.copy_weight.copy_weight` and
        are one piece of evidence together: the interval is that of the effective number
        of node sets, :math:`(\sum_c w_c)^2 / \sum_c w_c^2`.

        Args:
            confidence (float, optional): The confidence level. (default: :obj:`0.95`)
        """
        number = self._column('number').long()
        total = scatter(copy_weight(number), number, 0, reduce='sum')
        # Rounded down, but not because of rounding errors.
        count = int(total.sum().square() / total.square().sum() + 1e-6)
        value = self.mean('correct')
        interval = wilson_interval(value * count, count, confidence)
        return ExpectedAccuracy(value, *interval, len(self))

    def mean(self, name: str) -> float:
        r"""Computes the weighted mean of a column.

        Args:
            name (str): :obj:`"correct"`, :obj:`"by_degree"` or :obj:`"chance"`.
        """
        weight = copy_weight(self._column('number').long())
        mean = float((weight * self._column(name)).sum() / weight.sum())
        return min(max(mean, 0.0), 1.0)

    def gain(self, name: str) -> tuple[float, float]:
        r"""Computes the weighted mean of the difference between the model and another
        column, and its standard error, in which copies are one piece of evidence.

        Args:
            name (str): :obj:`"by_degree"` or :obj:`"chance"`.
        """
        number = self._column('number').long()
        weight = copy_weight(number)
        weight = weight / weight.sum()
        gain = self._column('correct') - self._column(name)
        mean = float((weight * gain).sum())
        residual = scatter(weight * (gain - mean), number, 0, reduce='sum')
        return mean, float(residual.square().sum().sqrt())

    def bins(self, num_bins: int = 15) -> CalibrationBins:
        r"""Compares probabilities with accuracy, in bins of equal count.

        Args:
            num_bins (int, optional): The number of bins. (default: :obj:`15`)
        """
        probability = self._column('probability').clamp(0, 1)
        return calibration_bins(probability, self._column('correct'), num_bins)

    def _column(self, name: str) -> Tensor:
        return self.table[:, _COLUMNS.index(name)]

    def _load_from_state_dict(
        self, state_dict: Mapping[str, Any], prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        # The number of rows depends on the data.
        table = state_dict.get(f'{prefix}table')
        if isinstance(table, Tensor) and table.size()[1:] == (len(_COLUMNS),):
            self.table = torch.empty_like(table, device=self.table.device)
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)
