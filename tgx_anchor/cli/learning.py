"""Steps that several commands share: fit a model, load one, name what was found."""

from typing import TYPE_CHECKING, Any

from tgx_anchor.cli.model_choice import ModelChoice, ModelName, choose_model
from tgx_anchor.cli.talk import Talk

if TYPE_CHECKING:
    import pyarrow as pa
    from torch import Tensor

    from tgx_anchor.data import AnchorData
    from tgx_anchor.nn import AnchorModel
    from tgx_anchor.nn.predictors.assessment import Assessment


def fit_model(
    talk: Talk, data: 'AnchorData', name: ModelName = ModelName.AUTO
) -> 'tuple[ModelChoice, AnchorData]':
    r"""Chooses a model and fits it, and returns it with the data and its features.

    Args:
        talk (Talk): Prints the choice and shows progress.
        data (AnchorData): The hypergraph.
        name (ModelName, optional): The model. (default: :obj:`ModelName.AUTO`)
    """
    check_known(
        data,
        "name the column of anchors with '--anchor', or a table of known ones with "
        "'--known'",
    )
    choice = choose_model(name, data, talk.options.seed)
    model = choice.model
    talk.note(f'model: {choice.name} ({choice.reason})')
    with talk.step('features'):
        data = model.required_transform()(data)
    with talk.step('fitting'):
        model.fit(data, callback=talk.show_epoch, on_interrupt='raise')
    return choice, data


def check_known(data: 'AnchorData', hint: str) -> None:
    r"""Raises a :class:`ValueError` in all processes if there is nothing to learn
    from.

    Args:
        data (AnchorData): The hypergraph.
        hint (str): What to do if no anchor is known.
    """
    if not data.ranks.any(data.known_mask):
        raise ValueError(
            f'no anchor is known, so there is nothing to learn from: {hint}'
        )
    if not data.ranks.any(data.known_mask & data.choice_mask):
        raise ValueError(
            'no group with a known anchor has another member, so there is nothing to '
            'learn from: add known anchors of groups with two or more members'
        )


def load_model(
    talk: Talk, path: str, data: 'AnchorData'
) -> 'tuple[AnchorModel, AnchorData]':
    r"""Loads a model, and returns it with the data and the features that it needs.

    Args:
        talk (Talk): Shows progress.
        path (str): The file of the model.
        data (AnchorData): The hypergraph.
    """
    from tgx_anchor.nn import AnchorModel

    with talk.step('loading'):
        model = AnchorModel.load(path)
    with talk.step('features'):
        data = model.required_transform()(data)
    return model, data


def assess(talk: Talk, model: 'AnchorModel', data: 'AnchorData') -> 'Assessment | None':
    r"""Returns the assessment of a model, and prints its warnings; :obj:`None` if the
    data has no known anchors.

    Args:
        talk (Talk): Prints warnings.
        model (AnchorModel): The fitted model.
        data (AnchorData): The hypergraph.
    """
    # This process may have none where others do, and they would wait for it.
    if not data.ranks.any(data.known_mask):
        return None
    with talk.step('assessment'):
        found = model.assess(data)
    for warning in found.warnings:
        talk.warn(warning)
    return found


def describe(assessment: 'Assessment | None') -> tuple[dict[str, Any], list[str]]:
    r"""Returns the expected accuracy, as figures for programs and lines for people.

    Args:
        assessment (Assessment, optional): The assessment of a model.
    """
    expected = None if assessment is None else assessment.expected_accuracy
    if assessment is None or expected is None:
        return {'expected_accuracy': None}, []
    figures = {
        'expected_accuracy': expected.value,
        'expected_accuracy_interval': [expected.low, expected.high],
        'num_held_out': expected.num_hyperedges,
        'chance': assessment.chance,
        'degree_accuracy': assessment.degree_accuracy,
    }
    line = (
        f'expected accuracy {expected.value:.1%} ({expected.low:.1%} to '
        f'{expected.high:.1%} with 95 % confidence, on {expected.num_hyperedges:,} '
        f'held-out known groups); by chance {assessment.chance:.1%}, by degree '
        f'{assessment.degree_accuracy:.1%}'
    )
    return figures, [line]


def count_anchors(data: 'AnchorData', table: 'pa.Table') -> tuple[dict[str, int], str]:
    r"""Counts the anchors of a table of predictions.

    Args:
        data (AnchorData): The hypergraph.
        table (pyarrow.Table): The predictions.

    Returns:
        Figures for programs, and a line for people.
    """
    import pyarrow.compute as pc

    known = pc.sum(pc.equal(table['source'], 'known')).as_py() or 0
    nobody = table['anchor'].null_count
    counts = {
        'num_groups': table.num_rows,
        'num_people': int(data.num_nodes or 0),
        'num_known': known,
        'num_predicted': table.num_rows - known - nobody,
        'num_empty': nobody,
    }
    line = (
        f'{counts["num_groups"]:,} groups of {counts["num_people"]:,} people: '
        f'{known:,} anchors known, {counts["num_predicted"]:,} predicted'
    )
    if nobody:
        line += f', {nobody:,} groups without members'
    return counts, line


def least_certain(table: 'pa.Table', number: int) -> 'Tensor':
    r"""Returns the numbers of the predicted groups with the smallest margins.

    Args:
        table (pyarrow.Table): The predictions.
        number (int): The number of groups.
    """
    import torch

    margin = torch.from_numpy(table['margin'].to_numpy().copy()).nan_to_num(2.0)
    is_known = torch.tensor(
        [source == 'known' for source in table['source'].to_pylist()]
    )
    order = torch.argsort(margin + 2 * is_known, stable=True)
    return order[:number]
