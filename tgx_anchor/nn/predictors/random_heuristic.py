"""The blind guess."""

import torch
from torch import Tensor
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.nn.predictors.anchor_model import AnchorModel


class RandomHeuristic(AnchorModel):
    r"""The blind guess: all members of a hyperedge are equally likely to be its
    anchor,

    .. math::
        p(v; e) = \frac{1}{|e|}.

    Args:
        seed (int, optional): Decides which members :meth:`predict` draws.
            (default: :obj:`0`)
    """

    def fit(self, data: AnchorData) -> Self:  # noqa: ARG002
        r"""Returns the model as it is: there is nothing to learn."""
        return self

    def predict_proba(self, data: AnchorData) -> Tensor:
        r"""The same probability for all members of a hyperedge.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`
        """
        size = data.hyperedge_size[data.hyperedge_index[1]]
        return 1 / size.to(torch.get_default_dtype())

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}(seed={self.seed})'
