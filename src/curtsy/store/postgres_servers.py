"""Finds the primary among the servers of a URL, and refuses one that another has replaced.

A standby that is promoted begins a new timeline. So of two servers of a cluster that can both be
written, the one with the lower timeline was left behind: what it stores is lost. A process that has
seen a timeline refuses every server with a lower one.
"""

import asyncio
import contextlib
import os
import socket
import threading
from collections.abc import Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import asyncpg

from curtsy.logs import logger
from curtsy.store.database_url import DatabaseUrl, Server, parse_database_url
from curtsy.store.frozen_sessions import FROZEN_SECONDS

log = logger("store")

CONNECT_SECONDS = 2
FIRST_SECONDS = 0.5
"""So long the last primary is asked alone; then all servers are asked at once."""
LATER_SECONDS = 0.3
"""So long a primary that was found waits for others that may have a higher timeline."""
COMMAND_SECONDS = 45
"""A statement without an answer for so long has no server: `statement_timeout` comes before."""
SILENT_SECONDS, PROBE_AFTER_SECONDS, PROBE_EVERY_SECONDS = 10, 5, 2
"""A machine that acknowledges nothing for so long is gone; an idle connection is probed."""
SESSION = {
    "application_name": "curtsy",
    "jit": "off",  # compiling costs more than any of our statements
    "lock_timeout": "15s",
    "statement_timeout": "30s",
    # a frozen process must not hold its locks; see also frozen_sessions.py
    "idle_in_transaction_session_timeout": f"{FROZEN_SECONDS}s",
}
_IDENTITY = """
    SELECT system_identifier, substr(pg_walfile_name(pg_current_wal_lsn()), 1, 8)
    FROM pg_control_system()
    """
UNREACHABLE = (OSError, TimeoutError, asyncpg.PostgresError, asyncpg.InterfaceError,
               asyncpg.InternalClientError)  # fmt: skip


if TYPE_CHECKING:
    _Connection = asyncpg.Connection[asyncpg.Record]
else:  # generic for type checkers only
    _Connection = asyncpg.Connection


class Identity(NamedTuple):
    cluster: int
    """The same for a primary and its standbys, as long as they live."""
    timeline: int

    def is_older_than(self, other: "Identity") -> bool:
        return self.cluster == other.cluster and self.timeline < other.timeline


class NoPrimary(ConnectionError):
    sqlstate = "25006"
    """That of a statement that wants to write to a standby."""


class Session(_Connection):
    """A connection that notices when the machine of its server is gone."""

    server: Server
    identity: Identity | None = None
    """None: the server does not tell."""

    def __init__(self, protocol: Any, transport: asyncio.Transport, *arguments: Any) -> None:
        super().__init__(protocol, transport, *arguments)
        _watch(transport)


class Servers:
    """What a process knows of the servers of one URL."""

    def __init__(
        self, url: str, *, session: Mapping[str, str] | None = None,
        command_seconds: float | None = COMMAND_SECONDS,
    ) -> None:  # fmt: skip
        """`session` has settings beside the usual ones."""
        parsed = parse_database_url(url)
        self._servers = parsed.servers
        self._arguments = connect_arguments(parsed, session or {}, command_seconds)
        self._last: Server | None = None
        self._seen: Identity | None = None
        self._seen_changes = threading.Lock()

    async def connect(self) -> Session:
        """Connects to the primary: to the last one if it answers at once, else to the one that is
        found among all servers."""
        if self._last is not None and len(self._servers) > 1:
            with contextlib.suppress(*UNREACHABLE):
                async with asyncio.timeout(FIRST_SECONDS):
                    return self._adopt(await self._open(self._last))
        return await self._survey()

    def forget(self) -> None:
        """The next connection asks all servers: a connection to the last primary broke."""
        self._last = None

    def is_current(self, session: Session) -> bool:
        """Whether no newer primary is known than the one of the session."""
        known, seen = session.identity, self._seen
        return known is None or seen is None or known == seen

    async def have_left(self, session: Session) -> bool:
        """Asks all servers whether another one is the primary now."""
        if self.is_current(session) and len(self._servers) > 1:
            with contextlib.suppress(*UNREACHABLE):
                (await self._survey()).terminate()
        return not self.is_current(session)

    async def _survey(self) -> Session:
        """Asks all servers at once. Returns the highest timeline of those that answer soon."""
        if len(self._servers) == 1:
            return self._adopt(await self._open(self._servers[0]))
        attempts = [asyncio.create_task(self._open(server)) for server in self._servers]
        chosen: Session | None = None
        try:
            await _until_one_is_open(attempts)
            await asyncio.wait(attempts, timeout=LATER_SECONDS)
            chosen = self._adopt(self._highest(attempts))
        finally:
            for attempt in attempts:
                attempt.cancel()
            for session in _sessions(attempts):
                if session is not chosen:
                    session.terminate()
        return chosen

    def _highest(self, attempts: "Sequence[asyncio.Task[Session]]") -> Session:
        found = _sessions(attempts)
        if not found:
            raise self._none_of(attempts)
        clusters = {one.identity.cluster for one in found if one.identity is not None}
        if len(clusters) > 1:
            where = " and ".join(str(one.server) for one in found)
            raise NoPrimary(f"{where} are not copies of one database")
        return max(found, key=_timeline)

    async def _open(self, server: Server) -> Session:
        """Raises `NoPrimary` for a server that is none, or no longer."""
        async with asyncio.timeout(self._arguments["timeout"]):
            try:
                session: Session = await asyncpg.connect(
                    host=server.host, port=server.port, **self._arguments
                )
            except asyncpg.TargetServerAttributeNotMatched:
                raise NoPrimary(f"{server} is read-only, as a standby is") from None
            try:
                session.server, session.identity = server, await _identity_of(session)
                self._require_current(session)
            except BaseException:
                session.terminate()
                raise
        return session

    def _require_current(self, session: Session) -> None:
        """With one server in the URL, another cluster is what an operator put in its place; among
        several, it is a mistake."""
        found, seen = session.identity, self._seen
        if found is None or seen is None:
            return
        if found.is_older_than(seen):
            raise NoPrimary(
                f"{session.server} was left behind on timeline {found.timeline}, "
                f"the primary is on {seen.timeline}"
            )
        if found.cluster != seen.cluster and len(self._servers) > 1:
            raise NoPrimary(f"{session.server} is no copy of the database in use")

    def _adopt(self, session: Session) -> Session:
        """Raises `NoPrimary` where another thread has seen a newer one meanwhile."""
        found = session.identity
        with self._seen_changes:
            try:
                self._require_current(session)
            except NoPrimary:
                session.terminate()
                raise
            seen, self._seen = self._seen, found or self._seen
            self._last = session.server
        if found is not None and seen is not None and found != seen:
            log.warning("primary_changed", server=str(session.server), timeline=found.timeline)
        return session

    def _none_of(self, attempts: "Sequence[asyncio.Task[Session]]") -> BaseException:
        """A refused login says more than a server that is away."""
        errors = [error for attempt in attempts if (error := attempt.exception()) is not None]
        for error in errors:
            if str(getattr(error, "sqlstate", "")).startswith(("28", "3D")):
                return error
        return NoPrimary("; ".join(map(_reason, self._servers, errors)))


@cache
def servers_of(url: str) -> Servers:
    """All connections of a process to a URL share what one of them has learnt."""
    return Servers(url)


def connect_arguments(
    url: DatabaseUrl, session: Mapping[str, str], command_seconds: float | None
) -> dict[str, Any]:
    """Returns the arguments of `asyncpg.connect` but for the server: options that are none of its
    own are settings of the session."""
    options = {name: value for name, value in url.options.items() if name not in ("host", "port")}
    tls = options.pop("sslmode", options.pop("ssl", None))
    options.pop("target_session_attrs", None)
    arguments: dict[str, Any] = {
        "database": options.pop("dbname", url.database),
        "user": options.pop("user", url.user),
        "password": options.pop("password", url.password),
        "timeout": float(options.pop("connect_timeout", CONNECT_SECONDS)),
        "command_timeout": None if "statement_timeout" in options else command_seconds,
        "server_settings": SESSION | options | dict(session),
        "statement_cache_size": 0,  # each connection of the pool has its own
        "ssl": tls,
        "target_session_attrs": "read-write",
        "connection_class": Session,
    }
    return {name: value for name, value in arguments.items() if value is not None}


def _watch(transport: asyncio.Transport) -> None:
    """Lets the kernel end a connection whose other side is gone without a word. Otherwise a
    statement would wait for a quarter of an hour."""
    found = transport.get_extra_info("socket")
    if found is None or found.family not in (socket.AF_INET, socket.AF_INET6):
        return
    with socket.socket(fileno=os.dup(found.fileno())) as opened:
        opened.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        for option, value in (
            ("TCP_KEEPIDLE", PROBE_AFTER_SECONDS),
            ("TCP_KEEPINTVL", PROBE_EVERY_SECONDS),
            ("TCP_KEEPCNT", (SILENT_SECONDS - PROBE_AFTER_SECONDS) // PROBE_EVERY_SECONDS),
            ("TCP_USER_TIMEOUT", SILENT_SECONDS * 1000),
        ):
            if hasattr(socket, option):
                opened.setsockopt(socket.IPPROTO_TCP, getattr(socket, option), value)


async def _identity_of(session: Session) -> Identity | None:
    try:
        row = await session.fetchrow(_IDENTITY)
    except asyncpg.PostgresConnectionError:
        raise
    except asyncpg.PostgresError:  # not allowed, or a server that only resembles PostgreSQL
        return None
    return Identity(row[0], int(row[1], 16)) if row is not None else None


async def _until_one_is_open(attempts: "Sequence[asyncio.Task[Session]]") -> None:
    """Returns when a primary was found, or none was."""
    waiting = set(attempts)
    while waiting and not _sessions(attempts):
        _ended, waiting = await asyncio.wait(waiting, return_when=asyncio.FIRST_COMPLETED)


def _sessions(attempts: "Sequence[asyncio.Task[Session]]") -> list[Session]:
    ended = [one for one in attempts if one.done() and not one.cancelled()]
    return [one.result() for one in ended if one.exception() is None]


def _timeline(session: Session) -> int:
    return session.identity.timeline if session.identity is not None else 0


def _reason(server: Server, error: BaseException) -> str:
    match error:
        case NoPrimary():
            return str(error)
        case ConnectionRefusedError():
            return f"{server} refuses connections"
        case TimeoutError():
            return f"{server} does not answer"
        case socket.gaierror():
            return f"{server} has no known address"
    return f"{server}: {str(error).splitlines()[0] if str(error) else type(error).__name__}"
