"""The sources whose login failed and rests, each with the reason."""

from typing import NamedTuple

import orjson

from curtsy.politeness.login import REST
from curtsy.store import Connection, Statement

MOST = 5
MOST_READ = 500

_RECENT = Statement(
    """
    SELECT s.name, c.login FROM cookie_jars c JOIN sources s ON s.id = c.source_id
    WHERE c.updated_at > :since ORDER BY c.updated_at DESC LIMIT :most
    """
)


class RestingLogin(NamedTuple):
    source: str
    why: str
    until: int


def resting_logins(connection: Connection, *, now: int) -> list[RestingLogin]:
    """At most one for each source, of the sessions that changed last."""
    found: dict[str, RestingLogin] = {}
    for row in _RECENT(connection, since=now - REST, most=MOST_READ):
        login = orjson.loads(row.login)
        if not login.get("is_in") and login.get("rests_until", 0) > now:
            found.setdefault(row.name, RestingLogin(row.name, login["why"], login["rests_until"]))
    return list(found.values())[:MOST]
