"""Features from vectors over nodes, for any hyperedges."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from tests.strategies import SETTINGS, Groups, groupings, to_data
from tgx_anchor.transforms import AddTopologicalFeatures
from tgx_anchor.transforms._topology import NodeVectors, Topology
from tgx_anchor.utils import ALONE


@SETTINGS
@given(groupings(min_nodes=1, repeated_members=True), st.booleans(), st.booleans())
def test_rows_are_those_of_the_matrix(
    drawn: tuple[Groups, int], local: bool, global_: bool
) -> None:
    groups, num_nodes = drawn
    data = to_data(groups, num_nodes, [[] for _ in groups])
    transform = AddTopologicalFeatures(local or not global_, global_)
    matrix = transform(data).incidence_attr
    topology = transform.topology(data)
    index, size = data.hyperedge_index, len(groups)
    assert topology.num_columns == len(transform.feature_names) == matrix.size(1)
    assert torch.equal(topology.rows(index, size), matrix)
    # Some hyperedges have the same rows as among all.
    chosen = torch.arange(size) % 2 == 0
    row = chosen[index[1]]
    number = (chosen.long().cumsum(0) - 1)[index[1][row]]
    part = torch.stack([index[0][row], number])
    assert torch.equal(topology.rows(part, int(chosen.sum())), matrix[row])


def test_blocks_do_not_change_features(monkeypatch: pytest.MonkeyPatch) -> None:
    from tgx_anchor.transforms import _topology
    from tgx_anchor.utils import hyperedge_blocks

    groups = [[0, 1, 2], [1, 3], [2], [0, 3, 4, 1], [2, 4], [0, 1, 2]]
    data = to_data(groups, 6, [[]] * 6)
    expected = AddTopologicalFeatures()(data).incidence_attr
    monkeypatch.setattr(
        _topology,
        'hyperedge_blocks',
        lambda hyperedge, size: hyperedge_blocks(hyperedge, size, 2),
    )
    out = torch.empty_like(expected)
    Topology(data.hyperedge_index, 6, 6, out=out)
    assert torch.equal(out, expected)


def test_bits_of_moments_do_not_depend_on_the_order_of_incidences() -> None:
    generator = torch.Generator().manual_seed(0)
    # Thousands of incidences of each node, so that plain sums differ.
    node = torch.randint(3, (20_000,), generator=generator)
    local = torch.rand(2, node.numel(), generator=generator, dtype=torch.double)
    count = torch.bincount(node)
    vectors = NodeVectors.of(count)
    # Rounded to single precision, the last digits of sums would be lost.
    vectors = vectors._replace(moments=vectors.moments.double())
    perm = torch.randperm(node.numel(), generator=generator)
    expected = vectors.with_moments(list(local), node, count, ALONE).moments
    found = vectors.with_moments(list(local[:, perm]), node[perm], count, ALONE)
    assert torch.equal(found.moments, expected)
    part = [local[:, node == each] for each in range(3)]
    naive = [torch.stack([x.mean(1), x.std(1, correction=0)], dim=1) for x in part]
    assert torch.allclose(expected, torch.stack(naive).view(3, 4), rtol=1e-12)
