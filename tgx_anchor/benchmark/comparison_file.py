"""A CSV file that takes measurements as they come."""

import csv
import io
from collections.abc import Iterable
from dataclasses import astuple, fields
from pathlib import Path
from typing import get_type_hints

from tgx_anchor.benchmark.comparison_row import ComparisonRow, Task
from tgx_anchor.io.files import replace_file


class ComparisonFile:
    r"""The rows of a CSV file, which grows by one line per measurement.

    Args:
        path (str, optional): The file, which need not be there yet; if :obj:`None`,
            rows are kept in memory only. (default: :obj:`None`)
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self.path = None if path is None else Path(path)
        self.rows: list[ComparisonRow] = []
        if self.path is None:
            return
        if self.path.suffix.lower() != '.csv':
            # Tables and plots go to files of the same name with other endings.
            raise ValueError(f"'{path}' must end in '.csv' (got {self.path.suffix!r})")
        header = ','.join(field.name for field in fields(ComparisonRow))
        text = ''
        if self.path.exists():
            text = self.path.read_text(encoding='utf-8')
        if text and text.partition('\n')[0] != header:
            raise ValueError(f"'{path}' must have the columns {header} (got others)")
        self.rows = _parse(text, self.path)
        whole = _text(self.rows)
        if f'{header}\n{whole}' != text:
            # New, or with a line that was cut off.
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(self.path) as part:
                part.write_text(f'{header}\n{whole}', encoding='utf-8')

    def add(self, row: ComparisonRow) -> None:
        r"""Takes a row, in memory and in the file.

        Args:
            row (ComparisonRow): The row.
        """
        self.rows.append(row)
        if self.path is not None:
            with self.path.open('a', encoding='utf-8') as file:
                file.write(_text([row]))


def _text(rows: Iterable[ComparisonRow]) -> str:
    out = io.StringIO()
    csv.writer(out, lineterminator='\n').writerows(astuple(row) for row in rows)
    return out.getvalue()


def _parse(text: str, path: Path) -> list[ComparisonRow]:
    kinds = get_type_hints(ComparisonRow)
    reader = csv.DictReader(io.StringIO(text))
    # What was measured twice counts once.
    found: dict[tuple[Task, int], ComparisonRow] = {}
    for line in reader:
        try:
            row = ComparisonRow(**{k: kind(line[k]) for k, kind in kinds.items()})
        except (KeyError, TypeError, ValueError):
            if reader.line_num > text.count('\n'):
                # The last line was cut off: it is measured again.
                break
            raise ValueError(
                f"'{path}' must hold a measurement in each line "
                f'(got something else in line {reader.line_num})'
            ) from None
        found[row.task, row.num_epochs] = row
    return list(found.values())
