"""Fixtures that tests of several folders share."""

import os
from pathlib import Path

import pytest
import torch

# Test tensors are small: threads that wait for each other on a busy machine cost a
# thousand times what they save.
torch.set_num_threads(1)

DEVICES = ['cpu', *(['cuda'] if torch.cuda.is_available() else [])]


@pytest.fixture(params=DEVICES)
def device(request: pytest.FixtureRequest) -> torch.device:
    return torch.device(request.param)


@pytest.fixture(scope='session')
def mirror() -> Path:
    folder = os.environ.get('TGX_ANCHOR_MIRROR')
    if folder is None:
        pytest.skip('needs the raw datasets: set TGX_ANCHOR_MIRROR to their folder')
    return Path(folder)
