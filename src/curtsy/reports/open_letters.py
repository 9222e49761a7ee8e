"""Open dead letters by cause, for a report; at a bounded cost."""

from curtsy.model.failure_kinds import RULES
from curtsy.reports.report import LetterLine
from curtsy.store import Connection, Lookup

COUNT_CAP = 10_000
"""The newest letters of each kind are counted, up to this many."""

_OPEN = Lookup(
    """
    SELECT {each_kind} AS kind, count(*) AS number,
           coalesce(sum(CASE WHEN last_failed_at >= :since AND last_failed_at < :until
                             THEN 1 ELSE 0 END), 0) AS recent
    FROM (SELECT d.last_failed_at FROM dead_letters d
          WHERE d.state = 'open' AND d.kind = {each_kind} ORDER BY d.id DESC LIMIT :most) AS newest
    """,
    each={"kind": "text"},
)


def open_letters(connection: Connection, *, since: int, until: int) -> tuple[LetterLine, ...]:
    """One line for each cause that has open letters, most of them first."""
    kinds = [(kind.value,) for kind in RULES]
    rows = _OPEN(connection, kinds, since=since, until=until, most=COUNT_CAP + 1)
    lines = [
        LetterLine(kind=row.kind, open=min(row.number, COUNT_CAP), capped=row.number > COUNT_CAP,
                   new=row.recent, means=RULES[row.kind].means)
        for row in rows if row.number
    ]  # fmt: skip
    return tuple(sorted(lines, key=lambda line: (-line.open, line.kind)))
