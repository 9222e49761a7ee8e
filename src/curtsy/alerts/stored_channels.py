"""The stored channels: those of the alerts file that was applied last."""

from collections.abc import Iterable, Mapping

import orjson

from curtsy.alerts.channel import Channel, ChannelFields
from curtsy.alerts.evaluation import ChannelTerms
from curtsy.alerts.rule import Severity
from curtsy.alerts.stored_rules import RAISE_TURN
from curtsy.errors import BadRequest, NotFound
from curtsy.sources.file import Applied
from curtsy.store import Connection, Statement

_READ = Statement("SELECT name, declared FROM alert_channels ORDER BY name")
_PUT = Statement(
    """
    INSERT INTO alert_channels (name, declared, updated_at) VALUES (:name, :declared, :now)
    ON CONFLICT (name) DO UPDATE SET declared = excluded.declared, updated_at = excluded.updated_at
    """
)
_DELETE = Statement("DELETE FROM alert_channels WHERE name = :name")


def stored_channels(connection: Connection) -> dict[str, Channel]:
    return {row.name: Channel(row.name, orjson.loads(row.declared)) for row in _READ(connection)}


def channel_named(connection: Connection, name: str) -> Channel:
    found = stored_channels(connection).get(name)
    if found is None:
        raise NotFound("channel", name[:100])
    return found


def require_channels(connection: Connection, names: Iterable[str]) -> None:
    """Raises `BadRequest` for names of channels that the file does not declare."""
    known = stored_channels(connection)
    if unknown := [name for name in names if name not in known]:
        raise BadRequest([f"There is no channel {name!r} in the alerts file." for name in unknown])


def channel_terms(connection: Connection) -> list[ChannelTerms]:
    """The channels that take messages."""
    return [
        ChannelTerms(name, Severity.named(channel.severity))
        for name, channel in stored_channels(connection).items()
        if channel.is_enabled
    ]


def apply_channels(
    connection: Connection, sections: Mapping[str, ChannelFields], *, now: int
) -> Applied:
    """Stores the sections of the file, and deletes the channels that are gone from it."""
    RAISE_TURN(connection)
    known = {row.name: row.declared for row in _READ(connection)}
    declared = {
        name: orjson.dumps(fields.declared(), option=orjson.OPT_SORT_KEYS).decode()
        for name, fields in sorted(sections.items())
    }
    changed = [name for name, text in declared.items() if known.get(name) != text]
    removed = [name for name in known if name not in declared]
    for name in removed:
        _DELETE(connection, name=name)
    for name in changed:
        _PUT(connection, name=name, declared=declared[name], now=now)
    return Applied(changed, removed)
