from pathlib import Path

from tgx_anchor.reproduce.cell import Cell, CellKey, cell_table

KEY = CellKey('methods', 'emER', 'HGNN', 1)


def test_cells_of_a_measurement_differ_by_metric(tmp_path: Path) -> None:
    path = tmp_path / 'cells.csv'
    cells = [Cell(*KEY, 'accuracy', 0.4, 1), Cell(*KEY, 'mrr', 0.7, 1)]
    cell_table(path).add(*cells)
    found = cell_table(path)
    assert found.rows == cells
    assert (*KEY, 'mrr') in found
    assert (*KEY, 'ndcg') not in found
    assert {cell.key for cell in found.rows} == {KEY}


def test_published_epochs_are_zero() -> None:
    assert KEY.num_epochs == 0
