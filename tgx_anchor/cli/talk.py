"""Prints the notes, the progress and the summary of a command."""

import json
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from tgx_anchor.cli.launch import is_first
from tgx_anchor.cli.processes import is_shards
from tgx_anchor.cli.table_options import TableOptions, name_options

if TYPE_CHECKING:
    from tgx_anchor.io.incidence_reading import IncidenceReading
    from tgx_anchor.io.shard_reading import ShardReading


class Talk:
    r"""Prints the notes, the progress and the summary of a command.

    Notes, warnings and progress go to the standard error, the summary to the standard
    output unless a table is written there. Progress is shown on a terminal only.

    Args:
        options (TableOptions): The options of the command.
        out (str, optional): The file that the command writes, :obj:`"-"` for the
            standard output. (default: :obj:`None`)
    """

    def __init__(self, options: TableOptions, out: str | None = None) -> None:
        from rich.console import Console

        if options.json and out == '-':
            raise ValueError(
                "'--json' prints to the standard output: name a file with '--out'"
            )
        self.options = options
        self.out = out
        # Rich also takes a stream for a terminal where FORCE_COLOR is set, as Jupyter
        # does.
        self.is_terminal = sys.stderr.isatty()
        # Of several processes, the first one speaks.
        self.is_silent = not is_first()
        self.console = Console(stderr=True, highlight=False)
        self.seconds: dict[str, float] = {}
        self.warnings: list[str] = []
        self._show: Callable[..., None] | None = None

    def note(self, text: str) -> None:
        r"""Prints a note, unless the command is quiet."""
        if not (self.options.quiet or self.is_silent):
            typer.echo(text, err=True)

    def warn(self, text: str) -> None:
        r"""Prints a warning."""
        text = ' '.join(text.split())
        self.warnings.append(text)
        if not self.is_silent:
            typer.echo(f'warning: {text}', err=True)

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        r"""Times a step, and shows that it is under way.

        Args:
            name (str): The name of the step.
        """
        from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

        hidden = self.options.quiet or self.is_silent or not self.is_terminal
        start = time.perf_counter()
        with (
            Progress(
                TextColumn('{task.description}'),
                BarColumn(),
                TimeElapsedColumn(),
                console=self.console,
                transient=True,
                disable=hidden,
            ) as progress,
            warnings.catch_warnings(),
        ):
            task = progress.add_task(name, total=None)

            def show(text: str, **fields: Any) -> None:
                # Rich cannot take back a total: another bar shows a part without one.
                nonlocal task
                if not fields:
                    progress.update(task, visible=False)
                    task = progress.add_task('', total=None)
                progress.update(task, description=f'{name}, {text}', **fields)

            self._show = show
            warnings.simplefilter('always', UserWarning)
            warnings.showwarning = lambda message, *_, **__: self.warn(str(message))
            yield
        self.seconds[name] = time.perf_counter() - start

    def load(self) -> None:
        r"""Imports PyTorch and PyG, which takes seconds, and sets the threads."""
        with self.step('loading PyTorch'):
            import tgx_anchor.io
            import tgx_anchor.nn  # noqa: F401
            from tgx_anchor.cli.threads import set_threads

            set_threads(self.options.threads)

    def show_epoch(self, record: Mapping[str, float]) -> None:
        r"""Shows how many epochs of a stage are done. After the last epoch of stage 2,
        shows that the accuracy is being measured, by models that do not see some
        anchors.

        Args:
            record (dict): The record of an epoch of :meth:`AnchorModel.fit`.
        """
        if self._show is None:
            return
        stage, done, total = (record[k] for k in ('stage', 'epoch', 'num_epochs'))
        text = f'stage {stage:.0f}: {done:.0f} of {total:.0f} done'
        self._show(text, completed=done, total=total)
        if stage == 2 and done == total:
            self._show('measuring the accuracy with up to five further models')

    def show_progress(self, text: str, done: int, total: int) -> None:
        r"""Shows how much of a part of a step is done.

        Args:
            text (str): The part.
            done (int): How much of it is done.
            total (int): How much there is to do, zero if that is not known.
        """
        if self._show is None:
            return
        if total:
            self._show(text, completed=done, total=total)
        else:
            self._show(text)

    def read(self, files: list[str]) -> 'IncidenceReading':
        r"""Reads tables, prints what was found out about them, and writes their bad
        rows next to the output.

        Args:
            files (list[str]): The paths.
        """
        if is_shards(files):
            raise ValueError(
                f"the table must not be a folder of shards, which only 'identify', "
                f"'fit', 'predict' and 'evaluate' take (got {files[0]!r})"
            )
        with self.step('reading'):
            reading = self.options.read(files)
        name = files[0] if len(files) == 1 else f'{len(files)} files'
        name = 'standard input' if name == '-' else name
        for note in describe_reading(reading):
            self.note(f'{name}: {note}')
        self.rejected: str | None = None
        if reading.bad_rows:
            self.rejected = self._reject(reading)
        return reading

    def _reject(self, reading: 'IncidenceReading') -> str:
        from tgx_anchor.io.table import write_table

        path = Path('rejected.csv')
        if self.out not in (None, '-'):
            path = Path(str(self.out)).with_suffix('.rejected.csv')
        write_table(reading.rejected, path)
        count = len(reading.bad_rows)
        word = 'bad row is' if count == 1 else 'bad rows are'
        self.warn(f"{count:,} {word} left out, see '{path}'")
        return str(path)

    def finish(
        self,
        summary: Mapping[str, Any],
        lines: Sequence[str],
        is_result: bool = False,
    ) -> None:
        r"""Prints the summary.

        Args:
            summary (dict): The summary for programs.
            lines (list[str]): The summary for people.
            is_result (bool, optional): If set to :obj:`True`, the summary is the
                result of the command, and is printed even with :obj:`--quiet`.
                (default: :obj:`False`)
        """
        if self.is_silent:
            return
        if self.options.json:
            document = {
                **summary,
                'warnings': self.warnings,
                'seconds': {k: round(v, 3) for k, v in self.seconds.items()},
            }
            typer.echo(json.dumps(document, ensure_ascii=False))
        elif is_result or not self.options.quiet:
            for line in lines:
                typer.echo(line, err=self.out == '-')
        sys.stdout.flush()


def describe_reading(reading: 'IncidenceReading') -> list[str]:
    r"""Returns sentences about a table: its form, its columns and its flaws.

    Args:
        reading (IncidenceReading): The table.
    """
    out = describe_columns(reading)
    out += map(name_options, reading.notes)
    data = reading.data
    odd = [name for name in map(str, data.node_id[:1000]) if '<' in name]
    if len(odd) > 1:
        out.append(
            f"people are written like {odd[0]!r}: '--addresses' names them by their "
            f'address'
        )
    size = data.hyperedge_size
    anchors = data.hyperedge_index[1][data['y']].bincount(minlength=len(size))
    counts = {
        'groups with several anchors, which all count': anchors > 1,
        'groups with a single member, who is the anchor': size == 1,
        'groups without members': size == 0,
    }
    for text, mask in counts.items():
        if bool(mask.any()):
            out.append(f'{text}: {int(mask.sum()):,}')
    return out


def describe_columns(reading: 'IncidenceReading | ShardReading') -> list[str]:
    r"""Returns sentences about the form and the columns of a table.

    Args:
        reading (IncidenceReading or ShardReading): The table.
    """
    from tgx_anchor.utils.messages import listed

    columns = [f'{key} = {name!r}' for key, name in reading.columns.items()]
    out = ['; '.join([reading.form, ', '.join(columns)] if columns else [reading.form])]
    if reading.flags:
        yes, no = (
            listed(
                sorted(w for w, flag in reading.flags.items() if flag is side) or ['']
            )
            for side in (True, False)
        )
        out.append(
            f'{reading.columns["anchor"]!r} is yes where it is {yes}, no where it is '
            f'{no}'
        )
    return out
