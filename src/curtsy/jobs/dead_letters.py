"""Dead letters are retried or laid aside: one, a group, or all, a batch in each transaction."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.batch import NEVER
from curtsy.frontier.dead_letters import resolve
from curtsy.frontier.reopen import OldItem, reopen
from curtsy.model.counts import Count
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.store import Connection, Lookup, Statement

BATCH = 1_000


@dataclass(frozen=True, slots=True)
class LetterSelection:
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


def retry_letters(connection: Connection, which: LetterSelection, *, now: int) -> Settled:
    """The next batch of them. One whose jobs are gone or cancelled has nobody to be fetched for:
    it is resolved."""
    letters = _next(connection, which)
    if not letters:
        return Settled()
    rows = _FAILED(connection, wanted=[(letter.page_id,) for letter in letters])
    reopened = reopen(connection, [OldItem._make(row) for row in rows], now=now)
    resolve(connection, [letter.id for letter in letters])
    return Settled(len(letters), reopened.pages, reopened.jobs)


def resolve_letters(connection: Connection, which: LetterSelection) -> Settled:
    """The next batch of them; their items stay failed."""
    letters = _next(connection, which)
    resolve(connection, [letter.id for letter in letters])
    return Settled(len(letters))


def retry_letter(connection: Connection, letter: int, *, now: int) -> Settled:
    _require_open(connection, letter, "retried")
    return retry_letters(connection, LetterSelection([letter]), now=now)


def resolve_letter(connection: Connection, letter: int) -> Settled:
    _require_open(connection, letter, "resolved")
    return resolve_letters(connection, LetterSelection([letter]))


def _require_open(connection: Connection, letter: int, asked: str) -> None:
    state = _STATE(connection, id=letter).scalar()
    if state is None:
        raise NotFound("dead letter", str(letter))
    if state != "open":
        raise WrongState(f"Dead letter {letter}", state, asked)


def _next(connection: Connection, which: LetterSelection) -> list[Any]:
    if which.ids is not None:
        return list(_NAMED(connection, wanted=[(i,) for i in which.ids])) if which.ids else []
    said = {name: value for name, value in (("kind", which.kind), ("source", which.source))
            if value is not None}  # fmt: skip
    statement = _NEXT[which.kind is not None, which.source is not None]
    return list(statement(connection, most=BATCH, **said))


COUNT_CAP = 10_000

_LETTER = """
    SELECT d.id, d.page_id, d.turn, p.url, s.name AS source, d.kind, d.family, d.error, d.attempts,
           d.retries, d.state, d.created_at{more}
    FROM dead_letters d JOIN pages p ON p.id = d.page_id JOIN sources s ON s.id = d.source_id
    """
_ROWS = _LETTER.format(more="")
_ONE = Statement(_LETTER.format(more=", d.traceback") + "WHERE d.id = :id")
_BY_ID = Statement(
    _ROWS + "WHERE d.id IN (SELECT id FROM {wanted})",  # noqa: S608
    wanted={"id": "bigint"},
)
_OF_KIND = "AND d.kind = :kind "
_OF_SOURCE = "AND d.source_id = (SELECT id FROM sources WHERE name = :source) "
_LIST = {
    (by_kind, by_source): Statement(
        f"{_ROWS} WHERE d.state = :state {_OF_KIND * by_kind}{_OF_SOURCE * by_source}"
        "AND d.id < :before ORDER BY d.id DESC LIMIT :most"
    )
    for by_kind in (False, True)
    for by_source in (False, True)
}
_OPEN_AMONG = Statement(
    """
    SELECT count(*) FROM dead_letters d
    WHERE d.state = 'open' AND d.id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)
_GROUPS = Lookup(
    """
    SELECT {each_kind} AS kind, count(*) AS number, max(id) AS newest FROM (
        SELECT d.id FROM dead_letters d WHERE d.state = 'open' AND d.kind = {each_kind}
        ORDER BY d.id DESC LIMIT :most) AS newest_of_kind
    """,
    each={"kind": "text"},
)
_GROUPS_OF_SOURCE = Statement(
    """
    SELECT kind, count(*) AS number, max(id) AS newest FROM (
        SELECT d.id, d.kind FROM dead_letters d WHERE d.state = 'open'
          AND d.source_id = (SELECT id FROM sources WHERE name = :source)
        ORDER BY d.id DESC LIMIT :most) AS newest_of_source
    GROUP BY kind
    """
)


@dataclass(frozen=True, slots=True)
class Group:
    """Open letters with one cause."""

    kind: Kind
    count: Count
    newest: Any


def letters(
    connection: Connection, *, state: str, kind: str | None, source: str | None,
    before: int | None, most: int,
) -> list[Any]:  # fmt: skip
    said = {n: v for n, v in (("kind", kind), ("source", source)) if v is not None}
    statement = _LIST[kind is not None, source is not None]
    rows = statement(connection, state=state, before=before or NEVER, most=most, **said)
    return list(rows)


def letter(connection: Connection, number: int) -> Any:
    row = _ONE(connection, id=number).one_or_none()
    if row is None:
        raise NotFound("dead letter", str(number))
    return row


def open_among(connection: Connection, ids: Sequence[int]) -> int:
    return int(_OPEN_AMONG(connection, wanted=[(i,) for i in ids]).scalar_one())


def groups(connection: Connection, *, kind: str | None, source: str | None) -> list[Group]:
    """The largest first. Counts stop at a cap: looking at many costs no more."""
    if source is not None:
        found: Sequence[Any] = list(
            _GROUPS_OF_SOURCE(connection, source=source, most=COUNT_CAP + 1)
        )
        found = [row for row in found if kind in (None, row.kind)]
    else:
        kinds = [(kind,)] if kind is not None else [(str(known),) for known in RULES]
        found = [r for r in _GROUPS(connection, kinds, most=COUNT_CAP + 1) if r.number]
    if not found:
        return []
    newest = {row.id: row for row in _BY_ID(connection, wanted=[(r.newest,) for r in found])}
    made = [Group(Kind(r.kind), Count.up_to(COUNT_CAP, r.number), newest[r.newest]) for r in found]
    return sorted(made, key=lambda group: (-group.count.number, group.kind))
