"""One reason of a prediction."""

from dataclasses import dataclass
from typing import Literal

ReasonKind = Literal[
    'strength',
    'centrality',
    'attribute',
    'time',
    'record',
    'rivals',
    'copies',
    'belief',
]


@dataclass(frozen=True)
class Reason:
    r"""A reason why a model prefers the predicted anchor of a group to the runner-up.

    Args:
        name (str): :obj:`"strength"` for the strength of the two people beyond what
            their features tell; or the centrality, such as :obj:`"degree"`, or the
            column of time that stands for all of its kind; or the name of the
            attribute; otherwise the kind.
        kind (str): :obj:`"strength"`, :obj:`"centrality"`, :obj:`"attribute"`,
            :obj:`"time"` (the place of the group in the history of the two people);
            their shares of known groups: of all (:obj:`"record"`), of those with other
            members of the group (:obj:`"rivals"`), and of those with the same members
            (:obj:`"copies"`); or their shares of all groups by known anchors and
            beliefs (:obj:`"belief"`).
        contribution (float): The part of the preference that is due to it, negative if
            it speaks for the runner-up.
        agreement (float, optional): The share of the known groups in which the anchor
            has the highest value of all members, or the lowest one if that is more.
            (default: :obj:`None`)
        highest (bool, optional): If set to :obj:`False`, :obj:`agreement` is about the
            lowest value. (default: :obj:`True`)
        value (float, optional): The value of the anchor; :obj:`None` if there is none
            that the contribution fits. Shares of known groups are those with one more
            group, which is anchored by chance. (default: :obj:`None`)
        runner_up_value (float, optional): The value of the runner-up.
            (default: :obj:`None`)
        others (tuple[float, float], optional): The lowest and the highest value of all
            members but the anchor. (default: :obj:`None`)
        also (tuple[str], optional): Other centralities in which the anchor is the
            highest or lowest member, too. (default: :obj:`()`)
    """

    name: str
    kind: ReasonKind
    contribution: float
    agreement: float | None = None
    highest: bool = True
    value: float | None = None
    runner_up_value: float | None = None
    others: tuple[float, float] | None = None
    also: tuple[str, ...] = ()
