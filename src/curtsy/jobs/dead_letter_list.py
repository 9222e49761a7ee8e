"""Dead letters as people look at them: by cause, newest first, each with its whole story."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from curtsy.errors import NotFound
from curtsy.frontier.batch import NEVER
from curtsy.model.counts import Count
from curtsy.model.failure_kinds import RULES, Kind
from curtsy.store import Connection, Lookup, Statement

COUNT_CAP = 10_000

_LETTER = """
    SELECT d.id, d.page_id, d.turn, p.url, s.name AS source, d.kind, d.family, d.error, d.attempts,
           d.retries, d.state, d.created_at{more}
    FROM dead_letters d JOIN pages p ON p.id = d.page_id JOIN sources s ON s.id = d.source_id
    """
_ROWS = _LETTER.format(more="")
_ONE = Statement(_LETTER.format(more=", d.traceback") + "WHERE d.id = :id")
_NAMED = Statement(
    _ROWS + "WHERE d.id IN (SELECT id FROM {wanted})",  # noqa: S608
    wanted={"id": "bigint"},
)
_BY_KIND = "AND d.kind = :kind "
_BY_SOURCE = "AND d.source_id = (SELECT id FROM sources WHERE name = :source) "
_LIST = {
    (by_kind, by_source): Statement(
        f"{_ROWS} WHERE d.state = :state {_BY_KIND * by_kind}{_BY_SOURCE * by_source}"
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
    newest = {row.id: row for row in _NAMED(connection, wanted=[(r.newest,) for r in found])}
    made = [Group(Kind(r.kind), Count.up_to(COUNT_CAP, r.number), newest[r.newest]) for r in found]
    return sorted(made, key=lambda group: (-group.count.number, group.kind))
