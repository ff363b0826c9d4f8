"""Content of the report page, as plain columns."""

import copy
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from typing_extensions import Self

from tgx_anchor import __version__
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import (
    AnchorEvaluator,
    CalibrationBins,
    ExpectedAccuracy,
    calibration_bins,
)
from tgx_anchor.nn import AnchorModel
from tgx_anchor.report.label_doubt import LabelDoubt
from tgx_anchor.utils import draw_priority, group_topk

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]
Flags = NDArray[np.bool_]

PREDICTION_COLUMNS = (
    'group',
    'anchor',
    'probability',
    'runner_up',
    'runner_up_probability',
    'margin',
    'source',
)
_SOURCES = ('known', 'predicted')
_HISTOGRAM_BINS = 30


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportContent:
    r"""All content of the page that :func:`~tgx_anchor.report.write_report` writes.

    Groups and people are numbered as in the data; :obj:`-1` stands for nobody and NaN
    for a missing number. The members of group :math:`e` are the places
    :obj:`member_ptr[e]` to :obj:`member_ptr[e + 1]` of the columns :obj:`member_*`.

    Args:
        title (str): The title of the page.
        model_name (str): The name of the model.
        group_id (list[str]): The user's name of each group.
        group_anchor (numpy.ndarray): The anchor of each group.
        group_probability (numpy.ndarray): The probability of the anchor.
        group_runner_up (numpy.ndarray): The second most likely member.
        group_runner_up_probability (numpy.ndarray): The probability of the runner-up.
        group_margin (numpy.ndarray): The difference of the two probabilities.
        group_known (numpy.ndarray): Whether the anchor was known beforehand.
        member_ptr (numpy.ndarray): Where the members of each group begin.
        member_person (numpy.ndarray): The person of each membership.
        member_score (numpy.ndarray): The probability that the model gives to each
            member.
        member_is_anchor (numpy.ndarray): Whether the member is shown as an anchor.
        person_id (list[str]): The user's name of each person.
        person_strength (numpy.ndarray, optional): The strength of each person.
            (default: :obj:`None`)
        group_time (list[str], optional): The time of each group, empty where it is
            unknown. (default: :obj:`None`)
        version (str, optional): The version of this package.
        expected_accuracy (ExpectedAccuracy, optional): The accuracy to expect.
            (default: :obj:`None`)
        calibration (CalibrationBins, optional): Probability against accuracy on
            held-out groups. (default: :obj:`None`)
        accuracy_by_size (dict[int, dict[str, float]], optional): The figures of
            :meth:`~tgx_anchor.metrics.AnchorEvaluator.eval_by_size` on held-out
            groups. (default: :obj:`None`)
        warnings (list[str], optional): Sentences that a reader must see first.
            (default: :obj:`()`)
        reasons (dict[int, list[str]], optional): Sentences that explain the anchor of
            a group, for some or all groups. (default: :obj:`{}`)
        doubts (list[LabelDoubt], optional): Known anchors that the model contradicts,
            the clearest first. (default: :obj:`()`)

    Shapes:
        - **group_*:** :math:`(M)`
        - **member_ptr:** :math:`(M + 1)`
        - **member_person, member_score, member_is_anchor:** :math:`(P)`
        - **person_*:** :math:`(N)`
    """

    title: str
    model_name: str
    group_id: Sequence[str]
    group_anchor: Integers
    group_probability: Floats
    group_runner_up: Integers
    group_runner_up_probability: Floats
    group_margin: Floats
    group_known: Flags
    member_ptr: Integers
    member_person: Integers
    member_score: Floats
    member_is_anchor: Flags
    person_id: Sequence[str]
    person_strength: Floats | None = None
    group_time: Sequence[str] | None = None
    version: str = __version__
    expected_accuracy: ExpectedAccuracy | None = None
    calibration: CalibrationBins | None = None
    accuracy_by_size: Mapping[int, Mapping[str, float]] | None = None
    warnings: Sequence[str] = ()
    reasons: Mapping[int, Sequence[str]] = field(default_factory=dict)
    doubts: Sequence[LabelDoubt] = ()

    def __post_init__(self) -> None:
        sizes = {
            'group': self.num_groups,
            'member': len(self.member_person),
            'person': self.num_people,
        }
        for name, value in vars(self).items():
            level = name.split('_', maxsplit=1)[0]
            if level not in sizes or value is None:
                continue
            size = sizes[level] if name != 'member_ptr' else self.num_groups + 1
            if len(value) != size:
                raise ValueError(
                    f"'{name}' must hold {size} values, one per {level} "
                    f'(got {len(value)})'
                )
        ptr = self.member_ptr
        if ptr[0] != 0 or ptr[-1] != sizes['member'] or (np.diff(ptr) < 0).any():
            raise ValueError(
                f"'member_ptr' must rise from 0 to {sizes['member']} "
                f'(got {int(ptr[0])} to {int(ptr[-1])})'
            )
        for name, lowest in (
            ('member_person', 0),
            ('group_anchor', -1),
            ('group_runner_up', -1),
        ):
            value = getattr(self, name)
            wrong = (value < lowest) | (value >= self.num_people)
            if wrong.any():
                raise ValueError(
                    f"'{name}' must hold numbers of the {self.num_people} people "
                    f'(got {int(value[wrong][0])})'
                )
        numbers = [*self.reasons, *(doubt.group for doubt in self.doubts)]
        for number in numbers:
            if not 0 <= number < self.num_groups:
                raise ValueError(
                    f"'reasons' and 'doubts' must name one of {self.num_groups} groups "
                    f'by its number (got {number})'
                )

    @property
    def num_groups(self) -> int:
        r"""The number of groups :math:`M`."""
        return len(self.group_id)

    @property
    def num_people(self) -> int:
        r"""The number of people :math:`N`."""
        return len(self.person_id)

    @property
    def group_size(self) -> Integers:
        r"""The number of members of each group, :math:`(M)`."""
        return np.diff(self.member_ptr)

    @property
    def person_groups(self) -> Integers:
        r"""The number of groups of each person, :math:`(N)`."""
        return np.bincount(self.member_person, minlength=self.num_people)

    @property
    def person_anchored(self) -> Integers:
        r"""The number of groups that each person anchors, :math:`(N)`."""
        return np.bincount(
            self.member_person[self.member_is_anchor], minlength=self.num_people
        )

    @property
    def strength_histogram(self) -> tuple[Integers, Floats] | None:
        r"""Counts and bin edges of the strengths of people in at least one group."""
        if self.person_strength is None:
            return None
        value = self.person_strength[self.person_groups > 0]
        value = value[np.isfinite(value)]
        if value.size == 0:
            return None
        count, edge = np.histogram(value, bins=_HISTOGRAM_BINS)
        return count, np.asarray(edge, dtype=np.float64)

    @classmethod
    def from_model(
        cls,
        model: AnchorModel,
        data: AnchorData,
        *,
        title: str = 'Group anchors',
        predictions: Any = None,
        strength: Tensor | None = None,
        time: Sequence[str] | None = None,
        held_out: Tensor | None = None,
        expected_accuracy: ExpectedAccuracy | None = None,
        calibration: CalibrationBins | None = None,
        warnings: Sequence[str] = (),
        reasons: Mapping[int, Sequence[str]] | None = None,
    ) -> Self:
        r"""Collects the content from a fitted model and a hypergraph.

        Known are the anchors in :obj:`data.train_mask` where the data has one,
        otherwise all anchors in :obj:`data.y`. They are shown as given, with
        probability one; all other groups show what the model predicts.

        Args:
            model (AnchorModel): The fitted model.
            data (AnchorData): The hypergraph.
            title (str, optional): The title of the page.
                (default: :obj:`"Group anchors"`)
            predictions (pyarrow.Table or dict, optional): The columns :obj:`group`,
                :obj:`anchor`, :obj:`probability`, :obj:`runner_up`,
                :obj:`runner_up_probability`, :obj:`margin` and :obj:`source`, in the
                order of the groups, in place of the anchors found here.
                (default: :obj:`None`)
            strength (torch.Tensor, optional): The strength of each node; that of
                :obj:`model` if it has one for each node. (default: :obj:`None`)
            time (list[str], optional): The time of each hyperedge, as it is shown; the
                numbers in :obj:`data.hyperedge_time` if :obj:`None`.
                (default: :obj:`None`)
            held_out (torch.Tensor, optional): Hyperedges with an anchor in
                :obj:`data.y` that the model has not learnt from, to measure accuracy
                and calibration on; all that are in neither :obj:`data.train_mask` nor
                :obj:`data.val_mask` if :obj:`None`. (default: :obj:`None`)
            expected_accuracy (ExpectedAccuracy, optional): In place of the accuracy on
                :obj:`held_out`. (default: :obj:`None`)
            calibration (CalibrationBins, optional): In place of the calibration on
                :obj:`held_out`. (default: :obj:`None`)
            warnings (list[str], optional): Sentences that a reader must see first.
                (default: :obj:`()`)
            reasons (dict[int, list[str]], optional): Sentences that explain the
                anchor of a group. (default: :obj:`None`)

        Shapes:
            - **strength:** :math:`(N)`
            - **held_out:** :math:`(M)`
        """
        data.validate()
        proba = model.predict_proba(data).detach().double().cpu()
        data = copy.copy(data).cpu()
        known = _known_groups(data)
        y = data.get('y')
        is_known = known[data.hyperedge_index[1]]
        known_anchor = torch.zeros_like(is_known) if y is None else y & is_known
        top = _top_two(model, data, proba)
        person_id = _names(data.get('node_id'), int(data.num_nodes or 0))
        group_id = _names(data.get('hyperedge_id'), data.num_hyperedges)
        if predictions is None:
            groups = _own_predictions(data, proba, known, known_anchor, top)
        else:
            groups = _given_predictions(predictions, group_id, person_id)
            known = torch.from_numpy(groups['group_known'])
            is_known = known[data.hyperedge_index[1]]
            known_anchor = known_anchor & is_known
        anchor = torch.from_numpy(groups['group_anchor'])
        # Known groups may have several anchors, and all of them are shown.
        chosen = data.hyperedge_index[0] == anchor[data.hyperedge_index[1]]
        if strength is None:
            strength = _strength(model, int(data.num_nodes or 0))
        held_out = _held_out(data) if held_out is None else held_out.cpu()
        by_size = None
        if bool(held_out.any()):
            evaluator = AnchorEvaluator()
            correct = evaluator.per_hyperedge(proba, data, held_out)['accuracy']
            by_size = evaluator.eval_by_size(proba, data, held_out)
            if expected_accuracy is None:
                expected_accuracy = ExpectedAccuracy.from_correct(correct)
            if calibration is None:
                stated = proba[top[held_out, 0]].clamp(0, 1)
                calibration = calibration_bins(stated, correct)
        return cls(
            title=title,
            model_name=type(model).__name__,
            group_id=group_id,
            **groups,
            member_ptr=data.hyperedge_ptr.numpy(),
            member_person=data.hyperedge_index[0].numpy(),
            member_score=proba.numpy(),
            member_is_anchor=(chosen | known_anchor).numpy(),
            person_id=person_id,
            person_strength=None
            if strength is None
            else strength.detach().double().cpu().numpy(),
            group_time=_times(data.get('hyperedge_time')) if time is None else time,
            expected_accuracy=expected_accuracy,
            calibration=calibration,
            accuracy_by_size=by_size,
            warnings=tuple(warnings),
            reasons={} if reasons is None else dict(reasons),
            doubts=LabelDoubt.find(data, proba, known),
        )


def _names(value: Any, count: int) -> list[str]:
    if value is None:
        return [str(number) for number in range(count)]
    rows = value.tolist() if isinstance(value, Tensor) else value
    return [str(row) for row in rows]


def _times(value: Any) -> list[str] | None:
    if value is None:
        return None
    return [
        _time(row) for row in (value.tolist() if isinstance(value, Tensor) else value)
    ]


def _time(value: Any) -> str:
    if isinstance(value, float):
        return '' if math.isnan(value) else f'{value:.15g}'
    return '' if value is None else str(value)


def _mask(data: AnchorData, name: str) -> Tensor | None:
    mask: Tensor | None = data.get(name)
    if mask is not None and mask.dim() != 1:
        raise ValueError(
            f"'{name}' must hold one boolean per hyperedge (got shape "
            f'{list(mask.size())}; with several splits, take one column)'
        )
    return mask


def _known_groups(data: AnchorData) -> Tensor:
    mask = _mask(data, 'train_mask')
    return data.known_mask if mask is None else mask & data.known_mask


def _held_out(data: AnchorData) -> Tensor:
    held_out = data.known_mask & data.choice_mask & ~_known_groups(data)
    tuned_on = _mask(data, 'val_mask')
    return held_out if tuned_on is None else held_out & ~tuned_on


def _strength(model: AnchorModel, num_nodes: int) -> Tensor | None:
    try:
        strength: Tensor | None = getattr(model, 'strength', None)
    except ValueError:
        # A model that was fitted without strengths.
        return None
    fits = isinstance(strength, Tensor) and list(strength.size()) == [num_nodes]
    return strength if fits else None


def _top_two(model: AnchorModel, data: AnchorData, proba: Tensor) -> Tensor:
    # The two best incidences of each hyperedge, ties drawn as in 'predict'.
    hyperedge = data.hyperedge_index[1]
    place = torch.arange(hyperedge.numel(), device=hyperedge.device)
    priority = draw_priority(place.numel(), model.seed, device=place.device)
    index = torch.stack([place, hyperedge])
    return group_topk(proba, index, data.num_hyperedges, 2, priority)


def _at(value: Tensor, place: Tensor, missing: float) -> Tensor:
    # The values at these incidences; place -1 is missing.
    if value.numel() == 0:
        return torch.full_like(place, missing, dtype=value.dtype)
    return torch.where(place >= 0, value[place.clamp(min=0)], missing)


def _first_flag(flag: Tensor, data: AnchorData) -> Tensor:
    # The first incidence of each hyperedge with the flag, or -1.
    place = torch.arange(flag.numel(), device=flag.device)
    place = torch.where(flag, place, flag.numel())
    first = torch.full(
        (data.num_hyperedges,), flag.numel(), dtype=torch.long, device=flag.device
    )
    first = first.scatter_reduce(0, data.hyperedge_index[1], place, 'amin')
    return torch.where(first < flag.numel(), first, -1)


def _own_predictions(
    data: AnchorData, proba: Tensor, known: Tensor, known_anchor: Tensor, top: Tensor
) -> dict[str, Any]:
    node = data.hyperedge_index[0]
    nan = float('nan')
    label = _first_flag(known_anchor, data)
    anchor = torch.where(known, label, top[:, 0])
    runner_up = torch.where(known, -1, top[:, 1])
    probability = torch.where(known, 1.0, _at(proba, top[:, 0], nan))
    second = _at(proba, runner_up, nan)
    return {
        'group_anchor': _at(node, anchor, -1).numpy(),
        'group_probability': probability.numpy(),
        'group_runner_up': _at(node, runner_up, -1).numpy(),
        'group_runner_up_probability': second.numpy(),
        'group_margin': (probability - second.nan_to_num(0.0)).numpy(),
        'group_known': known.numpy(),
    }


def _given_predictions(
    predictions: Any, group_id: list[str], person_id: list[str]
) -> dict[str, Any]:
    if hasattr(predictions, 'to_pydict'):
        predictions = predictions.to_pydict()
    missing = [name for name in PREDICTION_COLUMNS if name not in predictions]
    if missing:
        raise ValueError(
            f"'predictions' must have the columns {', '.join(PREDICTION_COLUMNS)} "
            f'(got no {", ".join(missing)})'
        )
    given = [str(value) for value in predictions['group']]
    if given != group_id:
        raise ValueError(
            f"'predictions' must have one row for each of the {len(group_id)} groups "
            f'of the data, in their order (got {len(given)} rows)'
        )
    number = {name: place for place, name in enumerate(person_id)}

    def people(column: str) -> Integers:
        try:
            found = [
                -1 if name is None else number[str(name)]
                for name in predictions[column]
            ]
        except KeyError as error:
            raise ValueError(
                f"'predictions' must name people of the data in '{column}' "
                f'(got {error.args[0]!r})'
            ) from None
        return np.array(found, dtype=np.int64)

    def numbers(column: str) -> Floats:
        # Missing values come as None.
        return np.array(list(predictions[column]), dtype=np.float64)

    source = [str(value) for value in predictions['source']]
    wrong = sorted(set(source) - set(_SOURCES))
    if wrong:
        raise ValueError(
            f"'predictions' must have 'known' or 'predicted' in 'source' "
            f'(got {wrong[0]!r})'
        )
    return {
        'group_anchor': people('anchor'),
        'group_probability': numbers('probability'),
        'group_runner_up': people('runner_up'),
        'group_runner_up_probability': numbers('runner_up_probability'),
        'group_margin': numbers('margin'),
        'group_known': np.array([value == 'known' for value in source], dtype=bool),
    }
