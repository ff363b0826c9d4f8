"""Methods and settings of the benchmark."""

import hashlib
from collections.abc import Callable
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
    StackedAnchorRadar,
)
from tgx_anchor.nn.predictors.add_missing import AddMissing
from tgx_anchor.paper import BASELINES
from tgx_anchor.transforms import AddRandomWalkEmbedding, RandomHyperedgeSplit
from tgx_anchor.utils import incidence_fingerprint
from tgx_anchor.utils.messages import one_line

# Returns a model for a setting, not yet fitted.
MakeModel = Callable[[str], AnchorModel]

HEURISTICS: dict[str, type[AnchorModel]] = {
    'Degree': DegreeHeuristic,
    'Random': RandomHeuristic,
}
# The model beyond the paper, without the times that are not part of its task.
STACKED = 'StackedAnchorRadar'
#: The names of all methods that are built into the benchmark.
METHODS: tuple[str, ...] = ('AnchorRadar', STACKED, *BASELINES, *HEURISTICS)
# Methods whose number of epochs is not for the user to set.
WITHOUT_EPOCHS: tuple[str, ...] = (STACKED, *HEURISTICS)
PLANTED = 'planted'
# The setting of the paper whose hyperparameters stand in for the planted data.
_LIKE_PLANTED = 'qaBI'
_TWO_ANCHORS = '_first_second'
# The paper prints none for two anchors: these find the most validation anchors of coDB
# in a part of the search space of the paper.
_TWO_ANCHOR_PARAMS = {'lr_stage1': 0.001, 'lr_stage2': 0.1, 'alpha': 0.2, 'w': 7.0}


def new_model(
    method: str, setting: str, num_epochs: int | None = None, seed: int = 0
) -> AnchorModel:
    r"""Returns a model with the published hyperparameters of a setting, not yet fitted.

    Args:
        method (str): One of :obj:`METHODS`.
        setting (str): The dataset, with its kind of anchor where there are several, or
            :obj:`"planted"`.
        num_epochs (int, optional): The number of epochs; the published one if
            :obj:`None`. Has no effect on :obj:`WITHOUT_EPOCHS`.
            (default: :obj:`None`)
        seed (int, optional): The seed of all random draws. (default: :obj:`0`)
    """
    if method not in METHODS:
        raise ValueError(
            f"'method' must be one of {', '.join(METHODS)} (got {method!r})"
        )
    if method in HEURISTICS:
        return HEURISTICS[method](seed)
    if method == STACKED:
        return StackedAnchorRadar('both', time=False, seed=seed)
    extra: dict[str, Any] = {} if num_epochs is None else {'num_epochs': num_epochs}
    if method == 'AnchorRadar' and setting == PLANTED:
        return AnchorRadar(seed=seed, **extra)
    like = published_setting(setting)
    if method == 'AnchorRadar':
        if setting.endswith(_TWO_ANCHORS):
            extra = {**_TWO_ANCHOR_PARAMS, **extra}
        return AnchorRadar.from_paper(like, seed=seed, **extra)
    return AnchorPredictor.from_paper(method, like, seed=seed, **extra)


def published_setting(setting: str) -> str:
    r"""Returns the setting whose published hyperparameters are taken: another one for
    planted data, and the first author for the first two.

    Args:
        setting (str): The setting.
    """
    if setting == PLANTED:
        return _LIKE_PLANTED
    if setting.endswith(_TWO_ANCHORS):
        return setting.removesuffix(_TWO_ANCHORS) + '_first'
    return setting


def make_model(make: MakeModel, method: str, setting: str) -> AnchorModel:
    r"""Returns a model of the user's own, not yet fitted.

    Args:
        make (callable): Returns the model for a setting.
        method (str): The name of the model.
        setting (str): The setting.
    """
    # The user's function may draw weights: from a seed, without a trace outside.
    with torch.random.fork_rng(devices=[]):
        torch.default_generator.manual_seed(0)
        model: object = make(setting)
    if not isinstance(model, AnchorModel):
        raise ValueError(
            f"'methods' must map {method!r} to a function that returns an "
            f"'AnchorModel' (got {type(model).__name__} for {setting!r})"
        )
    return model


def check_setting(setting: str) -> None:
    r"""Raises a :class:`ValueError` if there is no such setting.

    Args:
        setting (str): The dataset, with its kind of anchor where there are several, or
            :obj:`"planted"`.
    """
    if setting != PLANTED:
        resolve_setting(setting, None)


def load_setting(setting: str, root: str | Path | None = None) -> AnchorData:
    r"""Returns the hypergraph of a setting.

    Args:
        setting (str): The dataset, with its kind of anchor where there are several, or
            :obj:`"planted"`.
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
    """
    dataset: InMemoryDataset
    if setting == PLANTED:
        dataset = PlantedAnchorDataset()
    else:
        dataset = AnchorDataset(setting, root=root, progress=False)
    return cast(AnchorData, dataset[0])


def prepare(
    data: AnchorData, model: AnchorModel, cache: Path | None = None
) -> AnchorData:
    r"""Adds the features that a model requires to a hypergraph.

    Args:
        data (AnchorData): The hypergraph.
        model (AnchorModel): The model.
        cache (Path, optional): A folder that keeps random-walk embeddings, which are
            slow to compute, and the same for all kinds of anchors of a hypergraph.
            (default: :obj:`None`)
    """
    transform = model.required_transform()
    if isinstance(transform, AddMissing) and cache is not None:
        walk = transform.transforms.get('x')
        if isinstance(walk, AddRandomWalkEmbedding) and data.get('x') is None:
            data.x = cached_embedding(
                data, repr(walk), lambda: walk(data.clone())['x'], cache
            )
    out: AnchorData = transform(data)
    return out


def cached_embedding(
    data: AnchorData, key: str, compute: Callable[[], Tensor], cache: Path
) -> Tensor:
    r"""Returns the node embeddings of a hypergraph from a cache, or computes and keeps
    them.

    Args:
        data (AnchorData): The hypergraph.
        key (str): The method and all its parameters, such as the :obj:`repr` of a
            transform.
        compute (callable): Computes the embeddings.
        cache (Path): The folder that keeps them.

    Shapes:
        - **output:** :math:`(N, D)`
    """
    code = incidence_fingerprint(data.hyperedge_index, int(data.num_nodes or 0))
    name = hashlib.sha256(f'{code} {key}'.encode()).hexdigest()[:16]
    path = cache / f'{name}.pt'
    if path.exists():
        try:
            kept: Tensor = torch.load(path, weights_only=True)
        except Exception as error:
            # A damaged file can raise any error.
            raise ValueError(
                f"'{path}' must be an embedding (got: {one_line(error)}; remove the "
                f'file, and it is computed again)'
            ) from None
        return kept
    x = compute()
    path.parent.mkdir(parents=True, exist_ok=True)
    with replace_file(path) as part:
        torch.save(x, part)
    return x


def one_split(data: AnchorData, number: int, train: float = 0.075) -> AnchorData:
    r"""Returns one random split of a hypergraph.

    Args:
        data (AnchorData): The hypergraph.
        number (int): The number of the split, from zero.
        train (float, optional): The share of training hyperedges.
            (default: :obj:`0.075`)
    """
    out: AnchorData = RandomHyperedgeSplit(train=train, num_splits=number + 1)(data)
    for name in ('train_mask', 'val_mask', 'test_mask'):
        out[name] = out[name].view(out.num_hyperedges, -1)[:, number]
    return out
