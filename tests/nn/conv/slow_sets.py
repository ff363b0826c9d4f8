"""Set functions of layers, one set at a time, in the words of the equations."""

import math

import torch
from torch import Tensor
from torch.nn import Module

from tests.strategies import Groups, to_index
from tgx_anchor.nn.conv.conhd_conv import CoNHDConv
from tgx_anchor.nn.conv.induced_set_attention import InducedSetAttention
from tgx_anchor.nn.conv.multihead_attention_block import MultiheadAttentionBlock
from tgx_anchor.nn.conv.seeded_attention import SeededAttention
from tgx_anchor.nn.conv.set_encoder import SetEncoder
from tgx_anchor.nn.conv.unweighted_set_block import UnweightedSetBlock
from tgx_anchor.nn.conv.whatsnet_conv import WHATsNetConv

# Repeated groups, repeated members, singletons, an empty group, and node 7 in none.
GROUPS: Groups = [
    [0, 1, 2],
    [3],
    [],
    [1, 3, 0, 0],
    [2, 1, 0],
    [4, 2],
    [5],
    [0, 1, 2, 3, 4, 5, 6],
    [6, 6],
]
NUM_NODES = 8
# Nodes 3 and 6 receive from none of their groups, others from some or all.
DRAWN = torch.tensor([g != 3 and g != 6 for e in GROUPS for g in e])
DRAWN[0] = DRAWN[7] = False
# A band of groups, where neighbourhoods do not reach everything.
BAND: Groups = [[v, v + 1, v + 3] for v in range(0, 36, 2)]
BAND += [[v] for v in (0, 9)] + [[5, 6, 5], [14, 15, 16, 17], [30, 31]] + BAND[3:5]
BAND_NODES = 40


def random(*size: int, seed: int = 0) -> Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*size, generator=generator, dtype=torch.double)


def ranks(groups: Groups, seed: int = 0) -> Tensor:
    """Ranks that repeated members share, as they should."""
    generator = torch.Generator().manual_seed(seed)
    index = to_index(groups)
    _, inverse = torch.unique(index, dim=1, return_inverse=True)
    table = torch.rand(index.size(1), 4, generator=generator, dtype=torch.double)
    return table[inverse]


def neighbourhood(
    groups: Groups, targets: list[int], num_hops: int
) -> tuple[list[int], list[int]]:
    """The hyperedges within some hops of the members of targets, and their nodes."""
    nodes = {v for e in targets for v in groups[e]}
    hyperedges = set(targets)
    for _ in range(num_hops):
        hyperedges |= {e for e, group in enumerate(groups) if nodes & set(group)}
        nodes |= {v for e in hyperedges for v in groups[e]}
    return sorted(hyperedges), sorted(nodes)


def num_parameters(module: Module) -> int:
    return sum(p.numel() for p in module.parameters())


def slow_mab(block: MultiheadAttentionBlock, query: Tensor, key: Tensor) -> Tensor:
    q, k, u = block.lin_query(query), block.lin_key(key), block.lin_value(key)
    width = block.channels // block.heads
    heads = []
    for h in range(block.heads):
        part = slice(h * width, (h + 1) * width)
        score = q[:, part] @ k[:, part].t() / math.sqrt(block.channels)
        heads.append(q[:, part] + score.softmax(dim=1) @ u[:, part])
    out = hidden = torch.cat(heads, dim=1)
    for lin in block.lins:
        hidden = torch.relu(lin(hidden))
    return out + hidden


def slow_set(module: Module, member: Tensor) -> Tensor:
    """The output of the module for one set."""
    if isinstance(module, UnweightedSetBlock):
        hidden = module.lin_mean2(torch.relu(module.lin_mean1(member)))
        mean = hidden.mean(dim=0).expand_as(member)
        hidden = torch.relu(module.lin1(torch.cat([member, mean], dim=1)))
        out: Tensor = module.lin2(hidden)
        return out
    if isinstance(module, SeededAttention):
        return slow_mab(module.block, module.seed, member)
    assert isinstance(module, InducedSetAttention)
    induced = slow_mab(module.gather, module.inducing, member)
    return slow_mab(module.spread, member, induced)


def slow_encoder(
    module: SetEncoder, member: Tensor, query: Tensor | None, rank: Tensor
) -> Tensor:
    if module.lin_rank is not None:
        member = member + module.lin_rank(rank)
    for isab in module.isabs:
        assert isinstance(isab, InducedSetAttention)
        # Nothing to attend to, and nobody who attends.
        empty = member.new_zeros(0, isab.channels)
        member = slow_set(isab, member) if len(member) > 0 else empty
    if isinstance(module.block, SeededAttention):
        out = slow_set(module.block, member)
    else:
        assert query is not None
        out = slow_mab(module.block, query[None], member)
    last: Tensor = module.lin(out)
    return last[0]


def slow_whatsnet_conv(
    conv: WHATsNetConv,
    x: Tensor,
    groups: Groups,
    state: Tensor,
    rank: Tensor,
    drawn: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    node, hyperedge = to_index(groups)
    drawn = torch.ones_like(node, dtype=torch.bool) if drawn is None else drawn
    rows = []
    for e in range(len(groups)):
        row = hyperedge == e
        rows.append(slow_encoder(conv.to_hyperedge, x[node[row]], state[e], rank[row]))
    out = torch.stack(rows)
    rows = []
    for v in range(len(x)):
        row = (node == v) & drawn
        rows.append(slow_encoder(conv.to_node, out[hyperedge[row]], x[v], rank[row]))
    return torch.stack(rows), out


def slow_conhd_conv(
    conv: CoNHDConv,
    h: Tensor,
    h_0: Tensor,
    groups: Groups,
    rank: Tensor,
    drawn: Tensor | None = None,
) -> Tensor:
    node, hyperedge = to_index(groups)
    drawn = torch.ones_like(node, dtype=torch.bool) if drawn is None else drawn
    u, w = torch.zeros_like(h), torch.zeros_like(h)
    for e in set(hyperedge.tolist()):
        row = hyperedge == e
        z = h[row]
        if conv.hyperedge_rank is not None:
            z = z + conv.hyperedge_rank(rank[row])
        for block in conv.hyperedge_blocks:
            z = slow_set(block, z)
        u[row] = z
    for v in set(node[drawn].tolist()):
        row = (node == v) & drawn
        z = h[row]
        if conv.node_rank is not None:
            z = z + conv.node_rank(rank[row])
        for block in conv.node_blocks:
            z = slow_set(block, z)
        w[row] = z
    out: Tensor = conv.lin(torch.cat([h, u, w, h_0], dim=1))
    return out
