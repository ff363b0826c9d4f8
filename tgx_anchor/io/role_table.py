"""What the raw files of all datasets say, before anything is decided."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RoleTable:
    r"""Who took which role in which group, line by line as the raw files have it:
    members may repeat, and the order inside a group is kept.

    Args:
        node (numpy.ndarray): The raw name of the member, integers or strings.
        hyperedge (numpy.ndarray): The number of the group, from zero, ascending.
        role (numpy.ndarray): The number of the member's role in the group.
        hyperedge_id (numpy.ndarray): The raw name of each group.

    Shapes:
        - **node, hyperedge, role:** :math:`(P)`
        - **hyperedge_id:** :math:`(M)`
    """

    node: NDArray[np.generic]
    hyperedge: NDArray[np.int64]
    role: NDArray[np.int64]
    hyperedge_id: NDArray[np.generic]
