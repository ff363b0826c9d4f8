"""Degree heuristic: the anchor has the highest, or the lowest, degree."""

import torch
from torch import Tensor
from torch_geometric.utils import softmax

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.degree_score import degree_sign, log_degree
from tgx_anchor.nn.predictors.fit_run import FitRun
from tgx_anchor.nn.predictors.known_anchors import training_mask


class DegreeHeuristic(AnchorModel):
    r"""The degree heuristic from the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper
    (Observation 1): the anchor is the member of highest, or of lowest, degree,

    .. math::
        p(v; e) = \frac{d_v^{\sigma}}{\sum_{u \in e} d_u^{\sigma}}, \qquad
        \sigma \in \{ -1, 1 \},

    where :math:`d_v` is the number of hyperedges that hold :math:`v`, and the sign
    :math:`\sigma` is the one that is more often right on the training hyperedges.
    The copies of a repeated hyperedge share one vote, so that a single group that was
    seen a thousand times does not decide the sign.

    Args:
        seed (int, optional): The seed of draws between members of equal degree.
            (default: :obj:`0`)
    """

    sign: Tensor

    def __init__(self, seed: int = 0) -> None:
        super().__init__(seed)
        self.register_buffer('sign', torch.tensor(0))

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        mask = training_mask(data, run.use_val)
        self.sign.fill_(degree_sign(data, mask))

    def predict_proba(
        self,
        data: AnchorData,
        same_people: bool | None = None,  # noqa: ARG002
    ) -> Tensor:
        r"""Computes probabilities in proportion to the degree, or to its inverse.

        Args:
            data (AnchorData): The hypergraph.
            same_people (bool, optional): Has no effect here. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P)`
        """
        if self.sign == 0:
            raise ValueError("'DegreeHeuristic' is not fitted yet: call 'fit' first")
        return softmax(
            self.sign * log_degree(data),
            data.hyperedge_index[1],
            num_nodes=data.num_hyperedges,
        )

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(sign={int(self.sign):+d}, seed={self.seed})'
