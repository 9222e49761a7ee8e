"""Dead letters are retried or laid aside: one, a group, or all, a batch in each transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.dead_letters import resolve
from curtsy.frontier.reopen import OldItem, reopen
from curtsy.store import Connection, Statement

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class Letters:
    """Which of the open ones are meant: all that fit everything that is said."""

    ids: Sequence[int] | None = None
    kind: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    letters: int = 0
    pages: int = 0
    """That wait again."""
    jobs: int = 0
    """That were opened again for them."""

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(self.letters + other.letters, self.pages + other.pages,
                       self.jobs + other.jobs)  # fmt: skip


_OPEN = "SELECT d.id, d.page_id FROM dead_letters d WHERE d.state = 'open'"
_BY_KIND = " AND d.kind = :kind"
_BY_SOURCE = " AND d.source_id = (SELECT id FROM sources WHERE name = :source)"
_NEXT = {
    (by_kind, by_source): Statement(
        f"{_OPEN}{_BY_KIND * by_kind}{_BY_SOURCE * by_source} ORDER BY d.id LIMIT :most"
    )
    for by_kind in (False, True)
    for by_source in (False, True)
}
_NAMED = Statement(
    _OPEN + " AND d.id IN (SELECT id FROM {wanted})",  # noqa: S608
    wanted={"id": "bigint"},
)
_STATE = Statement("SELECT state FROM dead_letters WHERE id = :id")
_FAILED = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id, i.depth
    FROM (SELECT DISTINCT page_id FROM {wanted}) w
    JOIN items i ON i.page_id = w.page_id AND i.state = 2
    JOIN jobs j ON j.id = i.job_id AND j.state <> 'cancelled'
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    ORDER BY i.job_id, i.position
    """,
    wanted={"page_id": "bigint"},
)


def retry_letters(connection: Connection, which: Letters, *, now: int) -> Settled:
    """The next batch of them. One whose jobs are gone or cancelled has nobody to be fetched for:
    it is resolved."""
    letters = _next(connection, which)
    if not letters:
        return Settled()
    rows = _FAILED(connection, wanted=[(letter.page_id,) for letter in letters])
    reopened = reopen(connection, [OldItem._make(row) for row in rows], now=now)
    resolve(connection, [letter.id for letter in letters])
    return Settled(len(letters), reopened.pages, reopened.jobs)


def resolve_letters(connection: Connection, which: Letters) -> Settled:
    """The next batch of them; their items stay failed."""
    letters = _next(connection, which)
    resolve(connection, [letter.id for letter in letters])
    return Settled(len(letters))


def retry_letter(connection: Connection, letter: int, *, now: int) -> Settled:
    _require_open(connection, letter, "retried")
    return retry_letters(connection, Letters([letter]), now=now)


def resolve_letter(connection: Connection, letter: int) -> Settled:
    _require_open(connection, letter, "resolved")
    return resolve_letters(connection, Letters([letter]))


def _require_open(connection: Connection, letter: int, asked: str) -> None:
    state = _STATE(connection, id=letter).scalar()
    if state is None:
        raise NotFound("dead letter", str(letter))
    if state != "open":
        raise WrongState(f"Dead letter {letter}", state, asked)


def _next(connection: Connection, which: Letters) -> list[Any]:
    if which.ids is not None:
        return list(_NAMED(connection, wanted=[(i,) for i in which.ids])) if which.ids else []
    said = {name: value for name, value in (("kind", which.kind), ("source", which.source))
            if value is not None}  # fmt: skip
    statement = _NEXT[which.kind is not None, which.source is not None]
    return list(statement(connection, most=BATCH, **said))
