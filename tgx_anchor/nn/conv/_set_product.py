r"""Products between the members of sets and the slots of their sets.

A set :math:`s` has :math:`K` slots, and a member :math:`j` belongs to one set
:math:`s(j)`. All three functions are derivatives of the form

.. math::
    \sum_j \sum_k \sum_h w_{jkh} \langle \mathbf{m}_{jh}, \mathbf{s}_{s(j)kh} \rangle

with respect to one of its arguments, so that each is the gradient of the others. They
work in blocks and never store all :math:`(P, K, H, C)` terms at once, except in a
compiled graph, where the compiler decides.
"""

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor

# Blocks that stay in the cache of a CPU, but keep a GPU busy.
_BLOCK_CPU = 2**18
_BLOCK_GPU = 2**27


def _blocks(index: Tensor, width: int) -> Iterator[slice]:
    block = _BLOCK_CPU if index.device.type == 'cpu' else _BLOCK_GPU
    step = max(block // max(width, 1), 1)
    for start in range(0, index.numel(), step):
        yield slice(start, start + step)


class _Dot(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, member: Tensor, slot: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(member, slot, index)
        out = member.new_empty(index.numel(), slot.size(1), slot.size(2))
        for rows in _blocks(index, slot[:1].numel()):
            term = slot.index_select(0, index[rows])
            torch.sum(term.mul_(member[rows].unsqueeze(1)), dim=-1, out=out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        member, slot, index = ctx.saved_tensors
        needs_member, needs_slot, _ = ctx.needs_input_grad
        return (
            spread(grads[0], slot, index) if needs_member else None,
            collect(grads[0], member, index, slot.size(0)) if needs_slot else None,
            None,
        )


class _Spread(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, weight: Tensor, slot: Tensor, index: Tensor) -> Tensor:
        ctx.save_for_backward(weight, slot, index)
        out = slot.new_empty(index.numel(), *slot.size()[2:])
        for rows in _blocks(index, slot[:1].numel()):
            term = slot.index_select(0, index[rows])
            torch.sum(term.mul_(weight[rows].unsqueeze(-1)), dim=1, out=out[rows])
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weight, slot, index = ctx.saved_tensors
        needs_weight, needs_slot, _ = ctx.needs_input_grad
        return (
            dot(grads[0], slot, index) if needs_weight else None,
            collect(weight, grads[0], index, slot.size(0)) if needs_slot else None,
            None,
        )


class _Collect(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, weight: Tensor, member: Tensor, index: Tensor, num_sets: int
    ) -> Tensor:
        ctx.save_for_backward(weight, member, index)
        out = member.new_zeros(num_sets, weight.size(1), *member.size()[1:])
        for rows in _blocks(index, out[:1].numel()):
            term = weight[rows].unsqueeze(-1) * member[rows].unsqueeze(1)
            out.index_add_(0, index[rows], term)
        return out

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        weight, member, index = ctx.saved_tensors
        needs_weight, needs_member, _, _ = ctx.needs_input_grad
        return (
            dot(member, grads[0], index) if needs_weight else None,
            spread(weight, grads[0], index) if needs_member else None,
            None,
            None,
        )


def dot(member: Tensor, slot: Tensor, index: Tensor) -> Tensor:
    r"""Computes the products of each member with the slots of its set.

    Shapes:
        - **member:** :math:`(P, H, C)`
        - **slot:** :math:`(S, K, H, C)`
        - **index:** :math:`(P)`, the set of each member
        - **output:** :math:`(P, K, H)`
    """
    if torch.compiler.is_compiling():
        return (slot.index_select(0, index) * member.unsqueeze(1)).sum(dim=-1)
    apply: Callable[..., Tensor] = _Dot.apply
    return apply(member, slot, index)


def spread(weight: Tensor, slot: Tensor, index: Tensor) -> Tensor:
    r"""Adds up the slots of its set for each member, by their weights.

    Shapes:
        - **weight:** :math:`(P, K, H)`
        - **slot:** :math:`(S, K, H, C)`
        - **index:** :math:`(P)`, the set of each member
        - **output:** :math:`(P, H, C)`
    """
    if torch.compiler.is_compiling():
        return (slot.index_select(0, index) * weight.unsqueeze(-1)).sum(dim=1)
    apply: Callable[..., Tensor] = _Spread.apply
    return apply(weight, slot, index)


def collect(weight: Tensor, member: Tensor, index: Tensor, num_sets: int) -> Tensor:
    r"""Adds up the members of each set for each of its slots, by their weights.

    Shapes:
        - **weight:** :math:`(P, K, H)`
        - **member:** :math:`(P, H, C)`
        - **index:** :math:`(P)`, the set of each member
        - **output:** :math:`(S, K, H, C)`
    """
    if torch.compiler.is_compiling():
        term = weight.unsqueeze(-1) * member.unsqueeze(1)
        return term.new_zeros(num_sets, *term.size()[1:]).index_add(0, index, term)
    apply: Callable[..., Tensor] = _Collect.apply
    return apply(weight, member, index, num_sets)


def nonempty_sets(index: Tensor, num_sets: int) -> tuple[Tensor, int]:
    r"""Numbers the sets that have members, in their order.

    Returns:
        The new set of each member, and the number of sets that have members.

    Shapes:
        - **index:** :math:`(P)`
        - **output:** :math:`(P)`
    """
    if torch.compiler.is_compiling():
        # How many there are is not known to a traced graph; empty sets do no harm.
        return index, num_sets
    present = torch.zeros(num_sets, dtype=torch.long, device=index.device)
    present[index] = 1
    number = present.cumsum(0)
    return number[index] - 1, int(present.sum())
