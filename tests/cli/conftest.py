from pathlib import Path

import pytest

from tests.cli.command import run
from tests.cli.examples import write_mails
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorModel, AnchorRadar, StackedAnchorRadar

__all__ = ['run']


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    path = tmp_path / 'mails.csv'
    write_mails(path)
    return path


@pytest.fixture(scope='session', params=['anchor-radar', 'stacked'])
def model(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Path:
    """The file of a model, named as on the command line."""
    folder = tmp_path_factory.mktemp('model')
    write_mails(folder / 'mails.csv')
    data = AnchorData.from_incidence(folder / 'mails.csv')
    path: Path = folder / f'{request.param}.tgx'
    fitted: AnchorModel = AnchorRadar()
    if request.param == 'stacked':
        fitted = StackedAnchorRadar(learner='both')
    fitted.fit(fitted.required_transform()(data)).save(path)
    return path
