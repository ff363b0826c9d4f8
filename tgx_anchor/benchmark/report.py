"""Tables and plots of a comparison."""

import math
import statistics
from collections.abc import Iterable, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from tgx_anchor.benchmark.comparison_row import ComparisonRow
from tgx_anchor.benchmark.methods import HEURISTICS, METHODS
from tgx_anchor.benchmark.paper_figures import PaperFigures
from tgx_anchor.io.files import replace_file
from tgx_anchor.nn.predictors.paper_baselines import BASELINES

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
# What does not depend on the number of epochs.
_WHATEVER_EPOCHS: tuple[Metric, ...] = ('epoch_seconds', 'num_parameters')
# What the paper printed of a metric; of the heuristics it prints elsewhere.
_PRINTED: tuple[Metric, ...] = ('accuracy', 'mrr', 'ndcg')


class Cell(NamedTuple):
    r"""A figure of a method on a setting.

    Args:
        mean (float): The mean over the splits.
        std (float): The population standard deviation over the splits.
        num_splits (int): The number of splits.
        num_epochs (int): The number of epochs where one was asked for; zero for the
            published one.
        paper (str): What the paper printed, if anything.
        place (int): One for the best method of the setting, two for the second one;
            heuristics have no place in time, parameters and memory, and who trained
            for fewer epochs than others has none in time.
    """

    mean: float
    std: float
    num_splits: int
    num_epochs: int
    paper: str
    place: int


Cells = dict[tuple[str, str], Cell]


def summarise(
    rows: Iterable[ComparisonRow], metric: Metric, paper: PaperFigures | None = None
) -> Cells:
    r"""Means and deviations of a metric, by method and setting, over the rows with the
    published number of epochs, or else with the largest one.

    Args:
        rows (list[ComparisonRow]): The rows.
        metric (str): One of :obj:`METRICS`.
        paper (PaperFigures, optional): What the paper printed. (default: :obj:`None`)
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
            printed = ''
            if paper is not None and metric in _PRINTED:
                printed = paper.cell(metric, key[0], setting)
            out[key] = Cell(
                mean,
                statistics.pstdev(values[key]),
                len(values[key]),
                epochs[key],
                printed,
                ranked.index(mean) + 1 if mean in ranked else len(ranked) + 1,
            )
    return out


def _competes(
    key: tuple[str, str], metric: Metric, epochs: dict[tuple[str, str], int]
) -> bool:
    # Who learns nothing, or stops early, needs no time for it.
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


def most_trained(rows: Iterable[ComparisonRow]) -> list[ComparisonRow]:
    r"""Of each method and setting, the rows with the published number of epochs, or
    else those with the largest one.

    Args:
        rows (list[ComparisonRow]): The rows.
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
    # Those of the paper first, then others as they come.
    given = dict.fromkeys(names)
    return [name for name in dict.fromkeys([*METHODS, *given]) if name in given]


def make_table(
    cells: Cells, metric: Metric, style: Literal['rich', 'markdown', 'latex']
) -> list[list[str]]:
    r"""A table of words, a header first, with the best figure of each setting in bold
    and the second one underlined.

    Args:
        cells (dict): The figures.
        metric (str): The metric that they are of.
        style (str): How to mark them: :obj:`"rich"`, :obj:`"markdown"` or
            :obj:`"latex"`.
    """
    settings = list(dict.fromkeys(setting for _, setting in cells))
    table = [['method', *(_escape(setting, style) for setting in settings)]]
    for method in _in_order(name for name, _ in cells):
        line = [_escape(method, style)]
        for setting in settings:
            cell = cells.get((method, setting))
            line.append('' if cell is None else _words(cell, metric, style))
        table.append(line)
    return table


def _escape(name: str, style: str) -> str:
    # Names are the user's, and mean nothing to the program that shows them.
    special = {'rich': '[', 'markdown': '|', 'latex': '&%$#_{}'}[style]
    return ''.join(f'\\{sign}' if sign in special else sign for sign in name)


def _words(cell: Cell, metric: Metric, style: str) -> str:
    text = _number(cell.mean, metric)
    if cell.num_splits > 1 and metric != 'num_parameters':
        plus_minus = r' $\pm$ ' if style == 'latex' else ' ± '
        text += plus_minus + _number(cell.std, metric)
    if cell.place <= 2:
        bold, underlined = {
            'rich': ('[bold]{}[/]', '[underline]{}[/]'),
            'markdown': ('**{}**', '<u>{}</u>'),
            'latex': (r'\textbf{{{}}}', r'\underline{{{}}}'),
        }[style]
        text = (bold if cell.place == 1 else underlined).format(text)
    if cell.paper:
        printed = cell.paper
        if style == 'latex':
            printed = printed.replace('±', r' $\pm$ ')
        text += f' ({printed})'
    if cell.num_epochs > 0 and metric not in _WHATEVER_EPOCHS:
        text += f' @{cell.num_epochs}'
    return text


def _number(value: float, metric: Metric) -> str:
    if metric == 'accuracy':
        return f'{100 * value:.1f}'
    if metric == 'num_parameters':
        return f'{value:,.0f}'
    if metric in ('mrr', 'ndcg'):
        return f'{value:.3f}'
    return f'{value:.2f}' if value < 10 else f'{value:.1f}'


class Headline(NamedTuple):
    r"""How much AnchorRadar saves, on average over the settings.

    Args:
        time (float): The training time of the fastest baseline over AnchorRadar's.
        parameters (float): The parameters of the lightest baseline over AnchorRadar's.
        settings (list[str]): The settings that have both.
        num_epochs (list[int]): The numbers of epochs in these settings; zero for the
            published ones.
    """

    time: float
    parameters: float
    settings: list[str]
    num_epochs: list[int]


def headline(rows: Sequence[ComparisonRow]) -> Headline:
    r"""The two ratios of the paper: means over settings of the fastest baseline to
    AnchorRadar, among those with as many epochs as published, or as asked for, as it
    has, and of the lightest one. Not a number where nothing can be compared.

    Args:
        rows (list[ComparisonRow]): The rows.
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


def markdown_report(rows: Sequence[ComparisonRow], paper: PaperFigures) -> str:
    r"""All tables, as Markdown.

    Args:
        rows (list[ComparisonRow]): The rows.
        paper (PaperFigures): What the paper printed.
    """
    lines = [
        '# Comparison',
        '',
        'Mean ± population standard deviation over random splits; the best in bold, '
        'the second underlined; in parentheses the figure of the paper, of splits that '
        'are not published. What follows an @ is the number of epochs where it is not '
        'the published one. Baselines pick anchors by the probability of the role of '
        'anchors, and rank members for MRR and NDCG by its logit, as in the paper.',
        '',
        _splits(rows),
    ]
    for metric, title in METRICS.items():
        cells = summarise(rows, metric, paper)
        if not cells:
            continue
        table = make_table(cells, metric, 'markdown')
        rule = ['---', *(['---:'] * (len(table[0]) - 1))]
        lines += ['', f'## {title}', '']
        lines += [f'| {" | ".join(line)} |' for line in (table[0], rule, *table[1:])]
    found = headline(rows)
    if found.settings:
        lines += ['', '## Headline', '', headline_text(found)]
    return '\n'.join(lines) + '\n'


def headline_text(found: Headline) -> str:
    r"""The two ratios in words.

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


def _splits(rows: Sequence[ComparisonRow]) -> str:
    counts: dict[str, dict[str, int]] = {}
    for row in most_trained(rows):
        by_method = counts.setdefault(row.setting, {})
        by_method[row.method] = by_method.get(row.method, 0) + 1
    parts = []
    for setting, by_method in counts.items():
        low, high = min(by_method.values()), max(by_method.values())
        parts.append(f'{setting} {low}' + ('' if low == high else f' to {high}'))
    return f'Splits: {", ".join(parts)}.'


def latex_report(rows: Sequence[ComparisonRow], paper: PaperFigures) -> str:
    r"""The table of accuracies, as LaTeX.

    Args:
        rows (list[ComparisonRow]): The rows.
        paper (PaperFigures): What the paper printed.
    """
    table = make_table(summarise(rows, 'accuracy', paper), 'accuracy', 'latex')
    body = [' & '.join(line) + r' \\' for line in table]
    columns = 'l' + 'c' * (len(table[0]) - 1)
    return '\n'.join(
        [
            rf'\begin{{tabular}}{{{columns}}}',
            r'\hline',
            body[0],
            r'\hline',
            *body[1:],
            r'\hline',
            r'\end{tabular}',
            '',
        ]
    )


def plot_efficiency(rows: Sequence[ComparisonRow]) -> 'Figure':
    r"""The two bar charts of the paper's figure on efficiency: training time and
    learnable parameters, by setting and method.

    Args:
        rows (list[ComparisonRow]): The rows.
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
                # Other epochs than published.
                hatch=['///' if cell.num_epochs else '' for cell in found.values()],
            )
        axes.set(yscale='log', ylabel=METRICS[metric])
        axes.set_xticks(range(len(settings)), settings)
    figure.legend(*axes.get_legend_handles_labels(), loc='outside right center')
    return figure


def write_reports(
    rows: Sequence[ComparisonRow], path: str | Path, paper: PaperFigures
) -> list[Path]:
    r"""Writes the tables, and the plot if :obj:`matplotlib` is there, next to a CSV
    file.

    Args:
        rows (list[ComparisonRow]): The rows.
        path (str): The CSV file.
        paper (PaperFigures): What the paper printed.
    """
    base = Path(path)
    texts = {'.md': markdown_report(rows, paper), '.tex': latex_report(rows, paper)}
    out = []
    for suffix, text in texts.items():
        out.append(base.with_suffix(suffix))
        with replace_file(out[-1]) as part:
            part.write_text(text, encoding='utf-8')
    # The plot needs an extra, without which the tables are as good.
    if find_spec('matplotlib') is not None:
        out.append(base.with_suffix('.png'))
        with replace_file(out[-1]) as part:
            plot_efficiency(rows).savefig(part, dpi=110)
    return out
