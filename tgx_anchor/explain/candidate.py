"""A member of a group that may be its anchor."""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Candidate:
    r"""A member of a group, with everything that speaks for and against it.

    Args:
        id (Any): The :obj:`node_id` of the member, or its number.
        number (int): The number of the node.
        probability (float): The probability that it is the anchor.
        num_groups (int): The number of its groups.
        num_known (int): The number of its other groups with known anchors.
        num_anchored (int): The number of those that it anchors.
        known_for (tuple[str], optional): The ids of at most three known groups that it
            anchors. (default: :obj:`()`)
        known_against (tuple[str], optional): The ids of at most three known groups
            that it does not anchor. (default: :obj:`()`)
        strength (float, optional): Its strength. (default: :obj:`None`)
        num_strongest (int, optional): The number of its groups in which it is the
            strongest member, or one of the strongest if groups have several anchors.
            (default: :obj:`None`)
        share (float, optional): The share of its groups that it anchors, by known
            anchors where there are any, and otherwise by strength or by belief.
            (default: :obj:`None`)
        num_known_here (int, optional): The number of its known groups with another
            member of this group, but not with the same members.
            (default: :obj:`0`)
        num_anchored_here (int, optional): The number of those that it anchors.
            (default: :obj:`0`)
        num_copies (int, optional): The number of other known groups with the same
            members. (default: :obj:`0`)
        num_anchored_copies (int, optional): The number of those that it anchors.
            (default: :obj:`0`)
    """

    id: Any
    number: int
    probability: float
    num_groups: int
    num_known: int
    num_anchored: int
    known_for: tuple[str, ...] = ()
    known_against: tuple[str, ...] = ()
    strength: float | None = None
    num_strongest: int | None = None
    share: float | None = None
    num_known_here: int = 0
    num_anchored_here: int = 0
    num_copies: int = 0
    num_anchored_copies: int = 0
