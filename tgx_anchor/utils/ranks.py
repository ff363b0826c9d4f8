"""Processes that share a hypergraph, and what they compute together."""

from collections.abc import Callable
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from tgx_anchor.utils.messages import one_line

T = TypeVar('T')


class Ranks:
    r"""Sums and gathers tensors over the processes of a group, each of which holds
    some of the hyperedges and all nodes. A single process is a group of one, in which
    nothing is sent.

    All methods must be called by all processes of the group, in the same order.

    .. code-block:: python

        ranks = Ranks.current()   # all processes of torchrun, or this one alone
        degree = ranks.sum_(torch.bincount(node, minlength=num_nodes))

    Args:
        group (torch.distributed.ProcessGroup, optional): The group; this process alone
            if :obj:`None`. (default: :obj:`None`)
    """

    def __init__(self, group: 'dist.ProcessGroup | None' = None) -> None:
        self.group = group
        self.rank = 0 if group is None else dist.get_rank(group)
        self.size = 1 if group is None else dist.get_world_size(group)
        # NCCL only supports tensors on GPUs.
        is_nccl = group is not None and dist.get_backend(group) == 'nccl'
        self.device = torch.device('cuda' if is_nccl else 'cpu')
        #: The number of bytes of all tensors that this process has sent.
        self.num_bytes = 0

    @classmethod
    def current(cls) -> 'Ranks':
        r"""Returns the group of all processes if :obj:`torch.distributed` is
        initialised, or else this process alone.
        """
        if dist.is_available() and dist.is_initialized():
            return cls(dist.group.WORLD)
        return cls()

    @property
    def is_first(self) -> bool:
        r"""Whether this is the process that reads and writes for all."""
        return self.rank == 0

    def sum_(self, value: Tensor) -> Tensor:
        r"""Replaces a tensor by its sum over all processes, and returns it.

        Args:
            value (torch.Tensor): The tensor, of the same shape in all processes.
        """
        if self.size > 1:
            self.num_bytes += value.numel() * value.element_size()
            dist.all_reduce(value, group=self.group)
        return value

    def total(self, value: float) -> float:
        r"""Returns the sum of a number over all processes.

        Args:
            value (float): The number.
        """
        if self.size == 1:
            return value
        kind = torch.long if isinstance(value, int) else torch.double
        return self.sum_(torch.tensor(value, dtype=kind, device=self.device)).item()

    def any(self, flag: Tensor) -> bool:
        r"""Returns :obj:`True` if any value is true in any process.

        Args:
            flag (torch.Tensor): Any number of values.
        """
        return self.total(int(flag.any())) > 0

    def gather(self, value: Tensor) -> Tensor:
        r"""Concatenates the rows of all processes, in the order of their ranks.

        Args:
            value (torch.Tensor): Any number of rows of this process.
        """
        if self.size == 1:
            return value
        size = torch.tensor([value.size(0)], device=self.device)
        counts = self.gather_equal(size).view(-1).tolist()
        # Tensors of unequal length cannot be gathered.
        padded = value.new_zeros((max(counts), *value.size()[1:]))
        padded[: value.size(0)] = value
        parts = self.gather_equal(padded)
        return torch.cat([part[:n] for part, n in zip(parts, counts, strict=True)])

    def gather_equal(self, value: Tensor) -> Tensor:
        r"""Stacks the tensors of all processes, in the order of their ranks.

        Args:
            value (torch.Tensor): The tensor, of the same shape in all processes.
        """
        if self.size == 1:
            return value.unsqueeze(0)
        self.num_bytes += value.numel() * value.element_size()
        out = [torch.empty_like(value) for _ in range(self.size)]
        dist.all_gather(out, value.contiguous(), group=self.group)
        return torch.stack(out)

    def share(self, value: T) -> T:
        r"""Returns the value of the first process.

        Args:
            value (Any): Tensors and plain values; those of other processes are
                ignored.
        """
        if self.size == 1:
            return value
        box: list[T] = [value]
        dist.broadcast_object_list(box, src=0, group=self.group)
        return box[0]

    def together(self, function: Callable[[], T]) -> T:
        r"""Calls a function that may raise a :class:`ValueError` or an
        :class:`OSError`. If it raises one in any process, all processes raise an error,
        so that none waits for another.

        Args:
            function (callable): The function, which must not send anything.
        """
        error: Exception | None = None
        out: T | None = None
        try:
            out = function()
        except (ValueError, OSError) as caught:
            error = caught
        if self.size > 1:
            texts: list[str | None] = [None] * self.size
            text = None if error is None else one_line(error)
            dist.all_gather_object(texts, text, group=self.group)
            first = next((text for text in texts if text is not None), None)
            if first is not None:
                raise ValueError(first) from error
        if error is not None:
            raise error
        return out  # type: ignore[return-value]

    def __copy__(self) -> 'Ranks':
        return self

    def __deepcopy__(self, memo: object) -> 'Ranks':
        # A group of processes cannot be copied.
        return self

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(rank={self.rank}, size={self.size})'


#: This process alone.
ALONE = Ranks()
