"""Chooses the model that a command fits to a table."""

from enum import Enum
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

if TYPE_CHECKING:
    from tgx_anchor.data import AnchorData
    from tgx_anchor.nn import AnchorModel

#: The least number of distinct known groups for the stacked model: with fewer, no model
#: of the package is assessed.
MIN_KNOWN = 20
#: The largest number of rows for the stacked model, which takes longer per row.
MAX_ROWS = 2_000_000


class ModelName(str, Enum):
    r"""The values of the option :obj:`--model`."""

    AUTO = 'auto'
    STACKED = 'stacked'
    ANCHOR_RADAR = 'anchor-radar'
    CONTEXT = 'context'


ModelOption = Annotated[
    ModelName,
    typer.Option(
        '--model',
        help=f'The model to fit; auto is stacked if at least {MIN_KNOWN} different '
        'groups of two or more have a known anchor and there are at most '
        f'{MAX_ROWS:,} rows of one member each, and anchor-radar otherwise. Only '
        'context uses sides and types.',
    ),
]


class ModelChoice(NamedTuple):
    r"""A model that is to be fitted.

    Args:
        model (AnchorModel): The model.
        name (str): Its name on the command line.
        reason (str): The reason why it was chosen.
    """

    model: 'AnchorModel'
    name: str
    reason: str

    @property
    def summary(self) -> dict[str, str]:
        r"""The choice for programs."""
        return {'model': self.name, 'model_reason': self.reason}


def choose_model(name: ModelName, data: 'AnchorData', seed: int = 0) -> ModelChoice:
    r"""Chooses a model by two numbers of the table: a
    :class:`~tgx_anchor.nn.StackedAnchorRadar` of MLPs and boosted trees if it has at
    least :obj:`MIN_KNOWN` distinct node sets with a known anchor and another member,
    and at most :obj:`MAX_ROWS` incidences; else :class:`~tgx_anchor.nn.AnchorRadar`.
    :class:`~tgx_anchor.nn.ContextAnchorRadar` is never chosen without being named.

    The choice never depends on the packages that are installed: without LightGBM, the
    stacked model raises a :class:`ValueError`.

    Args:
        name (ModelName): The model, or :obj:`ModelName.AUTO`.
        data (AnchorData): The hypergraph.
        seed (int, optional): The seed of the model. (default: :obj:`0`)
    """
    from tgx_anchor.nn import AnchorRadar, ContextAnchorRadar, StackedAnchorRadar

    is_stacked, reason = name is ModelName.STACKED, "chosen by '--model'"
    if name is ModelName.AUTO:
        is_stacked, reason = _judge(data)
    time = data.get('hyperedge_time')
    if time is not None and not bool(time.isnan().all()):
        reason += '; times are used' if is_stacked else '; times are not used'
    keys = {'incidence_side': 'sides', 'hyperedge_type': 'types', 'node_type': 'types'}
    words = ' and '.join(dict.fromkeys(w for k, w in keys.items() if k in data))
    if name is ModelName.CONTEXT:
        if not words:
            raise ValueError(
                "'--model context' needs sides or types: name their columns by "
                "'--side', '--group-type' or '--member-type'"
            )
        return ModelChoice(ContextAnchorRadar(seed=seed), name.value, reason)
    if words:
        reason += f'; {words} are not used'
    if not is_stacked:
        model = AnchorRadar(seed=seed)
        return ModelChoice(model, ModelName.ANCHOR_RADAR.value, reason)
    _check_lightgbm()
    stacked = StackedAnchorRadar(learner='both', seed=seed)
    return ModelChoice(stacked, ModelName.STACKED.value, reason)


def _judge(data: 'AnchorData') -> tuple[bool, str]:
    from tgx_anchor.utils import distinct_hyperedges

    number = distinct_hyperedges(
        data.hyperedge_index, int(data.num_nodes or 0), data.num_hyperedges
    )
    num_known = number[data.known_mask & data.choice_mask].unique().numel()
    num_rows = data.num_incidences
    known = f'{num_known:,} different groups of two or more with a known anchor'
    rows = f'{num_rows:,} rows of one member each'
    if num_known < MIN_KNOWN:
        return False, f'{known}, fewer than {MIN_KNOWN}'
    if num_rows > MAX_ROWS:
        return False, f'{rows}, more than {MAX_ROWS:,}'
    return True, f'{known}, at least {MIN_KNOWN}; {rows}, at most {MAX_ROWS:,}'


def _check_lightgbm() -> None:
    try:
        import lightgbm  # noqa: F401
    except (ImportError, OSError):
        # Without the library of OpenMP, it is an OSError.
        raise ValueError(
            'the stacked model needs LightGBM, which cannot be imported: pip install '
            "'tgx_anchor[cli]', or choose '--model anchor-radar'"
        ) from None
