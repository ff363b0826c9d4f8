"""The rooms of the package, and which of them imports which.

``python -m tests.test_imports`` prints the graph.
"""

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

PACKAGE = 'tgx_anchor'
FOLDER = Path(__file__).parents[1] / PACKAGE

# A module imports modules of its own room and of the rooms before it.
ROOMS = [
    'utils',
    'paper',
    'data',
    'io',
    'datasets',
    'transforms',
    'loader',
    'metrics',
    'nn.functional',
    'nn.conv',
    'nn.models',
    'nn.predictors',
    'nn',
    'benchmark',
    'reproduce',
    'explain',
    'visualize',
    'report',
    'cli',
]
# 'AnchorData.from_...' and 'to_...' import their reader or writer when called.
LAZY_SOURCE = 'tgx_anchor.data.anchor_data'
LAZY_ROOMS = ('data', 'io')


class Import(NamedTuple):
    """An import, by the module that holds it and the module it names."""

    source: str
    target: str
    line: int
    is_lazy: bool


def modules() -> dict[str, Path]:
    """All modules of the package by their full name."""
    found = {}
    for path in sorted(FOLDER.rglob('*.py')):
        parts = path.relative_to(FOLDER.parent).with_suffix('').parts
        found['.'.join(parts[:-1] if parts[-1] == '__init__' else parts)] = path
    return found


def room(module: str) -> str | None:
    """The room of a module, the most specific one; none for the package itself."""
    inner = module.removeprefix(f'{PACKAGE}.')
    fitting = [r for r in ROOMS if inner == r or inner.startswith(f'{r}.')]
    return max(fitting, key=len, default=None)


def imports_of(module: str, path: Path, known: set[str]) -> Iterator[Import]:
    """The imports of a module, those inside functions marked as lazy. Imports for type
    checkers count like others.
    """

    def visit(node: ast.AST, is_lazy: bool) -> Iterator[Import]:
        targets: list[str] = []
        if isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f'{path}:{node.lineno}: relative import'
            base = node.module or ''
            # 'from package import module' names a module, not the package.
            inner = [f'{base}.{alias.name}' for alias in node.names]
            targets = [name if name in known else base for name in inner]
        for target in dict.fromkeys(targets):
            if target in known and target != module:
                yield Import(module, target, getattr(node, 'lineno', 0), is_lazy)
        is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
        for child in ast.iter_child_nodes(node):
            yield from visit(child, is_lazy or is_function)

    yield from visit(ast.parse(path.read_text(encoding='utf-8')), False)


def all_imports() -> list[Import]:
    found = modules()
    return [
        edge
        for module, path in found.items()
        if module != PACKAGE
        for edge in imports_of(module, path, set(found))
    ]


def find_cycle(edges: list[Import]) -> list[str]:
    """The modules along a cycle, or nothing."""
    targets: dict[str, list[str]] = {}
    for edge in edges:
        targets.setdefault(edge.source, []).append(edge.target)
    done: set[str] = set()

    def walk(module: str, way: list[str]) -> list[str]:
        if module in way:
            return [*way[way.index(module) :], module]
        if module in done:
            return []
        for target in targets.get(module, []):
            if cycle := walk(target, [*way, module]):
                return cycle
        done.add(module)
        return []

    return next((cycle for m in sorted(targets) if (cycle := walk(m, []))), [])


def show(edges: list[Import]) -> str:
    return '\n'.join(
        f'{e.source}:{e.line} imports {e.target}{" when called" if e.is_lazy else ""}'
        for e in edges
    )


def is_allowed_lazy(edge: Import) -> bool:
    is_reader = edge.source == LAZY_SOURCE and room(edge.target) in LAZY_ROOMS
    return edge.is_lazy and is_reader


def wrong_edges(edges: list[Import]) -> list[Import]:
    """The imports that go to a later room."""
    wrong = []
    for edge in edges:
        source, target = room(edge.source), room(edge.target)
        if source is None or target is None:
            continue
        if is_allowed_lazy(edge):
            continue
        if ROOMS.index(target) > ROOMS.index(source):
            wrong.append(edge)
    return wrong


def graph() -> str:
    """The rooms and what each imports, as text."""
    direct: dict[str, set[str]] = {}
    lazy: dict[str, set[str]] = {}
    for edge in all_imports():
        source, target = room(edge.source), room(edge.target)
        if source is not None and target is not None and source != target:
            (lazy if edge.is_lazy else direct).setdefault(source, set()).add(target)
    lines = []
    for name in ROOMS:
        if not any(room(module) == name for module in modules()):
            continue
        words = [r for r in ROOMS if r in direct.get(name, ())]
        words += [
            f'({r} when called)'
            for r in ROOMS
            if r in lazy.get(name, ()) and r not in direct.get(name, ())
        ]
        lines.append(f'{name:14} <- {", ".join(words) or "nothing"}')
    return '\n'.join(lines)


def test_every_module_has_a_room() -> None:
    outside = {PACKAGE, f'{PACKAGE}.__main__'}
    assert [m for m in modules() if m not in outside and room(m) is None] == []


def test_imports_go_to_earlier_rooms() -> None:
    wrong = wrong_edges(all_imports())
    assert wrong == [], f'imports of a later room:\n{show(wrong)}'


def test_no_cycle_between_modules() -> None:
    # An import inside a function may not hide a cycle either.
    cycle = find_cycle([edge for edge in all_imports() if not is_allowed_lazy(edge)])
    assert cycle == [], f'cycle: {" -> ".join(cycle)}'


def test_the_check_finds_what_it_should(tmp_path: Path) -> None:
    text = (
        'from typing import TYPE_CHECKING\n'
        'if TYPE_CHECKING:\n'
        '    from tgx_anchor.cli import app\n'
        'def read():\n'
        '    from tgx_anchor.io import hif\n'
        'import tgx_anchor.utils.group\n'
    )
    (tmp_path / 'a.py').write_text(text, encoding='utf-8')
    known = {f'{PACKAGE}.{m}' for m in ('cli', 'cli.app', 'io.hif', 'utils.group')}
    edges = list(imports_of(LAZY_SOURCE, tmp_path / 'a.py', known))
    assert show(edges).splitlines() == [
        'tgx_anchor.data.anchor_data:3 imports tgx_anchor.cli.app',
        'tgx_anchor.data.anchor_data:5 imports tgx_anchor.io.hif when called',
        'tgx_anchor.data.anchor_data:6 imports tgx_anchor.utils.group',
    ]
    assert [edge.line for edge in wrong_edges(edges)] == [3]
    loop = [Import('a', 'b', 1, False), Import('b', 'c', 1, False)]
    assert find_cycle(loop) == []
    assert find_cycle([*loop, Import('c', 'b', 1, False)]) == ['b', 'c', 'b']


if __name__ == '__main__':
    print(graph())  # noqa: T201
