"""Measures and writes the tables of the paper."""

from collections.abc import Callable, Iterable, Sequence
from functools import partial
from pathlib import Path

from filelock import FileLock, Timeout

from tgx_anchor.benchmark.methods import PLANTED
from tgx_anchor.benchmark.run import remove_checkpoints
from tgx_anchor.benchmark.runner import Failure, check_counts, fill_table
from tgx_anchor.datasets.catalog import CATALOG, resolve_setting
from tgx_anchor.datasets.location import dataset_root, dataset_status
from tgx_anchor.io.files import replace_file
from tgx_anchor.paper import DATASETS
from tgx_anchor.reproduce.cell import Cell, CellKey, cell_table
from tgx_anchor.reproduce.experiments import (
    SHARES,
    Batch,
    checkpoint_folder,
    make_batches,
    measure_batch,
)
from tgx_anchor.reproduce.paper_table import PaperTable
from tgx_anchor.reproduce.report import (
    Filled,
    fill,
    markdown_report,
    markdown_section,
    write_table,
)
from tgx_anchor.reproduce.run import Run, new_run, run_table
from tgx_anchor.reproduce.tables import TABLES

REPORT = 'RESULTS.md'
CELLS, RUNS = 'tables/cells.csv', 'tables/runs.csv'
_TABLES, _CHECKPOINTS, _LOCK = 'tables', 'checkpoints', '.lock'


def reproduce(
    tables: Sequence[str] | None = None,
    datasets: Sequence[str] | None = None,
    methods: Sequence[str] | None = None,
    num_splits: int = 5,
    num_epochs: int | None = None,
    folder: str | Path = 'reproduced',
    root: str | None = None,
    jobs: int = 1,
    threads: int = 1,
    progress: bool = True,
    measure: bool = True,
    command: str = 'reproduce()',
    callback: Callable[[Cell], None] | None = None,
) -> dict[str, list[Filled]]:
    r"""Measures the missing cells of tables of the `"Identifying Group Anchors in
    Real-World Group Interactions Under Label Scarcity"
    <https://arxiv.org/abs/2509.20762>`_ paper, and writes the tables with the measured
    and the printed figures.

    The folder holds :obj:`RESULTS.md` with all tables. Its folder :obj:`tables` holds
    :obj:`cells.csv`, to which every value is added as soon as it is measured,
    :obj:`runs.csv` with the commit, the versions, the machine and the command of each
    run, a Markdown and a LaTeX file per table, and plots where the paper has them. A
    second run continues where the first one stopped; baselines continue within their
    training.

    .. code-block:: python

        reproduce(['statistics', 'ablation'], datasets=['emER'], num_splits=2)

    Args:
        tables (list[str], optional): Some of :obj:`TABLES`; all if :obj:`None`.
            (default: :obj:`None`)
        datasets (list[str], optional): Datasets, with or without their kind of anchor;
            all that are available if :obj:`None`. (default: :obj:`None`)
        methods (list[str], optional): If given, only measures these methods and
            variants. (default: :obj:`None`)
        num_splits (int, optional): The number of random splits. (default: :obj:`5`)
        num_epochs (int, optional): The number of epochs of all methods that learn; the
            published ones if :obj:`None`. (default: :obj:`None`)
        folder (str, optional): The folder. (default: :obj:`"reproduced"`)
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
        jobs (int, optional): The number of processes to run at a time.
            (default: :obj:`1`)
        threads (int, optional): The number of threads of each. (default: :obj:`1`)
        progress (bool, optional): If set to :obj:`False`, shows no progress bar.
            (default: :obj:`True`)
        measure (bool, optional): If set to :obj:`False`, only writes what is measured
            already. (default: :obj:`True`)
        command (str, optional): The command that :obj:`runs.csv` names.
            (default: :obj:`"reproduce()"`)
        callback (callable, optional): Called with each new cell.
            (default: :obj:`None`)

    Returns:
        The cells of each table, by its name.
    """
    check_counts(
        num_splits=num_splits, num_epochs=num_epochs, jobs=jobs, threads=threads
    )
    chosen = _chosen(tables)
    is_asked = _settings_of(datasets, chosen)
    _check_methods(methods, chosen)
    folder = Path(folder)
    if not measure and not (folder / CELLS).exists():
        raise ValueError(
            f"'folder' must hold '{CELLS}' (got '{folder}', which does not: measure "
            f'something first)'
        )
    (folder / _TABLES).mkdir(parents=True, exist_ok=True)
    lock = FileLock(folder / _TABLES / _LOCK)
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise ValueError(
            f"'folder' must not be in use by another run (got '{folder}'; wait for the "
            f'other run, or choose another folder)'
        ) from None
    with lock:
        cells = cell_table(folder / CELLS)
        runs = run_table(folder / RUNS)
        failures: dict[Batch, Failure] = {}
        try:
            known = {cell.key for cell in cells.rows}
            keys = _missing(
                chosen, is_asked, methods, num_splits, num_epochs or 0, root, known
            )
            if measure and keys:
                run = new_run(runs.rows, command)
                runs.add(run)
                failures = fill_table(
                    cells,
                    partial(
                        measure_batch,
                        run=run.run,
                        root=root,
                        cache=str(dataset_root(root) / 'embedding'),
                        folder=folder / _CHECKPOINTS,
                    ),
                    make_batches(keys),
                    is_done=lambda _: False,
                    callback=callback,
                    jobs=jobs,
                    threads=threads,
                    progress=progress,
                )
                states = folder / _CHECKPOINTS
                failed = (key for batch in failures for key in batch)
                remove_checkpoints(
                    states, _checkpoints(states, keys), _checkpoints(states, failed)
                )
        finally:
            # Also after an interruption: what was measured is shown.
            filled = _write(folder, chosen, cells.rows, runs.rows, root)
            (folder / _TABLES / _LOCK).unlink()
    if failures:
        batch, failure = next(iter(failures.items()))
        raise ValueError(
            f'{sum(map(len, failures))} measurements failed, the others are kept; the '
            f'first was {batch[0].variant} on split {batch[0].split} of '
            f'{batch[0].setting}: {failure.message}'
        )
    return {
        name: [each for each in found if is_asked(each.entry.setting)]
        for name, found in filled.items()
    }


def is_available(setting: str, root: str | None = None) -> bool:
    r"""Tells whether the data of a setting can be loaded without a download.

    Args:
        setting (str): The setting.
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
    """
    if setting == PLANTED:
        return True
    dataset = setting.partition('_')[0]
    if dataset not in CATALOG:
        return False
    return dataset_status(CATALOG[dataset], root) in ('present', 'in mirror')


def _chosen(tables: Sequence[str] | None) -> list[PaperTable]:
    if tables is None:
        return list(TABLES.values())
    bad = [name for name in tables if name not in TABLES]
    if bad:
        raise ValueError(f"'tables' must be among {', '.join(TABLES)} (got {bad[0]!r})")
    return [TABLES[name] for name in dict.fromkeys(tables)]


def _settings_of(
    datasets: Sequence[str] | None, tables: Sequence[PaperTable]
) -> Callable[[str], bool]:
    # Tells whether a setting is asked for: 'coDB' asks for all kinds of anchors.
    if datasets is None:
        return lambda _: True
    shown = dict.fromkeys(
        entry.setting for table in tables for entry in table.entries()
    )
    for name in datasets:
        if name != PLANTED and name not in DATASETS:
            resolve_setting(name, None)
        if not any(name in (setting, setting.partition('_')[0]) for setting in shown):
            raise ValueError(
                f"'datasets' must be among {', '.join(shown)} for these tables "
                f'(got {name!r})'
            )
    return lambda setting: setting in datasets or setting.partition('_')[0] in datasets


def _check_methods(methods: Sequence[str] | None, tables: Sequence[PaperTable]) -> None:
    known = dict.fromkeys(
        entry.variant for table in tables for entry in table.entries()
    )
    for name in methods or ():
        if name not in known:
            raise ValueError(
                f"'methods' must be among {', '.join(known)} (got {name!r})"
            )


def _missing(
    tables: Iterable[PaperTable],
    is_asked: Callable[[str], bool],
    methods: Sequence[str] | None,
    num_splits: int,
    num_epochs: int,
    root: str | None,
    known: set[CellKey],
) -> list[CellKey]:
    # The measurements to be made, by split, so that every table fills evenly.
    found: dict[CellKey, None] = {}
    available: dict[str, bool] = {}
    for table in tables:
        for entry in table.entries():
            if methods is not None and entry.variant not in methods:
                continue
            for setting in entry.settings:
                if setting not in available:
                    available[setting] = is_available(setting, root)
            if is_asked(entry.setting) and all(map(available.get, entry.settings)):
                for key in entry.keys(num_splits, num_epochs):
                    found.setdefault(key)
    left = [key for key in found if key not in known]
    settings = list(dict.fromkeys(key.setting for key in left))
    return sorted(left, key=lambda key: (key.split, settings.index(key.setting)))


def _checkpoints(folder: Path, keys: Iterable[CellKey]) -> list[Path]:
    return [checkpoint_folder(folder, key) for key in keys if key.experiment in SHARES]


def _write(
    folder: Path,
    chosen: Sequence[PaperTable],
    cells: Sequence[Cell],
    runs: Sequence[Run],
    root: str | None,
) -> dict[str, list[Filled]]:
    out = {}
    sections = []
    available = {
        setting: is_available(setting, root)
        for table in TABLES.values()
        for entry in table.entries()
        for setting in entry.settings
    }
    for table in TABLES.values():
        filled = fill(table, cells, available.__getitem__)
        if any(each.values for each in filled):
            sections.append(markdown_section(table, filled, cells, runs, brief=True))
        if table in chosen:
            out[table.name] = filled
        if table in chosen or any(each.values for each in filled):
            # Tables share cells: new ones may belong to a table that was not asked for.
            write_table(folder / _TABLES, table, filled, cells, runs)
    with replace_file(folder / REPORT) as part:
        part.write_text(markdown_report(cells, sections, runs), encoding='utf-8')
    return out
