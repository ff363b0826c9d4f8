"""The options of one call of fit, and the loop over its epochs."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Literal, get_args

from tqdm import tqdm

from tgx_anchor.utils import Ranks

# The figures of one epoch by name.
Record = dict[str, float]
OnInterrupt = Literal['keep_best', 'raise']

_SHOWN = ('loss', 'val_accuracy')


class FitRun:
    r"""Runs the epochs of one call of :meth:`~tgx_anchor.nn.AnchorModel.fit`: keeps
    their records, shows a progress bar, calls the callback and handles Ctrl-C. In a
    process group, only the first process shows the bar and calls the callback.

    Args:
        progress (bool, optional): If set to :obj:`True`, shows a progress bar.
            (default: :obj:`False`)
        callback (callable, optional): Called with the record of each epoch.
            (default: :obj:`None`)
        on_interrupt (str, optional): :obj:`"keep_best"` or :obj:`"raise"`.
            (default: :obj:`"keep_best"`)
        checkpoint (str, optional): The file or folder that keeps the state of training.
            (default: :obj:`None`)
        use_val (bool, optional): If set to :obj:`True`, :obj:`data.val_mask` is learnt
            from, too. (default: :obj:`False`)
    """

    def __init__(
        self,
        progress: bool = False,
        callback: Callable[[Record], object] | None = None,
        on_interrupt: OnInterrupt = 'keep_best',
        checkpoint: str | Path | None = None,
        use_val: bool = False,
    ) -> None:
        choices = get_args(OnInterrupt)
        if on_interrupt not in choices:
            raise ValueError(
                f"'on_interrupt' must be one of {', '.join(choices)} "
                f'(got {on_interrupt!r})'
            )
        if callback is not None and not callable(callback):
            raise ValueError(f"'callback' must be a function (got {callback!r})")
        self.progress = progress
        self.callback = callback
        self.on_interrupt = on_interrupt
        self.checkpoint = checkpoint
        self.use_val = use_val
        self.history: list[Record] = []
        self.interrupted = False

    def epochs(
        self,
        records: Iterator[Record],
        name: str,
        num_epochs: int,
        num_done: int = 0,
        must_finish: bool = False,
    ) -> None:
        r"""Runs epochs to their end, or until Ctrl-C.

        Args:
            records (iterator): Trains one epoch at a time, and yields its
                record.
            name (str): The title of the progress bar.
            num_epochs (int): The largest number of epochs.
            num_done (int, optional): The number of epochs that a checkpoint already
                holds. (default: :obj:`0`)
            must_finish (bool, optional): If set to :obj:`True`, there is no state to
                keep before the last epoch, so that Ctrl-C always raises.
                (default: :obj:`False`)
        """
        shown: dict[str, str] = {}
        ranks = Ranks.current()
        with tqdm(
            total=num_epochs,
            initial=num_done,
            desc=name,
            disable=not self.progress or not ranks.is_first,
        ) as bar:
            try:
                for record in records:
                    num_done += 1
                    self.history.append(record)
                    # Not every epoch is validated: the last value stays in sight.
                    shown.update(
                        {key: f'{record[key]:.3f}' for key in _SHOWN if key in record}
                    )
                    bar.update()
                    bar.set_postfix(shown)
                    if self.callback is not None and ranks.is_first:
                        self.callback(record)
            except KeyboardInterrupt:
                # Processes are not stopped in the same step, and would wait for each
                # other.
                must_raise = must_finish or num_done == 0 or ranks.size > 1
                if self.on_interrupt == 'raise' or must_raise:
                    raise
                self.interrupted = True
