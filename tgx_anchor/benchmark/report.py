"""Tables and plots of a benchmark."""

import math
import statistics
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tgx_anchor.benchmark.methods import HEURISTICS, METHODS
from tgx_anchor.benchmark.results import BenchmarkRow
from tgx_anchor.benchmark.tables import Style, escape, latex_table, markdown_table
from tgx_anchor.io.files import replace_file
from tgx_anchor.paper import BASELINES, figure

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Metric = Literal[
    'accuracy',
    'mrr',
    'ndcg',
    'train_seconds',
    'epoch_seconds',
    'num_parameters',
    'peak_memory',
]
METRICS: dict[Metric, str] = {
    'accuracy': 'Accuracy (%)',
    'mrr': 'MRR',
    'ndcg': 'NDCG',
    'train_seconds': 'Training time (s)',
    'epoch_seconds': 'Time of an epoch (s)',
    'num_parameters': 'Learnable parameters',
    'peak_memory': 'Peak memory (GiB)',
}
_HIGHER_IS_BETTER: tuple[Metric, ...] = ('accuracy', 'mrr', 'ndcg')
# Metrics that do not depend on the number of epochs.
_WHATEVER_EPOCHS: tuple[Metric, ...] = ('epoch_seconds', 'num_parameters')
# Metrics that the paper has a table of.
_PRINTED: tuple[Metric, ...] = ('accuracy', 'mrr', 'ndcg')
# The best and the second best value of a setting.
_MARKS: dict[Style, tuple[str, str]] = {
    'rich': ('[bold]{}[/]', '[underline]{}[/]'),
    'markdown': ('**{}**', '<u>{}</u>'),
    'latex': (r'\textbf{{{}}}', r'\underline{{{}}}'),
}


class Cell(NamedTuple):
    r"""The value of a metric for a method on a setting.

    Args:
        mean (float): The mean over the splits.
        std (float): The population standard deviation over the splits.
        num_splits (int): The number of splits.
        num_epochs (int): The number of epochs asked for; zero for the published one.
        paper (str): The figure of the paper, :obj:`""` if there is none.
        place (int): One for the best method of the setting, two for the second best.
            Heuristics are not ranked by time, parameters and memory, and methods that
            trained for fewer epochs than others are not ranked by time.
    """

    mean: float
    std: float
    num_splits: int
    num_epochs: int
    paper: str
    place: int


Cells = dict[tuple[str, str], Cell]


def summarise(rows: Iterable[BenchmarkRow], metric: Metric) -> Cells:
    r"""Computes means and deviations of a metric by method and setting, over the rows
    with the published number of epochs, or else with the largest one.

    Args:
        rows (list[BenchmarkRow]): The rows.
        metric (str): One of :obj:`METRICS`.
    """
    values: dict[tuple[str, str], list[float]] = {}
    epochs: dict[tuple[str, str], int] = {}
    for row in most_trained(rows):
        key, value = (row.method, row.setting), float(getattr(row, metric))
        if metric == 'epoch_seconds' and math.isnan(value):
            continue
        values.setdefault(key, []).append(value)
        epochs[key] = row.num_epochs
    sign = -1 if metric in _HIGHER_IS_BETTER else 1
    out: Cells = {}
    for setting in dict.fromkeys(key[1] for key in values):
        means = {
            key: statistics.fmean(found)
            for key, found in values.items()
            if key[1] == setting
        }
        ranked = sorted(
            {mean for key, mean in means.items() if _competes(key, metric, epochs)},
            key=lambda mean: sign * mean,
        )
        for key, mean in means.items():
            out[key] = Cell(
                mean,
                statistics.pstdev(values[key]),
                len(values[key]),
                epochs[key],
                _printed(metric, *key),
                ranked.index(mean) + 1 if mean in ranked else len(ranked) + 1,
            )
    return out


def _printed(metric: Metric, method: str, setting: str) -> str:
    if metric == 'accuracy' and method in HEURISTICS:
        return figure('heuristics', method, setting)
    return figure(metric, method, setting) if metric in _PRINTED else ''


def _competes(
    key: tuple[str, str], metric: Metric, epochs: dict[tuple[str, str], int]
) -> bool:
    # Heuristics do not train, and limited runs stop early: their time is not ranked.
    if metric in _HIGHER_IS_BETTER:
        return True
    method, setting = key
    if method in HEURISTICS or metric != 'train_seconds' or method not in METHODS:
        return method not in HEURISTICS
    longest = max(
        number or math.inf
        for (name, place), number in epochs.items()
        if place == setting and name in METHODS and name not in HEURISTICS
    )
    return (epochs[key] or math.inf) == longest


def most_trained(rows: Iterable[BenchmarkRow]) -> list[BenchmarkRow]:
    r"""Returns the rows of each method and setting with the published number of
    epochs, or else those with the largest one.

    Args:
        rows (list[BenchmarkRow]): The rows.
    """
    rows = list(rows)
    best: dict[tuple[str, str], float] = {}
    for row in rows:
        key = row.method, row.setting
        best[key] = max(best.get(key, 0), row.num_epochs or math.inf)
    return [
        row
        for row in rows
        if (row.num_epochs or math.inf) == best[row.method, row.setting]
    ]


def _in_order(names: Iterable[str]) -> list[str]:
    # The methods of the package first, then others in the order of the rows.
    given = dict.fromkeys(names)
    return [name for name in dict.fromkeys([*METHODS, *given]) if name in given]


def make_table(cells: Cells, metric: Metric, style: Style) -> list[list[str]]:
    r"""Returns the cells as lines of text, the header first, with the best value of
    each setting in bold and the second best underlined.

    Args:
        cells (dict): The cells.
        metric (str): Their metric.
        style (str): The markup: :obj:`"rich"`, :obj:`"markdown"` or :obj:`"latex"`.
    """
    settings = list(dict.fromkeys(setting for _, setting in cells))
    table = [['method', *(escape(setting, style) for setting in settings)]]
    for method in _in_order(name for name, _ in cells):
        line = [escape(method, style)]
        for setting in settings:
            cell = cells.get((method, setting))
            line.append('' if cell is None else _words(cell, metric, style))
        table.append(line)
    return table


def _words(cell: Cell, metric: Metric, style: Style) -> str:
    text = _number(cell.mean, cell, metric)
    if cell.num_splits > 1 and metric != 'num_parameters':
        plus_minus = r' $\pm$ ' if style == 'latex' else ' ± '
        text += plus_minus + _number(cell.std, cell, metric)
    if cell.place <= 2:
        bold, underlined = _MARKS[style]
        text = (bold if cell.place == 1 else underlined).format(text)
    if cell.paper:
        printed = cell.paper
        if style == 'latex':
            printed = printed.replace('±', r' $\pm$ ')
        text += f' ({printed})'
    if cell.num_epochs > 0 and metric not in _WHATEVER_EPOCHS:
        text += f' @{cell.num_epochs}'
    return text


def _number(value: float, cell: Cell, metric: Metric) -> str:
    if metric == 'accuracy':
        return f'{100 * value:.1f}'
    if metric == 'num_parameters':
        return f'{value:,.0f}'
    if metric in ('mrr', 'ndcg'):
        return f'{value:.3f}'
    # Two digits of a small mean, and as many decimal places of the deviation.
    digits = 1 if cell.mean >= 10 else 2
    if 0 < cell.mean < 0.1:
        digits = 1 - math.floor(math.log10(cell.mean))
    return f'{value:.{digits}f}'


class Headline(NamedTuple):
    r"""Ratios of the most efficient baseline to AnchorRadar, as means over settings.

    Args:
        time (float): The training time of the fastest baseline over AnchorRadar's.
        parameters (float): The parameters of the lightest baseline over AnchorRadar's.
        settings (list[str]): The settings with AnchorRadar and a baseline.
        num_epochs (list[int]): The numbers of epochs in these settings; zero for the
            published ones.
    """

    time: float
    parameters: float
    settings: list[str]
    num_epochs: list[int]


def headline(rows: Sequence[BenchmarkRow]) -> Headline:
    r"""Computes the two ratios of the paper: the training time of the fastest baseline
    to that of AnchorRadar, among baselines with the same number of epochs asked for,
    and the parameters of the lightest baseline to those of AnchorRadar. Both are means
    over settings, and NaN if no setting has AnchorRadar and a baseline.

    Args:
        rows (list[BenchmarkRow]): The rows.
    """
    ratios: dict[Metric, list[float]] = {'train_seconds': [], 'num_parameters': []}
    settings: list[str] = []
    num_epochs: set[int] = set()
    for setting in dict.fromkeys(row.setting for row in rows):
        found = [row for row in most_trained(rows) if row.setting == setting]
        epochs = {row.num_epochs for row in found if row.method == 'AnchorRadar'}
        names = {row.method for row in found} & set(BASELINES)
        rivals = {row.method for row in found if row.num_epochs in epochs} & names
        if not rivals:
            continue
        settings.append(setting)
        num_epochs |= epochs
        for metric, values in ratios.items():
            cells = summarise(found, metric)
            ours = cells['AnchorRadar', setting].mean
            # The number of parameters does not depend on that of epochs.
            among = rivals if metric == 'train_seconds' else names
            values.append(min(cells[name, setting].mean for name in among) / ours)
    time, parameters = (
        statistics.fmean(values) if values else math.nan for values in ratios.values()
    )
    return Headline(time, parameters, settings, sorted(num_epochs))


def markdown_report(rows: Sequence[BenchmarkRow]) -> str:
    r"""Writes all tables as Markdown.

    Args:
        rows (list[BenchmarkRow]): The rows.
    """
    lines = [
        '# Benchmark',
        '',
        'Mean ± population standard deviation over random splits; the best in bold, '
        'the second best underlined; in parentheses the figure of the paper, whose '
        'splits are not published. A number after an @ is the number of epochs where '
        'it is not the published one. Baselines pick anchors by the probability of the '
        "anchor's role, and rank members for MRR and NDCG by its logit, as in the "
        'paper.',
        '',
        _splits(rows),
    ]
    for metric, title in METRICS.items():
        cells = summarise(rows, metric)
        if cells:
            table = make_table(cells, metric, 'markdown')
            lines += ['', f'## {title}', '', markdown_table(table).rstrip()]
    found = headline(rows)
    if found.settings:
        lines += ['', '## Efficiency', '', headline_text(found)]
    return '\n'.join(lines) + '\n'


def headline_text(found: Headline) -> str:
    r"""Describes the two ratios in a sentence.

    Args:
        found (Headline): The ratios.
    """
    limited = [str(number) for number in found.num_epochs if number > 0]
    return (
        f'On average over {", ".join(found.settings)}'
        + (f' (of {" or ".join(limited)} epochs)' if limited else '')
        + f', AnchorRadar trains '
        f'{found.time:.1f} x faster than the fastest baseline that has all its epochs '
        f'(paper, other settings included: 10.2 x) and has {found.parameters:.1f} x '
        f'fewer parameters than the lightest one (paper: 43.6 x).'
    )


def _splits(rows: Sequence[BenchmarkRow]) -> str:
    counts: dict[str, dict[str, int]] = {}
    for row in most_trained(rows):
        by_method = counts.setdefault(row.setting, {})
        by_method[row.method] = by_method.get(row.method, 0) + 1
    parts = []
    for setting, by_method in counts.items():
        low, high = min(by_method.values()), max(by_method.values())
        parts.append(f'{setting} {low}' + ('' if low == high else f' to {high}'))
    return f'Splits: {", ".join(parts)}.'


def latex_report(rows: Sequence[BenchmarkRow]) -> str:
    r"""Writes the table of accuracies as LaTeX.

    Args:
        rows (list[BenchmarkRow]): The rows.
    """
    return latex_table(make_table(summarise(rows, 'accuracy'), 'accuracy', 'latex'))


def plot_efficiency(rows: Sequence[BenchmarkRow]) -> 'Figure':
    r"""Draws the two bar charts of the paper's figure on efficiency: training time and
    learnable parameters by setting and method.

    Args:
        rows (list[BenchmarkRow]): The rows.
    """
    from matplotlib.figure import Figure

    names = [
        name for name in _in_order(row.method for row in rows) if name not in HEURISTICS
    ]
    figure = Figure(figsize=(11, 6), layout='constrained')
    charts: tuple[Metric, ...] = ('train_seconds', 'num_parameters')
    for axes, metric in zip(figure.subplots(2, 1), charts, strict=True):
        cells = summarise(rows, metric)
        settings = list(dict.fromkeys(setting for _, setting in cells))
        shown = [name for name in names if any(key[0] == name for key in cells)]
        for i, name in enumerate(shown):
            found = {
                j: cells[name, setting]
                for j, setting in enumerate(settings)
                if (name, setting) in cells
            }
            axes.bar(
                [j + (i - len(shown) / 2) * 0.8 / len(shown) for j in found],
                [cell.mean for cell in found.values()],
                width=0.8 / len(shown),
                label=name,
                color='black' if name == 'AnchorRadar' else f'C{i}',
                # Not the published number of epochs.
                hatch=['///' if cell.num_epochs else '' for cell in found.values()],
            )
        axes.set(yscale='log', ylabel=METRICS[metric])
        axes.set_xticks(range(len(settings)), settings)
    figure.legend(*axes.get_legend_handles_labels(), loc='outside right center')
    return figure


def write_reports(rows: Sequence[BenchmarkRow], path: str | Path) -> list[Path]:
    r"""Writes the tables, and the plot if :obj:`matplotlib` is installed, next to a CSV
    file, and returns their paths.

    Args:
        rows (list[BenchmarkRow]): The rows.
        path (str): The CSV file.
    """
    base = Path(path)
    texts = {'.md': markdown_report(rows), '.tex': latex_report(rows)}
    out = []
    for suffix, text in texts.items():
        out.append(base.with_suffix(suffix))
        with replace_file(out[-1]) as part:
            part.write_text(text, encoding='utf-8')
    # An extra, without which the tables are still written.
    if find_spec('matplotlib') is not None:
        out.append(base.with_suffix('.png'))
        with replace_file(out[-1]) as part:
            plot_efficiency(rows).savefig(part, dpi=110)
    return out
