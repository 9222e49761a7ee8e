"""Dead letters for a user who sees only own jobs: those of pages that failed in these jobs.

A letter belongs to the user if its page failed after a job of the user had asked for it. No index
leads from a user to letters, so each list searches a bounded number of them.
"""

from typing import NamedTuple

from curtsy.frontier.batch import NEVER
from curtsy.jobs.dead_letters import OF_KIND, OF_SOURCE, Group, Letter, bound, letters_of
from curtsy.model.counts import Count
from curtsy.model.failure_kinds import Kind
from curtsy.store import Connection, Statement

SEARCHED = 10_000

_IDS = {
    (by_kind, by_source): Statement(
        f"""
        SELECT d.id FROM dead_letters d
        WHERE d.state = :state{OF_KIND * by_kind}{OF_SOURCE * by_source} AND d.id < :before
        ORDER BY d.id DESC LIMIT :most
        """  # noqa: S608
    )
    for by_kind in (False, True)
    for by_source in (False, True)
}
_WANTED_BY_USER = """
    EXISTS (SELECT 1 FROM items i JOIN jobs j ON j.id = i.job_id
            WHERE i.page_id = d.page_id AND i.state = {state} AND j.user_id = :user
              AND j.created_at <= d.last_failed_at)
"""
_OWN = Statement(
    f"""
    SELECT d.id, d.kind, d.final FROM {{wanted}} JOIN dead_letters d ON d.id = wanted.id
    WHERE {_WANTED_BY_USER.format(state=2)} OR {_WANTED_BY_USER.format(state=0)}
    ORDER BY d.id DESC
    """,  # noqa: S608
    wanted={"id": "bigint"},
)


class OwnLetters(NamedTuple):
    letters: list[Letter]
    onward: int | None
    """The letter before which the next page begins; None: this is the last page."""


class _Own(NamedTuple):
    id: int
    kind: str
    final: bool


class _Found(NamedTuple):
    own: list[_Own]
    """Letters of the user, newest first."""
    last: int | None
    """The last letter that was searched; None: all were."""


def own_letters(
    connection: Connection, user: str, *, state: str, kind: str | None, source: str | None,
    before: int | None, most: int,
) -> OwnLetters:  # fmt: skip
    """The newest first."""
    found = _search(connection, user, state, kind, source, before)
    ids = [one.id for one in found.own[:most]]
    by_id = letters_of(connection, ids)
    onward = ids[-1] if len(found.own) > most else found.last
    return OwnLetters([by_id[number] for number in ids], onward)


def own_groups(
    connection: Connection, user: str, *, kind: str | None, source: str | None
) -> list[Group]:
    """Groups of the user's open letters, the largest first."""
    found = _search(connection, user, "open", kind, source, None)
    by_kind: dict[str, list[_Own]] = {}
    for one in found.own:
        by_kind.setdefault(one.kind, []).append(one)
    newest = letters_of(connection, [ones[0].id for ones in by_kind.values()])
    capped = found.last is not None
    built = [Group(Kind(of_kind), Count(len(ones), capped=capped),
                   sum(one.final for one in ones), newest[ones[0].id])
             for of_kind, ones in by_kind.items()]  # fmt: skip
    return sorted(built, key=lambda group: (-group.count.number, group.kind))


def _search(
    connection: Connection, user: str, state: str, kind: str | None, source: str | None,
    before: int | None,
) -> _Found:  # fmt: skip
    statement = _IDS[kind is not None, source is not None]
    ids = list(
        statement(connection, state=state, before=before or NEVER, most=SEARCHED,
                  **bound(kind=kind, source=source)).scalars()
    )  # fmt: skip
    rows = _OWN(connection, wanted=[(number,) for number in ids], user=user) if ids else ()
    last = ids[-1] if len(ids) == SEARCHED else None
    return _Found([_Own(row.id, row.kind, bool(row.final)) for row in rows], last)
