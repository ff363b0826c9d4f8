"""Sentences for people from the parts of an explanation."""

import math
from typing import Any

from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.reason import Reason

_LABELS = {
    'eigenvector': 'eigenvector centrality',
    'pagerank': 'PageRank',
    'contacts': 'number of contacts',
    # If none of them tells it alone.
    'centrality': 'its place among all groups',
    'time': 'the times of its groups',
}
# Sentences about time, with the one who has the higher value first.
_TIMES = {
    'time_is_first': 'this is the first group of {}, and not that of {}',
    'time_is_last': 'this is the last group of {}, and not that of {}',
    'time_since_start': 'the first group of {} is longer ago than that of {}',
    'time_until_end': 'the last group of {} is later than that of {}',
    'time_position': 'this group is later among those of {} than among those of {}',
}
# The kinds of reasons that are shares of groups.
_GROUPS = ('record', 'rivals', 'copies', 'belief')
_COUNTS = {
    'time_earlier': '{} had been in {} before this one, {} in {}',
    'time_later': '{} is in {} after this one, {} in {}',
}


def person_text(identity: Any) -> str:
    r"""Names a person: by its id, and plain numbers as :obj:`"person 7"`.

    Args:
        identity (Any): The id.
    """
    return f'person {identity}' if isinstance(identity, int) else str(identity)


def percent_text(share: float) -> str:
    r"""Writes a share as a whole percentage that is 0 or 100 only if it is exact.

    Args:
        share (float): The share.
    """
    if 0 < share < 0.01:
        return 'under 1 %'
    if 0.99 < share < 1:
        return 'over 99 %'
    return f'{100 * share:.0f} %'


def reason_sentence(
    reason: Reason,
    anchor: Candidate,
    runner_up: Candidate,
    size: int,
    num_anchors: int = 1,
) -> str:
    r"""Writes a reason for the anchor, with the values behind it.

    Args:
        reason (Reason): The reason.
        anchor (Candidate): The predicted anchor.
        runner_up (Candidate): The runner-up.
        size (int): The number of members of the group.
        num_anchors (int, optional): The number of anchors per group.
            (default: :obj:`1`)
    """
    if reason.kind == 'strength':
        return _strength_sentence(anchor, runner_up, num_anchors)
    if reason.kind in _GROUPS:
        return f'{_group_text(reason.kind, anchor, runner_up, size)}.'
    if reason.kind == 'time' and reason.value is not None:
        text = _time_text(reason, anchor, runner_up)
        return text if reason.name in _COUNTS else f'{text[0].upper()}{text[1:]}'
    name, rival = person_text(anchor.id), person_text(runner_up.id)
    value, others = reason.value, reason.others
    if value is None or others is None:
        return f'{name} differs from {rival} in {_label(reason)}.'
    low, high = others
    if value == reason.runner_up_value:
        return (
            f'{name} and {rival} have the same {_label(reason)}, but differ in how '
            f'they compare with the members of their other groups.'
        )
    if low <= value <= high:
        return _pair_sentence(reason, anchor, runner_up, value, reason.runner_up_value)
    rest = rival if size == 2 else 'the others'
    most = 'highest' if value > high else 'lowest'
    if reason.name == 'degree' and reason.kind == 'centrality':
        text = f'{name} is in {_count(value, "group")}, {rest} in {_range(low, high)}'
        if reason.also:
            text += f', and has the {most} {_labels(reason.also)}'
    else:
        labels = _label(reason)
        if reason.also:
            labels = _labels((reason.name, *reason.also))
        text = f'{name} has the {most} {labels} of the group'
        if reason.kind == 'attribute':
            verb = 'has' if size == 2 else 'have'
            text += f': {_number(value)}, {rest} {verb} {_range(low, high)}'
    if reason.agreement is None or reason.highest != (value > high):
        return f'{text}.'
    return f'{text} ({_rule(reason)}).'


def against_sentence(
    reason: Reason, anchor: Candidate, runner_up: Candidate, size: int = 3
) -> str:
    r"""Writes a reason that speaks for the runner-up.

    Args:
        reason (Reason): The reason.
        anchor (Candidate): The predicted anchor.
        runner_up (Candidate): The runner-up.
        size (int, optional): The number of members of the group. (default: :obj:`3`)
    """
    if reason.kind in _GROUPS:
        return f'Against it: {_group_text(reason.kind, runner_up, anchor, size)}.'
    if reason.kind == 'time' and reason.value is not None:
        return f'Against it: {_time_text(reason, anchor, runner_up)}'
    if reason.value == reason.runner_up_value:
        return f'Against it: {_label(reason)} in their other groups.'
    text = _pair_sentence(
        reason, runner_up, anchor, reason.runner_up_value, reason.value
    )
    return f'Against it: {text}'


def is_plain(reason: Reason) -> bool:
    r"""Whether the values of a reason show its direction. If they do not, the words
    would tell the opposite of what the model makes of them.

    Args:
        reason (Reason): The reason.
    """
    value, other = reason.value, reason.runner_up_value
    if reason.kind not in _GROUPS or value is None or other is None:
        return True
    differs = reason.kind != 'belief' or percent_text(value) != percent_text(other)
    return differs and (value - other) * reason.contribution > 0


def record_sentence(person: Candidate) -> str:
    r"""Writes which known groups a person anchors.

    Args:
        person (Candidate): The person.
    """
    name = person_text(person.id)
    if person.num_known == 0:
        return f'{name} is in no other group with a known anchor.'
    missed = person.num_known - person.num_anchored
    listed = _examples(person.known_for, person.num_anchored)
    against = _examples(person.known_against, missed)
    whole = 'its only' if person.num_known == 1 else f'its {person.num_known}'
    known = 'known group' if person.num_known == 1 else 'known groups'
    if person.num_anchored == 0:
        verb = 'did not anchor' if person.num_known == 1 else 'anchored none of'
        return f'{name} {verb} {whole} {known}{against}.'
    if missed == 0:
        share = whole if person.num_known == 1 else f'all {whole}'
        return f'{name} anchored {share} {known}{listed}.'
    return (
        f'{name} anchored {person.num_anchored} of {whole} {known}{listed}, '
        f'and did not anchor {missed}{against}.'
    )


def _group_text(kind: str, first: Candidate, second: Candidate, size: int) -> str:
    name, rival = person_text(first.id), person_text(second.id)
    if kind == 'belief':
        return _belief_text(first, second)
    if kind == 'record' or (kind == 'rivals' and size > 2):
        where = '' if kind == 'record' else ' with other members of this group'
        return f'{_known_text(first, where)}, {_known_text(second, where, True)}'
    if kind == 'rivals':
        count, where = first.num_known_here, f'with {rival}'
        won, lost = first.num_anchored_here, second.num_anchored_here
    else:
        count, where = first.num_copies, 'of the same people'
        won, lost = first.num_anchored_copies, second.num_anchored_copies
    if count == 1:
        return f'{name} anchored the only other known group {where}'
    return (
        f'{name} anchored {won} of the {count} other known groups {where}, {rival} '
        f'anchored {lost}'
    )


def _known_text(person: Candidate, where: str, is_again: bool = False) -> str:
    name = person_text(person.id)
    won, count = person.num_anchored, person.num_known
    if where:
        won, count = person.num_anchored_here, person.num_known_here
    if count == 0:
        return f'{name} is in {"none" if is_again else f"no known group{where}"}'
    if count == 1:
        noun = 'one' if is_again else f'known group{where}'
        return f'{name} {"anchored" if won else "did not anchor"} its only {noun}'
    noun = '' if is_again else f' known groups{where}'
    if won in (0, count):
        return f'{name} anchored {"all" if won else "none of"} its {count}{noun}'
    return f'{name} anchored {won} of its {count}{noun}'


def _belief_text(first: Candidate, second: Candidate) -> str:
    name, rival = person_text(first.id), person_text(second.id)
    anchors = 'of its groups by known anchors and estimates'
    if first.share is None:
        share = percent_text(second.share or 0.0)
        return f'{name} is in no other group, {rival} anchors {share} {anchors}'
    text = f'{name} anchors {percent_text(first.share)} {anchors}'
    if second.share is None:
        return f'{text}, {rival} is in no other group'
    return f'{text}, {rival} {percent_text(second.share)}'


def _time_text(reason: Reason, anchor: Candidate, runner_up: Candidate) -> str:
    value, other = reason.value or 0.0, reason.runner_up_value or 0.0
    names = person_text(anchor.id), person_text(runner_up.id)
    if reason.name in _COUNTS:
        # Logarithms of one more than the number.
        first, second = round(math.expm1(value)), round(math.expm1(other))
        own = _count(first, 'group') if first else 'no group'
        text = _COUNTS[reason.name].format(names[0], own, names[1], second or 'none')
    else:
        text = _TIMES[reason.name].format(*(names if value > other else names[::-1]))
    return f'{text}.'


def _strength_sentence(anchor: Candidate, runner_up: Candidate, count: int) -> str:
    name, rival = person_text(anchor.id), person_text(runner_up.id)
    own, other = anchor.strength, runner_up.strength
    if own is None or other is None:
        return f'{name} is stronger than {rival}.'
    if own >= other:
        text = f'{name} has the strength {own:.2f}, {rival} {other:.2f}'
    else:
        text = f'{name} has the strength {own:.2f}, less than {rival} with {other:.2f}'
        if (anchor.share or 0) <= (runner_up.share or 0):
            return f'{text}, but known anchors count more.'
    if anchor.num_strongest is None or runner_up.num_strongest is None:
        return f'{text}.'
    best = 'the strongest' if count == 1 else f'among the {count} strongest'
    link = ', but' if own < other else ';'
    return f'{text}{link} {name} is {best} {_part(anchor)}, {rival} {_part(runner_up)}.'


def _part(person: Candidate) -> str:
    won, total = person.num_strongest or 0, person.num_groups
    if total == 1:
        return 'in its only group' if won else 'not in its only group'
    if won in (0, total):
        return f'in {"all" if won else "none"} of its {total} groups'
    return f'in {won} of its {total} groups'


def _pair_sentence(
    reason: Reason,
    first: Candidate,
    second: Candidate,
    value: float | None,
    other: float | None,
) -> str:
    name, rival = person_text(first.id), person_text(second.id)
    if value is None or other is None:
        return f'{name} differs from {rival} in {_label(reason)}.'
    if reason.kind == 'attribute':
        return (
            f'{name} has the {_label(reason)} {_number(value)}, {rival} '
            f'{_number(other)}.'
        )
    if reason.name == 'degree':
        return f'{name} is in {_count(value, "group")}, {rival} in {_number(other)}.'
    more = 'higher' if value > other else 'lower'
    return f'{name} has a {more} {_label(reason)} than {rival}.'


def _rule(reason: Reason) -> str:
    most = 'highest' if reason.highest else 'lowest'
    if reason.name == 'degree' and reason.kind == 'centrality':
        holds = (
            f'the anchor is the member in the {"most" if reason.highest else "fewest"}'
        )
    else:
        holds = f'the anchor has the {most}'
    return f'in {percent_text(reason.agreement or 0.0)} of the known groups, {holds}'


def _label(reason: Reason) -> str:
    if reason.kind in ('centrality', 'time'):
        return _LABELS.get(reason.name, reason.name)
    return reason.name


def _labels(names: tuple[str, ...]) -> str:
    *head, last = (_LABELS.get(name, name) for name in names)
    return f'{", ".join(head)} and {last}' if head else last


def _number(value: float) -> str:
    return f'{value:.0f}' if float(value).is_integer() else f'{value:.4g}'


def _count(value: float, noun: str) -> str:
    return f'{_number(value)} {noun}' if value == 1 else f'{_number(value)} {noun}s'


def _range(low: float, high: float) -> str:
    return _number(low) if low == high else f'{_number(low)} to {_number(high)}'


def _examples(names: tuple[str, ...], count: int) -> str:
    if not names:
        return ''
    more = ', ...' if count > len(names) else ''
    return f' ({", ".join(names)}{more})'
