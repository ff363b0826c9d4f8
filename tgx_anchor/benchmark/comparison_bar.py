"""The progress bar of a comparison."""

from types import TracebackType

from tqdm import tqdm
from typing_extensions import Self

from tgx_anchor.benchmark.comparison_row import ComparisonRow, Task
from tgx_anchor.benchmark.measure import Progress


class ComparisonBar:
    r"""Shows how many tasks are done, how far those are that are being trained, and
    what was found last.

    Args:
        total (int): The number of tasks.
        left (int): The number of tasks that are not done yet.
        progress (bool): If set to :obj:`False`, shows nothing.
    """

    def __init__(self, total: int, left: int, progress: bool) -> None:
        self.bar = tqdm(total=total, initial=total - left, disable=not progress)
        self.trained: dict[Task, str] = {}

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.bar.close()

    def tell(self, state: Progress) -> None:
        r"""Takes how far a training is.

        Args:
            state (Progress): The state of the training.
        """
        self.trained[state.task] = str(state)
        self.bar.set_postfix_str(', '.join(self.trained.values()))

    def end(self, task: Task, row: ComparisonRow | None) -> None:
        r"""Takes that a task has ended.

        Args:
            task (Task): The task.
            row (ComparisonRow, optional): What was found, if it did not fail.
        """
        self.trained.pop(task, None)
        if row is not None:
            self.bar.update()
            last = f'{row.setting} {row.method} {100 * row.accuracy:.1f} %'
            self.bar.set_postfix_str(', '.join([*self.trained.values(), last]))
