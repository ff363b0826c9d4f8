"""Random heuristic: all members are equally likely."""

import torch
from torch import Tensor

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.anchor_model import AnchorModel
from tgx_anchor.nn.predictors.fit_run import FitRun


class RandomHeuristic(AnchorModel):
    r"""The random heuristic: all members of a hyperedge are equally likely to be its
    anchor,

    .. math::
        p(v; e) = \frac{1}{|e|}.

    Args:
        seed (int, optional): The seed of the draws of :meth:`predict`.
            (default: :obj:`0`)
    """

    def _fit(self, data: AnchorData, run: FitRun) -> None:
        pass

    def predict_proba(
        self,
        data: AnchorData,
        same_people: bool | None = None,  # noqa: ARG002
    ) -> Tensor:
        r"""Computes the same probability for all members of a hyperedge.

        Args:
            data (AnchorData): The hypergraph.
            same_people (bool, optional): Has no effect here. (default: :obj:`None`)

        Shapes:
            - **output:** :math:`(P)`
        """
        size = data.hyperedge_size[data.hyperedge_index[1]]
        return 1 / size.to(torch.get_default_dtype())

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(seed={self.seed})'
