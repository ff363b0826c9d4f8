"""Tensors in temporary files, whose memory the system can reclaim."""

import tempfile

import torch
from torch import Tensor


def mapped_empty(size: tuple[int, ...], dtype: torch.dtype) -> Tensor:
    r"""Returns a tensor of zeros in a temporary file. The system keeps its pages in
    memory as long as there is room, and removes the file with the tensor.

    The folder of temporary files must be on a disk: set :obj:`TMPDIR` where it is not.

    Args:
        size (tuple[int]): The shape.
        dtype (torch.dtype): The type of its values.
    """
    count = 1
    for length in size:
        count *= length
    if count == 0:
        return torch.empty(size, dtype=dtype)
    with tempfile.NamedTemporaryFile(prefix='tgx-anchor-') as file:
        file.truncate(count * dtype.itemsize)
        out = torch.from_file(file.name, shared=True, size=count, dtype=dtype)
    return out.view(size)


def mapped(value: Tensor) -> Tensor:
    r"""Moves a tensor to a temporary file, as :func:`mapped_empty` does; on other
    devices than the CPU, it stays where it is.

    Args:
        value (torch.Tensor): The tensor.
    """
    if value.device.type != 'cpu' or value.numel() == 0:
        return value
    return mapped_empty(tuple(value.size()), value.dtype).copy_(value)
