"""The common form of the raw files of all datasets."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class RoleTable:
    r"""Lists the members of groups with their roles, line by line as in the raw files:
    members may repeat, and the order inside a group is kept.

    Args:
        node (numpy.ndarray): The raw name of the member, integers or strings.
        hyperedge (numpy.ndarray): The number of the group, from zero, ascending.
        role (numpy.ndarray): The number of the member's role in the group.
        hyperedge_id (numpy.ndarray): The raw name of each group.
        hyperedge_time (numpy.ndarray, optional): The time of each group in seconds
            since 1970, NaN where it is unknown. (default: :obj:`None`)

    Shapes:
        - **node, hyperedge, role:** :math:`(P)`
        - **hyperedge_id, hyperedge_time:** :math:`(M)`
    """

    node: NDArray[np.generic]
    hyperedge: NDArray[np.int64]
    role: NDArray[np.int64]
    hyperedge_id: NDArray[np.generic]
    hyperedge_time: NDArray[np.floating[Any]] | None = None
