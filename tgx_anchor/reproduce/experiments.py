"""Measures the cells of the tables."""

import time
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path

from tgx_anchor.benchmark.downstream import DownstreamTask, measure_downstream
from tgx_anchor.benchmark.measure import measure
from tgx_anchor.benchmark.methods import STACKED, load_setting, one_split
from tgx_anchor.benchmark.results import Task
from tgx_anchor.benchmark.runner import Tell
from tgx_anchor.data import AnchorData
from tgx_anchor.metrics import AnchorEvaluator
from tgx_anchor.nn import AnchorRadar
from tgx_anchor.paper import BASELINES
from tgx_anchor.reproduce.cell import Cell, CellKey
from tgx_anchor.reproduce.observations import OBSERVATIONS, observe
from tgx_anchor.reproduce.variants import radar_variants
from tgx_anchor.transforms import AddTopologicalFeatures

# Experiments that fit methods with their published hyperparameters, and the share of
# training hyperedges.
SHARES = {'methods': 0.075, 'methods, 5 %': 0.05, 'methods, 2.5 %': 0.025}
# Experiments that change something in AnchorRadar, and those that only look at data.
VARIANTS, OBSERVED = 'variants', 'observations'
# The experiment that tells real from fake groups, which measures all variants at once.
DOWNSTREAM = 'real or fake'
EXPERIMENTS = (*SHARES, VARIANTS, OBSERVED, DOWNSTREAM)

# The number of measurements of a few seconds that one process makes.
_QUICK, _BATCH_SIZE = 'quick', 8

# Measurements that one process makes one after the other.
Batch = tuple[CellKey, ...]
# The values of a measurement by metric.
Values = dict[str, float]


def make_batches(keys: Iterable[CellKey]) -> list[Batch]:
    r"""Divides measurements into batches. A training that takes hours is a batch of its
    own, together with the measurements that share its checkpoint. Measurements that
    take seconds and share a split load the data together, a few at a time, so that an
    interruption loses little.

    Args:
        keys (list[CellKey]): The measurements.
    """
    groups: dict[tuple[object, ...], list[CellKey]] = {}
    for key in keys:
        groups.setdefault(_companions(key), []).append(key)
    out: list[Batch] = []
    for companions, group in groups.items():
        size = _BATCH_SIZE if companions[0] == _QUICK else len(group)
        out += [
            tuple(group[start : start + size]) for start in range(0, len(group), size)
        ]
    return out


def _companions(key: CellKey) -> tuple[object, ...]:
    # Measurements with the same value share a process.
    if key.experiment in SHARES and key.variant in BASELINES:
        return 'training', checkpoint_folder(Path(), key)
    if key.experiment == DOWNSTREAM:
        return DOWNSTREAM, key.setting, key.split
    if key.variant == STACKED:
        return STACKED, key
    return _QUICK, key.setting, key.split


def measure_batch(
    batch: Batch,
    tell: Tell,
    *,
    run: int,
    root: str | None = None,
    cache: str | None = None,
    folder: Path | None = None,
) -> list[Cell]:
    r"""Measures a batch, and returns its cells.

    Args:
        batch (tuple[CellKey]): The measurements.
        tell (callable): Called with a line on the progress.
        run (int): The number of the run.
        root (str, optional): The folder of the datasets. (default: :obj:`None`)
        cache (str, optional): The folder of embeddings. (default: :obj:`None`)
        folder (Path, optional): The folder of checkpoints, from which interrupted
            trainings continue. (default: :obj:`None`)
    """
    bench = _Bench(tell, root, cache, folder)
    return [
        Cell(*key, metric, value, run)
        for key in batch
        for metric, value in bench.measure(key).items()
    ]


class _Bench:
    # Keeps hypergraphs and their features for the next measurement.
    def __init__(
        self, tell: Tell, root: str | None, cache: str | None, folder: Path | None
    ) -> None:
        self.tell = tell
        self.root = root
        self.cache = cache
        self.folder = folder
        self.loaded: dict[str, AnchorData] = {}
        self.real_or_fake: dict[DownstreamTask, dict[str, Values]] = {}

    def measure(self, key: CellKey) -> Values:
        if key.experiment not in EXPERIMENTS:
            raise ValueError(
                f"'experiment' must be one of {', '.join(EXPERIMENTS)} "
                f'(got {key.experiment!r})'
            )
        self.tell(f'{key.setting} {key.variant}')
        if key.experiment in SHARES:
            return self.measure_method(key)
        if key.experiment == VARIANTS:
            return self.measure_variant(key)
        if key.experiment == DOWNSTREAM:
            return self.measure_downstream(key)
        return self.measure_observation(key)

    def measure_method(self, key: CellKey) -> Values:
        task = Task(key.setting, key.variant, key.split, key.num_epochs)
        checkpoint = None
        if self.folder is not None and key.variant in BASELINES:
            checkpoint = str(checkpoint_folder(self.folder, key))
        (row,) = measure(
            task,
            self.tell,
            root=self.root,
            cache=self.cache,
            checkpoint=checkpoint,
            train=SHARES[key.experiment],
        )
        found = asdict(row)
        return {
            name: float(value)
            for name, value in found.items()
            if name not in Task._fields
        }

    def measure_variant(self, key: CellKey) -> Values:
        variants = radar_variants(key.setting)
        if key.variant not in variants:
            raise ValueError(
                f"'variant' must be one of {', '.join(variants)} (got {key.variant!r})"
            )
        variant = variants[key.variant]
        model: AnchorRadar = variant.model(key.setting, key.num_epochs)
        source = variant.split(self.data(variant.source or key.setting), key.split)
        target = variant.split(self.data(key.setting), key.split)
        start = time.perf_counter()
        model.fit(source, use_val=variant.use_val, on_interrupt='raise')
        score = model.predict_proba(target)
        seconds = time.perf_counter() - start
        found = AnchorEvaluator().eval(score, target, target.test_mask)
        names = ('accuracy', 'mrr', 'ndcg')
        return {
            **{name: round(found[name], 6) for name in names},
            'seconds': round(seconds, 3),
        }

    def measure_observation(self, key: CellKey) -> Values:
        data = load_setting(key.setting, self.root)
        if OBSERVATIONS.get(key.variant):
            data = one_split(data, key.split)
        found = observe(data, key.variant, seed=key.split)
        return {name: float(f'{value:.6g}') for name, value in found.items()}

    def measure_downstream(self, key: CellKey) -> Values:
        task = DownstreamTask(key.setting, key.split, key.num_epochs)
        if task not in self.real_or_fake:
            rows = measure_downstream(task, self.tell, root=self.root, cache=self.cache)
            self.real_or_fake[task] = {
                row.variant: {
                    'accuracy': row.accuracy,
                    'auroc': row.auroc,
                    'seconds': row.seconds,
                }
                for row in rows
            }
        return self.real_or_fake[task][key.variant]

    def data(self, setting: str) -> AnchorData:
        if setting not in self.loaded:
            data = load_setting(setting, self.root)
            self.loaded[setting] = AddTopologicalFeatures(cat=False)(data)
        return self.loaded[setting]


def checkpoint_folder(folder: Path, key: CellKey) -> Path:
    r"""Returns the folder of the state of a training.

    Args:
        folder (Path): The folder of all of them.
        key (CellKey): The measurement.
    """
    # Without the kind of anchor: the roles of authors are learnt alike for the first
    # and the last one, and the second measurement finds its training done.
    dataset, _, anchor = key.setting.partition('_')
    kind = '_first_second' if anchor == 'first_second' else ''
    share = f'{100 * SHARES[key.experiment]:g}'
    name = f'{dataset}{kind}_{key.variant}_{share}_{key.split}_{key.num_epochs}'
    return folder / name
