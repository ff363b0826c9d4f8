from fractions import Fraction

import torch
from hypothesis import given
from hypothesis import strategies as st

from tgx_anchor.utils.exact_sum import add_terms_, sum_base_


def exact_sum(term: torch.Tensor, index: torch.Tensor, size: int) -> torch.Tensor:
    bound = torch.zeros(size, dtype=torch.double).scatter_add_(0, index, term)
    base = sum_base_(bound * (1 + 1e-9))
    return add_terms_(base.clone(), index, term).sub_(base)


def test_base_is_a_larger_power_of_two() -> None:
    bound = torch.tensor([0.0, 1.0, 1.5, 3.0, 4.0], dtype=torch.double)
    assert sum_base_(bound).tolist() == [0, 4, 4, 8, 16]


@given(st.lists(st.floats(0, 1e3, width=64), max_size=60))
def test_order_and_division_do_not_matter(values: list[float]) -> None:
    term = torch.tensor(values, dtype=torch.double)
    index = torch.arange(len(values)) % 3
    total = exact_sum(term, index, 3)
    perm = torch.randperm(len(values), generator=torch.Generator().manual_seed(0))
    assert torch.equal(exact_sum(term[perm], index[perm], 3), total)
    # The parts of two processes are exact, too.
    base = sum_base_(torch.full((3,), 1e3 * len(values) + 1, dtype=torch.double))
    whole = add_terms_(base.clone(), index, term).sub_(base)
    half = len(values) // 2
    parts = [
        add_terms_(base.clone(), index[part], term[part]).sub_(base)
        for part in (slice(half), slice(half, None))
    ]
    assert torch.equal(parts[0] + parts[1], whole)


def test_plain_sums_depend_on_the_order() -> None:
    generator = torch.Generator().manual_seed(0)
    term = torch.rand(10_000, dtype=torch.double, generator=generator)
    index = torch.zeros_like(term, dtype=torch.long)
    perm = torch.randperm(term.numel(), generator=generator)
    zero = torch.zeros(1, dtype=torch.double)
    plain = [zero.scatter_add(0, index, t) for t in (term, term[perm])]
    assert not torch.equal(*plain)
    total = exact_sum(term, index, 1)
    assert torch.equal(exact_sum(term[perm], index, 1), total)
    expected = float(sum(map(Fraction, term.tolist())))
    # Ten thousand roundings to 2^-51 of a bound that is up to twice the sum.
    assert abs(total.item() - expected) < 1e4 * 2.0**-51 * 2 * expected


def test_terms_half_way_between_multiples() -> None:
    # The last digit beside 8 is 2^-49: 3 * 2^-50 is half way between two multiples.
    base = torch.full((1,), 8.0, dtype=torch.double)
    term = torch.tensor([3 * 2.0**-50, 2.0**-49], dtype=torch.double)
    index = torch.zeros(2, dtype=torch.long)
    found = [
        add_terms_(base.clone(), index, t).sub_(base).item()
        for t in (term, term.flip(0))
    ]
    assert found == [3 * 2.0**-49] * 2
    plain = [
        base.scatter_add(0, index, t).sub_(base).item() for t in (term, term.flip(0))
    ]
    assert plain[0] != plain[1]
