"""The rows of one statement, with names."""

from collections import namedtuple
from collections.abc import Iterator, Sequence
from functools import lru_cache
from typing import Any

MOST_ROW_CLASSES = 1_000


class Result:
    """All rows that a statement returned. `rowcount` is how many rows it changed or returned."""

    __slots__ = ("_columns", "_rows", "rowcount")

    def __init__(self, rows: Sequence[Any], columns: tuple[str, ...], rowcount: int) -> None:
        self._rows, self._columns, self.rowcount = rows, columns, rowcount

    def all(self) -> list[Any]:
        """Returns named tuples."""
        if not self._rows:
            return []
        return list(map(_row_class(self._columns)._make, self._rows))

    def tuples(self) -> Sequence[Any]:
        """Returns the rows without names, as the driver made them: they can be unpacked."""
        return self._rows

    def __iter__(self) -> Iterator[Any]:
        return iter(self.all())

    def first(self) -> Any:
        """Returns the first row, or None."""
        return _row_class(self._columns)._make(self._rows[0]) if self._rows else None

    def one_or_none(self) -> Any:
        """Returns the only row, or None if there is none."""
        if len(self._rows) > 1:
            raise WrongNumberOfRows(len(self._rows))
        return self.first()

    def one(self) -> Any:
        if len(self._rows) != 1:
            raise WrongNumberOfRows(len(self._rows))
        return self.first()

    def scalars(self) -> list[Any]:
        """Returns the first column."""
        return [row[0] for row in self._rows]

    def scalar(self) -> Any:
        """Returns the first column of the first row, or None if there is no row."""
        return self._rows[0][0] if self._rows else None

    def scalar_one(self) -> Any:
        if len(self._rows) != 1:
            raise WrongNumberOfRows(len(self._rows))
        return self._rows[0][0]


class WrongNumberOfRows(Exception):
    """A bug in this program: a statement returned more or fewer rows than its caller expects."""

    def __init__(self, number: int) -> None:
        super().__init__(f"one row was expected, and there are {number}")


@lru_cache(maxsize=MOST_ROW_CLASSES)
def _row_class(columns: tuple[str, ...]) -> Any:
    """Returns the class of rows with these columns: a column whose name is taken or no name of
    Python is called by its position, as `_2`."""
    return namedtuple("Row", columns, rename=True)  # the names are known only now
