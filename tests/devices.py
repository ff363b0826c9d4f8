"""A second device without a GPU, on which tensors made on the wrong device are found.

Inside :func:`second_device`, a tensor that is moved to, or made on, the device it
yields keeps its values in the memory of the CPU, but calls itself a tensor of that
device, and no operation takes it together with a tensor of the CPU. Values are real:
code that asks for them (:obj:`nonzero`, :obj:`unique`, :obj:`item`, ...) runs, which it
does not on PyTorch's own :obj:`meta` device, whose name is borrowed.

.. code-block:: python

    with second_device() as device:
        out = transform(data.to(device))
        assert out.incidence_attr.device == device
    assert torch.equal(out.incidence_attr.cpu(), expected)

As on a GPU, tensors of the CPU without a dimension go with everything, and
:obj:`numpy()` and :obj:`from_numpy` belong to the CPU. A GPU would also take an index
from the CPU, at the price of a copy; this is refused here. Gradients, modules,
optimizers and sparse matrices work. :meth:`Batch.from_data_list` of PyG leaves
:obj:`batch` and :obj:`ptr` on the CPU unless the device is CUDA: batch before moving.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map_only

DEVICE = torch.device('meta')


@contextmanager
def second_device() -> Iterator[torch.device]:
    """Provides a device that is not the CPU."""
    with _Factories(), _Operations():  # type: ignore[no-untyped-call]
        yield DEVICE


class WrongDeviceError(RuntimeError):
    """An operation got tensors of two devices."""


class _SecondTensor(Tensor):
    held: Tensor

    @staticmethod
    def __new__(cls, inner: Tensor) -> '_SecondTensor':
        place: dict[str, Any] = {}
        if inner.layout == torch.strided:
            place = {
                'strides': inner.stride(),
                'storage_offset': inner.storage_offset(),
            }
        out: _SecondTensor = Tensor._make_wrapper_subclass(
            cls, inner.size(), dtype=inner.dtype, device=DEVICE, **place
        )
        out.held = inner
        return out

    def __repr__(self, **_: Any) -> str:  # type: ignore[override]
        return f'second_device({self.held!r})'

    # Two that PyTorch answers without a dispatched operation.
    def tolist(self) -> Any:
        return self.cpu().tolist()

    def new_tensor(self, data: Any, **kwargs: Any) -> Tensor:  # type: ignore[override]
        return torch.tensor(data, **{'dtype': self.dtype, **kwargs}).to(DEVICE)

    @classmethod
    def __torch_dispatch__(  # type: ignore[override]
        cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


class _Factories(TorchFunctionMode):
    # PyTorch makes tensors from Python numbers without a dispatched operation; on a
    # device called 'meta' it would leave their values out.
    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        if func in (torch.tensor, torch.as_tensor, torch.asarray):
            target = kwargs.get('device')
            if target is not None and torch.device(target).type == DEVICE.type:
                return func(*args, **{**kwargs, 'device': 'cpu'}).to(DEVICE)
        return func(*args, **kwargs)


class _Operations(TorchDispatchMode):
    def __torch_dispatch__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        return _run(func, args, kwargs or {})


def _run(func: Any, args: Any, kwargs: dict[str, Any]) -> Any:
    tensors = [t for t in tree_leaves((args, kwargs)) if isinstance(t, Tensor)]
    second = [t for t in tensors if isinstance(t, _SecondTensor)]
    target = kwargs.get('device')
    if target is None:
        is_second = bool(second)
    else:
        is_second = torch.device(target).type == DEVICE.type
        kwargs = {**kwargs, 'device': torch.device('cpu')}
    # A copy, unlike all else, may go from one device to the other.
    if second and func.overloadpacket is not torch.ops.aten.copy_:
        for tensor in tensors:
            if not isinstance(tensor, _SecondTensor) and tensor.dim() > 0:
                raise WrongDeviceError(
                    f"'{func}' takes tensors of one device (got one of the CPU, of "
                    f'shape {list(tensor.size())}, with one of the second device)'
                )
    elif second:
        is_second = isinstance(args[0], _SecondTensor)
    plain_args, plain_kwargs = tree_map_only(
        _SecondTensor, lambda tensor: tensor.held, (args, kwargs)
    )
    out = func(*plain_args, **plain_kwargs)
    if not is_second:
        return out
    out = tree_map_only(Tensor, _SecondTensor, out)
    if any(t.held.layout != torch.strided for t in second):
        return out
    return return_and_correct_aliasing(func, args, kwargs, out)
