from tgx_site.local_mathjax import find_mathjax


def test_mathjax_is_installed() -> None:
    path = find_mathjax()
    assert path.stat().st_size > 1_000_000
