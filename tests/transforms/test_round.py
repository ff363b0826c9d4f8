import torch

from tgx_anchor.transforms._round import round_centrality, round_to_step


def test_last_bits_do_not_count() -> None:
    third = 1 / 3
    value = torch.tensor([third, 0.25, third * (1 + 1e-13), 0.0], dtype=torch.double)
    distinct, rank = round_centrality(value)
    rounded = distinct[rank]
    assert rank.tolist() == [2, 1, 2, 0]
    assert rounded[0] == rounded[2]
    assert torch.allclose(rounded, value, rtol=2.0**-32, atol=0)


def test_thirty_two_bits_count() -> None:
    value = torch.tensor([1.0, 1 + 2.0**-30, 2.0**-900], dtype=torch.double)
    distinct, rank = round_centrality(value)
    rounded = distinct[rank]
    assert torch.equal(rounded, value)
    assert rank.tolist() == [1, 2, 0]


def test_no_values() -> None:
    rounded, rank = round_centrality(torch.empty(0))
    assert rounded.size() == rank.size() == (0,)


def test_sums_of_multiples_do_not_depend_on_the_order() -> None:
    generator = torch.Generator().manual_seed(0)
    value = torch.rand(1000, generator=generator, dtype=torch.double).exp()
    # Unlike those of the plain numbers.
    assert len({sum(part.tolist()) for part in (value, value.flip(0))}) == 2
    rounded = round_to_step(value)
    assert len({sum(part.tolist()) for part in (rounded, rounded.flip(0))}) == 1
    torch.testing.assert_close(rounded, value, rtol=0, atol=2.0**-31)
    assert torch.equal(round_to_step(rounded), rounded)


def test_multiples() -> None:
    step = 2.0**-30
    value = torch.tensor([1.0, -0.25, 0.4 * step, 0.6 * step, -2.7 * step]).double()
    before = value.clone()
    assert round_to_step(value).tolist() == [1.0, -0.25, 0.0, step, -3 * step]
    assert torch.equal(value, before)
