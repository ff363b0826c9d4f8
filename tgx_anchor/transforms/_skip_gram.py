"""Skip-gram with negative sampling: our own, and that of gensim."""

import torch
from torch import Tensor
from torch_geometric.utils import cumsum
from tqdm import tqdm

# The final learning rate of word2vec, as a share of the first one.
_FINAL_RATE = 0.0001 / 0.025
# The number of walks of a step: more do not fit into the cache and fewer take longer,
# but a small hypergraph needs many steps.
_MIN_BLOCK, _MAX_BLOCK = 4, 32
_NODES_PER_WALK = 100
# The negative samples of a walk, as a multiple of those of a pair.
_SHARED = 8


def skip_gram(
    walk: Tensor,
    num_nodes: int,
    dim: int,
    window: int = 10,
    num_negatives: int = 5,
    num_epochs: int = 1,
    lr: float = 0.025,
    sample: float = 1e-3,
    generator: torch.Generator | None = None,
    progress: bool = False,
) -> Tensor:
    r"""Embeds nodes by the `"Distributed Representations of Words and Phrases and their
    Compositionality" <https://arxiv.org/abs/1310.4546>`_ paper, so that nodes that are
    close in walks have a large product of input vector :math:`\mathbf{u}` and output
    vector :math:`\mathbf{v}`,

    .. math::
        \max_{\mathbf{u}, \mathbf{v}} \sum_{(j, i)} \left( \log \sigma(
        \mathbf{u}_j^{\top} \mathbf{v}_i) + K \, \mathbb{E}_{k \neq i} \log \sigma(
        - \mathbf{u}_j^{\top} \mathbf{v}_k) \right) ,

    where pairs lie within a window whose width is drawn uniformly from
    :math:`1, \ldots, \mathrm{window}` for each position :math:`i`, frequent nodes are
    left out at random beforehand, negatives :math:`k` are drawn in proportion to their
    frequency to the power of 0.75, and the learning rate falls linearly.

    Unlike word2vec, which goes from pair to pair, this makes one step for a block of
    walks, all of whose products are matrix products. The pairs of a walk share
    :math:`8 K` negatives, weighted so that their sum is the same on average.
    A vector that occurs :math:`n` times in a block takes :math:`n` steps at once; to
    end where :math:`n` small steps in a row would, its step is scaled by
    :math:`(1 - e^{-h}) / h`, where :math:`h` is the learning rate times the sum of
    :math:`|g| \, \| \mathbf{v} \|^2` over its pairs with errors :math:`g`, a bound on
    its curvature.

    Args:
        walk (torch.Tensor): The nodes of each walk.
        num_nodes (int): The number of nodes :math:`N`.
        dim (int): The size :math:`D` of a vector.
        window (int, optional): The largest distance of a pair. (default: :obj:`10`)
        num_negatives (int, optional): The number :math:`K` of negatives of a pair.
            (default: :obj:`5`)
        num_epochs (int, optional): The number of passes over the walks.
            (default: :obj:`1`)
        lr (float, optional): The first learning rate. (default: :obj:`0.025`)
        sample (float, optional): The frequency above which nodes are left out at
            random; zero keeps all. (default: :obj:`1e-3`)
        generator (torch.Generator, optional): Draws all random numbers, on its own
            device. (default: :obj:`None`)
        progress (bool, optional): If set to :obj:`True`, will show a bar.
            (default: :obj:`False`)

    Shapes:
        - **walk:** :math:`(W, T)`
        - **output:** :math:`(N, D)`, the input vectors
    """
    model = _SkipGram(walk, num_nodes, dim, window, num_negatives, sample, generator)
    size = min(max(num_nodes // _NODES_PER_WALK, _MIN_BLOCK), _MAX_BLOCK)
    num_blocks = -(-walk.size(0) // size)
    total = num_blocks * num_epochs
    with tqdm(total=total, desc='skip-gram', disable=not progress) as bar:
        for number in range(total):
            if number % num_blocks == 0:
                order = model.draw.permutation(walk.size(0))
            begin = number % num_blocks * size
            share = 1 - number / total
            rate = lr * max(share, _FINAL_RATE)
            model.step(walk[order[begin : begin + size]].long(), rate)
            bar.update()
    return model.inner


def gensim_skip_gram(
    walk: Tensor,
    num_nodes: int,
    dim: int,
    window: int = 10,
    num_negatives: int = 5,
    num_epochs: int = 1,
    lr: float = 0.025,
    sample: float = 1e-3,
    seed: int = 0,
) -> Tensor:
    r"""Embeds nodes by the skip-gram of :obj:`gensim`, pair by pair, on one thread of
    the CPU.

    Args:
        walk (torch.Tensor): The nodes of each walk, among them all nodes.
        num_nodes (int): The number of nodes :math:`N`.
        dim (int): The size :math:`D` of a vector.
        window (int, optional): The largest distance of a pair. (default: :obj:`10`)
        num_negatives (int, optional): The number of negatives of a pair.
            (default: :obj:`5`)
        num_epochs (int, optional): The number of passes over the walks.
            (default: :obj:`1`)
        lr (float, optional): The first learning rate. (default: :obj:`0.025`)
        sample (float, optional): The frequency above which nodes are left out at
            random; zero keeps all. (default: :obj:`1e-3`)
        seed (int, optional): The seed of the order of walks and of all random draws.
            (default: :obj:`0`)

    Shapes:
        - **walk:** :math:`(W, T)`
        - **output:** :math:`(N, D)`, the input vectors
    """
    try:
        from gensim.models import Word2Vec
    except ImportError as error:
        raise ImportError(
            "backend='gensim' needs gensim: pip install 'tgx_anchor[bench]', or use "
            "backend='torch'"
        ) from error

    order = torch.randperm(len(walk), generator=torch.Generator().manual_seed(seed))
    model = Word2Vec(
        [[str(node) for node in nodes] for nodes in walk.cpu()[order].tolist()],
        vector_size=dim,
        window=window,
        min_count=0,
        sg=1,
        negative=num_negatives,
        epochs=num_epochs,
        alpha=lr,
        min_alpha=lr * _FINAL_RATE,
        sample=sample,
        # Only one thread gives the same result again.
        workers=1,
        seed=seed,
    )
    names = [str(node) for node in range(num_nodes)]
    return torch.tensor(model.wv[names], device=walk.device)


class _SkipGram:
    def __init__(
        self,
        walk: Tensor,
        num_nodes: int,
        dim: int,
        window: int,
        num_negatives: int,
        sample: float,
        generator: torch.Generator | None,
    ) -> None:
        self.draw = _Draw(generator, walk.device)
        self.window = window
        self.num_negatives = num_negatives
        count = torch.bincount(walk.reshape(-1), minlength=num_nodes).double()
        self.kept = torch.ones_like(count)
        if sample > 0:
            ratio = sample * count.sum() / count
            self.kept = (ratio.sqrt() + ratio).clamp(max=1.0)
        self.noise = cumsum(count**0.75)
        self.inner = (self.draw.uniform(num_nodes, dim) * 2 - 1).float() / dim
        self.outer = torch.zeros_like(self.inner)

    def step(self, node: Tensor, rate: float) -> None:
        size, length = node.size()
        pair = self._pairs(node)
        noise = self._negatives(size, _SHARED * self.num_negatives)
        other = torch.cat([node, noise], dim=1)
        inner, outer = _rows(self.inner, node), _rows(self.outer, other)

        error = torch.bmm(inner, outer.transpose(1, 2)).sigmoid_()
        # The number of pairs of j whose target is not k: a negative that is the target
        # does not count.
        same = (node.unsqueeze(2) == noise.unsqueeze(1)).to(pair.dtype)
        open_ = pair.sum(dim=2, keepdim=True) - torch.bmm(pair, same)
        error[:, :, :length].neg_().add_(1).mul_(pair)
        error[:, :, length:].mul_(open_).mul_(-1 / _SHARED)

        # The last column sums the curvatures that damp a step. Errors of negatives are
        # negative, and change their sign there.
        square = inner.square().sum(dim=2, keepdim=True)
        change = torch.bmm(error.transpose(1, 2), torch.cat([inner, square], dim=2))
        change[:, length:, -1].neg_()
        _move(self.outer, other, change, rate)
        square = outer.square().sum(dim=2, keepdim=True)
        square[:, length:].neg_()
        change = torch.bmm(error, torch.cat([outer, square], dim=2))
        _move(self.inner, node, change, rate)

    def _pairs(self, node: Tensor) -> Tensor:
        # One where (j, i) is a pair, since i is in reach. Nodes that are left out have
        # no place, and the others close the gap.
        kept = self.draw.uniform(*node.size()) < self.kept[node]
        place = kept.cumsum(dim=1).float().masked_fill_(~kept, torch.inf)
        reach = self.draw.uniform(*node.size()).mul_(self.window).floor_().add_(1)
        pair = (place.unsqueeze(2) - place.unsqueeze(1)).abs_()
        pair = (pair <= reach.float().unsqueeze(1)).float()
        pair.diagonal(dim1=1, dim2=2).zero_()
        return pair

    def _negatives(self, size: int, count: int) -> Tensor:
        place = self.draw.uniform(size, count).mul_(self.noise[-1])
        noise = torch.searchsorted(self.noise, place, right=True).sub_(1)
        return noise.clamp_(max=self.noise.numel() - 2)


class _Draw:
    def __init__(self, generator: torch.Generator | None, device: torch.device) -> None:
        self.generator = generator
        self.device = device
        self.source = device if generator is None else generator.device

    def uniform(self, *size: int) -> Tensor:
        draw = torch.rand(
            size, generator=self.generator, dtype=torch.double, device=self.source
        )
        return draw.to(self.device)

    def permutation(self, size: int) -> Tensor:
        order = torch.randperm(size, generator=self.generator, device=self.source)
        return order.to(self.device)


def _rows(table: Tensor, index: Tensor) -> Tensor:
    return table.index_select(0, index.view(-1)).view(*index.size(), -1)


def _move(table: Tensor, index: Tensor, change: Tensor, rate: float) -> None:
    # Adds the damped sum of the changes at all places of a row in the block.
    row, place = torch.unique(index, return_inverse=True)
    total = change.new_zeros((row.numel(), change.size(2)))
    total.index_add_(0, place.view(-1), change.view(-1, change.size(2)))
    damping = (total[:, -1:] * rate).clamp_(min=1e-6)
    total = total[:, :-1] * (-torch.expm1(-damping) / damping * rate)
    table.index_add_(0, row, total)
