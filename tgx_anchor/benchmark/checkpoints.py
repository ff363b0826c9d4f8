"""States of trainings, kept until they are measured."""

import shutil
from collections.abc import Iterable
from pathlib import Path

from tgx_anchor.benchmark.comparison_row import Task


class Checkpoints:
    r"""The files that hold the states of trainings until their rows are written, in a
    folder next to a CSV file.

    A file has the name of its task, without the kind of anchor, and what identifies the
    training: the roles of authors are learnt alike whether it is the first or the last
    one who is asked for, and the second task finds its training done.

    Args:
        path (str, optional): The CSV file; if :obj:`None`, nothing is kept.
            (default: :obj:`None`)
        num_epochs (int, optional): The number of epochs asked for; zero for the
            published one. (default: :obj:`0`)
    """

    def __init__(self, path: str | Path | None = None, num_epochs: int = 0) -> None:
        self.folder = None
        if path is not None:
            self.folder = Path(path).with_name(f'{Path(path).stem}_checkpoints')
        self.num_epochs = num_epochs

    def stem(self, task: Task) -> str | None:
        r"""How the names of the files of a task begin, if it has any.

        Args:
            task (Task): The task.
        """
        if self.folder is None:
            return None
        dataset = task.setting.partition('_')[0]
        name = f'{dataset}_{task.method}_{task.split}_{self.num_epochs}_'
        return str(self.folder / name)

    def clear(self, tasks: Iterable[Task], left: Iterable[Task]) -> None:
        r"""Removes the files of tasks, but of those that are left.

        Args:
            tasks (list[Task]): The tasks.
            left (list[Task]): The tasks that are left.
        """
        if self.folder is None or not self.folder.is_dir():
            return
        stems = {self.stem(task) for task in tasks}
        stems -= {self.stem(task) for task in left}
        for file in list(self.folder.iterdir()):
            if not any(stem and str(file).startswith(stem) for stem in stems):
                continue
            if file.is_dir():
                # What a killed process had begun to write.
                shutil.rmtree(file)
            else:
                file.unlink()
        if not any(self.folder.iterdir()):
            self.folder.rmdir()
