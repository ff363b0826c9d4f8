"""The processes that train one model together."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import TypeVar, cast

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import Module
from torch.nn.parallel import DistributedDataParallel

from tgx_anchor.utils import Ranks

T = TypeVar('T')


class TrainingRanks(Ranks):
    r"""Connects the processes that train one model together: all of
    :mod:`torch.distributed` if it is initialised, else this process alone. Each of them
    holds all of the data.

    Args:
        device (torch.device): The device of the tensors to train.
    """

    def __init__(self, device: torch.device) -> None:
        super().__init__(Ranks.current().group)
        if self.size > 1 and device.type == 'cpu' and self.device.type != 'cpu':
            raise ValueError(
                "'data' must be on a GPU for the backend 'nccl': move it with "
                "data.to('cuda') after torch.cuda.set_device(...), or initialise the "
                "process group with 'gloo' (got data on the CPU)"
            )
        self.device = device

    def share_(self, tensors: Iterable[Tensor]) -> None:
        r"""Overwrites tensors with those of the first process.

        Args:
            tensors (iterable): The tensors, of the same shapes in all processes.
        """
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor, 0, group=self.group)

    def from_first(self, call: Callable[[], T]) -> T:
        r"""Calls a function in the first process, and returns its result, or raises its
        :class:`ValueError`, in all of them.

        Args:
            call (callable): The function. Its result is pickled, so that tensors in it
                should be on the CPU.
        """
        out = self.together(lambda: call() if self.is_first else None)
        # Other processes have nothing, and get what the first one has.
        return cast(T, self.share(out))

    def check_same(self, code: str) -> None:
        r"""Raises a :class:`ValueError` in all processes unless all have the same hash.

        Args:
            code (str): A hash of everything that must be the same, of the same length
                in all processes.
        """
        if self.size == 1:
            return
        own = torch.tensor(list(code.encode()), dtype=torch.uint8, device=self.device)
        codes = self.gather_equal(own)
        others = [
            i for i, other in enumerate(codes) if not torch.equal(other, codes[0])
        ]
        if others:
            raise ValueError(
                "'data', the model and its options must be the same in all processes "
                f'(rank {others[0]} differs from rank 0)'
            )

    def parallel(self, module: Module) -> Module:
        r"""Returns a module whose gradients are averaged over the processes.

        Args:
            module (torch.nn.Module): The module, which returns a loss.
        """
        if self.size == 1:
            return module
        # Not every batch needs all parameters of an encoder. Also, PyTorch would
        # otherwise put gradients into another order after the first step, and sums of
        # three processes or more would depend on when a run was started again.
        return DistributedDataParallel(module, find_unused_parameters=True)

    @contextmanager
    def quiet(self) -> Iterator[None]:
        r"""Hides a warning on the layout of gradients, which costs no more than a
        copy.
        """
        with warnings.catch_warnings():
            if self.size > 1:
                warnings.filterwarnings('ignore', 'Grad strides do not match')
            yield

    @contextmanager
    def explained(self) -> Iterator[None]:
        r"""Adds a sentence to the error that the loss of another process causes."""
        try:
            yield
        except RuntimeError as error:
            if self.size > 1 and _is_lost(error):
                raise RuntimeError(
                    'another process of the group has ended or does not answer, so '
                    "training cannot continue: start all of them again ('fit' with "
                    "the same 'checkpoint' continues)"
                ) from error
            raise


def _is_lost(error: RuntimeError) -> bool:
    # Gloo has no class of errors of its own, but its messages name its files.
    return isinstance(error, dist.DistError) or 'gloo' in str(error)
