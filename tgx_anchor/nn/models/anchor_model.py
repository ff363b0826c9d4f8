"""What every predictor of anchors can do."""

from abc import ABC, abstractmethod

import torch
from torch import Tensor
from typing_extensions import Self

from tgx_anchor.data import AnchorData
from tgx_anchor.utils import group_topk


class AnchorModel(torch.nn.Module, ABC):
    r"""A predictor of group anchors: learns from the groups whose anchor is known,
    and gives every member of every group a probability.

    A subclass supplies :meth:`fit` and :meth:`predict_proba`.

    Args:
        seed (int, optional): Decides all random draws of the model, those between
            equally likely members included. (default: :obj:`0`)
    """

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.seed = seed

    @abstractmethod
    def fit(self, data: AnchorData) -> Self:
        r"""Learns from :obj:`data.train_mask`, or without one from all hyperedges
        with a known anchor that leave a choice.

        Args:
            data (AnchorData): The hypergraph.
        """

    @abstractmethod
    def predict_proba(self, data: AnchorData) -> Tensor:
        r"""The probability that each member is the anchor of its hyperedge.

        Args:
            data (AnchorData): The hypergraph.

        Shapes:
            - **output:** :math:`(P)`, sums to one in each hyperedge
        """

    def predict(self, data: AnchorData, k: int = 1) -> Tensor:
        r"""The most likely anchors of each hyperedge. Ties are drawn with
        :obj:`seed`.

        Args:
            data (AnchorData): The hypergraph.
            k (int, optional): How many anchors per hyperedge. (default: :obj:`1`)

        Shapes:
            - **output:** :math:`(M)` node numbers, or :math:`(M, k)` if :obj:`k` is
              larger than one, best first; :obj:`-1` where members run out
        """
        if k < 1:
            raise ValueError(f"'k' must be positive (got {k})")
        generator = torch.Generator().manual_seed(self.seed)
        best = group_topk(
            self.predict_proba(data),
            data.hyperedge_index,
            data.num_hyperedges,
            k,
            generator,
        )
        return best.squeeze(1) if k == 1 else best


def training_mask(data: AnchorData) -> Tensor:
    r"""The hyperedges to learn from: :obj:`data.train_mask` where there is one, else
    all with a known anchor that leave a choice.

    Args:
        data (AnchorData): The hypergraph.

    Shapes:
        - **output:** :math:`(M)`
    """
    known = data.known_mask
    mask: Tensor | None = data.get('train_mask')
    if mask is None:
        mask = known & data.choice_mask
    if mask.dtype != torch.bool or list(mask.size()) != [data.num_hyperedges]:
        raise ValueError(
            f"'train_mask' must hold {data.num_hyperedges} booleans, one per hyperedge "
            f'(got {mask.dtype} of shape {list(mask.size())}; of several splits take '
            f'one column)'
        )
    if (mask & ~known).any():
        unknown = int((mask & ~known).nonzero()[0])
        raise ValueError(
            f"'train_mask' must hold hyperedges with a known anchor only "
            f'(got hyperedge {unknown})'
        )
    if not mask.any():
        raise ValueError("'data' must have a known anchor to learn from (got none)")
    return mask
