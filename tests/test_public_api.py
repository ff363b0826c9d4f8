"""The names that users rely on, and the rules that all modules keep."""

import ast
import importlib
import pickle
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import tgx_anchor

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / 'tgx_anchor'
MODULES = sorted(PACKAGE.rglob('*.py'))

CONTRACT = {
    'tgx_anchor': ['__version__'],
    'tgx_anchor.data': ['AnchorData'],
    'tgx_anchor.datasets': ['CATALOG', 'AnchorDataset', 'PlantedAnchorDataset'],
    'tgx_anchor.transforms': ['AddTopologicalFeatures', 'RandomHyperedgeSplit'],
    'tgx_anchor.loader': ['HyperedgeLoader'],
    'tgx_anchor.nn': [
        'HAT',
        'HCHA',
        'HGNN',
        'HNHN',
        'HNN',
        'AnchorPredictor',
        'AnchorRadar',
        'CoNHD',
        'DegreeHeuristic',
        'HGNNConv',
        'RandomHeuristic',
        'UniGCN',
        'WHATsNet',
    ],
    'tgx_anchor.metrics': ['AnchorEvaluator'],
    'tgx_anchor.paper': ['figures'],
    'tgx_anchor.utils': ['coreness', 'degree', 'eigenvector_centrality', 'pagerank'],
}
PREDICTORS = ['AnchorRadar', 'AnchorPredictor', 'DegreeHeuristic', 'RandomHeuristic']

# Modules without a test of their own name.
UNTESTED = {'__init__.py', '__main__.py'}
QUESTIONS = re.compile(r'(What|Who|Where|How|Which|When|Why)\b')


@pytest.mark.parametrize('module', CONTRACT)
def test_names_of_the_contract(module: str) -> None:
    found = importlib.import_module(module)
    for name in CONTRACT[module]:
        assert hasattr(found, name), f'{module}.{name}'
        assert name in found.__all__


@pytest.mark.parametrize('name', PREDICTORS)
def test_predictors_share_their_methods(name: str) -> None:
    predictor = getattr(tgx_anchor.nn, name)
    for method in ('fit', 'predict', 'predict_proba', 'save', 'load'):
        assert callable(getattr(predictor, method))


@pytest.mark.parametrize(
    'path',
    [path for path in MODULES if path.name == '__init__.py'],
    ids=lambda path: '.'.join(path.relative_to(ROOT).parent.parts),
)
def test_all_lists_what_a_package_imports(path: Path) -> None:
    name = '.'.join(path.relative_to(ROOT).parent.parts)
    package = importlib.import_module(name)
    exported = package.__all__
    assert len(set(exported)) == len(exported)
    assert all(hasattr(package, word) for word in exported)
    imported = {
        alias.asname or alias.name
        for node in ast.parse(path.read_text(encoding='utf-8')).body
        if isinstance(node, ast.ImportFrom)
        and (node.module or '').startswith('tgx_anchor')
        for alias in node.names
        if alias.name != '*'
    }
    if name == 'tgx_anchor.nn':
        imported -= {'conv', 'functional', 'models', 'predictors'}
    assert imported <= set(exported)


def test_packages_are_imported_on_first_use() -> None:
    code = (
        'import sys, tgx_anchor; '
        'assert "torch" not in sys.modules; '
        'assert "nn" in dir(tgx_anchor); '
        'assert tgx_anchor.nn.AnchorRadar.__name__ == "AnchorRadar"; '
        'from tgx_anchor import nn; '
        'assert nn is tgx_anchor.nn; '
        'assert set(tgx_anchor.__all__) <= set(dir(tgx_anchor))'
    )
    subprocess.run([sys.executable, '-c', code], check=True)


def test_all_is_the_list_for_type_checkers() -> None:
    tree = ast.parse((PACKAGE / '__init__.py').read_text(encoding='utf-8'))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    (names,) = (node for node in block.body if isinstance(node, ast.ImportFrom))
    packages = [alias.name for alias in names.names]
    assert ['__version__', *packages] == tgx_anchor.__all__
    folders = sorted(path.parent.name for path in PACKAGE.glob('*/__init__.py'))
    assert packages == folders


def test_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'bogus'"):
        tgx_anchor.bogus  # noqa: B018


def test_objects_can_be_pickled() -> None:
    data: Any = tgx_anchor.datasets.PlantedAnchorDataset(20, 30)[0]
    again = pickle.loads(pickle.dumps(data))  # noqa: S301
    assert again.to_dict().keys() == data.to_dict().keys()


def test_every_module_has_a_test_of_its_name() -> None:
    missing = []
    for path in MODULES:
        if path.name in UNTESTED:
            continue
        inner = path.relative_to(PACKAGE)
        test = ROOT / 'tests' / inner.with_name(f'test_{path.stem.lstrip("_")}.py')
        if not test.exists():
            missing.append(str(inner))
    assert missing == [], '\n'.join(missing)


def test_docstrings_do_not_open_with_a_question_word() -> None:
    wrong = []
    for path in MODULES:
        tree = ast.parse(path.read_text(encoding='utf-8'))
        for node in ast.walk(tree):
            if not isinstance(
                node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
            ):
                continue
            text = ast.get_docstring(node) or ''
            if QUESTIONS.match(text):
                line = getattr(node, 'lineno', 1)
                first = text.splitlines()[0]
                wrong.append(f'{path.relative_to(ROOT)}:{line}: {first}')
    assert wrong == [], '\n'.join(wrong)
