"""Encoder of sets: one half of a layer of set transformers."""

import torch
from torch import Tensor
from torch.nn import Linear, ModuleList
from torch.nn.functional import dropout
from torch_geometric.nn.inits import reset

from tgx_anchor.data.hyperedge_index import Copies
from tgx_anchor.nn.conv._set_product import nonempty_sets
from tgx_anchor.nn.conv.induced_set_attention import InducedSetAttention
from tgx_anchor.nn.conv.multihead_attention_block import MultiheadAttentionBlock
from tgx_anchor.nn.conv.seeded_attention import SeededAttention
from tgx_anchor.utils import is_sorted

# The number of members that attend at once on a CPU: their temporary tensors are small
# enough for memory to be reused, and fresh memory costs more time than the sums.
_BLOCK = 2**14


class SetEncoder(torch.nn.Module):
    r"""Encodes each set of vectors as one vector: half a layer of
    :class:`~tgx_anchor.nn.conv.WHATsNetConv`,

    .. math::
        \mathbf{U}_s &= \mathrm{ISAB}_n \left( \ldots \mathrm{ISAB}_1 \left( \left\{
        \mathbf{x}_j + \mathbf{W}_r \mathbf{r}_j + \mathbf{b}_r \right\}_{j \in s}
        \right) \right)

        \mathbf{z}_s &= \mathbf{W} \, \mathrm{dropout} \left( \mathrm{MAB}(\mathbf{q}_s,
        \mathrm{dropout}(\mathbf{U}_s)) \right) + \mathbf{b}

    with ranks :math:`\mathbf{r}_j` of the members and queries :math:`\mathbf{q}_s` of
    the sets, or one learned seed in their place.

    Args:
        in_channels (int): The size of the vectors of members.
        out_channels (int): The size of the output vectors.
        query_channels (int, optional): The size of queries; :obj:`None` for a learned
            seed. (default: :obj:`None`)
        rank_channels (int, optional): The number of ranks :math:`\mathbf{r}_j` of a
            member, :obj:`0` to leave them out. (default: :obj:`4`)
        channels (int, optional): The width of attention. (default: :obj:`128`)
        heads (int, optional): The number of heads. (default: :obj:`4`)
        num_inducing (int, optional): The number of inducing points.
            (default: :obj:`4`)
        num_isabs (int, optional): The number :math:`n` of
            :class:`~tgx_anchor.nn.conv.InducedSetAttention` blocks.
            (default: :obj:`2`)
        num_layers (int, optional): The number of maps after the attention to queries.
            (default: :obj:`1`)
        dropout (float, optional): The probability of dropout. (default: :obj:`0.0`)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        query_channels: int | None = None,
        rank_channels: int = 4,
        channels: int = 128,
        heads: int = 4,
        num_inducing: int = 4,
        num_isabs: int = 2,
        num_layers: int = 1,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if num_isabs < 0:
            raise ValueError(f"'num_isabs' must not be negative (got {num_isabs})")
        if not 0 <= dropout < 1:
            raise ValueError(f"'dropout' must lie in [0, 1) (got {dropout})")
        self.in_channels = in_channels
        self.out_channels = out_channels
        self.query_channels = query_channels
        self.rank_channels = rank_channels
        self.dropout = dropout
        self.lin_rank = Linear(rank_channels, in_channels) if rank_channels else None
        self.isabs = ModuleList(
            InducedSetAttention(
                channels if i > 0 else in_channels, channels, heads, num_inducing
            )
            for i in range(num_isabs)
        )
        width = channels if num_isabs > 0 else in_channels
        self.block: MultiheadAttentionBlock | SeededAttention
        if query_channels is None:
            self.block = SeededAttention(width, channels, heads, num_layers)
        else:
            self.block = MultiheadAttentionBlock(
                query_channels, width, channels, heads, num_layers
            )
        self.lin = Linear(channels, out_channels)

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters."""
        for module in self.children():
            reset(module)

    def forward(
        self,
        x: Tensor,
        index: Tensor,
        num_sets: int,
        query: Tensor | None = None,
        rank: Tensor | None = None,
        copies: Copies | None = None,
    ) -> Tensor:
        r"""Runs the forward pass.

        Args:
            x (torch.Tensor): The members of all sets.
            index (torch.Tensor): The set of each member.
            num_sets (int): The number of sets :math:`S`.
            query (torch.Tensor, optional): The query of each set, unless there is a
                learned seed; zeros if :obj:`None`. (default: :obj:`None`)
            rank (torch.Tensor, optional): The ranks of the members, unless they are
                left out. (default: :obj:`None`)
            copies (Copies, optional): If given, :obj:`x` and :obj:`rank` hold the
                members of one set out of all that are the same, whose blocks of
                attention are run once. (default: :obj:`None`)

        Shapes:
            - **x:** :math:`(P, F)`, or fewer rows with :obj:`copies`
            - **index:** :math:`(P)`
            - **query:** :math:`(S, Q)`
            - **rank:** :math:`(P, R)`, or fewer rows with :obj:`copies`
            - **output:** :math:`(S, \mathrm{out})`
        """
        if self.lin_rank is not None:
            if rank is None:
                raise ValueError(
                    "'rank' is missing: pass it, or set 'rank_channels' to 0"
                )
            x = self.lin_rank(rank.to(x.dtype)).add_(x)
        # Empty sets need no inducing points.
        part = index if copies is None else copies.hyperedge
        number, count = nonempty_sets(part, num_sets)
        x = self._attend(x, number, count)
        if copies is not None:
            # Before the dropout, which differs between copies.
            x = x.index_select(0, copies.row)
        # In place, unless it is the tensor of the caller.
        is_own = len(self.isabs) > 0 or copies is not None
        x = dropout(x, self.dropout, self.training, inplace=is_own)
        if isinstance(self.block, SeededAttention):
            out = self.block(x, index, num_sets)
        elif query is None:
            # One query for all sets, which spares the map of all keys.
            zero = x.new_zeros(1, self.block.query_channels)
            out = self.block.forward_shared(zero, x, index, num_sets).squeeze(1)
        else:
            out = self.block(query, x, index)
        out = dropout(out, self.dropout, self.training)
        result: Tensor = self.lin(out)
        return result

    def _attend(self, x: Tensor, index: Tensor, num_sets: int) -> Tensor:
        cuts = _cuts(index) if len(self.isabs) > 0 else None
        if cuts is None:
            return self._attend_at_once(x, index, num_sets)
        size, first = cuts
        # Split, since the gradient of a slice has the size of the whole.
        parts = zip(x.split(size), index.split(size), strict=True)
        ends = [*first[1:], num_sets]
        return torch.cat(
            [
                self._attend_at_once(part, number - start, end - start)
                for (part, number), start, end in zip(parts, first, ends, strict=True)
            ]
        )

    def _attend_at_once(self, x: Tensor, index: Tensor, num_sets: int) -> Tensor:
        for isab in self.isabs:
            x = isab(x, index, num_sets)
        return x

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.in_channels}, {self.out_channels})'


def _cuts(index: Tensor) -> tuple[list[int], list[int]] | None:
    # The sizes of blocks of whole sets, and their first sets; None for a single block.
    if torch.compiler.is_compiling() or index.device.type != 'cpu':
        return None
    if index.numel() <= _BLOCK or not is_sorted(index):
        return None
    first = index[::_BLOCK].unique()
    start = torch.searchsorted(index, first)
    size = torch.diff(start, append=start.new_tensor([index.numel()]))
    return size.tolist(), first.tolist()
