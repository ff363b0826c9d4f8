from tgx_site.commands import commands, plain

COMMANDS = (
    'demo identify fit predict evaluate explain suggest report shard datasets '
    'benchmark reproduce'
)


def test_all_commands_have_a_section_and_options() -> None:
    text = commands()
    parts = text.split('## ')[1:]
    assert [part.split()[0] for part in parts] == COMMANDS.split()
    assert '$ tgx-anchor identify mails.csv --out anchors.csv\n' in text
    assert '`--out`, `-o`\n: The table of anchors' in text
    assert 'Default: auto.' in text
    assert 'ModelName' not in text
    for part in parts:
        assert '\n`' in part


def test_markup_becomes_markdown() -> None:
    assert plain('[bold]All[/bold] of --skip-bad: <a> *b*') == (
        r'All of `--skip-bad`: \<a\> \*b\*'
    )
