import pytest
import torch

from tgx_anchor.loader import TargetPart


@pytest.mark.parametrize('num_parts', [1, 2, 3, 4, 7])
def test_sums_of_parts_are_the_whole(num_parts: int) -> None:
    size = torch.tensor([2, 9, 3, 5, 4, 1])
    target = torch.tensor([4, 0, 2, 3])
    value = torch.tensor([7.0, 1.0, -3.0, 0.5, 2.0, 8.0], dtype=torch.double)
    parts = [TargetPart.of(target, size, i, num_parts) for i in range(num_parts)]
    held = [part.target for part in parts if part.share_of_targets > 0]
    assert sorted(torch.cat(held).tolist()) == [0, 2, 3, 4]
    mean = sum(p.share_of_targets * float(value[p.target].mean()) for p in parts)
    assert mean == pytest.approx(float(value[target].mean()))
    # The same over members, who all have the value of their hyperedge.
    total = size * value
    mean = sum(
        p.share_of_members * float(total[p.target].sum() / size[p.target].sum())
        for p in parts
    )
    assert mean == pytest.approx(float(total[target].sum() / size[target].sum()))


def test_by_hand() -> None:
    size, target = torch.tensor([2, 9, 3]), torch.tensor([2, 0, 1])
    first = TargetPart.of(target, size, 0, 2)
    assert first.target.tolist() == [2, 1]
    assert first[1:] == (2 / 3, 12 / 14)
    second = TargetPart.of(target, size, 1, 2)
    assert second.target.tolist() == [0]
    assert second[1:] == (1 / 3, 2 / 14)


def test_nothing_left() -> None:
    part = TargetPart.of(torch.tensor([2, 0]), torch.tensor([2, 9, 3]), 2, 3)
    assert part.target.tolist() == [2]
    assert part[1:] == (0.0, 0.0)


def test_no_members() -> None:
    part = TargetPart.of(torch.tensor([1, 2]), torch.tensor([2, 0, 0]), 0, 2)
    assert part[1:] == (0.5, 0.0)
