"""The expected accuracy of a model, and reasons to doubt it."""

import math
from dataclasses import asdict, dataclass
from typing import Any, NamedTuple

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import CalibrationBins, ExpectedAccuracy
from tgx_anchor.nn.predictors.held_out import HeldOut
from tgx_anchor.nn.predictors.known_anchors import check_data, check_labels
from tgx_anchor.nn.predictors.set_numbers import set_numbers
from tgx_anchor.utils import Ranks, degree

# Below so many distinct known groups, accuracies are little more than a guess.
_FEW_KNOWN = 50
# Standardised differences from which groups in a study are usually called imbalanced.
_LARGE_DIFFERENCE = 0.25
# Means of fewer groups say little about a difference.
_MIN_COMPARED = 10
# The model must be better by so many standard errors.
_CLEARLY = 1.64


@dataclass(frozen=True)
class Assessment:
    r"""The expected accuracy of a model on groups whose anchor is not known, and
    warnings, as returned by :meth:`~tgx_anchor.nn.AnchorModel.assess`.

    Args:
        expected_accuracy (ExpectedAccuracy, optional): The accuracy on known groups
            that the model has not learnt from, with an interval of 95 %; :obj:`None` if
            there were none.
        chance (float, optional): The accuracy of a blind guess on these groups.
        degree_accuracy (float, optional): The accuracy of
            :class:`~tgx_anchor.nn.DegreeHeuristic` on these groups.
        num_known (int): The number of groups whose anchor is known.
        num_distinct (int): The number of different sets of members among them.
        num_groups (int): The number of all groups.
        calibrated (bool): Whether the probabilities are calibrated.
        calibration (CalibrationBins, optional): Probability against accuracy on the
            groups of :obj:`expected_accuracy`.
        warnings (tuple[str]): Sentences that a user should read.
    """

    expected_accuracy: ExpectedAccuracy | None
    chance: float | None
    degree_accuracy: float | None
    num_known: int
    num_distinct: int
    num_groups: int
    calibrated: bool
    calibration: CalibrationBins | None
    warnings: tuple[str, ...]

    @classmethod
    def of(cls, held_out: HeldOut, data: AnchorData, calibrated: bool) -> 'Assessment':
        r"""Assesses a model by its held-out groups.

        Args:
            held_out (HeldOut): The held-out groups of the model.
            data (AnchorData): The hypergraph. Known are the anchors in
                :obj:`data.train_mask` if there is one, else all in :obj:`data.y`.
            calibrated (bool): Whether the probabilities of the model are calibrated.
        """
        check_data(data)
        check_labels(data)
        choice = data.choice_mask
        known = data.known_mask & choice
        if data.get('train_mask') is not None:
            known = known & data.train_mask
        ranks = data.ranks
        number = ranks.gather(torch.unique(set_numbers(data, known)[known]))
        num_distinct = torch.unique(number).numel()
        warnings: list[str] = []
        if num_distinct < _FEW_KNOWN:
            warnings.append(
                f'Only {num_distinct} different groups have a known anchor; with fewer '
                f'than {_FEW_KNOWN}, all figures are rough.'
            )
        warnings += _weaknesses(held_out)
        if ranks.any(known) and ranks.any(choice & ~known):
            warnings += _differences(data, known, choice & ~known)
        if not calibrated:
            warnings.append(
                'The probabilities are not calibrated: they order the groups, but a '
                'probability of 80 % does not mean that 80 % are right.'
            )
        has_rows = len(held_out) > 0
        return cls(
            expected_accuracy=held_out.accuracy() if has_rows else None,
            chance=held_out.mean('chance') if has_rows else None,
            degree_accuracy=held_out.mean('by_degree') if has_rows else None,
            num_known=int(ranks.total(int(known.sum()))),
            num_distinct=num_distinct,
            num_groups=int(ranks.total(data.num_hyperedges)),
            calibrated=calibrated,
            calibration=held_out.bins() if has_rows else None,
            warnings=tuple(warnings),
        )

    def sentences(self) -> list[str]:
        r"""Returns the figures in words, followed by the warnings."""
        out = [
            f'The anchor is known in {self.num_known:,} of {self.num_groups:,} groups '
            f'({self.num_distinct:,} different sets of members).'
        ]
        found = self.expected_accuracy
        if found is not None and self.chance is not None:
            out.append(
                f'Expected accuracy {_percent(found.value)} (95 % interval '
                f'{_percent(found.low)} to {_percent(found.high)}), measured on '
                f'{found.num_hyperedges:,} known groups that the model had not learnt '
                f'from; chance has {_percent(self.chance)}, the degree heuristic '
                f'{_percent(self.degree_accuracy or 0.0)}.'
            )
        return [*out, *self.warnings]

    def to_dict(self) -> dict[str, Any]:
        r"""Returns the figures as plain values, for JSON."""
        bins = self.calibration
        return {
            **asdict(self),
            'calibration': None
            if bins is None
            else {name: value.tolist() for name, value in bins._asdict().items()},
            'warnings': list(self.warnings),
        }


def _weaknesses(held_out: HeldOut) -> list[str]:
    if len(held_out) == 0:
        return [
            'The accuracy to expect is unknown: no known anchors were held out while '
            'the model learnt. More known anchors would allow it.'
        ]
    out = []
    accuracy = held_out.mean('correct')
    for name, words in (('chance', 'chance'), ('by_degree', 'the degree heuristic')):
        gain, error = held_out.gain(name)
        # A perfect rival cannot be beaten.
        if gain <= _CLEARLY * error and held_out.mean(name) < 1:
            out.append(
                f'On known groups that the model had not learnt from, its accuracy of '
                f'{_percent(accuracy)} is not clearly above that of {words}, '
                f'{_percent(held_out.mean(name))}.'
            )
    return out


def _differences(data: AnchorData, known: Tensor, rest: Tensor) -> list[str]:
    # Compares known groups with the others, in units of the standard deviation.
    index, ranks = data.hyperedge_index, data.ranks
    count = degree(
        index, int(data.num_nodes or 0), data.num_hyperedges, ranks=ranks
    ).double()
    size = data.hyperedge_size.double()
    total = torch.zeros_like(size).index_add(0, index[1], count.log()[index[0]])
    # Logarithms, since sizes and degrees have heavy tails.
    levels = {
        'members': size.clamp(min=1).log(),
        'groups per member': total / size.clamp(min=1),
    }
    out = []
    for words, level in levels.items():
        one, other = (_moments(level[mask], ranks) for mask in (known, rest))
        if min(one.number, other.number) < _MIN_COMPARED:
            continue
        spread = ((one.variance + other.variance) / 2) ** 0.5
        gap = abs(one.mean - other.mean)
        if gap <= _LARGE_DIFFERENCE * spread or gap < 1e-9:
            continue
        typical = [math.exp(part.mean) for part in (one, other)]
        out.append(
            f'Known groups differ from the others: they typically have {typical[0]:.1f}'
            f' {words}, the others {typical[1]:.1f}. The accuracy on the others may '
            f'be different.'
        )
    return out


class _Moments(NamedTuple):
    number: int
    mean: float
    variance: float


def _moments(value: Tensor, ranks: Ranks) -> _Moments:
    # Those of the values of all processes.
    count = int(ranks.total(value.numel()))
    mean = ranks.total(float(value.sum())) / max(count, 1)
    variance = ranks.total(float((value - mean).square().sum())) / max(count, 1)
    return _Moments(count, mean, variance)


def _percent(value: float) -> str:
    return f'{100 * value:.1f} %'
