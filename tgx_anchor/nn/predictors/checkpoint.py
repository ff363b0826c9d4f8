"""Files that keep the state of a training."""

from pathlib import Path
from typing import Any

import torch

from tgx_anchor.io.files import remove_parts, replace_file
from tgx_anchor.utils.messages import one_line

_FORMAT = 'tgx_anchor checkpoint 2'


class Checkpoint:
    r"""Keeps the state of a training in a file.

    Args:
        path (str): The file, or an existing folder, in which the file is named after
            the training.
        name (str): The name of the training, for people.
        identity (str): A hash of everything that decides how training proceeds, except
            for the number of epochs. A state with another hash is refused.
    """

    def __init__(self, path: str | Path, name: str, identity: str) -> None:
        self.path = Path(path)
        self.identity = identity
        if self.path.is_dir():
            self.path = self.path / f'{name}_{identity[:16]}.pt'
        elif not self.path.absolute().parent.is_dir():
            raise ValueError(
                f"'{path}' must lie in a folder that exists: create it first"
            )

    def write(self, state: dict[str, Any]) -> None:
        r"""Writes a state, and replaces the last one once it is complete.

        Args:
            state (dict): Tensors and plain values.
        """
        content = {'format': _FORMAT, 'identity': self.identity, 'state': state}
        with replace_file(self.path) as part:
            torch.save(content, part)

    def read(self, device: torch.device) -> dict[str, Any] | None:
        r"""Reads the last state, or returns :obj:`None` if there is no file yet.

        Args:
            device (torch.device): The device of its tensors.
        """
        remove_parts(self.path)
        if not self.path.exists():
            return None
        try:
            content = torch.load(self.path, map_location=device, weights_only=True)
            found, identity = content['format'], content['identity']
            state: dict[str, Any] = content['state'] if found == _FORMAT else {}
        except Exception as error:
            # A damaged file fails with any kind of error.
            raise ValueError(
                f"'{self.path}' must be a checkpoint: remove it to start again "
                f'(got: {one_line(error)})'
            ) from None
        if (found, identity) != (_FORMAT, self.identity):
            raise ValueError(
                f"'{self.path}' must be a checkpoint of the same model on the same "
                'data: choose another file, or remove it to start again'
            )
        return state
