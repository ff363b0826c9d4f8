"""The aggregation of strengths over all hyperedges of a node."""

import torch
from torch import Tensor
from torch_geometric.utils import scatter


def aggregate_strength(
    strength: Tensor,
    hyperedge_index: Tensor,
    num_hyperedges: int,
    y: Tensor,
    mask: Tensor,
    weight: float | Tensor,
    num_anchors: int = 1,
    generator: torch.Generator | None = None,
    weighted_degree: bool = False,
) -> Tensor:
    r"""The global strength aggregation from the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper (Eq. 4),

    .. math::
        \hat{p}_v = \frac{1}{d_v} \left( w \sum_{e \in E'} \mathbf{1}[v \in A(e)] +
        \sum_{e \in E \setminus E'} \mathbf{1}[v \in \hat{A}(e)] \right),

    where :math:`E'` are the hyperedges with known anchors, and :math:`\hat{A}(e)` is
    the member of highest strength, drawn at random if there are several (or the
    :obj:`num_anchors` members of highest strength, if hyperedges have several anchors).

    Args:
        strength (torch.Tensor): The strength of each node, in one or several columns.
        hyperedge_index (torch.Tensor): The incidences.
        num_hyperedges (int): The number of hyperedges :math:`M`.
        y (torch.Tensor): Whether each member anchors its hyperedge.
        mask (torch.Tensor): The hyperedges :math:`E'`.
        weight (float or torch.Tensor): The weight :math:`w`, or several.
        num_anchors (int, optional): The size of :math:`\hat{A}(e)`.
            (default: :obj:`1`)
        generator (torch.Generator, optional): Draws among members of equal strength.
            (default: :obj:`None`)
        weighted_degree (bool, optional): If set to :obj:`True`, a hyperedge in
            :math:`E'` also counts :math:`w` times in :math:`d_v`, so that
            :math:`\hat{p}_v` is a weighted mean in :math:`[0, 1]`. Then nodes in many
            known hyperedges and nodes in none can be compared.
            (default: :obj:`False`)

    Shapes:
        - **strength:** :math:`(N)` or :math:`(N, K)`
        - **hyperedge_index:** :math:`(2, P)`
        - **y:** :math:`(P)`
        - **mask:** :math:`(M)`
        - **weight:** scalar or :math:`(W)`
        - **output:** :math:`(N)` or :math:`(N, K)`, with a last dimension of size
          :math:`W` if there are several weights
    """
    node, hyperedge = hyperedge_index
    num_nodes, num_incidences = strength.size(0), node.numel()
    table = strength.unsqueeze(1) if strength.dim() == 1 else strength
    priority = torch.randperm(
        num_incidences,
        generator=generator,
        device=None if generator is None else generator.device,
    )
    # In floating point: maxima of integers are slow on the CPU.
    priority = priority.to(node.device, torch.double).unsqueeze(1)
    is_known = mask[hyperedge]
    value = table.index_select(0, node)
    guesses = torch.zeros_like(table)
    for _ in range(num_anchors):
        best = scatter(value, hyperedge, 0, num_hyperedges, 'max')
        is_best = (value == best.index_select(0, hyperedge)) & (value > -torch.inf)
        drawn = torch.where(is_best, priority, -1.0)
        winner = scatter(drawn, hyperedge, 0, num_hyperedges, 'max')
        chosen = is_best & (drawn == winner.index_select(0, hyperedge))
        guessed = (chosen & ~is_known.unsqueeze(1)).to(table.dtype)
        guesses += scatter(guessed, node, 0, num_nodes, 'sum')
        # The next round chooses among the other members.
        value = torch.where(chosen, -torch.inf, value)
    anchored = scatter((y & is_known).to(table.dtype), node, 0, num_nodes, 'sum')
    degree = torch.bincount(node, minlength=num_nodes)

    factor = torch.as_tensor(weight, dtype=table.dtype, device=node.device)
    if factor.dim() == 0:
        out = factor * anchored.unsqueeze(1) + guesses
    else:
        out = factor * anchored.view(-1, 1, 1) + guesses.unsqueeze(2)
    total = degree.view(-1, *[1] * (out.dim() - 1)).to(out.dtype)
    if weighted_degree:
        known = torch.bincount(node[is_known], minlength=num_nodes).view_as(total)
        total = factor * known + (total - known)
    # What has no weight has no share either.
    out.div_(torch.where(total > 0, total, 1.0))
    return out.squeeze(1) if strength.dim() == 1 else out
