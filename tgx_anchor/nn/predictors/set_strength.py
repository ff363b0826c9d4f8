"""Strengths of nodes that explain beliefs about node sets."""

from collections.abc import Sequence

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.nn.functional import StrengthProblem
from tgx_anchor.nn.models.anchor_strength import AnchorStrength
from tgx_anchor.nn.predictors.known_sets import KnownSets
from tgx_anchor.nn.predictors.stages import strength_epochs
from tgx_anchor.utils import NodeSets, incidence_matrix

_LR = 0.1
_NUM_EPOCHS = 100


def set_strengths(
    sets: NodeSets,
    num_nodes: int,
    beliefs: Sequence[Tensor],
    knowns: Sequence[KnownSets],
    alphas: Sequence[float],
) -> Tensor:
    r"""Learns strengths of nodes as in stage 2 of AnchorRadar with cross-entropy
    alignment (:func:`~tgx_anchor.nn.functional.strength_loss`), in which a node set
    counts as often as it has copies. All beliefs and weights are learnt at once.

    Args:
        sets (NodeSets): The node sets.
        num_nodes (int): The number of nodes.
        beliefs (list[torch.Tensor]): The probabilities that strengths are aligned with.
        knowns (list[KnownSets]): The known anchors that belong to each of them.
        alphas (list[float]): The weights of the alignment.

    Shapes:
        - **beliefs:** :math:`(R)` each
        - **output:** :math:`(N, B, A)`, for :math:`B` beliefs and :math:`A` weights
    """
    node, number = sets.hyperedge_index
    aligned = sets.copies * (sets.size > 1)
    weight = aligned[number]

    def by_node(value: Tensor) -> Tensor:
        return scatter(value, node, 0, num_nodes, 'sum')

    def column(values: list[Tensor]) -> Tensor:
        return torch.stack([v for v in values for _ in alphas], dim=1)

    index = sets.hyperedge_index
    problem = StrengthProblem(
        # Cross-entropy needs nothing of the beliefs but their sums.
        to_hyperedge=incidence_matrix(index, num_nodes, sets.num_sets, transpose=True),
        to_node=incidence_matrix(index, num_nodes, sets.num_sets),
        known=column([k.num_known for k in knowns]),
        anchored=column([by_node(k.credit) for k in knowns]),
        aligned=aligned.unsqueeze(1),
        reference=column([by_node(q.double() * weight) for q in beliefs]),
        alignment='cross_entropy',
    )
    alpha = torch.tensor(alphas, dtype=torch.double, device=node.device)
    strengths = AnchorStrength(num_nodes, len(beliefs) * len(alphas)).to(node.device)
    for _ in strength_epochs(
        strengths, problem, alpha.repeat(len(beliefs)), _LR, _NUM_EPOCHS
    ):
        pass
    return strengths.strength.detach().view(num_nodes, len(beliefs), len(alphas))
