"""Rows of statements, on both engines."""

import pytest

from curtsy.store import Connection, Statement, Store, savepoint, together
from curtsy.store.result import WrongNumberOfRows

NUMBERS = Statement("SELECT number, number * 2 AS twice FROM {given} ORDER BY number",
                    given={"number": "bigint"})  # fmt: skip
SAME_NAMES = Statement("SELECT 1 AS a, 2 AS a, 3 AS class")
TAG = Statement("INSERT INTO job_tags (tag, job_id) VALUES (:tag, :job)")
TAGS = Statement("SELECT tag FROM job_tags ORDER BY tag")
MOVE = Statement("UPDATE job_tags SET job_id = :job WHERE job_id > :job")


def given(*numbers: int) -> list[tuple[int]]:
    return [(number,) for number in numbers]


async def test_rows_have_names_and_are_tuples(store: Store) -> None:
    rows = await store.read(lambda c: NUMBERS(c, given=given(1, 2)).all())
    assert rows == [(1, 2), (2, 4)]
    assert [row.twice for row in rows] == [2, 4]


async def test_columns_without_a_usable_name_are_called_by_their_place(store: Store) -> None:
    row = await store.read(lambda c: SAME_NAMES(c).one())
    assert (row.a, row[1], row._1, row._2) == (1, 2, 2, 3)


async def test_one_row_is_exactly_one(store: Store) -> None:
    def ask(connection: Connection) -> None:
        assert NUMBERS(connection, given=[]).one_or_none() is None
        assert NUMBERS(connection, given=[]).scalar() is None
        assert NUMBERS(connection, given=given(7)).scalar_one() == 7
        assert NUMBERS(connection, given=given(7, 8)).first() == (7, 14)
        for number in ([], [7, 8]):
            with pytest.raises(WrongNumberOfRows):
                NUMBERS(connection, given=given(*number)).one()
            with pytest.raises(WrongNumberOfRows):
                NUMBERS(connection, given=given(*number)).scalar_one()
        with pytest.raises(WrongNumberOfRows):
            NUMBERS(connection, given=given(7, 8)).one_or_none()

    await store.read(ask)


async def test_a_change_says_how_many_rows_it_changed(store: Store) -> None:
    def change(connection: Connection) -> tuple[int, int]:
        for tag in "ab":
            TAG(connection, tag=tag, job=10)
        return MOVE(connection, job=5).rowcount, MOVE(connection, job=5).rowcount

    assert await store.write(change) == (2, 0)


async def test_a_savepoint_undoes_what_came_after_it(store: Store) -> None:
    def insert(connection: Connection) -> None:
        TAG(connection, tag="kept", job=1)
        with savepoint(connection) as attempt:
            TAG(connection, tag="undone", job=1)
            attempt.rollback()
        with pytest.raises(ZeroDivisionError):
            insert_and_fail(connection)
        TAG(connection, tag="later", job=1)

    def insert_and_fail(connection: Connection) -> None:
        with savepoint(connection):
            TAG(connection, tag="interrupted", job=1)
            raise ZeroDivisionError

    await store.write(insert)
    assert await store.read(lambda c: TAGS(c).scalars()) == ["kept", "later"]


async def test_statements_together_all_run_and_each_answers(store: Store) -> None:
    def insert(connection: Connection) -> list[list[int]]:
        results = together(
            connection,
            (TAG, {"tag": "one", "job": 1}),
            (NUMBERS, {"given": given(7)}),
            (TAG, {"tag": "two", "job": 2}),
            (NUMBERS, {"given": given(5, 6)}),
        )
        return [result.scalars() for result in results]

    assert await store.write(insert) == [[], [7], [], [5, 6]]
    assert await store.read(lambda c: TAGS(c).scalars()) == ["one", "two"]


async def test_a_read_changes_nothing(store: Store) -> None:
    """On SQLite, where several reads share a transaction. PostgreSQL commits each statement."""
    if store.is_sqlite:
        await store.read(lambda c: TAG(c, tag="written by mistake", job=1) and None)
        assert await store.read(lambda c: TAGS(c).scalars()) == []


async def test_work_of_one_writing_statement_is_committed_or_not_done(store: Store) -> None:
    def fail(connection: Connection) -> None:
        TAG(connection, tag="one", job=1)  # it is there already

    await store.write(lambda c: TAG(c, tag="one", job=1).rowcount, single=True)
    with pytest.raises(Exception, match=r"(?i)unique"):
        await store.write(fail, single=True)
    assert await store.read(lambda c: TAGS(c).scalars()) == ["one"]
