from tgx_anchor.utils.messages import listed, one_line, shorten


def test_shorten() -> None:
    assert shorten('a') == "'a'"
    assert len(shorten('a' * 1000)) <= 60
    assert '\n' not in shorten('a\nb')
    assert shorten(1 << 5000) == 'an integer of 5001 bits'
    assert shorten([1 << 50_000]) == 'a list'


def test_one_line() -> None:
    assert one_line(ValueError('a\n  b')) == 'a b'
    assert one_line(KeyboardInterrupt()) == 'KeyboardInterrupt'
    assert one_line(ValueError('a' * 300)) == 'a' * 200 + '...'


def test_listed() -> None:
    assert listed([]) == 'none'
    assert listed(['a', 1]) == "'a', 1"
    assert listed(range(12)).endswith('9, 2 more')
