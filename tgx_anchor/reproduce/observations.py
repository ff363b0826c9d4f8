"""Measures the statistics of datasets, and the two observations of the paper."""

import warnings

import torch
from scipy.stats import ttest_ind
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.utils import anchor_proportion, anchor_purity, distinct_hyperedges

# The observations, and whether they depend on the random split, or on random anchors.
OBSERVATIONS = {
    'statistics': False,
    'purity of training hyperedges': True,
    'purity of all hyperedges': True,
    'proportion in training hyperedges': True,
    'proportion in all hyperedges': False,
}


def observe(data: AnchorData, name: str, seed: int = 0) -> dict[str, float]:
    r"""Computes an observation of the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper, and
    returns its values by name.

    Args:
        data (AnchorData): The hypergraph, with a :obj:`train_mask` for observations of
            training hyperedges.
        name (str): One of :obj:`OBSERVATIONS`.
        seed (int, optional): The seed of random anchors. (default: :obj:`0`)
    """
    if name not in OBSERVATIONS:
        raise ValueError(
            f"'name' must be one of {', '.join(OBSERVATIONS)} (got {name!r})"
        )
    if name == 'statistics':
        return statistics(data)
    mask = data.hyperedge_size > 1
    if name.endswith('training hyperedges'):
        mask = mask & data.train_mask
    # A single member is no choice: without them, the purity of all hyperedges is that
    # of the paper to all its digits.
    data = data.hyperedge_subgraph(mask)
    if name.startswith('purity'):
        return purity(data, seed)
    return {'accuracy': proportion_accuracy(data)}


def statistics(data: AnchorData) -> dict[str, float]:
    r"""Counts nodes, hyperedges and their sizes.

    Args:
        data (AnchorData): The hypergraph.
    """
    size = data.hyperedge_size
    number = distinct_hyperedges(
        data.hyperedge_index, data.num_nodes, data.num_hyperedges
    )
    return {
        'num_nodes': float(data.num_nodes),
        'num_hyperedges': float(data.num_hyperedges),
        'num_unique_hyperedges': float(number.max() + 1),
        'min_size': float(size.min()),
        'max_size': float(size.max()),
        'avg_size': float(size.double().mean()),
    }


def purity(data: AnchorData, seed: int = 0) -> dict[str, float]:
    r"""Computes mean and standard deviation of the
    :func:`~tgx_anchor.utils.anchor_purity` of all nodes in at least two hyperedges,
    those with a random member of each hyperedge as its anchor, and the p-value of a
    one-sided t-test that the first mean is larger.

    Args:
        data (AnchorData): The hypergraph.
        seed (int, optional): The seed of random anchors. (default: :obj:`0`)
    """
    real = _defined_purity(data, data['y'])
    random = _defined_purity(data, random_anchors(data, seed))
    with warnings.catch_warnings():
        # Few nodes may all have the same purity.
        warnings.simplefilter('ignore', RuntimeWarning)
        test = ttest_ind(real.numpy(), random.numpy(), alternative='greater')
    return {
        'real_mean': float(real.mean()),
        'real_std': float(real.std(correction=0)),
        'random_mean': float(random.mean()),
        'random_std': float(random.std(correction=0)),
        'p_value': float(test.pvalue),
    }


def _defined_purity(data: AnchorData, y: Tensor) -> Tensor:
    found = anchor_purity(y, data.hyperedge_index, data.num_nodes)
    return found[~found.isnan()]


def random_anchors(data: AnchorData, seed: int) -> Tensor:
    r"""Draws one member of each hyperedge.

    Args:
        data (AnchorData): The hypergraph.
        seed (int): The seed.

    Shapes:
        - **output:** :math:`(P)`
    """
    hyperedge = data.hyperedge_index[1].cpu()
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(hyperedge.numel(), generator=generator)
    first = torch.full((data.num_hyperedges,), hyperedge.numel())
    first.scatter_reduce_(0, hyperedge, order, 'amin')
    return order == first[hyperedge]


def proportion_accuracy(data: AnchorData) -> float:
    r"""Computes the accuracy of picking the member of highest
    :func:`~tgx_anchor.utils.anchor_proportion` in each hyperedge, where proportions
    come from the very anchors that are predicted: it shows how well one number per node
    can explain anchors, and is not a way to predict them.

    Args:
        data (AnchorData): The hypergraph.
    """
    node = data.hyperedge_index[0]
    found = anchor_proportion(data['y'], data.hyperedge_index, data.num_nodes)
    mask = torch.ones(data.num_hyperedges, dtype=torch.bool)
    return float(AnchorEvaluator().eval(found[node], data, mask)['accuracy'])
