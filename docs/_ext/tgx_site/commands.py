r"""Describes the commands of :obj:`tgx-anchor` from their definitions."""

import re
from typing import Any

import typer

from tgx_anchor.cli.app import app

_EXAMPLE = 'Example: '


def commands() -> str:
    r"""Writes all commands as Markdown, with a section for each."""
    group: Any = typer.main.get_command(app)
    return '\n'.join(_section(name, each) for name, each in group.commands.items())


def _section(name: str, command: Any) -> str:
    words: list[str] = []
    examples: list[str] = []
    for part in command.help.split('\n\n'):
        line = ' '.join(part.split())
        (examples if line.startswith(_EXAMPLE) else words).append(line)
    lines = [f'## {name}', '', *(f'{plain(line)}\n' for line in words)]
    if examples:
        lines.append('```console')
        lines += [f'$ {line.removeprefix(_EXAMPLE)}' for line in examples]
        lines += ['```', '']
    for param in command.params:
        if param.name == 'help' or getattr(param, 'hidden', False):
            continue
        lines += [f'{_spelling(param)}', f': {plain(_help(param))}', '']
    return '\n'.join(lines)


def _spelling(param: Any) -> str:
    if param.param_type_name == 'argument':
        return f'`{param.name.upper()}`'
    names = [*param.opts, *param.secondary_opts]
    return ', '.join(f'`{name}`' for name in names)


def _help(param: Any) -> str:
    text = ' '.join((param.help or '').split())
    default = getattr(param.default, 'value', param.default)
    is_said = default in (None, False, (), []) or 'default' in text or callable(default)
    return text if is_said else f'{text} Default: {default}.'


def plain(text: str) -> str:
    r"""Returns a text of the command line as Markdown: without its markup, and with its
    options as code.

    Args:
        text (str): The text.
    """
    text = re.sub(r'\[/?(?:bold|dim|italic)\]', '', text)
    text = re.sub(r'([*_<>$\\])', r'\\\1', text)
    return re.sub(r'(?<![\w`-])(--[a-z][a-z-]*)', r'`\1`', text)
