"""A CSV file to which results are added one by one."""

import csv
import io
from collections.abc import Hashable, Iterable
from dataclasses import astuple, fields
from pathlib import Path
from types import UnionType
from typing import Any, Generic, TypeVar, Union, get_args, get_origin, get_type_hints

from tgx_anchor.io.files import replace_file

# A dataclass whose fields are texts, numbers, or numbers that may be missing.
Row = TypeVar('Row')


class ResultTable(Generic[Row]):
    r"""Keeps the rows of a CSV file, which grows by a line per result, so that a long
    run can be interrupted at any time and continued.

    An incomplete last line is dropped. Any other line that cannot be read is an error,
    since it was not written by this class. Of rows with the same key, the last one
    counts.

    .. code-block:: python

        @dataclass(frozen=True)
        class Result:
            setting: str
            split: int
            accuracy: float

        table = ResultTable(Result, 'results.csv', key=('setting', 'split'))
        if ('emER', 0) not in table:
            table.add(Result('emER', 0, 0.67))

    Args:
        kind (type): The dataclass of a row. Its fields are of the types :obj:`str`,
            :obj:`int` and :obj:`float`, or optional ones of these, for which an empty
            cell stands for :obj:`None`.
        path (str, optional): The file, which may not exist yet; if :obj:`None`, rows
            are kept in memory only. (default: :obj:`None`)
        key (tuple[str], optional): The fields that tell results apart. All if empty.
            (default: :obj:`()`)
    """

    def __init__(
        self, kind: type[Row], path: str | Path | None = None, key: Iterable[str] = ()
    ) -> None:
        self.kind = kind
        self.path = None if path is None else Path(path)
        self.columns = [field.name for field in fields(kind)]  # type: ignore[arg-type]
        self.key = tuple(key) or tuple(self.columns)
        self._rows: dict[tuple[Hashable, ...], Row] = {}
        if self.path is not None:
            self._open(self.path)

    @property
    def rows(self) -> list[Row]:
        r"""The rows, in the order in which their keys were first added."""
        return list(self._rows.values())

    def __contains__(self, key: tuple[Hashable, ...]) -> bool:
        return key in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def __repr__(self) -> str:
        return f'{self.__class__.__name__}({self.kind.__name__}, {len(self)} rows)'

    def get(self, key: tuple[Hashable, ...]) -> Row | None:
        r"""Returns the row of a key, or :obj:`None`.

        Args:
            key (tuple): The values of the fields in :obj:`key`.
        """
        return self._rows.get(key)

    def add(self, *rows: Row) -> None:
        r"""Adds rows, in memory and with a single write to the file.

        Args:
            *rows (Row): The rows.
        """
        for row in rows:
            self._rows[self._key_of(row)] = row
        if self.path is not None:
            with self.path.open('a', encoding='utf-8', newline='') as file:
                file.write(self._text(rows))

    def _key_of(self, row: Row) -> tuple[Hashable, ...]:
        return tuple(getattr(row, name) for name in self.key)

    def _open(self, path: Path) -> None:
        if path.suffix.lower() != '.csv':
            # Tables and plots go to files of the same name with other endings.
            raise ValueError(f"'{path}' must end in '.csv' (got {path.suffix!r})")
        header = ','.join(self.columns) + '\n'
        text = ''
        if path.exists():
            with path.open(encoding='utf-8', newline='') as file:
                text = file.read().replace('\r\n', '\n')
        if not text.startswith(header) and not header.startswith(text):
            raise ValueError(
                f"'{path}' must have the columns {', '.join(self.columns)} "
                f'(got {text.partition(chr(10))[0][:80]!r}; choose another file)'
            )
        # A cut line could pass for a whole one: '0.67' for '0.675'.
        whole = text[: text.rfind('\n') + 1] or header
        for row in self._parse(whole, path):
            self._rows[self._key_of(row)] = row
        if whole != text:
            path.parent.mkdir(parents=True, exist_ok=True)
            with replace_file(path) as part:
                part.write_text(whole, encoding='utf-8', newline='')

    def _text(self, rows: Iterable[Row]) -> str:
        out = io.StringIO()
        writer = csv.writer(out, lineterminator='\n')
        writer.writerows(astuple(row) for row in rows)  # type: ignore[call-overload]
        return out.getvalue()

    def _parse(self, text: str, path: Path) -> list[Row]:
        kinds = get_type_hints(self.kind)
        reader = csv.DictReader(io.StringIO(text))
        rows = []
        for line in reader:
            try:
                cells = {name: _cell(kind, line[name]) for name, kind in kinds.items()}
                rows.append(self.kind(**cells))
            except (KeyError, TypeError, ValueError):  # noqa: PERF203
                raise ValueError(
                    f"'{path}' must hold one result per line (got something else in "
                    f'line {reader.line_num}; repair or remove that line)'
                ) from None
        return rows


def _cell(kind: Any, text: str) -> Any:
    if get_origin(kind) in (Union, UnionType):
        if text == '':
            return None
        kind = next(each for each in get_args(kind) if each is not type(None))
    return kind(text)
