"""Dead letters: reads them, and retries or resolves one, a group or all, in batches.

Each call of `retry_letters` or `resolve_letters` settles one batch, in the caller's transaction.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from curtsy.errors import NotFound, WrongState
from curtsy.frontier.batch import NEVER
from curtsy.frontier.dead_letters import resolve
from curtsy.frontier.reopen import OldItem, reopen
from curtsy.model.counts import Count
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.store import Connection, Lookup, Statement

BATCH = 1_000
COUNT_CAP = 10_000

OF_KIND = " AND d.kind = :kind"
OF_SOURCE = " AND d.source_id = (SELECT id FROM sources WHERE name = :source)"
_OPEN = "SELECT d.id, d.page_id FROM dead_letters d WHERE d.state = 'open'"
_NEXT_OPEN = {
    (by_kind, by_source): Statement(
        f"{_OPEN}{OF_KIND * by_kind}{OF_SOURCE * by_source} ORDER BY d.id LIMIT :most"
    )
    for by_kind in (False, True)
    for by_source in (False, True)
}
_OPEN_OF_IDS = Statement(
    _OPEN + " AND d.id IN (SELECT id FROM {wanted})",  # noqa: S608
    wanted={"id": "bigint"},
)
_STATE = Statement("SELECT state FROM dead_letters WHERE id = :id")
_FAILED_ITEMS = Statement(
    """
    SELECT i.job_id, i.position, i.page_id, i.priority, h.source_id, i.depth, i.uses
    FROM (SELECT DISTINCT page_id FROM {wanted}) w
    JOIN items i ON i.page_id = w.page_id AND i.state = 2
    JOIN jobs j ON j.id = i.job_id AND j.state <> 'cancelled'
    JOIN pages p ON p.id = i.page_id JOIN hosts h ON h.host = p.host
    ORDER BY i.job_id, i.position
    """,
    wanted={"page_id": "bigint"},
)
_LETTER = """
    SELECT d.id, d.page_id, p.url, s.name AS source, d.kind, d.family, d.error, d.attempts,
           d.retries, d.state, d.created_at, d.final, d.times, d.last_failed_at{more}
    FROM dead_letters d JOIN pages p ON p.id = d.page_id JOIN sources s ON s.id = d.source_id
    """
_LETTERS = _LETTER.format(more="")
_ONE = Statement(_LETTER.format(more=", d.traceback") + "WHERE d.id = :id")
_OF_IDS = Statement(
    _LETTERS + "WHERE d.id IN (SELECT id FROM {wanted})",  # noqa: S608
    wanted={"id": "bigint"},
)
_LIST = {
    (by_kind, by_source): Statement(
        f"{_LETTERS} WHERE d.state = :state{OF_KIND * by_kind}{OF_SOURCE * by_source}"
        " AND d.id < :before ORDER BY d.id DESC LIMIT :most"
    )
    for by_kind in (False, True)
    for by_source in (False, True)
}
_COUNT_OPEN = Statement(
    """
    SELECT count(*) FROM dead_letters d
    WHERE d.state = 'open' AND d.id IN (SELECT id FROM {wanted})
    """,
    wanted={"id": "bigint"},
)
_GROUPS = Lookup(
    """
    SELECT {each_kind} AS kind, count(*) AS number, max(id) AS newest,
           coalesce(sum(CASE WHEN final THEN 1 ELSE 0 END), 0) AS final FROM (
        SELECT d.id, d.final FROM dead_letters d WHERE d.state = 'open' AND d.kind = {each_kind}
        ORDER BY d.id DESC LIMIT :most) AS newest_of_kind
    """,
    each={"kind": "text"},
)
_GROUPS_OF_SOURCE = Statement(
    """
    SELECT kind, count(*) AS number, max(id) AS newest,
           sum(CASE WHEN final THEN 1 ELSE 0 END) AS final FROM (
        SELECT d.id, d.kind, d.final FROM dead_letters d WHERE d.state = 'open'
          AND d.source_id = (SELECT id FROM sources WHERE name = :source)
        ORDER BY d.id DESC LIMIT :most) AS newest_of_source
    GROUP BY kind
    """
)


@dataclass(frozen=True, slots=True)
class LetterSelection:
    """Selects the open letters that match all fields that are not None."""

    ids: Sequence[int] | None = None
    kind: str | None = None
    source: str | None = None


@dataclass(frozen=True, slots=True)
class Settled:
    """The result of a retry or a resolve."""

    letters: int = 0
    pages: int = 0
    """Pages that are queued again."""
    jobs: int = 0
    """Jobs that were reopened."""
    resolved: int = 0
    """Letters that were resolved: in a retry, those whose pages no job wants any more."""

    def __add__(self, other: "Settled") -> "Settled":
        return Settled(self.letters + other.letters, self.pages + other.pages,
                       self.jobs + other.jobs, self.resolved + other.resolved)  # fmt: skip


class Letter(NamedTuple):
    """A dead letter with the URL of its page."""

    id: int
    page_id: int
    url: str
    source: str
    kind: str
    family: str
    error: str
    attempts: int
    retries: int
    state: str
    created_at: int
    """The first failure."""
    final: bool
    """A retry cannot help, although failures of the kind are usually retried."""
    times: int
    """How often the page was given up since the letter was opened."""
    last_failed_at: int
    """`kind`, `error`, `attempts` and `traceback` are of this failure."""
    traceback: str | None = None
    """Only `letter` reads it."""


@dataclass(frozen=True, slots=True)
class Group:
    """Open letters with one cause."""

    kind: Kind
    count: Count
    final: int
    """Letters that no automatic retry takes up, of those counted."""
    newest: Letter


class _OpenLetter(NamedTuple):
    id: int
    page_id: int


class _GroupRow(NamedTuple):
    kind: str
    number: int
    newest: int
    """The id of a letter."""
    final: int


def retry_letters(connection: Connection, which: LetterSelection, *, now: int) -> Settled:
    """Retries the next batch. A letter whose jobs were all purged or cancelled is resolved, since
    no job wants its page; `Settled.resolved` counts those."""
    letters = _next_open(connection, which)
    if not letters:
        return Settled()
    rows = _FAILED_ITEMS(connection, wanted=[(letter.page_id,) for letter in letters])
    reopened = reopen(connection, [OldItem._make(row) for row in rows], now=now)
    unwanted = resolve(connection, [letter.id for letter in letters])
    return Settled(len(letters), reopened.pages, reopened.jobs, unwanted)


def resolve_letters(connection: Connection, which: LetterSelection) -> Settled:
    """Resolves the next batch; the items stay failed."""
    letters = _next_open(connection, which)
    return Settled(len(letters), resolved=resolve(connection, [one.id for one in letters]))


def retry_letter(connection: Connection, letter: int, *, now: int) -> Settled:
    _require_open(connection, letter, "retried")
    return retry_letters(connection, LetterSelection([letter]), now=now)


def resolve_letter(connection: Connection, letter: int) -> Settled:
    _require_open(connection, letter, "resolved")
    return resolve_letters(connection, LetterSelection([letter]))


def letters(
    connection: Connection, *, state: str, kind: str | None, source: str | None,
    before: int | None, most: int,
) -> list[Letter]:  # fmt: skip
    """The newest first."""
    statement = _LIST[kind is not None, source is not None]
    rows = statement(connection, state=state, before=before or NEVER, most=most,
                     **bound(kind=kind, source=source))  # fmt: skip
    return [_letter(row) for row in rows]


def letter(connection: Connection, number: int) -> Letter:
    row = _ONE(connection, id=number).one_or_none()
    if row is None:
        raise NotFound("dead letter", str(number))
    return _letter(row)


def _letter(row: Any) -> Letter:
    """SQLite returns integers for booleans."""
    return Letter(*row)._replace(final=bool(row.final))


def letters_of(connection: Connection, ids: Sequence[int]) -> dict[int, Letter]:
    """Returns the letters by their ids."""
    rows = _OF_IDS(connection, wanted=[(number,) for number in ids]) if ids else ()
    return {row.id: _letter(row) for row in rows}


def count_open(connection: Connection, ids: Sequence[int]) -> int:
    return int(_COUNT_OPEN(connection, wanted=[(i,) for i in ids]).scalar_one())


def groups(connection: Connection, *, kind: str | None, source: str | None) -> list[Group]:
    """The largest first. Counts stop at a cap, so that reading does not cost more the more letters
    there are."""
    if source is not None:
        rows = _GROUPS_OF_SOURCE(connection, source=source, most=COUNT_CAP + 1)
        found = [_GroupRow._make(row) for row in rows if kind in (None, row.kind)]
    else:
        kinds = [(kind,)] if kind is not None else [(str(known),) for known in RULES]
        counted = _GROUPS(connection, kinds, most=COUNT_CAP + 1)
        found = [_GroupRow._make(row) for row in counted if row.number]
    if not found:
        return []
    newest = letters_of(connection, [group.newest for group in found])
    built = [Group(Kind(group.kind), Count.up_to(COUNT_CAP, group.number), int(group.final),
                   newest[group.newest]) for group in found]  # fmt: skip
    return sorted(built, key=lambda group: (-group.count.number, group.kind))


def _require_open(connection: Connection, letter: int, action: str) -> None:
    state = _STATE(connection, id=letter).scalar()
    if state is None:
        raise NotFound("dead letter", str(letter))
    if state != "open":
        raise WrongState(f"Dead letter {letter}", state, action)


def _next_open(connection: Connection, which: LetterSelection) -> list[_OpenLetter]:
    if which.ids is None:
        statement = _NEXT_OPEN[which.kind is not None, which.source is not None]
        given = bound(kind=which.kind, source=which.source)
        return [_OpenLetter._make(row) for row in statement(connection, most=BATCH, **given)]
    if not which.ids:
        return []
    rows = _OPEN_OF_IDS(connection, wanted=[(i,) for i in which.ids])
    return [_OpenLetter._make(row) for row in rows]


def bound(**values: str | None) -> dict[str, str]:
    return {name: value for name, value in values.items() if value is not None}
