"""All members of PyG's data object and all its transforms, on a hypergraph: each is
right, or refused by one sentence that names the right call.
"""

import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor
from torch_geometric import transforms
from torch_geometric.data import Data

from tests.data.examples import contents, decorate
from tests.strategies import to_data
from tgx_anchor.data import AnchorData
from tgx_anchor.data.hypergraph_storage import (
    REFUSED,
    HypergraphError,
    HypergraphStorage,
    num_columns,
)


def example() -> AnchorData:
    # As many nodes as hyperedges, so that nobody can tell them apart by length.
    data = to_data([[0, 1, 2], [1, 2], [1], []], 4, [[0], [1], [], []])
    decorate(data, strings=True)
    data.pos = torch.tensor([[0.0, 0.0], [0.0, 1.0], [1.0, 0.0], [3.0, 3.0]])
    del data.node_index, data.incidence_index
    return data


# Members of the data object ######################################################

# Those that are inherited as they are; the test of each is where its values matter.
INHERITED = {
    'apply',
    'apply_',
    'batch',
    'clone',
    'contains_isolated_nodes',
    'contiguous',
    'cpu',
    'cuda',
    'debug',
    'detach',
    'detach_',
    'from_dict',
    'get_all_tensor_attrs',
    'get_tensor',
    'get_tensor_size',
    'is_cuda',
    'is_node_attr',
    'keys',
    'multi_get_tensor',
    'node_attrs',
    'node_offsets',
    'num_features',
    'num_node_features',
    'num_node_types',
    'pin_memory',
    'pos',
    'put_tensor',
    'record_stream',
    'remove_tensor',
    'requires_grad_',
    'share_memory_',
    'stores',
    'stores_as',
    'to',
    'to_dict',
    'to_namedtuple',
    'update',
    'update_tensor',
    'view',
    'x',
    'y',
}
# Those that are written anew, with their tests in 'test_anchor_data.py'.
OWN = {
    'coalesce',
    'concat',
    'connected_components',
    'has_isolated_nodes',
    'is_coalesced',
    'is_sorted',
    'is_sorted_by_time',
    'node_stores',
    'num_nodes',
    'size',
    'snapshot',
    'sort',
    'sort_by_time',
    'subgraph',
    'up_to',
    'validate',
}
MEMBERS = {name for name in dir(Data) if not name.startswith('_')}


def test_every_member_was_considered() -> None:
    # A member that a later version of PyG adds belongs into one of the three.
    considered = INHERITED | OWN | set(REFUSED)
    assert considered >= MEMBERS
    assert not INHERITED & OWN
    assert not (INHERITED | OWN) & set(REFUSED)


@pytest.mark.parametrize('name', sorted(INHERITED & MEMBERS))
def test_inherited_member_is_that_of_pyg(name: str) -> None:
    assert name not in vars(AnchorData)


@pytest.mark.parametrize('name', sorted(OWN))
def test_own_member_is_not_that_of_pyg(name: str) -> None:
    assert name in vars(AnchorData)


@pytest.mark.parametrize('name', sorted(REFUSED))
def test_refused_member_names_the_right_call(name: str) -> None:
    data = example()
    for owner in (data, data._store):
        with pytest.raises(HypergraphError) as caught:
            getattr(owner, name)
        message = str(caught.value)
        assert message == (
            f"'{name}' is for graphs of pairwise edges, not for hypergraphs: use "
            f'{REFUSED[name]}'
        )
        assert not hasattr(owner, name)
    assert isinstance(caught.value, ValueError)
    # What is named is there.
    right = REFUSED[name].split("'")[1].split('(')[0].split(' ')[0]
    optional = ('hyperedge_time', 'hyperedge_type', 'incidence_side')
    assert hasattr(data, right) or right in optional


@pytest.mark.parametrize(
    'name',
    [
        'adj_t',
        'edge_attr',
        'edge_index',
        'edge_label',
        'edge_label_index',
        'face',
        'time',
        'train_index',
    ],
)
def test_refused_names_cannot_be_set(name: str) -> None:
    data = example()
    before = contents(data)
    value = torch.zeros(2, 3, dtype=torch.long)
    given: dict[str, Any] = {name: value}
    setters: list[Callable[[], object]] = [
        lambda: setattr(data, name, value),
        lambda: setattr(data._store, name, value),
        lambda: data.__setitem__(name, value),
        lambda: AnchorData(**given),
        lambda: data.update(given),
        lambda: data.put_tensor(value, attr_name=name, index=None),
    ]
    for set_it in setters:
        with pytest.raises(
            HypergraphError, match='is for graphs of pairwise'
        ) as caught:
            set_it()
        assert '\n' not in str(caught.value)
    assert contents(data) == before
    # Nothing is nothing.
    setattr(data, name, None)
    assert contents(data) == before


def test_inherited_members_on_a_hypergraph() -> None:
    data = example()
    nodes = {'x', 'pos', 'node_id', 'node_batch_size'}
    assert set(data.node_attrs()) == nodes
    assert {attr.attr_name for attr in data.get_all_tensor_attrs()} == nodes
    assert data.num_node_features == data.num_features == 2
    assert data.node_offsets == {None: 0}
    assert data.num_node_types == 1
    assert data.size() == (4, 4)
    assert data.size(1) == 4
    assert data.num_hyperedge_features == 3
    assert data.num_incidence_features == 2
    assert (
        AnchorData().num_incidence_features == AnchorData().num_hyperedge_features == 0
    )
    row: Any = data.to_namedtuple()
    assert row.hyperedge_index is data.hyperedge_index
    assert data.get_tensor('x', index=None) is data['x']
    with pytest.warns(UserWarning, match='has_isolated_nodes'):
        assert data.contains_isolated_nodes()
    other = to_data([[0]], 1)
    other.update(data)
    assert contents(other) == contents(data)


# Storages ########################################################################


def test_node_storage_reads_and_writes_nodes() -> None:
    data = example()
    (store,) = data.node_stores
    assert set(store.keys()) == {'x', 'pos', 'node_id', 'node_batch_size', 'num_nodes'}
    store.x = torch.ones(4, 1)
    assert data['x'].tolist() == [[1.0]] * 4
    store['node_color'] = torch.zeros(4)
    assert data['node_color'].tolist() == [0.0] * 4
    del store['node_color']
    assert 'node_color' not in data
    assert store.num_nodes == 4
    assert store.is_node_attr('x')
    assert not hasattr(store, 'node_weight')


@pytest.mark.parametrize(
    ('key', 'owner'),
    [
        ('y', 'incidences'),
        ('train_mask', 'hyperedges'),
        ('title', 'the hypergraph as a whole'),
    ],
)
def test_node_storage_refuses_other_levels(key: str, owner: str) -> None:
    data = example()
    before = contents(data)
    (store,) = data.node_stores
    message = f"'{key}' belongs to {owner}, not to nodes"
    with pytest.raises(ValueError, match=message):
        store[key] = torch.zeros(4)
    if key != 'title':
        with pytest.raises(ValueError, match=message):
            getattr(store, key)
    assert contents(data) == before


def test_storage_is_kept() -> None:
    data = example()
    for other in (copy.copy(data), copy.deepcopy(data), data.clone()):
        assert type(other._store) is HypergraphStorage


@pytest.mark.parametrize(
    ('value', 'width'),
    [(torch.zeros(4), 1), (torch.zeros(4, 3), 3), (torch.zeros(4, 0), 0), (['a'], 1)],
)
def test_num_columns(value: Any, width: int) -> None:
    assert num_columns(value) == width


# Transforms ######################################################################

Compare = Callable[[AnchorData, AnchorData], bool]


def only(key: str, expected: Callable[[AnchorData], Tensor]) -> Compare:
    """Expects that one attribute has changed, and how."""

    def compare(before: AnchorData, after: AnchorData) -> bool:
        right = torch.allclose(after[key], expected(before))
        left, other = contents(before), contents(after)
        del left[key], other[key]
        return right and left == other

    return compare


def unchanged(before: AnchorData, after: AnchorData) -> bool:
    return contents(before) == contents(after)


def normalized(data: AnchorData) -> Tensor:
    x: Tensor = data['x'] - data['x'].min()
    return x / x.sum(dim=1, keepdim=True).clamp(min=1.0)


def reduced(data: AnchorData) -> Tensor:
    left, size, _ = torch.linalg.svd(data['x'])
    out: Tensor = left[:, :1] * size[:1]
    return out


def moved(by: Callable[[Tensor], Tensor]) -> Compare:
    return only('pos', lambda data: by(data['pos']))


FLIP = torch.tensor([-1.0, 1.0])
# Right: with what they must do.
RIGHT: dict[str, tuple[transforms.BaseTransform, Compare]] = {
    'Compose': (
        transforms.Compose([transforms.NormalizeFeatures()]),
        only('x', normalized),
    ),
    'ToDevice': (transforms.ToDevice('cpu'), unchanged),
    'Constant': (
        transforms.Constant(3.0),
        only('x', lambda d: torch.cat([d['x'], torch.full((4, 1), 3.0)], dim=1)),
    ),
    'NormalizeFeatures': (transforms.NormalizeFeatures(), only('x', normalized)),
    'SVDFeatureReduction': (transforms.SVDFeatureReduction(1), only('x', reduced)),
    'Center': (transforms.Center(), moved(lambda pos: pos - pos.mean(dim=0))),
    'NormalizeScale': (
        transforms.NormalizeScale(),
        moved(lambda p: (p - p.mean(0)) / (p - p.mean(0)).abs().max() * 0.999999),
    ),
    'RandomFlip': (transforms.RandomFlip(0, p=1.0), moved(lambda pos: pos * FLIP)),
    'LinearTransformation': (
        transforms.LinearTransformation(2 * torch.eye(2)),
        moved(lambda pos: 2 * pos),
    ),
    'RandomScale': (transforms.RandomScale((2.0, 2.0)), moved(lambda pos: 2 * pos)),
    'RandomJitter': (transforms.RandomJitter(0), moved(lambda pos: pos)),
    'RandomRotate': (transforms.RandomRotate((180, 180)), moved(lambda pos: -pos)),
    'RandomShear': (transforms.RandomShear(0), moved(lambda pos: pos)),
    # There is nothing to do: no numbers of nodes or edges, no faces.
    'IndexToMask': (transforms.IndexToMask(), unchanged),
    'FaceToEdge': (transforms.FaceToEdge(), unchanged),
}
PATHS = [[('a', 'to', 'b'), ('b', 'to', 'a')]]
MISSING = torch.zeros(4, 2, dtype=torch.bool)
# Refused: by the sentence of the member that they read or write.
REFUSING: dict[str, tuple[transforms.BaseTransform, str]] = {
    'ToSparseTensor': (transforms.ToSparseTensor(), 'edge_stores'),
    'RandomLinkSplit': (transforms.RandomLinkSplit(), 'edge_index'),
    'NodePropertySplit': (
        transforms.NodePropertySplit('popularity', [0.2] * 5),
        'edge_stores',
    ),
    'MaskToIndex': (transforms.MaskToIndex(), 'train_index'),
    'Pad': (transforms.Pad(10), 'is_edge_attr'),
    'ToUndirected': (transforms.ToUndirected(), 'edge_stores'),
    'OneHotDegree': (transforms.OneHotDegree(3), 'edge_index'),
    'TargetIndegree': (transforms.TargetIndegree(), 'edge_index'),
    'LocalDegreeProfile': (transforms.LocalDegreeProfile(), 'edge_index'),
    'AddSelfLoops': (transforms.AddSelfLoops(), 'edge_stores'),
    'AddRemainingSelfLoops': (transforms.AddRemainingSelfLoops(), 'edge_stores'),
    'RemoveSelfLoops': (transforms.RemoveSelfLoops(), 'edge_stores'),
    'RemoveIsolatedNodes': (transforms.RemoveIsolatedNodes(), 'edge_stores'),
    'RemoveDuplicatedEdges': (transforms.RemoveDuplicatedEdges(), 'edge_stores'),
    'ToDense': (transforms.ToDense(), 'edge_index'),
    'TwoHop': (transforms.TwoHop(), 'edge_index'),
    'LineGraph': (transforms.LineGraph(), 'edge_index'),
    'LaplacianLambdaMax': (transforms.LaplacianLambdaMax(), 'edge_index'),
    'GDC': (transforms.GDC(), 'edge_index'),
    'SIGN': (transforms.SIGN(1), 'edge_index'),
    'AddMetaPaths': (transforms.AddMetaPaths(PATHS), 'edge_types'),
    'AddRandomMetaPaths': (transforms.AddRandomMetaPaths(PATHS), 'edge_types'),
    'RootedEgoNets': (transforms.RootedEgoNets(1), 'edge_index'),
    'RootedRWSubgraph': (transforms.RootedRWSubgraph(1), 'edge_index'),
    'LargestConnectedComponents': (
        transforms.LargestConnectedComponents(),
        'edge_index',
    ),
    'VirtualNode': (transforms.VirtualNode(), 'edge_index'),
    'AddLaplacianEigenvectorPE': (
        transforms.AddLaplacianEigenvectorPE(1),
        'edge_index',
    ),
    'AddRandomWalkPE': (transforms.AddRandomWalkPE(2), 'edge_index'),
    'AddGPSE': (transforms.AddGPSE(torch.nn.Identity()), 'edge_index'),
    'FeaturePropagation': (transforms.FeaturePropagation(MISSING), 'edge_index'),
    'HalfHop': (transforms.HalfHop(), 'edge_weight'),
    'Distance': (transforms.Distance(), 'edge_index'),
    'Cartesian': (transforms.Cartesian(), 'edge_index'),
    'LocalCartesian': (transforms.LocalCartesian(), 'edge_index'),
    'Polar': (transforms.Polar(), 'edge_index'),
    'Spherical': (transforms.Spherical(), 'edge_index'),
    'PointPairFeatures': (transforms.PointPairFeatures(), 'edge_index'),
    'SamplePoints': (transforms.SamplePoints(3), 'face'),
    'GenerateMeshNormals': (transforms.GenerateMeshNormals(), 'face'),
    'Delaunay': (transforms.Delaunay(), 'face'),
}
# Tried below, each by its own test.
APART = {
    'BaseTransform',
    'ComposeFilters',
    'FixedPoints',
    'GCNNorm',
    'GridSampling',
    'KNNGraph',
    'NormalizeRotation',
    'RadiusGraph',
    'RandomNodeSplit',
    'RemoveTrainingClasses',
    'ToSLIC',
}


def test_every_transform_was_tried() -> None:
    assert set(transforms.__all__) <= {*RIGHT, *REFUSING, *APART}


@pytest.mark.parametrize('name', RIGHT)
def test_right_transform(name: str) -> None:
    transform, compare = RIGHT[name]
    data = example()
    out = transform(data)
    assert contents(data) == contents(example())
    assert out.validate()
    assert compare(data, out)


@pytest.mark.parametrize('name', REFUSING)
def test_refused_transform(name: str) -> None:
    transform, member = REFUSING[name]
    data = example()
    with pytest.raises(HypergraphError, match=f"^'{member}' is for graphs") as caught:
        transform(data)
    assert '\n' not in str(caught.value)
    assert contents(data) == contents(example())


@pytest.mark.parametrize('key', ['y', None])
def test_random_node_split_is_refused(key: str | None) -> None:
    data = example()
    with pytest.raises(ValueError, match='RandomHyperedgeSplit') as caught:
        transforms.RandomNodeSplit(num_val=1, num_test=1, key=key)(data)
    assert '\n' not in str(caught.value)
    assert contents(data) == contents(example())


def test_gcn_norm_is_refused_by_pyg() -> None:
    with pytest.raises(AssertionError):
        transforms.GCNNorm()(example())


def test_remove_training_classes_does_not_fit() -> None:
    # Its mask over hyperedges does not fit 'y' over incidences.
    with pytest.raises(IndexError):
        transforms.RemoveTrainingClasses([0])(example())


@pytest.mark.parametrize(
    'transform',
    [transforms.KNNGraph(2), transforms.RadiusGraph(1.0), transforms.GridSampling(1.0)],
    ids=str,
)
def test_transform_that_needs_pyg_lib_is_refused(
    transform: transforms.BaseTransform,
) -> None:
    data = example()
    # An import error where 'pyg-lib' is missing.
    with pytest.raises((ImportError, ValueError)):
        transform(data)
    assert contents(data) == contents(example())


def test_fixed_points_is_found_out() -> None:
    # It draws nodes anew and leaves all edges behind, of every graph of PyG.
    out = transforms.FixedPoints(3)(example())
    assert out.validate(raise_on_error=False) is False


def test_normalize_rotation_turns_positions() -> None:
    data = example()
    out: Any = transforms.NormalizeRotation()(data)
    before = contents(data)
    left, right = torch.cdist(out.pos, out.pos), torch.cdist(data['pos'], data['pos'])
    assert torch.allclose(left, right, atol=1e-5)
    assert {k: v for k, v in contents(out).items() if k != 'pos'} == {
        k: v for k, v in before.items() if k != 'pos'
    }


def test_compose_filters() -> None:
    assert transforms.ComposeFilters([lambda data: data.num_hyperedges == 4])(example())


def test_slic_takes_an_image() -> None:
    # Its input is an image, its result a new graph: no hypergraph comes in.
    assert 'img' in transforms.ToSLIC.forward.__annotations__
