r"""Lists the exports of the package for the reference, and resolves their names."""

import importlib
import inspect
import re
import sys
from collections.abc import Iterator
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

from docutils import nodes
from sphinx.addnodes import pending_xref
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.pycode import ModuleAnalyzer

PACKAGE = 'tgx_anchor'
# Rooms whose exports are imported from a package above.
SHORTER = {
    'tgx_anchor.nn.conv': 'tgx_anchor.nn',
    'tgx_anchor.nn.models': 'tgx_anchor.nn',
    'tgx_anchor.nn.predictors': 'tgx_anchor.nn',
}
# The list of these is a list of others.
JOINED = ('tgx_anchor', 'tgx_anchor.nn')


class Export(NamedTuple):
    r"""A public name.

    Args:
        name (str): The name to import.
        kind (str): :obj:`"class"`, :obj:`"function"` or :obj:`"data"`.
    """

    name: str
    kind: str


def rooms() -> list[str]:
    r"""Returns all packages that have exports of their own."""
    root = importlib.import_module(PACKAGE)
    out = []
    for name in root.__all__:
        module = getattr(root, name)
        if not isinstance(module, ModuleType):
            continue
        inner = [
            f'{module.__name__}.{key}'
            for key, value in vars(module).items()
            if isinstance(value, ModuleType)
            and value.__name__ == f'{module.__name__}.{key}'
            and hasattr(value, '__all__')
        ]
        out += inner if module.__name__ in JOINED else [module.__name__]
    return sorted(out)


def exports(room: str) -> list[Export]:
    r"""Returns the exports of a package, in the order of its list.

    Args:
        room (str): The package.
    """
    module = importlib.import_module(room)
    above = SHORTER.get(room, room)
    return [
        Export(f'{above}.{name}', _kind(getattr(module, name)))
        for name in module.__all__
    ]


def _kind(value: object) -> str:
    if inspect.isclass(value):
        return 'class'
    return 'function' if callable(value) else 'data'


def reference(room: str) -> str:
    r"""Writes the exports of a package as reStructuredText: a table of all of them, and
    the documentation of each.

    Args:
        room (str): The package.
    """
    found = exports(room)
    lines = [f'.. currentmodule:: {SHORTER.get(room, room)}', '']
    lines += ['.. list-table::', '   :class: exports', '   :widths: auto', '']
    for export in found:
        name = export.name.rpartition('.')[2]
        role = {'class': 'class', 'function': 'func', 'data': 'data'}[export.kind]
        lines += [
            f'   * - :{role}:`~{export.name}`',
            f'     - {_first_sentence(room, name)}',
        ]
    lines.append('')
    for export in found:
        lines += [*_directive(room, export), '']
    return '\n'.join(lines)


def summaries(room: str) -> str:
    r"""Writes the classes of a package as a list of Markdown, each with a link to the
    reference and its first sentence.

    Args:
        room (str): The package.
    """
    lines = []
    for export in exports(room):
        if export.kind == 'class':
            name = export.name.rpartition('.')[2]
            text = _to_markdown(_first_sentence(room, name))
            lines += [f'{{py:class}}`~{export.name}`', f': {text}', '']
    return '\n'.join(lines)


def _to_markdown(text: str) -> str:
    # A sentence of a docstring: code, equations, references and links.
    text = re.sub(r'`([^`<]+?) *<(https?:[^>]+)>`_', r'[\1](\2)', text)
    text = re.sub(r':obj:(`[^`]+`)', r'\1', text)
    text = re.sub(r':math:`([^`]+)`', r'$\1$', text)
    return re.sub(r':(\w+):(`[^`]+`)', r'{py:\1}\2', text)


def _directive(room: str, export: Export) -> list[str]:
    module, name = importlib.import_module(room), export.name.rpartition('.')[2]
    if export.kind == 'data':
        return [f'.. py:data:: {name}', '', f'   {data_comment(module, name)}']
    lines = [f'.. auto{export.kind}:: {export.name}']
    if export.kind == 'class':
        lines.append('   :members:')
        bases = [base.__name__ for base in foreign_bases(getattr(module, name))]
        lines.append(f'   :inherited-members: {", ".join(bases)}')
    return lines


def foreign_bases(value: type) -> list[type]:
    r"""Returns the bases of a class that are documented elsewhere: in the reference, or
    by other packages. What a class inherits from its other bases is its own.

    Args:
        value (type): The class.
    """
    return [
        base
        for base in inspect.getmro(value)[1:]
        if not base.__module__.startswith(PACKAGE)
        or f'{base.__module__}.{base.__qualname__}' in public_names()
    ]


@cache
def public_names() -> dict[str, str]:
    r"""Returns the public name of each export by the name of its definition."""
    out = {}
    for room in rooms():
        for export in exports(room):
            value = find_object(export.name)
            if export.kind != 'data':
                out[f'{value.__module__}.{value.__qualname__}'] = export.name
    return out


def _first_sentence(room: str, name: str) -> str:
    module = importlib.import_module(room)
    value = getattr(module, name)
    if _kind(value) == 'data':
        return data_comment(module, name)
    text = inspect.getdoc(value) or ''
    paragraph = ' '.join(text.partition('\n\n')[0].split())
    # A sentence ends before a capital; equations and abbreviations do not.
    end = paragraph.find('. ')
    while end != -1 and not paragraph[end + 2 : end + 3].isupper():
        end = paragraph.find('. ', end + 2)
    sentence = paragraph if end == -1 else paragraph[: end + 1]
    # An equation or an example may follow.
    return sentence.rstrip(',:.') + '.'


def data_comment(module: ModuleType, name: str) -> str:
    r"""Returns the comment above the definition of a constant.

    Args:
        module (ModuleType): The package that exports it.
        name (str): The constant.
    """
    for source in _sources(module, name):
        comments = ModuleAnalyzer.for_module(source).find_attr_docs()
        if ('', name) in comments:
            return ' '.join(' '.join(comments['', name]).split())
    return ''


def _sources(module: ModuleType, name: str) -> Iterator[str]:
    # The modules of a package in which a constant may be defined.
    value = getattr(module, name)
    for key, other in list(sys.modules.items()):
        if key.startswith(f'{module.__name__}.') and vars(other).get(name) is value:
            yield key


def find_object(name: str) -> Any:
    r"""Imports an object by its full name.

    Args:
        name (str): The name.
    """
    words = name.split('.')
    # A function may have the name of its module: the package exports the function.
    for length in [*range(len(words) - 1, 0, -1), len(words)]:
        try:
            value: Any = importlib.import_module('.'.join(words[:length]))
            for word in words[length:]:
                static = inspect.isclass(value)
                value = (inspect.getattr_static if static else getattr)(value, word)
        except (ModuleNotFoundError, AttributeError):
            continue
        return value
    raise AttributeError(name)


def resolve(
    app: Sphinx, env: BuildEnvironment, node: pending_xref, contnode: nodes.TextElement
) -> nodes.reference | None:
    r"""Resolves names of the package that are not those of the reference: of a module
    instead of the package, of a package above, or of a method of a base class.

    Args:
        app (Sphinx): The application.
        env (BuildEnvironment): The environment.
        node (pending_xref): The reference.
        contnode (TextElement): Its text.
    """
    if node.get('refdomain') != 'py':
        return None
    target = node['reftarget']
    objects = env.domains.python_domain.objects
    for name in _candidates(node, target):
        if name in objects:
            entry = objects[name]
            uri = app.builder.get_relative_uri(node['refdoc'], entry.docname)
            uri += f'#{entry.node_id}'
            return nodes.reference('', '', contnode, internal=True, refuri=uri)
    return None


def _candidates(node: pending_xref, target: str) -> Iterator[str]:
    names = [target]
    if node.get('py:class'):
        # Of the class, or of one of its bases.
        names.append(f'{node["py:module"]}.{node["py:class"]}.{target}')
    if node.get('py:module'):
        names.append(f'{node["py:module"]}.{target}')
    # Of a class that is exported by another package.
    first, _, rest = target.partition('.')
    names += [
        f'{name}.{rest}'
        for name in public_names().values()
        if rest and name.rpartition('.')[2] == first
    ]
    for name in names:
        if not name.startswith(f'{PACKAGE}.'):
            continue
        try:
            value = find_object(name)
            owner = find_object(name.rpartition('.')[0])
        except AttributeError:
            continue
        defined = [f'{getattr(value, "__module__", "")}.{_qualname(value)}']
        for base in inspect.getmro(owner) if inspect.isclass(owner) else ():
            word = name.rpartition('.')[2]
            defined.append(f'{base.__module__}.{base.__qualname__}.{word}')
        yield from map(_public_name, defined)


def _qualname(value: Any) -> str:
    return str(getattr(value, '__qualname__', ''))


def _public_name(name: str) -> str:
    # A method is found by the name of its class.
    above, _, word = name.rpartition('.')
    if name in public_names():
        return public_names()[name]
    return f'{public_names().get(above, above)}.{word}'


def skip_member(
    _app: Sphinx, _what: str, _name: str, value: object, skip: bool, _options: object
) -> bool | None:
    r"""Leaves out members that Python documents by itself: the fields of named tuples,
    which are among the arguments already.

    Args:
        value (object): The member.
        skip (bool): Whether it is left out anyway.
    """
    text = getattr(value, '__doc__', None) or ''
    return True if text.startswith('Alias for field number') else skip or None


def keep_colons(
    _app: Sphinx, what: str, _name: str, _value: object, _options: object, lines: Any
) -> None:
    r"""Keeps the docstring of a property as it is: Napoleon would take the words before
    a colon in its first line for a type.

    Args:
        what (str): The kind of the object.
        lines (list[str]): Its docstring, which is changed in place.
    """
    if what in ('attribute', 'property'):
        lines[:0] = ['..', '']  # an empty comment


def setup(app: Sphinx) -> dict[str, bool]:
    r"""Adds the resolution of names to the application.

    Args:
        app (Sphinx): The application.
    """
    # Before Napoleon reads it.
    app.connect('autodoc-process-docstring', keep_colons, priority=400)
    app.connect('autodoc-skip-member', skip_member)
    app.connect('missing-reference', resolve)
    return {'parallel_read_safe': True, 'parallel_write_safe': True}
