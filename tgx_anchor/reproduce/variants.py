"""Variants of AnchorRadar that the tables of the paper compare."""

import copy
import math
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import torch

from tgx_anchor.benchmark.methods import PLANTED, one_split, published_setting
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.paper import figures
from tgx_anchor.transforms import AddTopologicalFeatures

NUM_SEEDS = 5
ABLATIONS: dict[str, dict[str, Any]] = {
    'Stage 1': {'stages': 'first'},
    'Stage 2': {'stages': 'second'},
    'No GA': {'w': None},
    'No LF': {},
}
HYPERPARAMETERS = ('lr_stage1', 'lr_stage2', 'alpha', 'w')
FACTORS = {'x 2': 2.0, 'x √2': math.sqrt(2), '/ √2': math.sqrt(0.5), '/ 2': 0.5}
USE_VAL = 'train + val'
ATTRIBUTES = 'with attributes'
# Node attributes of the planted data, and the correlation of each with the strength:
# as many as the paper takes from the metadata of authors.
_NUM_ATTRIBUTES = 4
_CORRELATION = 0.5


@dataclass(frozen=True)
class RadarVariant:
    r"""AnchorRadar with something changed.

    Args:
        changes (dict, optional): Arguments of the model other than the published ones.
            (default: :obj:`{}`)
        source (str, optional): The setting that the model is fitted on; the one it is
            evaluated on if :obj:`None`. (default: :obj:`None`)
        local (bool, optional): Whether there are local features.
            (default: :obj:`True`)
        use_val (bool, optional): Whether the validation anchors are learnt from, too.
            (default: :obj:`False`)
        attributes (bool, optional): Whether nodes have planted attributes.
            (default: :obj:`False`)
    """

    changes: dict[str, Any] = field(default_factory=dict)
    source: str | None = None
    local: bool = True
    use_val: bool = False
    attributes: bool = False

    def model(self, setting: str, num_epochs: int = 0) -> AnchorRadar:
        r"""Returns the model, not yet fitted.

        Args:
            setting (str): The setting that it is evaluated on.
            num_epochs (int, optional): The number of epochs; zero for the published
                one. (default: :obj:`0`)
        """
        # Calibration changes none of the figures.
        changes = {'calibration': None, **self.changes}
        if num_epochs > 0:
            changes['num_epochs'] = num_epochs
        source = self.source or setting
        if source == PLANTED:
            return AnchorRadar(**changes)
        return AnchorRadar.from_paper(published_setting(source), **changes)

    def split(self, data: AnchorData, number: int) -> AnchorData:
        r"""Returns a random split of a hypergraph with the features of the variant.

        Args:
            data (AnchorData): The hypergraph with its topological features.
            number (int): The number of the split, from zero.
        """
        data = one_split(copy.copy(data), number)
        if not self.local:
            names = AddTopologicalFeatures().feature_names
            kept = set(AddTopologicalFeatures(local=False).feature_names)
            columns = [i for i, name in enumerate(names) if name in kept]
            data.incidence_attr = data.incidence_attr[:, columns]
        if self.attributes:
            data.x = planted_attributes(data)
        return data


def planted_attributes(data: AnchorData, seed: int = 0) -> torch.Tensor:
    r"""Draws attributes of nodes that correlate with their planted strengths.

    Args:
        data (AnchorData): The hypergraph, with a :obj:`node_strength`.
        seed (int, optional): The seed of the noise. (default: :obj:`0`)

    Shapes:
        - **output:** :math:`(N, 4)`
    """
    strength = data.node_strength.double()
    known = (strength - strength.mean()) / strength.std().clamp(min=1e-12)
    generator = torch.Generator().manual_seed(seed)
    size = strength.numel(), _NUM_ATTRIBUTES
    noise = torch.randn(size, generator=generator, dtype=torch.double)
    out: torch.Tensor = (
        _CORRELATION * known.unsqueeze(1) + math.sqrt(1 - _CORRELATION**2) * noise
    )
    return out


def radar_variants(setting: str) -> dict[str, RadarVariant]:
    r"""Lists the variants of AnchorRadar that are evaluated on a setting, by name.

    Args:
        setting (str): The setting.
    """
    return dict(_variants(setting))


def _variants(setting: str) -> Iterator[tuple[str, RadarVariant]]:
    if setting == PLANTED:
        yield ATTRIBUTES, RadarVariant(attributes=True)
        return
    yield USE_VAL, RadarVariant(use_val=True)
    for name, changes in ABLATIONS.items():
        yield name, RadarVariant(changes, local=name != 'No LF')
    # The first seed is that of all other tables.
    for seed in range(1, NUM_SEEDS):
        yield f'Seed {seed + 1}', RadarVariant({'seed': seed})
    published = AnchorRadar.from_paper(published_setting(setting)).get_params()
    for name in HYPERPARAMETERS:
        # Nothing changes where a factor meets zero or no weight at all.
        for sign, factor in FACTORS.items() if published[name] else ():
            yield f'{name} {sign}', RadarVariant({name: published[name] * factor})
    table = figures('inductive')
    for source, target in zip(table['train'], table['test'], strict=True):
        if target == setting:
            yield f'from {source}', RadarVariant(source=source)
