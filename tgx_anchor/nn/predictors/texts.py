"""Texts as tensors."""

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

if TYPE_CHECKING:
    import pyarrow as pa


class Texts(torch.nn.Module):
    r"""Keeps a list of texts in buffers, so that they are saved with a model, and
    nothing has to be unpickled.

    Args:
        array (pyarrow.LargeStringArray, optional): The texts; none if :obj:`None`.
            (default: :obj:`None`)

    Shapes:
        - **code:** the bytes of all texts in UTF-8
        - **end:** :math:`(n)`, the last byte of each text, plus one
    """

    code: Tensor
    end: Tensor

    def __init__(self, array: 'pa.LargeStringArray | None' = None) -> None:
        super().__init__()
        code, end = np.empty(0, np.uint8), np.empty(0, np.int64)
        if array is not None and len(array) > 0:
            _, offset, content = array.buffers()
            first, last = array.offset, array.offset + len(array)
            offsets = np.frombuffer(offset, np.int64)[first : last + 1]
            end = offsets[1:] - offsets[0]
            if content is not None:
                code = np.frombuffer(content, np.uint8)[offsets[0] : offsets[-1]]
        self.register_buffer('code', torch.tensor(code))
        self.register_buffer('end', torch.tensor(end))

    def __len__(self) -> int:
        return self.end.numel()

    def array(self) -> 'pa.LargeStringArray':
        r"""Returns the texts as an Arrow array."""
        import pyarrow as pa

        end, code = self.end.cpu().numpy(), self.code.cpu().numpy()
        if end.size > 0 and (
            end[-1] != code.size or (np.diff(end, prepend=0) < 0).any()
        ):
            raise ValueError("'end' must not decrease, up to the number of bytes")
        offset = np.concatenate([np.zeros(1, np.int64), end])
        out = pa.LargeStringArray.from_buffers(
            end.size, pa.py_buffer(offset), pa.py_buffer(code)
        )
        out.validate(full=True)
        return out

    def _load_from_state_dict(
        self, state_dict: Any, prefix: str, *args: Any, **kwargs: Any
    ) -> None:
        for name in ('code', 'end'):
            value = state_dict.get(prefix + name)
            if value is not None:
                device = self._buffers[name].device  # type: ignore[union-attr]
                setattr(self, name, torch.empty_like(value, device=device))
        super()._load_from_state_dict(state_dict, prefix, *args, **kwargs)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({len(self)})'


def to_texts(value: Any, size: int) -> 'pa.LargeStringArray':
    r"""Returns ids as an array of texts: the number 7 and the text '7' are the same.

    Args:
        value (torch.Tensor or list): The ids; numbers from zero if :obj:`None`.
        size (int): The number of ids.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    if value is None:
        value = np.arange(size)
    if isinstance(value, Tensor):
        value = value.cpu().numpy()
    try:
        array = pa.array(value).cast(pa.large_string())
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError, pa.ArrowTypeError):
        # Of several types.
        array = pa.array([str(each) for each in value], pa.large_string())
    return pc.fill_null(array, '')
