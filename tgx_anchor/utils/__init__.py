r"""Tensor functions on incidences."""

from tgx_anchor.utils.anchorship import (
    anchor_degree,
    anchor_proportion,
    anchor_purity,
)
from tgx_anchor.utils.centrality import (
    coreness,
    degree,
    eigenvector_centrality,
    pagerank,
)
from tgx_anchor.utils.directed_centrality import (
    authority,
    directed_pagerank,
    in_coreness,
    in_degree,
    out_degree,
    swap_sides,
)
from tgx_anchor.utils.fingerprint import digest, hypergraph_fingerprint
from tgx_anchor.utils.gathering import gather_hyperedges, gathered_matrices
from tgx_anchor.utils.group import (
    draw_priority,
    group_order,
    group_rank,
    group_topk,
    relative_to_group,
)
from tgx_anchor.utils.hyperedge_block import HyperedgeBlock, hyperedge_blocks
from tgx_anchor.utils.incidence import (
    arange_by_ptr,
    check_hyperedge_index,
    collapse_incidences,
    distinct_hyperedges,
    incidence_fingerprint,
    incidence_matrix,
    index_ptr,
    is_sorted,
    mix_bits,
    node_set_hash,
)
from tgx_anchor.utils.kept_memory import kept_memory
from tgx_anchor.utils.node_set import NodeSets, node_sets
from tgx_anchor.utils.pair import MemberPairs, member_pairs
from tgx_anchor.utils.ranks import ALONE, Ranks

__all__ = [
    'ALONE',
    'HyperedgeBlock',
    'MemberPairs',
    'NodeSets',
    'Ranks',
    'anchor_degree',
    'anchor_proportion',
    'anchor_purity',
    'arange_by_ptr',
    'authority',
    'check_hyperedge_index',
    'collapse_incidences',
    'coreness',
    'degree',
    'digest',
    'directed_pagerank',
    'distinct_hyperedges',
    'draw_priority',
    'eigenvector_centrality',
    'gather_hyperedges',
    'gathered_matrices',
    'group_order',
    'group_rank',
    'group_topk',
    'hyperedge_blocks',
    'hypergraph_fingerprint',
    'in_coreness',
    'in_degree',
    'incidence_fingerprint',
    'incidence_matrix',
    'index_ptr',
    'is_sorted',
    'kept_memory',
    'member_pairs',
    'mix_bits',
    'node_set_hash',
    'node_sets',
    'out_degree',
    'pagerank',
    'relative_to_group',
    'swap_sides',
]
