"""The part of a batch that one of several processes computes."""

from typing import NamedTuple

from torch import Tensor
from typing_extensions import Self


class TargetPart(NamedTuple):
    r"""Holds the targets of a batch that one of several processes computes.

    The loss of a batch is a mean over its targets, or over their members. If each part
    multiplies its own mean by its share, the sum over all parts is the mean of the
    whole batch.

    Args:
        target (torch.Tensor): The hyperedges of the part.
        share_of_targets (float): The number of hyperedges in the part, divided by their
            number in the batch.
        share_of_members (float): The number of members of these hyperedges, divided by
            their number in the batch.

    Shapes:
        - **target:** :math:`(T)`
    """

    target: Tensor
    share_of_targets: float
    share_of_members: float

    @classmethod
    def of(cls, target: Tensor, size: Tensor, part: int, num_parts: int) -> Self:
        r"""Takes a part of the targets of a batch. If there are more parts than
        targets, the parts that are left over hold the first target with a share of
        zero, so that no process has to compute an empty batch.

        Args:
            target (torch.Tensor): The hyperedges of the whole batch.
            size (torch.Tensor): The number of members of every hyperedge.
            part (int): The number of the part.
            num_parts (int): The number of parts.

        Shapes:
            - **target:** :math:`(T)`
            - **size:** :math:`(M)`
        """
        if num_parts == 1:
            return cls(target, 1.0, 1.0)
        own = target[part::num_parts]
        if own.numel() == 0:
            return cls(target[:1], 0.0, 0.0)
        members = int(size.index_select(0, own).sum())
        total = int(size.index_select(0, target).sum())
        return cls(own, own.numel() / target.numel(), members / max(total, 1))
