from pathlib import Path

from tgx_anchor.benchmark.checkpoints import Checkpoints
from tgx_anchor.benchmark.comparison_row import Task


def test_files_of_trainings(tmp_path: Path) -> None:
    assert Checkpoints(None).stem(Task('planted', 'HCHA', 0)) is None
    kept = Checkpoints(tmp_path / 'rows.csv', 10)
    task, other = Task('planted', 'HCHA', 0), Task('planted', 'HCHA', 1)
    # Both kinds of anchors learn the same roles.
    first, last = (Task(f'coDB_{kind}', 'HCHA', 0) for kind in ('first', 'last'))
    stems = {kept.stem(each) for each in (task, other, first, last)}
    assert len(stems) == 3
    assert kept.stem(first) == kept.stem(last)
    kept.clear([task], [])
    folder = tmp_path / 'rows_checkpoints'
    folder.mkdir()
    for stem in stems:
        Path(f'{stem}0123.pt').touch()
        # What a killed process leaves behind.
        part = Path(f'{stem}0123.pt.x.part')
        part.mkdir()
        (part / '0123.pt').touch()
    kept.clear([task, first, last], [last])
    # Not what is left, and not what was not asked for.
    assert len(list(folder.iterdir())) == 4
    assert not list(folder.glob('planted_HCHA_0*'))
    kept.clear([other, first, last], [])
    assert not folder.exists()
