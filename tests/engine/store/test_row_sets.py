"""Row sets: how rows of a program become rows of a statement."""

from typing import NamedTuple

import pytest

from curtsy.store import Statement, Store
from curtsy.store.dialects import Sqlite


class Pair(NamedTuple):
    number: int
    name: str | None


SUM = Statement(
    "SELECT count(*) AS rows, sum(number) AS total, count(name) AS named FROM {given}",
    given={"number": "bigint", "name": "text"},
)


@pytest.mark.parametrize("number", [1, Sqlite.MOST_VALUES, Sqlite.MOST_VALUES + 1, 5_000])
async def test_named_rows_reach_the_database_however_many_there_are(
    store: Store, number: int
) -> None:
    given = [Pair(n, "x" if n % 2 else None) for n in range(number)]
    found = await store.read(lambda c: SUM(c, given=given).one())
    assert tuple(found) == (number, sum(range(number)), number // 2)
