"""Reasons that are shares of groups: of known ones, and of all by belief."""

from collections.abc import Iterable

from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.reason import Reason, ReasonKind
from tgx_anchor.explain.wording import is_plain

_KINDS: tuple[ReasonKind, ...] = ('record', 'belief', 'rivals', 'copies')


def group_reasons(
    reasons: Iterable[Reason],
    rest: float,
    anchor: Candidate,
    runner_up: Candidate,
    size: int,
) -> tuple[Reason, ...]:
    r"""Gives reasons about groups their values, which are the shares of these groups
    that two people anchor, and sorts all reasons.

    Beliefs are about known groups as well, so that a model may count too much of the
    one and take it back by the other. If a sentence about known groups and one about
    beliefs do not both tell what their sum tells, one stands for both.

    Args:
        reasons (list[Reason]): The reasons, of which those about groups have no values.
        rest (float): The part of the preference that is due to groups of the same
            members, or else to beliefs.
        anchor (Candidate): The predicted anchor.
        runner_up (Candidate): The runner-up.
        size (int): The number of members of the group.
    """
    parts = dict.fromkeys(_KINDS, 0.0)
    out: list[Reason] = []
    for reason in reasons:
        if reason.kind in parts:
            parts[reason.kind] += reason.contribution
        else:
            out.append(reason)
    gap = anchor.num_anchored_copies - runner_up.num_anchored_copies
    parts['copies' if gap * rest > 0 else 'belief'] += rest

    def make(kind: ReasonKind, contribution: float) -> Reason:
        values = [_share(kind, person, size) for person in (anchor, runner_up)]
        return Reason(
            kind, kind, contribution, value=values[0], runner_up_value=values[1]
        )

    total = parts['record'] + parts['belief']
    plain = [kind for kind in _KINDS[:2] if is_plain(make(kind, total))]
    if len(plain) < 2 or min(total * parts[kind] for kind in plain) < 0:
        parts['record'] = parts['belief'] = 0.0
        parts[plain[0] if plain else 'belief'] = total
    out += [make(kind, value) for kind, value in parts.items() if value != 0]
    return tuple(sorted(out, key=lambda reason: reason.contribution, reverse=True))


def _share(kind: ReasonKind, person: Candidate, size: int) -> float:
    # With one more group that is anchored by chance, for people without any.
    if kind == 'belief':
        return 1 / size if person.share is None else person.share
    anchored, known = {
        'record': (person.num_anchored, person.num_known),
        'rivals': (person.num_anchored_here, person.num_known_here),
        'copies': (person.num_anchored_copies, person.num_copies),
    }[kind]
    return (anchored + 1 / size) / (known + 1)
