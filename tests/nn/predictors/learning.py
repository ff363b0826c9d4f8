"""Members of known groups to learn from, and slow versions of their loss."""

import torch
from torch import Tensor

from tgx_anchor.nn.predictors.learning_rows import LearningRows


def to_rows(
    feature: Tensor, sizes: list[int], target: Tensor, weight: Tensor | None = None
) -> LearningRows:
    """Rows of groups that follow each other."""
    group = torch.repeat_interleave(torch.tensor(sizes, dtype=torch.long))
    if weight is None:
        weight = torch.ones(len(sizes), dtype=torch.double)
    return LearningRows(feature, group, target, weight)


def drawn_rows(
    num_groups: int, num_columns: int, seed: int = 0, is_soft: bool = True
) -> LearningRows:
    """Groups of one to five members with random features, weights and targets, which
    are shares of several members if :obj:`is_soft`.
    """
    generator = torch.Generator().manual_seed(seed)
    sizes = torch.randint(1, 6, (num_groups,), generator=generator).tolist()
    dtype = torch.get_default_dtype()
    feature = torch.randn((sum(sizes), num_columns), generator=generator, dtype=dtype)
    draw = torch.rand(sum(sizes), generator=generator, dtype=torch.double)
    parts = []
    for part in draw.split(sizes):
        shares = part / part.sum() if is_soft else (part == part.max()).double()
        parts.append(shares)
    weight = torch.rand(num_groups, generator=generator, dtype=torch.double) + 0.1
    target = torch.cat([*parts, draw[:0]])
    return to_rows(feature, sizes, target, weight / weight.mean())


def separable(num_groups: int, num_columns: int = 4, seed: int = 0) -> LearningRows:
    """Groups whose anchor has the highest value in the first column."""
    rows = drawn_rows(num_groups, num_columns, seed)
    value, weight = rows.feature[:, 0], torch.ones_like(rows.weight)
    target = torch.zeros_like(rows.target)
    for part, target_part in zip(
        by_group(rows, value), by_group(rows, target), strict=True
    ):
        target_part[part.argmax()] = 1
    return rows._replace(target=target, weight=weight)


def by_group(rows: LearningRows, value: Tensor) -> tuple[Tensor, ...]:
    """The values of each group."""
    count = rows.weight.numel()
    sizes: list[int] = torch.bincount(rows.group, minlength=count).tolist()
    return torch.split(value, sizes)


def cross_entropy(rows: LearningRows, score: Tensor) -> Tensor:
    """The loss of scores, group by group."""
    parts = zip(by_group(rows, score), by_group(rows, rows.target), strict=True)
    losses = [-(t.to(s.dtype) * s.log_softmax(0)).sum() for s, t in parts]
    return (torch.stack(losses) * rows.weight.to(score.dtype)).sum()


def accuracy(rows: LearningRows, score: Tensor) -> float:
    """The share of groups of two or more members whose anchor has the best score."""
    parts = zip(by_group(rows, score), by_group(rows, rows.target), strict=True)
    hits = [float(t[s.argmax()]) for s, t in parts if t.numel() > 1]
    return sum(hits) / len(hits)
