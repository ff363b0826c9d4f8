"""Seeded splits of hyperedges that keep repeated groups together."""

import torch
from torch import Tensor
from torch_geometric.data.datapipes import functional_transform
from torch_geometric.transforms import BaseTransform

from tgx_anchor.data import AnchorData
from tgx_anchor.utils import distinct_hyperedges


@functional_transform('random_hyperedge_split')
class RandomHyperedgeSplit(BaseTransform):
    r"""Adds :obj:`train_mask`, :obj:`val_mask` and :obj:`test_mask` over hyperedges
    (functional name: :obj:`random_hyperedge_split`).

    The split draws *distinct node sets*, so that the same group is never in two masks.
    A hyperedge is in no mask if it leaves no choice (one member, or all members are
    anchors), or if its anchor is unknown while others are known; such hyperedges still
    belong to the topology.

    Args:
        train (float, optional): The share of the distinct node sets to train on.
            (default: :obj:`0.075`)
        val (float, optional): The share of the distinct node sets to validate on.
            (default: :obj:`0.025`)
        test (float, optional): The share of the distinct node sets to test on. If
            set to :obj:`None`, will take all remaining ones.
            (default: :obj:`None`)
        seed (int, optional): The seed of the draw, which is the same on all devices.
            (default: :obj:`0`)
        num_splits (int, optional): The number of splits; the masks of several are
            the columns of one tensor. The first splits do not depend on the number of
            splits. (default: :obj:`1`)

    Shapes:
        - **train_mask, val_mask, test_mask:** :math:`(M)`, or :math:`(M, S)` if
          :obj:`num_splits` is larger than one
    """

    def __init__(
        self,
        train: float = 0.075,
        val: float = 0.025,
        test: float | None = None,
        seed: int = 0,
        num_splits: int = 1,
    ) -> None:
        for name, share in (('train', train), ('val', val), ('test', test)):
            if share is not None and not 0 <= share <= 1:
                raise ValueError(f"'{name}' must lie in [0, 1] (got {share})")
        total = train + val + (test or 0)
        if total > 1 + 1e-9:
            raise ValueError(
                f"'train', 'val' and 'test' must not exceed 1 (got {total})"
            )
        if num_splits < 1:
            raise ValueError(f"'num_splits' must be positive (got {num_splits})")
        self.train = train
        self.val = val
        self.test = test
        self.seed = seed
        self.num_splits = num_splits

    def forward(self, data: AnchorData) -> AnchorData:
        r"""Adds the masks to :obj:`data`."""
        eligible = data.choice_mask
        known = data.known_mask
        if known.any():
            eligible = eligible & known
        number = distinct_hyperedges(
            data.hyperedge_index, data.num_nodes, data.num_hyperedges
        )
        # Numbers the eligible sets 0, 1, ... in order of first appearance.
        kept, group = torch.unique(number[eligible], return_inverse=True)
        num_train = round(self.train * kept.numel())
        num_val = round(self.val * kept.numel())
        num_test = kept.numel() - num_train - num_val
        if self.test is not None:
            num_test = min(num_test, round(self.test * kept.numel()))
        bounds = {
            'train_mask': (0, num_train),
            'val_mask': (num_train, num_train + num_val),
            'test_mask': (num_train + num_val, num_train + num_val + num_test),
        }

        generator = torch.Generator().manual_seed(self.seed)
        columns: dict[str, list[Tensor]] = {name: [] for name in bounds}
        for _ in range(self.num_splits):
            place = torch.randperm(kept.numel(), generator=generator)
            place = place.to(group.device)[group]
            for name, (begin, end) in bounds.items():
                mask = torch.zeros_like(eligible)
                mask[eligible] = (place >= begin) & (place < end)
                columns[name].append(mask)
        for name, masks in columns.items():
            data[name] = masks[0] if len(masks) == 1 else torch.stack(masks, dim=1)
        return data

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(train={self.train}, val={self.val}, '
            f'test={self.test}, seed={self.seed}, num_splits={self.num_splits})'
        )
