r"""Tells real from fake groups, with and without the anchor strengths of their members.

The application of the `"Identifying Group Anchors in Real-World Group Interactions
Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper. A tenth of all
hyperedges, drawn from the test hyperedges of the anchor task, is held out. Embeddings
of nodes (:class:`~tgx_anchor.nn.VilLain`) and anchor strengths
(:class:`~tgx_anchor.nn.AnchorRadar`) are learnt from the others. Each real hyperedge
has a fake one of the same size, whose members are drawn uniformly. Maximum minus
minimum of the embeddings of members is the embedding of a hyperedge, and logistic
regression on the remaining hyperedges tells which of those held out are real.

As in the paper, copies of a group that is held out may be among the other ones. Nodes
without any of the remaining hyperedges have no embedding. Hyperedges with such members
are not tested, and no fake one has them: the paper speaks of test hyperedges that are
not "meaningful", without details. It does not say whether strengths were learnt with
the hyperedges that are held out; here they are not. It mentions no scaling of columns
before the regression, and there is none. Nor does it say over how many steps of
propagation an embedding is averaged, which is 10 or 100 in the paper on VilLain.
"""

import time
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import NamedTuple

import torch
from scipy.stats import rankdata
from torch import Tensor
from torch.nn.functional import embedding_bag

from tgx_anchor.benchmark.logistic_regression import LogisticRegression
from tgx_anchor.benchmark.methods import (
    cached_embedding,
    load_setting,
    new_model,
    one_split,
)
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.data import AnchorData
from tgx_anchor.datasets.location import dataset_root
from tgx_anchor.nn import AnchorRadar, VilLain
from tgx_anchor.transforms import AnchorStrengthFeatures
from tgx_anchor.utils import collapse_incidences, degree

HELD_OUT = 0.1
NUM_EMBED_STEPS = 100
# The rows of the paper's table.
ORIGINAL, WITH_STRENGTHS = 'Original VilLain', '+ Anchor Strengths'
# The features of anchor strengths tell the size of a group, which pooled embeddings do
# not, and strengths go along with degrees: the same features of equal strengths, and of
# degrees, show how much of a gain comes from there.
WITH_SIZES, WITH_DEGREES = '+ Equal Strengths', '+ Degrees'
VARIANTS = (ORIGINAL, WITH_STRENGTHS, WITH_SIZES, WITH_DEGREES)


class DownstreamTask(NamedTuple):
    r"""One split of one setting.

    Args:
        setting (str): The setting.
        split (int): The number of the random split.
        num_epochs (int): The largest number of epochs of VilLain for each number of
            labels; zero for the published one.
    """

    setting: str
    split: int
    num_epochs: int = 0


@dataclass(frozen=True)
class DownstreamRow:
    r"""The measurements of one variant of a task.

    Args:
        setting (str): The setting.
        split (int): The number of the random split.
        num_epochs (int): The number of epochs asked for; zero for the published one.
        variant (str): One of :obj:`VARIANTS`.
        accuracy (float): The share of hyperedges, real and fake, that are recognised.
        auroc (float): The area under the receiver operating characteristic.
        seconds (float): The seconds of all that is learnt; embeddings from the cache
            take none.
    """

    setting: str
    split: int
    num_epochs: int
    variant: str
    accuracy: float
    auroc: float
    seconds: float

    @property
    def task(self) -> DownstreamTask:
        r"""The task that was measured."""
        return DownstreamTask(self.setting, self.split, self.num_epochs)


def measure_downstream(
    task: DownstreamTask,
    tell: Tell,
    *,
    root: str | None = None,
    cache: str | None = None,
) -> list[DownstreamRow]:
    r"""Tells real from fake groups in all variants, and returns a row for each.

    Args:
        task (DownstreamTask): The task.
        tell (callable): Shows the progress.
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
        cache (str, optional): The folder that keeps the embeddings of each number of
            labels; a folder of the datasets if :obj:`None`. (default: :obj:`None`)
    """
    folder = dataset_root(root) / 'embedding' if cache is None else Path(cache)
    data = one_split(load_setting(task.setting, root), task.split)
    held_out = hold_out(data, task.split)
    seen = data.hyperedge_subgraph(~held_out)
    unseen = data.hyperedge_subgraph(held_out)
    degrees = degree(seen.hyperedge_index, seen.num_nodes, seen.num_hyperedges)
    unseen = unseen.hyperedge_subgraph(with_members_in(unseen, degrees > 0))
    if unseen.num_hyperedges == 0:
        raise ValueError(
            f'No group of {task.setting!r} can be tested on split {task.split}: each '
            f'one that is held out has a member who is in no other group. Use a larger '
            f'dataset'
        )

    start = time.perf_counter()
    x = _embedding(seen, task, tell, folder)
    embedding_seconds = time.perf_counter() - start
    tell(f'{task.setting} anchor strengths')
    start = time.perf_counter()
    strength = anchor_strength(seen, task.setting)
    strength_seconds = time.perf_counter() - start

    tell(f'{task.setting} real or fake')
    generator = torch.Generator().manual_seed(task.split)
    nodes = degrees.nonzero().view(-1)
    parts = [with_fakes(part, nodes, generator) for part in (seen, unseen)]
    pooled = [max_min(x, part) for part in parts]
    strengths = {
        WITH_STRENGTHS: strength,
        WITH_SIZES: torch.zeros_like(strength),
        WITH_DEGREES: degrees.to(strength.dtype).log1p(),
    }
    rows = []
    for variant in VARIANTS:
        start = time.perf_counter()
        learning, testing = pooled
        seconds = embedding_seconds
        if variant in strengths:
            enrich = AnchorStrengthFeatures(strengths[variant], cat=False)
            learning, testing = (
                torch.cat([table, enrich(part).hyperedge_attr], dim=1)
                for table, part in zip(pooled, parts, strict=True)
            )
        if variant == WITH_STRENGTHS:
            seconds += strength_seconds
        model = LogisticRegression().fit(learning, _is_real(learning))
        accuracy, auroc = _evaluate(model.logit(testing), _is_real(testing))
        rows.append(
            DownstreamRow(
                *task,
                variant,
                accuracy=round(accuracy, 6),
                auroc=round(auroc, 6),
                seconds=round(seconds + time.perf_counter() - start, 3),
            )
        )
    return rows


def hold_out(data: AnchorData, seed: int) -> Tensor:
    r"""Draws the hyperedges that are held out: a tenth of all, from
    :obj:`data.test_mask`.

    Args:
        data (AnchorData): The hypergraph.
        seed (int): The seed of the draw.

    Shapes:
        - **output:** :math:`(M)`, booleans
    """
    candidate = data.test_mask.nonzero().view(-1)
    generator = torch.Generator().manual_seed(seed)
    order = torch.randperm(candidate.numel(), generator=generator)
    count = round(HELD_OUT * data.num_hyperedges)
    mask = torch.zeros_like(data.test_mask)
    mask[candidate[order[:count].to(candidate.device)]] = True
    return mask


def with_members_in(data: AnchorData, mask: Tensor) -> Tensor:
    r"""Tells which hyperedges have all their members in a set of nodes.

    Args:
        data (AnchorData): The hypergraph.
        mask (torch.Tensor): Whether each node is in the set.

    Shapes:
        - **mask:** :math:`(N)`, booleans
        - **output:** :math:`(M)`, booleans
    """
    node, hyperedge = data.hyperedge_index
    out = torch.ones(data.num_hyperedges, dtype=torch.bool, device=node.device)
    out[hyperedge[~mask[node]]] = False
    return out


def anchor_strength(data: AnchorData, setting: str) -> Tensor:
    r"""Learns the anchor strengths of nodes with the published hyperparameters.

    Args:
        data (AnchorData): The hypergraph, with :obj:`train_mask`.
        setting (str): The setting.

    Shapes:
        - **output:** :math:`(N)`
    """
    model = new_model('AnchorRadar', setting)
    if not isinstance(model, AnchorRadar):
        raise TypeError(f'AnchorRadar has strengths, {type(model).__name__} has not')
    # Probabilities are not asked for.
    model.calibration = None
    model.fit(model.required_transform()(data), on_interrupt='raise')
    return model.strength


def with_fakes(
    data: AnchorData, nodes: Tensor, generator: torch.Generator
) -> AnchorData:
    r"""Returns the hyperedges of a hypergraph, followed by as many fake ones. Each has
    the size of the real one in its place, and members that are drawn uniformly
    without replacement.

    Args:
        data (AnchorData): The hypergraph.
        nodes (torch.Tensor): The nodes to draw from, all members of hyperedges among
            them.
        generator (torch.Generator): The generator to draw with.

    Shapes:
        - **nodes:** :math:`(\leq N)`
    """
    index, _ = collapse_incidences(data.hyperedge_index, data.num_nodes)
    fake = nodes[draw_members(index[1], nodes.numel(), generator)]
    fake = torch.stack([fake, index[1] + data.num_hyperedges])
    return AnchorData(
        torch.cat([index, fake], dim=1), data.num_nodes, 2 * data.num_hyperedges
    )


def draw_members(
    hyperedge: Tensor, num_nodes: int, generator: torch.Generator
) -> Tensor:
    r"""Draws a node for each incidence, uniformly among those that its hyperedge does
    not have yet.

    Args:
        hyperedge (torch.Tensor): The hyperedge of each incidence, in ascending order.
            None has more than :obj:`num_nodes` incidences.
        num_nodes (int): The number of nodes :math:`N`.
        generator (torch.Generator): The generator to draw with.

    Shapes:
        - **hyperedge, output:** :math:`(P)`
    """
    device = hyperedge.device

    def draw(count: int) -> Tensor:
        return torch.randint(num_nodes, (count,), generator=generator).to(device)

    node = draw(hyperedge.numel())
    while True:
        # Of equal members, the first stays: those before it are not drawn again.
        order = torch.argsort(hyperedge * num_nodes + node, stable=True)
        pair = (hyperedge * num_nodes + node)[order]
        again = order[1:][pair[1:] == pair[:-1]]
        if again.numel() == 0:
            return node
        node[again.sort().values] = draw(again.numel())


def max_min(x: Tensor, data: AnchorData) -> Tensor:
    r"""Pools the embeddings of members to maximum minus minimum. Hyperedges of a single
    member, or of none, have zeros.

    Args:
        x (torch.Tensor): The embeddings of nodes.
        data (AnchorData): The hypergraph.

    Shapes:
        - **x:** :math:`(N, D)`
        - **output:** :math:`(M, D)`
    """
    node, ptr = data.hyperedge_index[0], data.hyperedge_ptr
    # No copies of rows for each incidence, unlike 'scatter'.
    pool = partial(embedding_bag, node, offsets=ptr, mode='max')
    return pool(x, include_last_offset=True) + pool(-x, include_last_offset=True)


def _is_real(row: Tensor) -> Tensor:
    return torch.arange(row.size(0)) < row.size(0) // 2


def _embedding(
    data: AnchorData, task: DownstreamTask, tell: Tell, cache: Path
) -> Tensor:
    # One number of labels at a time, so that an interrupted run loses little.
    published = VilLain()
    num_epochs = task.num_epochs or published.num_epochs

    def show(record: dict[str, float]) -> None:
        tell(
            f'{task.setting} VilLain {record["num_labels"]} labels '
            f'{record["epoch"]}/{record["num_epochs"]}'
        )

    def embed(model: VilLain) -> Tensor:
        return model.fit(data, callback=show).embed()

    models = [
        VilLain(c, num_embed_steps=NUM_EMBED_STEPS, num_epochs=num_epochs)
        for c in published.num_labels
    ]
    return VilLain.merge(
        [
            cached_embedding(data, repr(model), partial(embed, model), cache)
            for model in models
        ]
    )


def _evaluate(score: Tensor, y: Tensor) -> tuple[float, float]:
    accuracy = ((score > 0) == y).double().mean()
    rank = torch.from_numpy(rankdata(score.numpy()))
    num_real, num_fake = int(y.sum()), int((~y).sum())
    above = float(rank[y].sum()) - num_real * (num_real + 1) / 2
    return float(accuracy), above / max(num_real * num_fake, 1)
