import re
from pathlib import Path

from setuptools import find_packages, setup

ROOT = Path(__file__).parent
VERSION = re.search(
    r"^__version__ = '(.+)'$",
    (ROOT / 'tgx_anchor' / '__init__.py').read_text(encoding='utf-8'),
    re.MULTILINE,
)
if VERSION is None:
    raise RuntimeError("'tgx_anchor/__init__.py' holds no version literal")

BOOST = ['lightgbm>=4.0']
EXTRAS = {
    'boost': BOOST,
    'cli': [*BOOST, 'rich>=13', 'typer>=0.12'],
    'scale': ['duckdb>=2.0'],
    'viz': ['matplotlib>=3.8'],
    'interop': ['pandas>=2'],
    'ogb': ['ogb>=1.3.6'],
    'scatter': ['torch-scatter>=2.1.2'],
}
EXTRAS['bench'] = [
    *EXTRAS['viz'],
    *EXTRAS['cli'],
    'gensim>=4.3',
    'igraph>=0.11',
    'networkx>=3.2',
]
# The site shows commands, plots and the results of all benchmarks.
EXTRAS['docs'] = sorted(
    {
        *EXTRAS['bench'],
        'furo>=2025.7.19',
        'myst-nb>=1.3',
        'sphinx>=8.1',
        'sphinx-copybutton>=0.5.2',
        'sphinx-mathjax-offline>=0.0.2',
    }
)
EXTRAS['test'] = sorted(
    {
        *EXTRAS['cli'],
        *EXTRAS['viz'],
        *EXTRAS['interop'],
        *EXTRAS['bench'],
        *EXTRAS['scale'],
        'hypothesis>=6.100',
        'ipykernel>=6',
        'nbclient>=0.10',
        'nbformat>=5.10',
        'pytest>=8',
        'pytest-xdist>=3.5',
        'xgi>=0.9',
    }
)
EXTRAS['dev'] = sorted(
    {
        *EXTRAS['docs'],
        *EXTRAS['test'],
        'mypy>=1.14',
        'pandas-stubs',
        'pre-commit>=3',
        'ruff>=0.9',
        'scipy-stubs',
        'types-requests',
        'types-tqdm',
    }
)

setup(
    name='tgx_anchor',
    version=VERSION.group(1),
    description='Find the anchor of every group: a PyTorch Geometric extension',
    long_description=(ROOT / 'README.md').read_text(encoding='utf-8'),
    long_description_content_type='text/markdown',
    license='MIT',
    python_requires='>=3.10',
    packages=find_packages(include=['tgx_anchor', 'tgx_anchor.*']),
    package_data={
        'tgx_anchor': [
            'py.typed',
            'paper/*/*.csv',
            'report/page.css',
            'report/page.html',
            'report/page.js',
        ]
    },
    install_requires=[
        'filelock>=3.12',
        'numpy>=1.26',
        # Reads and writes all tables; 15 is the first that takes any data frame.
        'pyarrow>=15',
        'requests>=2.31',
        'scipy>=1.11',
        'torch>=2.4',
        'torch-geometric>=2.6',
        'tqdm>=4.64',
        'typing-extensions>=4.4',
    ],
    extras_require=EXTRAS,
    entry_points={'console_scripts': ['tgx-anchor=tgx_anchor.cli:main']},
    classifiers=[
        'Development Status :: 3 - Alpha',
        'Intended Audience :: Science/Research',
        'Programming Language :: Python :: 3',
        'Topic :: Scientific/Engineering :: Artificial Intelligence',
        'Typing :: Typed',
    ],
)
