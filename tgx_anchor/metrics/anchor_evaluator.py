"""Evaluation of scores per incidence against the known anchors."""

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch_geometric.utils import scatter

from tgx_anchor.data import AnchorData
from tgx_anchor.metrics.anchor_accuracy import anchor_accuracy
from tgx_anchor.utils import group_order


class AnchorEvaluator:
    r"""Evaluates scores per incidence against the known anchors, averaged over
    hyperedges.

    With :math:`a` the rank, from one, of the anchor among the members of its
    hyperedge by descending score, a hyperedge contributes

    * :obj:`accuracy`: :math:`1` if :math:`a = 1`, else :math:`0`
    * :obj:`mrr`: :math:`1 / a`
    * :obj:`ndcg`: :math:`1 / \log_2 (a + 1)`
    * :obj:`hits@k`: :math:`1` if :math:`a \leq k`, else :math:`0`

    In a hyperedge with several anchors :math:`A`, :obj:`accuracy` requires that the
    :math:`|A|` highest scores are exactly those of :math:`A`, :obj:`mrr` and
    :obj:`hits@k` look at the anchor that ranks first, and :obj:`ndcg` divides the
    summed gain of all anchors by the best possible one.

    Equal scores have no order. With :obj:`ties="expected"` each figure is its exact
    expectation over all ways of ordering equal scores; with :obj:`ties="random"`
    one order is drawn with :obj:`seed`.

    .. code-block:: python

        evaluator = AnchorEvaluator()
        evaluator.eval(score, data, data.test_mask)
        # {'accuracy': 0.87, 'ndcg': 0.95, 'mrr': 0.93, 'num_hyperedges': 20916}

    Args:
        hits_at (list[int], optional): The :math:`k` for which :obj:`hits@k` is added.
            (default: :obj:`()`)
        chance (bool, optional): If set to :obj:`True`, will add :obj:`chance`, the
            expected accuracy of a blind guess. (default: :obj:`False`)
        ties (str, optional): The treatment of equal scores, :obj:`"expected"` or
            :obj:`"random"`. (default: :obj:`"expected"`)
        seed (int, optional): The seed of the order of equal scores if :obj:`ties` is
            :obj:`"random"`. (default: :obj:`0`)
    """

    def __init__(
        self,
        hits_at: Sequence[int] = (),
        chance: bool = False,
        ties: Literal['expected', 'random'] = 'expected',
        seed: int = 0,
    ) -> None:
        if ties not in ('expected', 'random'):
            raise ValueError(f"'ties' must be 'expected' or 'random' (got {ties!r})")
        if any(k < 1 for k in hits_at):
            raise ValueError(
                f"'hits_at' must hold positive numbers (got {list(hits_at)})"
            )
        self.hits_at = tuple(hits_at)
        self.chance = chance
        self.ties = ties
        self.seed = seed

    @property
    def expected_input_format(self) -> str:
        r"""The arguments of :meth:`eval`, in words."""
        return (
            'score: torch.Tensor [num_incidences], finite, higher is more likely\n'
            'data: AnchorData with y [num_incidences], True where a member anchors\n'
            'mask: torch.Tensor [num_hyperedges] of bool, the hyperedges to average\n'
            '      over, each with a known anchor; None takes all with a known anchor\n'
            '      that leave a choice'
        )

    @property
    def expected_output_format(self) -> str:
        r"""The result of :meth:`eval`, in words."""
        return (
            '\n'.join(f'{name}: float in [0, 1]' for name in self._names)
            + '\nnum_hyperedges: int, how many hyperedges were averaged'
        )

    @property
    def _names(self) -> list[str]:
        names = ['accuracy', 'ndcg', 'mrr', *(f'hits@{k}' for k in self.hits_at)]
        return [*names, 'chance'] if self.chance else names

    def eval(
        self,
        score: Tensor,
        data: AnchorData,
        mask: Tensor | None = None,
        rank_score: Tensor | None = None,
    ) -> dict[str, float]:
        r"""Computes the mean of each figure over the hyperedges in :obj:`mask`.

        Args:
            score (torch.Tensor): The score of each incidence.
            data (AnchorData): The hypergraph with its anchors.
            mask (torch.Tensor, optional): The hyperedges to average over.
                (default: :obj:`None`)
            rank_score (torch.Tensor, optional): If given, all figures but
                :obj:`accuracy` go by this score of each incidence
                (:meth:`AnchorModel.rank_score`). (default: :obj:`None`)

        Shapes:
            - **score, rank_score:** :math:`(P)`
            - **mask:** :math:`(M)`
        """
        figures = self.per_hyperedge(score, data, mask)
        if rank_score is not None:
            ranked = self.per_hyperedge(rank_score, data, mask)
            figures = {**ranked, 'accuracy': figures['accuracy']}
        ranks = data.ranks
        count = int(ranks.total(figures['accuracy'].numel()))
        return {
            **{
                name: ranks.total(float(value.sum())) / count
                for name, value in figures.items()
            },
            'num_hyperedges': count,
        }

    def eval_by_size(
        self, score: Tensor, data: AnchorData, mask: Tensor | None = None
    ) -> dict[int, dict[str, float]]:
        r"""Computes :meth:`eval` for each size of hyperedges, in ascending order."""
        mask = self._check(score, data, mask)
        figures = self.per_hyperedge(score, data, mask)
        sizes, which = torch.unique(data.hyperedge_size[mask], return_inverse=True)
        count = torch.bincount(which, minlength=sizes.numel()).tolist()
        means = {
            name: scatter(value, which, 0, sizes.numel(), 'mean').tolist()
            for name, value in figures.items()
        }
        return {
            size: {
                **{name: value[i] for name, value in means.items()},
                'num_hyperedges': count[i],
            }
            for i, size in enumerate(sizes.tolist())
        }

    def per_hyperedge(
        self, score: Tensor, data: AnchorData, mask: Tensor | None = None
    ) -> dict[str, Tensor]:
        r"""Computes the figures of :meth:`eval` for each hyperedge in :obj:`mask`, in
        their order.
        """
        mask = self._check(score, data, mask)
        part = AnchorData(
            hyperedge_index=data.hyperedge_index,
            num_nodes=data.num_nodes,
            num_hyperedges=data.num_hyperedges,
            y=data['y'],
            incidence_score=score,
        ).hyperedge_subgraph(mask)
        figures = self._figures(part.incidence_score, part)
        return {name: figures[name] for name in self._names}

    def _check(self, score: Tensor, data: AnchorData, mask: Tensor | None) -> Tensor:
        if list(score.size()) != [data.num_incidences]:
            raise ValueError(
                f"'score' must hold {data.num_incidences} values, one per incidence "
                f'(got shape {list(score.size())})'
            )
        if not torch.isfinite(score).all():
            row = int((~torch.isfinite(score)).nonzero()[0])
            raise ValueError(f"'score' must be finite (got {score[row]} at {row})")
        if data.get('y') is None:
            raise ValueError("'y' is missing: 'data' must have the known anchors")
        known = data.known_mask
        if mask is None:
            mask = known & data.choice_mask
        if mask.dtype != torch.bool or list(mask.size()) != [data.num_hyperedges]:
            raise ValueError(
                f"'mask' must hold {data.num_hyperedges} booleans, one per hyperedge "
                f'(got {mask.dtype} of shape {list(mask.size())}; with several splits, '
                f'take one column)'
            )
        if (mask & ~known).any():
            unknown = int((mask & ~known).nonzero()[0])
            raise ValueError(
                f"'mask' must hold hyperedges with a known anchor only "
                f'(got hyperedge {unknown})'
            )
        if not data.ranks.any(mask):
            raise ValueError(
                "'mask' must hold at least one hyperedge; without a mask, one must "
                'have a known anchor and leave a choice'
            )
        return mask

    def _figures(self, score: Tensor, data: AnchorData) -> dict[str, Tensor]:
        # Only the order of scores matters; integers of any range may come in.
        _, score = torch.unique(score, return_inverse=True)
        if self.ties == 'random':
            # A random order among equals is the order of random distinct values.
            generator = torch.Generator().manual_seed(self.seed)
            shuffle = torch.randperm(score.numel(), generator=generator)
            score = score * score.numel() + shuffle.to(score.device)
            _, score = torch.unique(score, return_inverse=True)

        hyperedge, num_hyperedges = data.hyperedge_index[1], data.num_hyperedges

        def per_group(value: Tensor, reduce: str = 'sum') -> Tensor:
            return scatter(value, hyperedge, 0, num_hyperedges, reduce)

        order = group_order(score, hyperedge, num_hyperedges)
        is_anchor = torch.as_tensor(data.y)[order.perm].double()
        begin = order.ptr[hyperedge]
        position = torch.arange(score.numel(), device=score.device)

        # Runs of equal scores: how many members, how many anchors among them.
        run_size = torch.bincount(order.first, minlength=score.numel())[order.first]
        run_anchors = scatter(is_anchor, order.first, 0, score.numel(), 'sum')
        run_anchors = run_anchors[order.first]
        rank = (position - begin + 1).double()
        place = (position - order.first + 1).double()
        num_anchors = per_group(is_anchor)

        # An anchor stands at each place of its run with the same probability.
        gain = per_group(run_anchors / run_size / torch.log2(rank + 1))
        ideal = per_group(
            torch.where(rank <= num_anchors[hyperedge], 1 / torch.log2(rank + 1), 0.0)
        )

        # The best anchor is in the first run that holds one; it stands at place j
        # there with probability C(size - j, anchors - 1) / C(size, anchors).
        holds = torch.where(run_anchors > 0, order.first, score.numel())
        is_best_run = (order.first == per_group(holds, 'min')[hyperedge]) & (
            run_size - place >= run_anchors - 1
        )
        log_probability = _log_binomial(
            run_size - place, run_anchors - 1
        ) - _log_binomial(run_size, run_anchors)
        first_at = torch.where(is_best_run, log_probability.exp(), 0.0)

        figures = {
            'accuracy': anchor_accuracy(
                score.double(), data['y'], hyperedge, num_hyperedges
            ),
            'ndcg': gain / ideal,
            'mrr': per_group(first_at / rank),
            'chance': torch.exp(
                -_log_binomial(data.hyperedge_size.double(), num_anchors)
            ),
        }
        for k in self.hits_at:
            hit = per_group(torch.where(rank <= k, first_at, 0.0))
            figures[f'hits@{k}'] = hit.clamp(max=1)  # probabilities sum up to noise
        return figures

    def __repr__(self) -> str:
        return (
            f'{self.__class__.__name__}(hits_at={list(self.hits_at)}, '
            f'chance={self.chance}, ties={self.ties!r}, seed={self.seed})'
        )


def _log_binomial(n: Tensor, k: Tensor) -> Tensor:
    # Zero for the impossible draws, which the callers leave out.
    n, k = n.double(), k.double()
    value = (
        torch.lgamma(n + 1)
        - torch.lgamma(k + 1)
        - torch.lgamma((n - k + 1).clamp(min=1))
    )
    return torch.where((k >= 0) & (k <= n), value, 0.0)
