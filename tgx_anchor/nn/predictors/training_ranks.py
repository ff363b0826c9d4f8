"""The processes that train one model together."""

import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn import Module
from torch.nn.parallel import DistributedDataParallel

T = TypeVar('T')


class TrainingRanks:
    r"""Connects the processes that train one model together: the default process group
    of :mod:`torch.distributed` if it is initialised, else this process alone. In a
    group of one, all operations leave their input as it is.

    Args:
        device (torch.device): The device of the tensors to train.
    """

    def __init__(self, device: torch.device) -> None:
        self.device = device
        self.rank, self.size = current_rank()
        if self.size > 1 and device.type == 'cpu' and dist.get_backend() == 'nccl':
            raise ValueError(
                "'data' must be on a GPU for the backend 'nccl': move it with "
                "data.to('cuda') after torch.cuda.set_device(...), or initialise the "
                "process group with 'gloo' (got data on the CPU)"
            )

    def sum_(self, tensor: Tensor) -> Tensor:
        r"""Sums a tensor over the processes, in place.

        Args:
            tensor (torch.Tensor): The tensor.
        """
        if self.size > 1:
            dist.all_reduce(tensor)
        return tensor

    def share_(self, tensors: Iterable[Tensor]) -> None:
        r"""Overwrites tensors with those of the first process.

        Args:
            tensors (iterable): The tensors, of the same shapes in all processes.
        """
        if self.size > 1:
            for tensor in tensors:
                dist.broadcast(tensor, 0)

    def from_first(self, call: Callable[[], T]) -> T:
        r"""Calls a function in the first process, and returns its result, or raises its
        :class:`ValueError`, in all of them.

        Args:
            call (callable): The function. Its result is pickled, so that tensors in it
                should be on the CPU.
        """
        if self.size == 1:
            return call()
        box: list[Any] = [None, None]
        if self.rank == 0:
            try:
                box[0] = call()
            except ValueError as error:
                # An error in one process alone would leave the others waiting.
                box[1] = str(error)
        dist.broadcast_object_list(box, 0, device=self.device)
        out, message = box
        if message is not None:
            raise ValueError(message)
        found: T = out
        return found

    def check_same(self, code: str) -> None:
        r"""Raises a :class:`ValueError` in all processes unless all have the same code.

        Args:
            code (str): A code of everything that must be the same, of the same length
                in all processes.
        """
        if self.size == 1:
            return
        own = torch.tensor(list(code.encode()), dtype=torch.uint8, device=self.device)
        codes = [torch.empty_like(own) for _ in range(self.size)]
        dist.all_gather(codes, own)
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
                    "that training cannot go on: start all of them again ('fit' with "
                    "the same 'checkpoint' continues)"
                ) from error
            raise


def current_rank() -> tuple[int, int]:
    r"""Returns the number of this process in its group, and the size of the group."""
    if dist.is_available() and dist.is_initialized():
        return dist.get_rank(), dist.get_world_size()
    return 0, 1


def _is_lost(error: RuntimeError) -> bool:
    # Gloo has no class of errors of its own, but its messages name its files.
    return isinstance(error, dist.DistError) or 'gloo' in str(error)
