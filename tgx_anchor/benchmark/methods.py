"""What is compared, and what each of it needs."""

import hashlib
import inspect
from pathlib import Path
from typing import Any, cast

import torch
from torch import Tensor
from torch_geometric.data import InMemoryDataset

from tgx_anchor.data import AnchorData
from tgx_anchor.datasets import AnchorDataset, PlantedAnchorDataset
from tgx_anchor.datasets.catalog import resolve_setting
from tgx_anchor.io.files import replace_file
from tgx_anchor.nn import (
    AnchorModel,
    AnchorPredictor,
    AnchorRadar,
    DegreeHeuristic,
    RandomHeuristic,
)
from tgx_anchor.nn.predictors.paper_baselines import BASELINES
from tgx_anchor.transforms import (
    AddRandomWalkEmbedding,
    AddTopologicalFeatures,
    AddWithinOrderRank,
    RandomHyperedgeSplit,
)
from tgx_anchor.utils import incidence_fingerprint
from tgx_anchor.utils.messages import one_line

HEURISTICS: dict[str, type[AnchorModel]] = {
    'Degree': DegreeHeuristic,
    'Random': RandomHeuristic,
}
METHODS: tuple[str, ...] = ('AnchorRadar', *BASELINES, *HEURISTICS)
PLANTED = 'planted'
# The setting of the paper whose hyperparameters stand in for the planted data.
_LIKE_PLANTED = 'qaBI'
# The size of embeddings for an encoder that does not tell what it takes.
_IN_CHANNELS = 48


def new_model(
    method: str, setting: str, num_epochs: int | None = None, seed: int = 0
) -> AnchorModel:
    r"""A model with the published hyperparameters of a setting, not yet fitted.

    Args:
        method (str): One of :obj:`METHODS`.
        setting (str): The dataset, with its kind of anchor where there are several, or
            :obj:`"planted"`.
        num_epochs (int, optional): If given, the number of epochs instead of the
            published one. (default: :obj:`None`)
        seed (int, optional): Decides all random draws. (default: :obj:`0`)
    """
    if method not in METHODS:
        raise ValueError(
            f"'method' must be one of {', '.join(METHODS)} (got {method!r})"
        )
    if method in HEURISTICS:
        return HEURISTICS[method](seed)
    extra: dict[str, Any] = {} if num_epochs is None else {'num_epochs': num_epochs}
    if method == 'AnchorRadar' and setting == PLANTED:
        return AnchorRadar(seed=seed, **extra)
    if method == 'AnchorRadar':
        return AnchorRadar.from_paper(setting, seed=seed, **extra)
    like = _LIKE_PLANTED if setting == PLANTED else setting
    return AnchorPredictor.from_paper(method, like, seed=seed, **extra)


def check_setting(setting: str) -> None:
    r"""Raises a :class:`ValueError` for what is not a setting.

    Args:
        setting (str): The dataset, with its kind of anchor where there are several, or
            :obj:`"planted"`.
    """
    if setting != PLANTED:
        resolve_setting(setting, None)


def load_setting(setting: str, root: str | None = None) -> AnchorData:
    r"""The hypergraph of a setting.

    Args:
        setting (str): The dataset, with its kind of anchor where there are several, or
            :obj:`"planted"`.
        root (str, optional): Where datasets are kept. (default: :obj:`None`)
    """
    dataset: InMemoryDataset
    if setting == PLANTED:
        dataset = PlantedAnchorDataset()
    else:
        dataset = AnchorDataset(setting, root=root, progress=False)
    return cast(AnchorData, dataset[0])


def prepare(
    data: AnchorData,
    model: AnchorModel,
    cache: Path | None = None,
    progress: bool = False,
) -> AnchorData:
    r"""Adds what a model needs to a hypergraph: random-walk embeddings for an
    :class:`~tgx_anchor.nn.AnchorPredictor`, with ranks (:obj:`incidence_rank`) and
    topological features (:obj:`incidence_attr`) if its encoder takes them; topological
    features for all others that learn.

    Args:
        data (AnchorData): The hypergraph.
        model (AnchorModel): The model.
        cache (Path, optional): A folder that keeps embeddings, which take long, and
            which all kinds of anchors of a hypergraph share. (default: :obj:`None`)
        progress (bool, optional): If set to :obj:`True`, shows progress bars.
            (default: :obj:`False`)
    """
    if isinstance(model, AnchorPredictor):
        taken = inspect.signature(model.encoder.forward).parameters
        if 'incidence_rank' in taken:
            data = AddWithinOrderRank()(data)
        if 'incidence_attr' in taken:
            data = AddTopologicalFeatures(cat=False)(data)
        width = getattr(model.encoder, 'in_channels', None)
        if not isinstance(width, int) or width < 1:
            width = _IN_CHANNELS
        data.x = _embedding(data, width, cache, progress)
    elif not isinstance(model, tuple(HEURISTICS.values())):
        data = AddTopologicalFeatures(cat=False)(data)
    return data


def _embedding(
    data: AnchorData, dim: int, cache: Path | None, progress: bool
) -> Tensor:
    transform = AddRandomWalkEmbedding(dim, progress=progress)
    code = incidence_fingerprint(data.hyperedge_index, int(data.num_nodes or 0))
    name = hashlib.sha256(f'{code} {transform!r}'.encode()).hexdigest()[:16]
    path = None if cache is None else cache / f'{name}.pt'
    if path is not None and path.exists():
        try:
            kept: Tensor = torch.load(path, weights_only=True)
        except Exception as error:
            # A damaged file fails in any way.
            raise ValueError(
                f"'{path}' must be an embedding, remove it to make it anew "
                f'(got: {one_line(error)})'
            ) from None
        return kept
    x: Tensor = transform(data.clone())['x']
    if path is not None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with replace_file(path) as part:
            torch.save(x, part)
    return x


def one_split(data: AnchorData, number: int) -> AnchorData:
    r"""One of the random splits of a hypergraph.

    Args:
        data (AnchorData): The hypergraph.
        number (int): The number of the split, from zero.
    """
    out: AnchorData = RandomHyperedgeSplit(num_splits=number + 1)(data)
    for name in ('train_mask', 'val_mask', 'test_mask'):
        out[name] = out[name].view(out.num_hyperedges, -1)[:, number]
    return out
