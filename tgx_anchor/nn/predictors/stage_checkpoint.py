"""States of the two stages of AnchorRadar, kept while they are trained."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from tgx_anchor.nn.predictors.checkpoint import Checkpoint
from tgx_anchor.utils import Ranks

State = dict[str, Any]
# The least number of seconds between two states of the same stage.
_INTERVAL = 20.0
# The time between two states, in multiples of the time that it takes to write one: all
# processes wait for it, and that of a large hypergraph takes seconds.
_RATIO = 40.0


class StageCheckpoint:
    r"""Keeps the state of a training in a folder, from which it continues after a
    restart, with the same result. The first process reads and writes for all.

    Args:
        folder (str, optional): The folder; nothing is kept if :obj:`None`.
        identity (str): A hash of everything that decides how training proceeds.
        ranks (Ranks): The processes.
        device (torch.device): The device of the tensors.
    """

    def __init__(
        self,
        folder: str | Path | None,
        identity: str,
        ranks: Ranks,
        device: torch.device,
    ) -> None:
        self.ranks = ranks
        self.state: State = {}
        self._file: Checkpoint | None = None
        self._last = time.monotonic()
        self._interval = _INTERVAL
        if folder is None:
            return

        def read() -> State:
            if not ranks.is_first:
                return {}
            Path(folder).mkdir(parents=True, exist_ok=True)
            self._file = Checkpoint(folder, 'AnchorRadar', identity)
            return self._file.read(device) or {}

        self.state = ranks.share(ranks.together(read))

    def num_done(self, name: str) -> int:
        r"""Returns the number of epochs of a stage that are done.

        Args:
            name (str): The name of the stage.
        """
        return int(self.state.get(name, {}).get('epoch', 0))

    def keep(self, name: str, make: Callable[[], State], is_last: bool = False) -> None:
        r"""Writes the state of a stage, if the last one is old enough.

        Args:
            name (str): The name of the stage.
            make (callable): Returns the state.
            is_last (bool, optional): If set to :obj:`True`, the stage is complete, and
                its state is written in any case. (default: :obj:`False`)
        """
        start = time.monotonic()
        is_due = is_last or start - self._last >= self._interval
        if self._file is None or not is_due:
            return
        self.state[name] = make()
        self._file.write(self.state)
        self._last = time.monotonic()
        self._interval = max(_INTERVAL, _RATIO * (self._last - start))
