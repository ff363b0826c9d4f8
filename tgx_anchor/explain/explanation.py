"""The explanation of one prediction."""

from dataclasses import asdict, dataclass
from typing import Any

from tgx_anchor.explain.candidate import Candidate
from tgx_anchor.explain.reason import Reason
from tgx_anchor.explain.wording import (
    against_sentence,
    is_plain,
    percent_text,
    person_text,
    reason_sentence,
    record_sentence,
)

# Probabilities that differ by a smaller share are equal.
TIE = 1e-9
# Reasons below this share of the largest one are not worth a sentence.
_LEAST_SHARE = 0.1
_MOST_REASONS = 4


@dataclass(frozen=True)
class Explanation:
    r"""The reasons why a model predicts an anchor of a group.

    Let :math:`p` be the :obj:`preference`, the probability of the anchor if the group
    held only the anchor and the runner-up. The contributions of the reasons add up to
    :math:`p - 1/2`.

    .. code-block:: python

        explanation = explain(model, data, 'meeting 17')
        print(explanation)          # sentences
        explanation.reasons[0]      # the most important reason
        explanation.to_dict()       # plain values

    Args:
        group (Any): The :obj:`hyperedge_id` of the group, or its number.
        number (int): The number of the hyperedge.
        size (int): The number of members.
        model (str): The name of the model.
        anchor (Candidate, optional): The predicted anchor; :obj:`None` without members.
            (default: :obj:`None`)
        runner_up (Candidate, optional): The second most likely member; :obj:`None` if
            there is none. (default: :obj:`None`)
        preference (float, optional): The preference :math:`p`. (default: :obj:`None`)
        reasons (tuple[Reason], optional): The reasons, those for the anchor first, the
            most important one at the front. (default: :obj:`()`)
        known_anchors (tuple, optional): The anchors of this group that the model was
            given. (default: :obj:`()`)
        num_anchors (int, optional): The number of anchors that the model expects in a
            group. (default: :obj:`1`)
    """

    group: Any
    number: int
    size: int
    model: str
    anchor: Candidate | None = None
    runner_up: Candidate | None = None
    preference: float | None = None
    reasons: tuple[Reason, ...] = ()
    known_anchors: tuple[Any, ...] = ()
    num_anchors: int = 1

    @property
    def is_tie(self) -> bool:
        r"""Whether the anchor and the runner-up are equally likely."""
        if self.anchor is None or self.runner_up is None:
            return False
        gap = self.anchor.probability - self.runner_up.probability
        return gap <= TIE * self.anchor.probability

    def sentences(self) -> list[str]:
        r"""Returns the explanation in short sentences: the prediction, the reasons with
        the most important one first, the known groups of the two people, and the
        reasons against it.
        """
        out = self._prediction()
        anchor, runner_up = self.anchor, self.runner_up
        if anchor is None or runner_up is None:
            return out
        largest = max((abs(r.contribution) for r in self.reasons), default=0.0)
        told = [
            r
            for r in self.reasons
            if abs(r.contribution) >= _LEAST_SHARE * largest > 0 and is_plain(r)
        ]
        kept = [r for r in told if r.contribution > 0][:_MOST_REASONS]
        has_strength = anchor.strength is not None and not self.is_tie
        if has_strength and all(r.kind != 'strength' for r in kept):
            # No reason, but what the prediction comes from.
            kept.append(Reason('strength', 'strength', 0.0))
        elif self.reasons and not kept:
            out.append('What decided cannot be put into a sentence.')
        record = [record_sentence(anchor), record_sentence(runner_up)]
        for reason in kept:
            if reason.kind == 'record':
                out += record
                record = []
                continue
            out.append(
                reason_sentence(reason, anchor, runner_up, self.size, self.num_anchors)
            )
        out += record
        against = [
            r
            for r in told[::-1]
            if r.contribution < 0 and r.kind != 'strength' and r.value is not None
        ]
        for reason in against[:_MOST_REASONS]:
            out.append(against_sentence(reason, anchor, runner_up, self.size))
        return out

    def _prediction(self) -> list[str]:
        group = f'group {self.group}'
        if self.anchor is None:
            return [f'There are no members in {group}.']
        name = person_text(self.anchor.id)
        if self.runner_up is None:
            return [f'{name} is the only member of {group}: there is no choice.']
        rival = person_text(self.runner_up.id)
        chance = percent_text(self.anchor.probability)
        second = (
            f'the runner-up is {rival} with {percent_text(self.runner_up.probability)}'
        )
        if self.known_anchors:
            known = ', '.join(map(person_text, self.known_anchors))
            agrees = self.anchor.id in self.known_anchors
            out = [f'The known anchor of {group} is {known}.']
            if len(self.known_anchors) > 1:
                out = [f'The known anchors of {group} are {known}.']
            also = ' as well' if agrees else ''
            out.append(f'The model chooses {name}{also}, with {chance}; {second}.')
        else:
            out = [
                f'{name} is the predicted anchor of {group} with {chance}; {second}.'
            ]
        if self.is_tie:
            out.append('The two are equally likely: one of them was drawn.')
        elif not self.reasons:
            out.append(f'{self.model} does not tell which features decided.')
        return out

    def to_dict(self) -> dict[str, Any]:
        r"""Returns all fields as plain values, and :obj:`sentences`."""
        return {**asdict(self), 'is_tie': self.is_tie, 'sentences': self.sentences()}

    def __str__(self) -> str:
        return '\n'.join(self.sentences())
