r"""Pictures of the concepts, each for light and for dark pages."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Circle, Ellipse, FancyArrowPatch, FancyBboxPatch

from tgx_anchor.io import ResultTable
from tgx_anchor.paper import SETTINGS
from tgx_anchor.reproduce import Cell

DOCS = Path(__file__).parents[2]
FOLDER = DOCS / '_generated' / 'pictures'
CELLS = DOCS.parent / 'benchmarks' / 'tables' / 'cells.csv'


@dataclass(frozen=True)
class Theme:
    r"""The colours of a picture.

    Args:
        name (str): The pages that it is for, :obj:`"light"` or :obj:`"dark"`.
        text (str): The colour of words.
        line (str): The colour of lines.
        soft (str): The colour of what matters least.
        fill (str): The colour of areas.
        page (str): The colour behind the picture.
        accent (str): The colour of anchors.
        groups (tuple[str]): The colours of groups.
    """

    name: str
    text: str
    line: str
    soft: str
    fill: str
    page: str
    accent: str
    groups: tuple[str, ...]


THEMES = (
    Theme(
        'light',
        text='#1f2733',
        line='#7d8a9c',
        soft='#bcc7d4',
        fill='#e3e9f1',
        page='#ffffff',
        accent='#b8480a',
        groups=('#3b6ea8', '#3f8f5f', '#8a5aa8'),
    ),
    Theme(
        'dark',
        text='#e4e8ee',
        line='#8b98ab',
        soft='#4f5d70',
        fill='#2a3442',
        page='#131416',
        accent='#f0904d',
        groups=('#7aa9de', '#79c496', '#c297de'),
    ),
)
PEOPLE = ('Ana', 'Ben', 'Chloe', 'Dev', 'Eva', 'Fay')
# The members of each group, its anchor first.
GROUPS = ((2, 0, 1), (2, 3, 4), (4, 5, 3))


def picture(name: str | Sequence[str], text: str) -> str:
    r"""Draws a picture, and writes it as Markdown.

    Args:
        name (str or list[str]): A key of :data:`PICTURES`, or two of them: one for wide
            and one for narrow screens.
        text (str): Its description, for those who do not see it.
    """
    names = [name] if isinstance(name, str) else list(name)
    widths = ('',) if len(names) == 1 else (' only-wide', ' only-narrow')
    lines = []
    for each, width in zip(names, widths, strict=True):
        for theme in THEMES:
            path = FOLDER / f'{each}-{theme.name}.svg'
            path.parent.mkdir(parents=True, exist_ok=True)
            with mpl.rc_context(_style(theme)):
                PICTURES[each](theme).savefig(path, transparent=True)
            lines += _image(path, text, f'picture only-{theme.name}{width}')
    return '\n'.join(lines)


def card(name: str, text: str, draw: Callable[[Path], object]) -> str:
    r"""Draws a plot on a white card, and writes it as Markdown.

    Args:
        name (str): The name of its file.
        text (str): Its description, for those who do not see it.
        draw (callable): Writes the plot to a path.
    """
    path = FOLDER / f'{name}.svg'
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(path)
    lines = ['::::{container} scroll', *_image(path, text, 'card'), '::::', '']
    return '\n'.join(lines)


def _image(path: Path, text: str, name: str) -> list[str]:
    where = path.relative_to(DOCS).as_posix()
    return [f'```{{image}} /{where}', f':alt: {text}', f':class: {name}', '```', '']


def _style(theme: Theme) -> Any:
    names = ('text.color', 'axes.labelcolor', 'xtick.color', 'ytick.color')
    return {
        **dict.fromkeys(names, theme.text),
        'axes.edgecolor': theme.line,
        'axes.spines.right': False,
        'axes.spines.top': False,
        'font.size': 11,
        'svg.hashsalt': 'tgx_anchor',
    }


def _canvas(
    width: float, height: float, size: tuple[float, float]
) -> tuple[Figure, Axes]:
    # Axes without lines, whose units are equally long in both directions.
    figure = Figure(figsize=size)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set(xlim=(0, width), ylim=(0, height), aspect='equal')
    axes.axis('off')
    return figure, axes


def _person(
    axes: Axes, theme: Theme, x: float, y: float, who: int, strong: bool
) -> None:
    colour = theme.accent if strong else theme.page
    edge = theme.accent if strong else theme.line
    axes.add_patch(
        Circle((x, y), 0.36, facecolor=colour, edgecolor=edge, lw=1.6, zorder=3)
    )
    ink = theme.page if strong else theme.text
    label = PEOPLE[who][0]
    axes.text(
        x, y - 0.02, label, ha='center', va='center', color=ink, weight='bold', zorder=4
    )


def _groups(theme: Theme) -> Figure:
    figure, axes = _canvas(8, 5.4, (5.2, 3.5))
    shapes = (
        ((2.35, 3.05), 3.5, 3.9, 0),
        ((4.6, 3.35), 3.9, 2.1, -16),
        ((5.75, 1.95), 2.9, 3.0, 0),
    )
    for (centre, width, height, angle), colour in zip(
        shapes, theme.groups, strict=True
    ):
        for alpha, face in ((0.16, colour), (1.0, 'none')):
            edge = 'none' if face != 'none' else colour
            axes.add_patch(
                Ellipse(
                    centre,
                    width,
                    height,
                    angle=angle,
                    facecolor=face,
                    edgecolor=edge,
                    alpha=alpha,
                    lw=1.8,
                )
            )
    places = (
        (1.6, 4.1),
        (1.6, 2.0),
        (3.45, 3.5),
        (5.05, 2.7),
        (6.05, 2.95),
        (5.9, 1.0),
    )
    anchors = {group[0] for group in GROUPS}
    for who, (x, y) in enumerate(places):
        _person(axes, theme, x, y, who, who in anchors)
    names = (('mail 1', 0.35, 5.05), ('mail 2', 5.2, 4.75), ('mail 3', 7.05, 0.95))
    for (name, x, y), colour in zip(names, theme.groups, strict=True):
        axes.text(x, y, name, color=colour, weight='bold')
    return figure


def _incidences(theme: Theme) -> Figure:
    figure, axes = _canvas(8, 5.4, (5.2, 3.5))
    left, top, step = 2.4, 4.4, 0.55
    for column, colour in enumerate(theme.groups):
        axes.text(
            left + column * 1.5,
            top + 0.45,
            f'mail {column + 1}',
            ha='center',
            color=colour,
            weight='bold',
        )
    for who, name in enumerate(PEOPLE):
        y = top - who * step
        axes.text(0.3, y, name, va='center')
        axes.plot([1.6, 6.2], [y, y], color=theme.fill, lw=1, zorder=0)
        for column, group in enumerate(GROUPS):
            if who in group:
                strong = group[0] == who
                axes.scatter(
                    left + column * 1.5,
                    y,
                    s=130,
                    facecolor=theme.accent if strong else theme.fill,
                    edgecolor=theme.accent if strong else theme.line,
                    zorder=2,
                )
    members = [(who, e) for e, group in enumerate(GROUPS) for who in sorted(group)]
    rows = (
        ('node', [who for who, _ in members]),
        ('hyperedge', [e for _, e in members]),
        ('y', [int(GROUPS[e][0] == who) for who, e in members]),
    )
    for line, (name, values) in enumerate(rows):
        y = 0.95 - line * 0.38
        axes.text(0.3, y, name, va='center', family='monospace', size=10)
        for place, value in enumerate(values):
            ink = theme.accent if name == 'y' and value else theme.text
            axes.text(
                2.4 + place * 0.55,
                y,
                str(value),
                ha='center',
                va='center',
                color=ink,
                size=10,
            )
    return figure


def _split(theme: Theme) -> Figure:
    figure = Figure(figsize=(5.2, 1.5), layout='constrained')
    axes = figure.add_subplot()
    parts = (('known', 7.5, theme.accent), ('to choose by', 2.5, theme.groups[0]))
    left = 0.0
    for name, share, colour in (*parts, ('to predict', 90.0, theme.fill)):
        axes.barh(0, share, left=left, color=colour, edgecolor=theme.page, height=0.5)
        where = left + share / 2
        if share > 50:
            axes.text(where, 0, f'{name}: {share:g} %', ha='center', va='center')
        left += share
    axes.annotate(
        'train_mask: 7.5 %', (3.75, 0.25), (3, 0.75), color=theme.accent, size=10
    )
    axes.annotate(
        'val_mask: 2.5 %', (8.75, -0.25), (8, -0.62), color=theme.groups[0], size=10
    )
    axes.set(xlim=(0, 100), ylim=(-0.8, 1.0))
    axes.axis('off')
    return figure


def _bars(
    theme: Theme,
    axes: Axes,
    values: Sequence[float],
    names: Sequence[str],
    best: int,
    title: str,
) -> None:
    colours = [theme.accent if i == best else theme.line for i in range(len(values))]
    axes.barh(range(len(values)), values, color=colours, height=0.6)
    axes.set_yticks(range(len(values)), names)
    axes.invert_yaxis()
    axes.set_xlim(0, max(values) * 1.3)
    axes.set_xticks([])
    axes.spines['bottom'].set_visible(False)
    axes.tick_params(left=False)
    for place, value in enumerate(values):
        axes.text(
            value + 0.02 * max(values), place, f'{value:.2f}', va='center', size=10
        )
    axes.set_title(title, size=11, loc='left')


def _stage(title: str, values: Sequence[float], best: int) -> Callable[[Theme], Figure]:
    def draw(theme: Theme) -> Figure:
        figure = Figure(figsize=(3.2, 2.3), layout='constrained')
        names = ('Dev', 'Chloe', 'Eva')
        _bars(theme, figure.add_subplot(), values, names, best, title)
        return figure

    return draw


STEPS = (
    ('tables', 'CSV, Parquet,\nHIF'),
    ('AnchorData', 'groups, members,\nknown anchors'),
    ('transforms', 'features,\nsplits'),
    ('model', 'fit,\npredict'),
    ('answers', 'anchors with\nprobabilities'),
)


def _walk(theme: Theme) -> Figure:
    figure, axes = _canvas(15.6, 2.6, (9.2, 1.53))
    for place, (name, words) in enumerate(STEPS):
        x = 0.2 + place * 3.2
        last = place == len(STEPS) - 1
        _box(axes, theme, (x, 0.3), (2.4, 2.0), last)
        axes.text(x + 1.2, 1.85, name, ha='center', va='center', weight='bold')
        axes.text(x + 1.2, 0.95, words, ha='center', va='center', size=9)
        if not last:
            _arrow(axes, theme, (x + 2.48, 1.3), (x + 3.12, 1.3))
    return figure


def _walk_narrow(theme: Theme) -> Figure:
    figure, axes = _canvas(6, 6.6, (3.6, 3.96))
    for place, (name, words) in enumerate(STEPS):
        y = 5.5 - place * 1.35
        last = place == len(STEPS) - 1
        _box(axes, theme, (0.1, y), (5.8, 0.95), last)
        axes.text(0.35, y + 0.45, name, va='center', weight='bold')
        line = words.replace('\n', ' ')
        axes.text(5.7, y + 0.45, line, ha='right', va='center', size=9)
        if not last:
            _arrow(axes, theme, (3, y - 0.02), (3, y - 0.4))
    return figure


def _box(
    axes: Axes,
    theme: Theme,
    corner: tuple[float, float],
    size: tuple[float, float],
    strong: bool,
) -> None:
    axes.add_patch(
        FancyBboxPatch(
            corner,
            *size,
            boxstyle='round,pad=0,rounding_size=0.2',
            facecolor=theme.fill,
            edgecolor=theme.accent if strong else theme.line,
            lw=1.5,
        )
    )


def _arrow(
    axes: Axes, theme: Theme, start: tuple[float, float], end: tuple[float, float]
) -> None:
    axes.add_patch(
        FancyArrowPatch(
            start, end, arrowstyle='-|>', mutation_scale=12, color=theme.line
        )
    )


def measured(
    experiment: str, variant: str, metric: str, scale: float = 1.0
) -> dict[str, float]:
    r"""Returns the mean of a measurement over the splits, by setting.

    Args:
        experiment (str): The experiment.
        variant (str): The method, or the variant of one.
        metric (str): The metric.
        scale (float, optional): A factor. (default: :obj:`1.0`)
    """
    found: dict[str, list[float]] = {}
    for cell in ResultTable(Cell, CELLS).rows:
        where = cell.experiment, cell.variant, cell.metric
        if where == (experiment, variant, metric) and cell.num_epochs == 0:
            found.setdefault(cell.setting, []).append(scale * cell.value)
    return {name: sum(values) / len(values) for name, values in found.items()}


def _compared(
    series: dict[str, dict[str, float]], colours: Sequence[str], label: str
) -> Figure:
    # Groups of bars over the settings that all series have.
    settings = [
        name for name in SETTINGS if all(name in values for values in series.values())
    ]
    figure = Figure(figsize=(6.4, 2.9), layout='constrained')
    axes = figure.add_subplot()
    width = 0.8 / len(series)
    for place, (name, values) in enumerate(series.items()):
        left = [i - 0.4 + (place + 0.5) * width for i in range(len(settings))]
        heights = [values[setting] for setting in settings]
        axes.bar(left, heights, width * 0.9, color=colours[place], label=name)
    names = [name.replace('_', '\n') for name in settings]
    axes.set_xticks(range(len(settings)), names)
    axes.set_ylabel(label)
    axes.legend(frameon=False, loc='upper left', ncols=3, bbox_to_anchor=(0, 1.2))
    return figure


def _observation1(theme: Theme) -> Figure:
    names = ('Random', 'Degree', 'AnchorRadar')
    series = {name: measured('methods', name, 'accuracy', 100) for name in names}
    colours = (theme.soft, theme.line, theme.accent)
    return _compared(series, colours, 'accuracy (%)')


def _observation2(theme: Theme) -> Figure:
    where = 'observations', 'purity of all hyperedges'
    series = {
        'random anchors': measured(*where, 'random_mean'),
        'real anchors': measured(*where, 'real_mean'),
    }
    return _compared(series, (theme.soft, theme.accent), 'anchor purity')


#: All pictures by their names: each is drawn in the colours of a theme.
PICTURES: dict[str, Callable[[Theme], Figure]] = {
    'groups': _groups,
    'incidences': _incidences,
    'split': _split,
    'observation1': _observation1,
    'observation2': _observation2,
    'stage1': _stage('1. Scores in mail 2', (0.44, 0.36, 0.20), 0),
    'stage2': _stage('2. Strengths of people', (0.3, 1.6, 0.9), 1),
    'stage3': _stage('3. Shares over all mails', (0.10, 0.85, 0.40), 1),
    'walk': _walk,
    'walk_narrow': _walk_narrow,
}
