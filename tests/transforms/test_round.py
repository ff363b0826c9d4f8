import torch

from tgx_anchor.transforms._round import round_centrality


def test_last_bits_do_not_count() -> None:
    third = 1 / 3
    value = torch.tensor([third, 0.25, third * (1 + 1e-13), 0.0], dtype=torch.double)
    rounded, rank = round_centrality(value)
    assert rank.tolist() == [2, 1, 2, 0]
    assert rounded[0] == rounded[2]
    assert torch.allclose(rounded, value, rtol=2.0**-32, atol=0)


def test_thirty_two_bits_count() -> None:
    value = torch.tensor([1.0, 1 + 2.0**-30, 2.0**-900], dtype=torch.double)
    rounded, rank = round_centrality(value)
    assert torch.equal(rounded, value)
    assert rank.tolist() == [1, 2, 0]


def test_no_values() -> None:
    rounded, rank = round_centrality(torch.empty(0))
    assert rounded.size() == rank.size() == (0,)
