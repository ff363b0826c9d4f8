"""Node embeddings from random walks, the input features of the neural baselines."""

from typing import Literal

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from tgx_anchor.data import AnchorData
from tgx_anchor.transforms._hypergraph_walk import HypergraphWalk
from tgx_anchor.transforms._skip_gram import gensim_skip_gram, skip_gram


@functional_transform('add_random_walk_embedding')
class AddRandomWalkEmbedding(BaseTransform):
    r"""Adds node embeddings learned from second-order random walks, as in the
    `"Classification of Edge-dependent Labels of Nodes in Hypergraphs"
    <https://arxiv.org/abs/2306.03032>`_ paper (functional name:
    :obj:`add_random_walk_embedding`).

    A walk goes from a node :math:`c` to a co-member :math:`x \neq c` with probability
    proportional to :math:`\beta(s, c, x) \, w(c \to x)`, where

    .. math::
        w(c \to x) = \frac{1}{\sqrt{d_x}} \sum_{e \ni c, x} \frac{m_c(e) \, m_x(e)}{|e|}

    with degrees :math:`d_x` and :math:`m_x(e)` the number of times that :math:`e`
    lists :math:`x`, and where the node :math:`s` before :math:`c` decides

    .. math::
        \beta(s, c, x) = \begin{cases}
        1 / p & \text{if some hyperedge holds } s, c \text{ and } x \\
        1 & \text{else, if } s \text{ and } x \text{ share a hyperedge} \\
        1 / q & \text{else}
        \end{cases}

    and is 1 in the first step. A node without co-members repeats itself.
    Skip-gram with negative sampling turns walks into embeddings, whose columns are
    then standardised over all nodes (mean 0, population standard deviation 1; zeros
    where all are equal).

    The default skip-gram makes one step for a block of walks. This takes a fraction of
    the time of :obj:`gensim`, which the paper uses, and which makes a step for each
    pair. :obj:`benchmarks/results/reference_habits.md` compares the accuracies of
    baselines that start from either.

    The result is the same, bit for bit, for the same hypergraph, arguments, package
    versions and machine with one CPU thread. It is slow to compute: do it once, as the
    :obj:`pre_transform` of a dataset.

    Args:
        dim (int, optional): The size of an embedding. (default: :obj:`48`)
        attr_name (str, optional): The node attribute to write. (default: :obj:`"x"`)
        walks_per_node (int, optional): The number of walks from each node.
            (default: :obj:`10`)
        walk_length (int, optional): The number of nodes of a walk, its start included.
            (default: :obj:`40`)
        p (float, optional): The penalty for staying in the last hyperedge.
            (default: :obj:`2.0`)
        q (float, optional): The penalty for leaving the last neighbourhood.
            (default: :obj:`0.25`)
        window (int, optional): The largest distance of two nodes of a walk that are
            to have similar embeddings. (default: :obj:`10`)
        num_negatives (int, optional): The number of negative samples of each pair.
            (default: :obj:`5`)
        num_epochs (int, optional): The number of passes of skip-gram over the walks.
            (default: :obj:`1`)
        lr (float, optional): The first learning rate. (default: :obj:`0.025`)
        sample (float, optional): The frequency in walks above which nodes are left
            out at random; zero keeps all. (default: :obj:`1e-3`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
        backend (str, optional): The skip-gram to use: :obj:`"torch"`, or
            :obj:`"gensim"`, which needs the package of that name.
            (default: :obj:`"torch"`)
        progress (bool, optional): If set to :obj:`True`, will show a bar.
            (default: :obj:`False`)

    Shapes:
        - **x:** :math:`(N, \mathrm{dim})`
    """

    def __init__(
        self,
        dim: int = 48,
        attr_name: str = 'x',
        walks_per_node: int = 10,
        walk_length: int = 40,
        p: float = 2.0,
        q: float = 0.25,
        window: int = 10,
        num_negatives: int = 5,
        num_epochs: int = 1,
        lr: float = 0.025,
        sample: float = 1e-3,
        seed: int = 0,
        progress: bool = False,
        backend: Literal['torch', 'gensim'] = 'torch',
    ) -> None:
        for name, value in (
            ('dim', dim),
            ('walks_per_node', walks_per_node),
            ('walk_length', walk_length),
            ('p', p),
            ('q', q),
            ('window', window),
            ('num_negatives', num_negatives),
            ('num_epochs', num_epochs),
            ('lr', lr),
        ):
            if not 0 < value < float('inf'):
                raise ValueError(f"'{name}' must be positive (got {value})")
        if not 0 <= sample < float('inf'):
            raise ValueError(f"'sample' must not be negative (got {sample})")
        if AnchorData.level(attr_name) != 'node':
            raise ValueError(
                f"'attr_name' must be 'x' or start with 'node_' (got {attr_name!r})"
            )
        if backend not in ('torch', 'gensim'):
            raise ValueError(f"'backend' must be 'torch' or 'gensim' (got {backend!r})")
        self.dim = dim
        self.attr_name = attr_name
        self.walks_per_node = walks_per_node
        self.walk_length = walk_length
        self.p = p
        self.q = q
        self.window = window
        self.num_negatives = num_negatives
        self.num_epochs = num_epochs
        self.lr = lr
        self.sample = sample
        self.seed = seed
        self.progress = progress
        self.backend = backend

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the embeddings to :obj:`data`."""
        data[self.attr_name] = standardize(self._embedding(data))
        names = [f'random_walk_{i}' for i in range(self.dim)]
        return data.name_columns(self.attr_name, names)

    def _embedding(self, data: AnchorData) -> Tensor:
        if data.num_nodes == 0:
            return torch.zeros((0, self.dim), device=data.hyperedge_index.device)
        generator = torch.Generator().manual_seed(self.seed)
        walk = self.walk(data, generator)
        arguments = (
            data.num_nodes,
            self.dim,
            self.window,
            self.num_negatives,
            self.num_epochs,
            self.lr,
            self.sample,
        )
        if self.backend == 'gensim':
            return gensim_skip_gram(walk, *arguments, self.seed)
        return skip_gram(walk, *arguments, generator, self.progress)

    def walk(
        self, data: AnchorData, generator: torch.Generator | None = None
    ) -> Tensor:
        r"""Draws the random walks that the embeddings are learned from.

        Args:
            data (AnchorData): The hypergraph.
            generator (torch.Generator, optional): The generator to draw with,
                instead of :obj:`seed`. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(\mathrm{walks\_per\_node} \cdot N,
              \mathrm{walk\_length})`
        """
        index, num_nodes = data.hyperedge_index, data.num_nodes
        if generator is None:
            generator = torch.Generator().manual_seed(self.seed)
        walker = HypergraphWalk(index, num_nodes, data.num_hyperedges, self.p, self.q)
        start = torch.arange(num_nodes, device=index.device)
        start = start.repeat_interleave(self.walks_per_node)
        return walker.sample(start, self.walk_length, generator, self.progress)

    def __repr__(self) -> str:
        # A progress bar does not change the result, and must not invalidate a cache.
        names = [name for name in self.__dict__ if name != 'progress']
        values = ', '.join(f'{name}={getattr(self, name)!r}' for name in names)
        return f'{self.__class__.__name__}({values})'


def standardize(value: Tensor) -> Tensor:
    r"""Shifts and scales each column to mean 0 and population standard deviation 1.
    A column of equal values becomes zero.

    Args:
        value (torch.Tensor): The columns.

    Shapes:
        - **value, output:** :math:`(N, D)`
    """
    if value.numel() == 0:
        return value
    value = value.double()
    value = value - value.mean(dim=0)
    # Where all are equal, the rounding error of their mean must not be amplified.
    varies = value.amax(dim=0) > value.amin(dim=0)
    std = value.square().mean(dim=0).sqrt()
    return torch.where(varies, value / std, 0.0).float()
