"""Reads the tables of the paper that ship with the package."""

import csv
from functools import cache
from importlib.resources import files

Columns = dict[str, list[str]]

#: The datasets, in the order of the paper.
DATASETS: tuple[str, ...] = (
    'coAA',
    'coDB',
    'coSM',
    'qaBI',
    'qaPH',
    'qaMA',
    'qaST',
    'emEN',
    'emEU',
    'emER',
    'soME',
    'soRE',
    'moML',
)
# The datasets whose first or last author may be the anchor.
_CO_AUTHORSHIP = ('coAA', 'coDB', 'coSM')
#: The datasets with their kinds of anchors, in the order of the paper.
SETTINGS: tuple[str, ...] = tuple(
    setting
    for name in DATASETS
    for setting in (
        (f'{name}_first', f'{name}_last') if name in _CO_AUTHORSHIP else (name,)
    )
)


def tables() -> list[str]:
    r"""Lists the names of the tables that :func:`figures` reads."""
    return _names('figures')


def figures(table: str) -> Columns:
    r"""Reads a table of the `"Identifying Group Anchors in Real-World Group
    Interactions Under Label Scarcity" <https://arxiv.org/abs/2509.20762>`_ paper.

    .. code-block:: python

        figures('accuracy')['method']   # ['WHATsNet', 'CoNHD-U', ...]
        figures('accuracy')['qaBI']     # ['85.6±0.4', '78.7±0.5', ...]

    Args:
        table (str): The name of the table, one of :func:`tables`.

    Returns:
        The columns by name. All have one text per row, as the paper prints it.
    """
    return {name: list(column) for name, column in _read('figures', table).items()}


def figure(table: str, method: str, setting: str) -> str:
    r"""Returns one figure as the paper prints it, or :obj:`''` if it has none.

    Args:
        table (str): The name of the table, one of :func:`tables`.
        method (str): The row, by its :obj:`method`.
        setting (str): The column.
    """
    columns = _read('figures', table)
    methods = columns.get('method', [])
    if method not in methods or setting not in columns:
        return ''
    return columns[setting][methods.index(method)]


def hyperparameters(method: str, setting: str) -> dict[str, float | None]:
    r"""Reads the published hyperparameters of a method.

    Args:
        method (str): :obj:`"AnchorRadar"`, or one of the nine baselines.
        setting (str): The dataset, with its kind of anchor where there are several:
            :obj:`"qaBI"`, :obj:`"coDB_last"`. The baselines have the same values for
            all kinds, so that :obj:`"coDB"` is enough.

    Returns:
        The values by name; :obj:`None` where the paper prints none, and an empty
        dictionary if the method ran out of memory.
    """
    columns = _read('hyperparameters', method.lower().replace('-', '_'))
    column = setting if setting in columns else setting.partition('_')[0]
    choices = [name for name in columns if name != 'parameter']
    if column not in choices or setting not in (*choices, *SETTINGS):
        raise ValueError(
            f"'setting' must be one of {', '.join(choices)} (got {setting!r})"
        )
    if 'OOM' in columns[column]:
        return {}
    pairs = zip(columns['parameter'], columns[column], strict=True)
    return {name: _number(text) for name, text in pairs}


def _number(text: str) -> float | None:
    return None if text.lower() in ('', '-', 'none') else float(text)


def _names(folder: str) -> list[str]:
    found = (files('tgx_anchor.paper') / folder).iterdir()
    return sorted(path.name.removesuffix('.csv') for path in found)


@cache
def _read(folder: str, name: str) -> Columns:
    if name not in _names(folder):
        kind = 'table' if folder == 'figures' else 'method'
        raise ValueError(
            f"'{kind}' must be one of {', '.join(_names(folder))} (got {name!r})"
        )
    path = files('tgx_anchor.paper') / folder / f'{name}.csv'
    header, *rows = csv.reader(path.read_text(encoding='utf-8').splitlines())
    return dict(zip(header, map(list, zip(*rows, strict=True)), strict=True))


#: The methods that the paper compares AnchorRadar with, in the order of its main table.
BASELINES: tuple[str, ...] = tuple(
    method for method in figures('accuracy')['method'] if method != 'AnchorRadar'
)
