from pathlib import Path

import pytest

from tests.cli.command import run
from tests.cli.examples import write_mails
from tgx_anchor.data import AnchorData
from tgx_anchor.nn import AnchorRadar

__all__ = ['run']


@pytest.fixture
def mails(tmp_path: Path) -> Path:
    path = tmp_path / 'mails.csv'
    write_mails(path)
    return path


@pytest.fixture(scope='session')
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp('model')
    write_mails(folder / 'mails.csv')
    data = AnchorData.from_incidence(folder / 'mails.csv')
    radar = AnchorRadar()
    radar.fit(radar.required_transform()(data)).save(folder / 'model.tgx')
    return folder / 'model.tgx'
