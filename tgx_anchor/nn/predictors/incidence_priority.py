"""Draws between equally likely members."""

from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.utils import draw_priority


def incidence_priority(data: AnchorData, seed: int) -> Tensor:
    r"""Draws a number for each incidence, by which equally likely members are ordered.
    Those of a part of a hypergraph in shards are the same as those of the whole.

    Args:
        data (AnchorData): The hypergraph.
        seed (int): The seed.

    Shapes:
        - **output:** :math:`(P)`
    """
    first = 0 if data.part is None else data.part.first_incidence
    device = data.hyperedge_index.device
    return draw_priority(data.num_incidences, seed, first, device)
