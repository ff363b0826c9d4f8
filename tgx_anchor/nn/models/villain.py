"""VilLain: node embeddings from the structure of a hypergraph alone."""

import math
import time
from collections.abc import Callable, Iterable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor
from torch.nn.utils import clip_grad_norm_
from torch_geometric.utils import scatter
from tqdm import tqdm
from typing_extensions import Self

from tgx_anchor.data import AnchorData, HyperedgeIndex
from tgx_anchor.nn.conv.aggregate import sum_to_hyperedge, sum_to_node
from tgx_anchor.nn.functional import VirtualLabelLoss, virtual_label_loss
from tgx_anchor.utils import kept_memory, node_sets

# The figures of one epoch by name.
Record = dict[str, float]

# The purposes of random draws, each with a stream of its own.
_TRAINING, _EMBEDDING = 0, 1
# The standard deviation of the first logits.
_START_STD = 0.1


class VilLain(torch.nn.Module):
    r"""Learns embeddings of nodes without features or labels, as in the `"VilLain:
    Self-Supervised Learning on Homogeneous Hypergraphs without Features via Virtual
    Label Propagation" <https://doi.org/10.1145/3589334.3645454>`_ paper.

    Each node has logits :math:`\mathbf{Z}_v` of :math:`c` virtual labels in each of
    :math:`S = \lceil D / c \rceil` subspaces, the only learnable parameters. Labels
    drawn from them, :math:`\mathbf{X}^{(0)}_v = \mathrm{softmax}(\mathbf{Z}_v +
    \mathbf{g})` with Gumbel noise :math:`\mathbf{g}`, spread over the hypergraph,

    .. math::
        \mathbf{Y}^{(j)}_e = \frac{1}{|e|} \sum_{v \in e} \mathbf{X}^{(j-1)}_v,
        \qquad
        \mathbf{X}^{(j)}_v = \frac{1}{d_v} \sum_{e \ni v} \mathbf{Y}^{(j)}_e,

    and logits are trained so that labels are confident, balanced and distinct after
    each of :math:`k` steps, by the sum of
    :func:`~tgx_anchor.nn.functional.virtual_label_loss` over
    :math:`\mathbf{Y}^{(1)}, \mathbf{X}^{(1)}, \ldots, \mathbf{Y}^{(k)},
    \mathbf{X}^{(k)}`. The embedding is the mean of :math:`\mathbf{X}^{(1)}, \ldots,
    \mathbf{X}^{(k')}`. With several numbers of labels, each is trained on its own, and
    the first :math:`D` principal components of all embeddings, side by side, are the
    embedding.

    Hyperedges of the same nodes are propagated once, with the weight of all their
    copies. Members that a hyperedge repeats count once. A node without hyperedges has
    a row of zeros, and takes no part in the loss and in the principal components.
    Empty hyperedges have no effect.

    Results are the same, bit for bit, for the same hypergraph, arguments, package
    versions and machine with one CPU thread. An interruption of :meth:`fit` leaves the
    model as it was.

    .. code-block:: python

        model = VilLain().fit(data, progress=True)
        model.embed()                   # [N, 128]
        VilLain(num_labels=2)           # a single number of labels: fast

    Args:
        num_labels (int or list[int], optional): The number of labels :math:`c`, or
            several of them. (default: :obj:`(2, 3, 4, 5, 6, 7, 8)`)
        out_channels (int, optional): The size :math:`D` of an embedding.
            (default: :obj:`128`)
        num_steps (int, optional): The number of steps :math:`k` of propagation in
            training. (default: :obj:`4`)
        num_embed_steps (int, optional): The number of steps :math:`k'` over which
            labels are averaged in the embedding: more steps blend in nodes that are
            further away. The authors use 10 or 100, depending on the dataset.
            (default: :obj:`10`)
        lr (float, optional): The learning rate of AdamW. (default: :obj:`0.01`)
        num_epochs (int, optional): The largest number of epochs for each number of
            labels. (default: :obj:`5000`)
        min_epochs (int, optional): The number of epochs before training may end, and
            before the logits of the least loss are kept; with fewer epochs, the last
            logits are. (default: :obj:`1000`)
        patience (int, optional): Training ends after this many epochs in a row in
            which the loss changes by less than the share :obj:`tolerance`.
            (default: :obj:`20`)
        tolerance (float, optional): The share of the loss below which a change counts
            as none. (default: :obj:`0.002`)
        deterministic (bool, optional): If set to :obj:`True`, the embedding is that of
            labels without noise. (default: :obj:`False`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
    """

    hyperedge_index: Tensor

    def __init__(
        self,
        num_labels: int | Sequence[int] = (2, 3, 4, 5, 6, 7, 8),
        out_channels: int = 128,
        num_steps: int = 4,
        num_embed_steps: int = 10,
        lr: float = 0.01,
        num_epochs: int = 5000,
        min_epochs: int = 1000,
        patience: int = 20,
        tolerance: float = 0.002,
        deterministic: bool = False,
        seed: int = 0,
    ) -> None:
        super().__init__()
        several = (
            tuple(num_labels)
            if isinstance(num_labels, Iterable) and not isinstance(num_labels, str)
            else (num_labels,)
        )
        if not several or not all(isinstance(c, int) and c > 1 for c in several):
            raise ValueError(
                f"'num_labels' must be an integer of at least 2, or a list of such "
                f'(got {num_labels!r})'
            )
        for name, count, least in (
            ('out_channels', out_channels, 1),
            ('num_steps', num_steps, 1),
            ('num_embed_steps', num_embed_steps, 1),
            ('num_epochs', num_epochs, 1),
            ('min_epochs', min_epochs, 0),
            ('patience', patience, 1),
            ('seed', seed, 0),
        ):
            if not isinstance(count, int) or count < least:
                raise ValueError(
                    f"'{name}' must be an integer of at least {least} (got {count!r})"
                )
        if not 0 < lr < math.inf:
            raise ValueError(f"'lr' must be positive (got {lr})")
        if not 0 <= tolerance < math.inf:
            raise ValueError(f"'tolerance' must not be negative (got {tolerance})")
        self.num_labels = several
        self.out_channels = out_channels
        self.num_steps = num_steps
        self.num_embed_steps = num_embed_steps
        self.lr = lr
        self.num_epochs = num_epochs
        self.min_epochs = min_epochs
        self.patience = patience
        self.tolerance = tolerance
        self.deterministic = deterministic
        self.seed = seed
        # One table [N, c, S] for each number of labels.
        self.logits = torch.nn.ParameterList()
        self.register_buffer('hyperedge_index', torch.empty((2, 0), dtype=torch.long))
        self.history: list[Record] = []

    def reset_parameters(self) -> None:
        r"""Resets all learnable parameters. The model must then be fitted again."""
        self.logits = torch.nn.ParameterList()
        self.hyperedge_index = self.hyperedge_index.new_empty((2, 0))
        self.history = []

    def fit(
        self,
        data: AnchorData,
        progress: bool = False,
        callback: Callable[[Record], object] | None = None,
    ) -> Self:
        r"""Learns the logits of all nodes of a hypergraph, on the device of the data.

        Args:
            data (AnchorData): The hypergraph.
            progress (bool, optional): If set to :obj:`True`, shows a progress bar.
                (default: :obj:`False`)
            callback (callable, optional): Called with the record of each epoch, an
                entry of :obj:`history`: its :obj:`epoch`, :obj:`num_epochs`,
                :obj:`num_labels`, :obj:`loss`, the terms :obj:`local` and
                :obj:`global`, and :obj:`seconds`. (default: :obj:`None`)
        """
        spread = _Propagation(data)
        tables, history = torch.nn.ParameterList(), []
        for num_labels in self.num_labels:
            generator = self._generator(num_labels, _TRAINING)
            size = (data.num_nodes, num_labels, -(-self.out_channels // num_labels))
            start = torch.randn(size, generator=generator) * _START_STD
            tables.append(start.to(data.hyperedge_index.device))
            epochs = self._epochs(tables[-1], spread, generator)
            title = f'{num_labels} labels'
            bar = tqdm(total=self.num_epochs, desc=title, disable=not progress)
            with bar, kept_memory():
                for record in epochs:
                    history.append(record)
                    bar.update()
                    bar.set_postfix(loss=f'{record["loss"]:.3f}')
                    if callback is not None:
                        callback(record)
        self.logits, self.history = tables, history
        self.hyperedge_index = data.hyperedge_index
        return self

    @torch.no_grad()
    def embed(self, data: AnchorData | None = None) -> Tensor:
        r"""Computes the embeddings of nodes.

        Args:
            data (AnchorData, optional): A hypergraph of the same nodes, over which
                their labels are propagated; the one that the model was fitted on if
                :obj:`None`. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(N, D)`
        """
        if len(self.logits) == 0:
            raise ValueError("'VilLain' is not fitted yet: call 'fit' first")
        num_nodes = self.logits[0].size(0)
        if data is None:
            index = self.hyperedge_index
            size = int(index[1].max()) + 1 if index.numel() > 0 else 0
            data = AnchorData(index, num_nodes, size)
        if data.num_nodes != num_nodes:
            raise ValueError(
                f"'data' must have the {num_nodes} nodes that the model was fitted on "
                f'(got {data.num_nodes})'
            )
        spread = _Propagation(data)
        with kept_memory():
            parts = [self._embed(table, spread) for table in self.logits]
        return self.merge(parts)

    @staticmethod
    def merge(parts: Sequence[Tensor]) -> Tensor:
        r"""Merges the embeddings of several numbers of labels to their first
        :math:`D` principal components, each of which has a positive largest
        coefficient. A single embedding stays as it is.

        .. code-block:: python

            # The same as VilLain(num_labels=(2, 3)).fit(data).embed():
            parts = [VilLain(num_labels=c).fit(data).embed() for c in (2, 3)]
            x = VilLain.merge(parts)

        Args:
            parts (list[torch.Tensor]): The embeddings. Rows of zeros are nodes without
                hyperedges; they stay zero, and take no part.

        Shapes:
            - **parts:** :math:`(N, D)` each
            - **output:** :math:`(N, D)`
        """
        if len(parts) == 1:
            return parts[0]
        value, width = torch.cat(list(parts), dim=1), parts[0].size(1)
        out = value.new_zeros(value.size(0), width)
        mask = (value != 0).any(dim=1)
        row = value[mask].double()
        if row.numel() == 0:
            return out
        row -= row.mean(dim=0)
        # In ascending order of eigenvalues.
        _, vector = torch.linalg.eigh(row.t() @ row)
        vector = vector.flip(1)[:, :width]
        # The sign of a component is arbitrary.
        largest = vector.gather(0, vector.abs().argmax(dim=0, keepdim=True))
        out[mask] = (row @ (vector * largest.sign())).to(out.dtype)
        return out

    # Training ################################################################

    def _generator(self, num_labels: int, purpose: int) -> torch.Generator:
        # The same number of labels is learnt alike, on its own or among others.
        words = np.random.SeedSequence((self.seed, num_labels, purpose))
        seed = int(words.generate_state(1, np.uint64)[0])
        return torch.Generator().manual_seed(seed)

    def _epochs(
        self, logits: Tensor, spread: '_Propagation', generator: torch.Generator
    ) -> Iterator[Record]:
        # Trains one epoch at a time; at the end, the logits are the best ones.
        best, least = torch.empty_like(logits.detach()), math.inf
        # One sweep over all logits; other devices choose for themselves.
        fused = True if logits.device.type == 'cpu' else None
        optimizer = torch.optim.AdamW(
            [logits], lr=self.lr, weight_decay=0.0, fused=fused
        )
        previous, num_still = math.inf, 0
        for epoch in range(1, self.num_epochs + 1):
            clock = time.perf_counter()
            optimizer.zero_grad(set_to_none=True)
            local, balance, distinct = spread.loss(
                _draw(logits, generator), self.num_steps
            )
            loss = local + balance + distinct
            loss.backward()
            clip_grad_norm_([logits], 1.0)
            optimizer.step()
            value = float(loss.detach())
            if not math.isfinite(value):
                raise ValueError(
                    f"'lr' must be smaller (got {self.lr}: the loss is {value} in "
                    f'epoch {epoch})'
                )
            if epoch > self.min_epochs:
                if value < least:
                    best.copy_(logits.detach())
                    least = value
                change = abs(value - previous)
                is_still = change < self.tolerance * abs(previous)
                num_still = num_still + 1 if is_still else 0
            previous = value
            yield {
                'num_labels': logits.size(1),
                'epoch': epoch,
                'num_epochs': self.num_epochs,
                'loss': value,
                'local': float(local.detach()),
                'global': float((balance + distinct).detach()),
                'seconds': time.perf_counter() - clock,
            }
            if num_still >= self.patience:
                break
        logits.grad = None
        if least < math.inf:
            with torch.no_grad():
                logits.copy_(best)

    # Embeddings ##############################################################

    def _embed(self, logits: Tensor, spread: '_Propagation') -> Tensor:
        # The first columns of the mean labels, those of a subspace side by side.
        generator = None
        if not self.deterministic:
            generator = self._generator(logits.size(1), _EMBEDDING)
        x = _draw(logits, generator).flatten(1)
        total = torch.zeros_like(x)
        for _ in range(self.num_embed_steps):
            x = spread.to_node(spread.to_hyperedge(x))
            total += x
        total = total.div_(self.num_embed_steps).view_as(logits).transpose(1, 2)
        return total.flatten(1)[:, : self.out_channels].contiguous()

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(num_labels={list(self.num_labels)}, '
            f'out_channels={self.out_channels}, num_steps={self.num_steps}, '
            f'num_embed_steps={self.num_embed_steps}, lr={self.lr}, '
            f'num_epochs={self.num_epochs}, min_epochs={self.min_epochs}, '
            f'patience={self.patience}, tolerance={self.tolerance}, '
            f'deterministic={self.deterministic}, seed={self.seed})'
        )


class _Propagation:
    # Means over members and over hyperedges, the rows of distinct node sets.

    def __init__(self, data: AnchorData) -> None:
        sets = node_sets(data.hyperedge_index, data.num_nodes, data.num_hyperedges)
        self.index = HyperedgeIndex(sets.hyperedge_index, data.num_nodes, sets.num_sets)
        node, number = sets.hyperedge_index
        copies = sets.copies[number]
        degree = scatter(copies, node, 0, data.num_nodes, 'sum')
        # Weights inside the sums save a pass over the result.
        self.member_weight = (1 / sets.size[number]).float()
        self.hyperedge_weight = (copies / degree[node]).float()
        # Rows of zeros are no distributions.
        self.row_weight = (torch.where(sets.size > 0, sets.copies, 0.0)).float()
        self.node_weight = (degree > 0).float()

    def to_hyperedge(self, x: Tensor) -> Tensor:
        return sum_to_hyperedge(x, self.index, self.member_weight)

    def to_node(self, y: Tensor) -> Tensor:
        return sum_to_node(y, self.index, self.hyperedge_weight)

    def loss(self, label: Tensor, num_steps: int) -> VirtualLabelLoss:
        # The terms of the loss, summed over all propagated labels.
        x, size = label.flatten(1), label.size()[1:]
        total = [label.new_zeros((), dtype=torch.double) for _ in range(3)]
        for _ in range(num_steps):
            y = self.to_hyperedge(x)
            x = self.to_node(y)
            for value, weight in ((y, self.row_weight), (x, self.node_weight)):
                terms = virtual_label_loss(value.unflatten(1, size), weight)
                total = [a + b for a, b in zip(total, terms, strict=True)]
        return VirtualLabelLoss(*total)


def _draw(logits: Tensor, generator: torch.Generator | None) -> Tensor:
    # The softmax over labels, with Gumbel noise if there is a generator.
    if generator is None:
        return logits.softmax(dim=1)
    # On the CPU, so that draws are the same on all devices.
    noise = torch.rand(logits.size(), generator=generator).to(logits.device)
    # The logarithm of zero would make the noise infinite.
    noise = noise.clamp_(min=torch.finfo(noise.dtype).tiny).log_().neg_().log_()
    return (logits - noise).softmax(dim=1)
