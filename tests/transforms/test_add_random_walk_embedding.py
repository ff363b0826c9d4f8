import math
import sys
from typing import Any

import pytest
import torch
from torch import Tensor

from tests.devices import second_device
from tests.strategies import (
    Groups,
    one_line_error,
    to_data,
)
from tgx_anchor.data import AnchorData
from tgx_anchor.transforms import AddRandomWalkEmbedding
from tgx_anchor.transforms._skip_gram import skip_gram
from tgx_anchor.transforms.add_random_walk_embedding import standardize

# Members listed twice, groups that come again, singletons, a loner, a far end.
GROUPS = [
    [0, 1, 2],
    [0, 1, 2],
    [1, 3],
    [0, 3, 4, 4],
    [2, 5],
    [5, 6, 6, 6],
    [1, 1, 5],
    [6],
    [7],
    [2],
    [0, 2, 3, 5],
]
NUM_NODES = 9


# The transform ###################################################################


def two_communities(size: int = 30, seed: int = 0) -> AnchorData:
    # Groups of three inside each community, and a few across.
    generator = torch.Generator().manual_seed(seed)
    groups = []
    for e in range(8 * size):
        members = torch.randint(size, (3,), generator=generator)
        side = torch.full((3,), e % 2)
        if e % 16 == 0:
            side[0] = 1 - side[0]
        groups.append((members + size * side).tolist())
    return to_data(groups, 2 * size)


def separation(x: Tensor) -> float:
    # How much better the own community's centre fits than the other one's.
    half = x.size(0) // 2
    centre = torch.stack([x[:half].mean(dim=0), x[half:].mean(dim=0)])
    near = torch.cdist(x, centre).argmin(dim=1)
    own = torch.arange(2).repeat_interleave(half)
    return float((near == own).double().mean())


def test_communities_are_separated(device: torch.device) -> None:
    data = two_communities().to(device)
    out = AddRandomWalkEmbedding()(data)
    assert separation(out.x.cpu()) >= 0.95
    untrained = quick(lr=1e-9)(data)
    assert separation(untrained.x.cpu()) < 0.85
    assert out.x.size() == (60, 48)
    assert out.x.dtype == torch.float
    assert out.x.device.type == device.type
    assert data.get('x') is None


def quick(**kwargs: Any) -> AddRandomWalkEmbedding:
    options = {'dim': 6, 'walks_per_node': 2, 'walk_length': 10, **kwargs}
    return AddRandomWalkEmbedding(**options)


def test_columns_are_standardized() -> None:
    x = quick()(two_communities()).x.double()
    torch.testing.assert_close(
        x.mean(dim=0), torch.zeros(6).double(), atol=1e-6, rtol=0
    )
    std = x.std(dim=0, correction=0)
    torch.testing.assert_close(std, torch.ones(6).double(), atol=1e-5, rtol=0)


def test_walks_of_the_embedding() -> None:
    data = AnchorData(torch.tensor([[0, 1, 1, 2, 3], [0, 0, 1, 1, 2]]), 4, 3)
    transform = AddRandomWalkEmbedding(3, walks_per_node=2, walk_length=5, seed=7)
    walks = transform.walk(data)
    assert walks.size() == (8, 5)
    assert walks[:, 0].tolist() == [0, 0, 1, 1, 2, 2, 3, 3]
    assert walks[6:].tolist() == [[3] * 5] * 2
    assert torch.equal(transform.walk(data), walks)
    generator = torch.Generator().manual_seed(7)
    assert torch.equal(transform.walk(data, generator), walks)
    # Those that the embeddings are made of.
    expected = skip_gram(walks, 4, 3, generator=generator)
    assert torch.equal(transform(data)['x'], standardize(expected))


def test_seeds_decide_and_global_state_is_left_alone() -> None:
    data = two_communities()
    state = torch.get_rng_state()
    first = quick(seed=3)(data).x
    torch.manual_seed(12)
    again = quick(seed=3)(data).x
    assert torch.equal(first, again)
    assert not torch.equal(first, quick(seed=4)(data).x)
    torch.set_rng_state(state)
    quick()(data)
    assert torch.equal(torch.get_rng_state(), state)


@pytest.mark.parametrize(
    ('groups', 'num_nodes'),
    [
        ([], 0),
        ([[]], 0),
        ([], 1),
        ([[0]], 1),
        ([], 5),
        ([[0], [0], []], 3),
        ([[1, 2]], 4),
    ],
)
def test_little_to_walk_on(groups: Groups, num_nodes: int) -> None:
    out = quick(dim=3)(to_data(groups, num_nodes))
    assert out.x.size() == (num_nodes, 3)
    assert out.x.dtype == torch.float
    assert bool(torch.isfinite(out.x).all())
    if num_nodes == 1:
        assert bool((out.x == 0).all())
    out.validate()


def test_attribute_and_functional_name() -> None:
    data = two_communities(4)
    out = quick(dim=3, attr_name='node_walk')(data)
    assert out.node_walk.size() == (8, 3)
    assert out.get('x') is None


def test_progress(capsys: pytest.CaptureFixture[str]) -> None:
    data = two_communities(4)
    quiet = quick(dim=3)(data).x
    assert capsys.readouterr().err == ''
    loud = quick(dim=3, progress=True)(data).x
    err = capsys.readouterr().err
    assert 'walks' in err
    assert 'skip-gram' in err
    assert torch.equal(quiet, loud)


def test_repr_shows_what_changes_the_result() -> None:
    assert repr(AddRandomWalkEmbedding(dim=44, progress=True)) == (
        "AddRandomWalkEmbedding(dim=44, attr_name='x', walks_per_node=10, "
        'walk_length=40, p=2.0, q=0.25, window=10, num_negatives=5, num_epochs=1, '
        "lr=0.025, sample=0.001, seed=0, backend='torch')"
    )


@pytest.mark.parametrize(
    'name',
    ['dim', 'walks_per_node', 'walk_length', 'p', 'q', 'window', 'num_negatives', 'lr'],
)
def test_bad_numbers(name: str) -> None:
    for value in (0, -1, math.inf, math.nan):
        with one_line_error(f"'{name}'", str(value)):
            quick(**{name: value})


def test_bad_arguments() -> None:
    with one_line_error("'sample'", '-1'):
        AddRandomWalkEmbedding(sample=-1)
    with one_line_error("'attr_name'", 'y'):
        AddRandomWalkEmbedding(attr_name='y')


def test_names_reach_the_data() -> None:
    data = AddRandomWalkEmbedding(3, attr_name='node_walk')(to_data([[0, 1, 2]], 3))
    assert data.names('node_walk') == [f'random_walk_{i}' for i in range(3)]
    assert data.validate()


def test_second_device() -> None:
    data = to_data(GROUPS, NUM_NODES)
    transform = AddRandomWalkEmbedding(4, walks_per_node=3, walk_length=8)
    expected = transform(data).x
    with second_device() as device:
        out = transform(data.clone().to(device)).x
        assert out.device == device
    assert torch.equal(out.cpu(), expected)


# gensim ##########################################################################


def test_gensim_learns_from_the_same_walks() -> None:
    models = pytest.importorskip('gensim.models')
    data = to_data(GROUPS, NUM_NODES)
    transform = AddRandomWalkEmbedding(6, seed=3, backend='gensim')
    x = transform(data)['x']
    assert torch.equal(transform(data)['x'], x)
    assert x.dtype == torch.float32
    assert not torch.equal(AddRandomWalkEmbedding(6, seed=3)(data)['x'], x)

    walks = transform.walk(data)
    order = torch.randperm(len(walks), generator=torch.Generator().manual_seed(3))
    sentences = [[str(node) for node in walk] for walk in walks[order].tolist()]
    # The other arguments are the defaults of gensim.
    model = models.Word2Vec(
        sentences,
        vector_size=6,
        window=10,
        min_count=0,
        sg=1,
        epochs=1,
        workers=1,
        seed=3,
    )
    rows = torch.tensor(model.wv[[str(node) for node in range(NUM_NODES)]])
    assert torch.equal(standardize(rows), x)


@pytest.mark.parametrize(
    'change',
    [
        {'window': 1},
        {'num_negatives': 1},
        {'num_epochs': 2},
        {'lr': 0.5},
        {'sample': 0},
    ],
    ids=str,
)
def test_gensim_takes_all_arguments(change: dict[str, Any]) -> None:
    pytest.importorskip('gensim')
    data = to_data(GROUPS, NUM_NODES)
    x = AddRandomWalkEmbedding(4, backend='gensim')(data)['x']
    changed = AddRandomWalkEmbedding(4, backend='gensim', **change)(data)['x']
    assert not torch.equal(changed, x)


def test_gensim_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, 'gensim.models', None)
    transform = AddRandomWalkEmbedding(4, backend='gensim')
    with pytest.raises(ImportError, match='gensim') as caught:
        transform(to_data(GROUPS, NUM_NODES))
    assert str(caught.value) == (
        "backend='gensim' needs gensim: pip install 'tgx_anchor[bench]', or use "
        "backend='torch'"
    )


def test_backend_is_shown_and_checked() -> None:
    assert "backend='torch'" in repr(AddRandomWalkEmbedding())
    assert "backend='gensim'" in repr(AddRandomWalkEmbedding(backend='gensim'))
    with one_line_error("'backend'", "'fast'"):
        AddRandomWalkEmbedding(backend='fast')  # type: ignore[arg-type]
