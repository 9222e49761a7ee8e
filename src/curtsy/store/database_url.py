"""Parses the URL of a database. A PostgreSQL URL may name several servers, of which one is the
primary."""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from curtsy.errors import BadSetting

MOST_SERVERS = 8
WRITABLE = ("read-write", "primary")
"""Values of `target_session_attrs` that a program which writes can mean."""
_URL = re.compile(
    r"(?P<scheme>[a-z]\w*)(?:\+\w+)?://"
    r"(?:(?P<user>[^:/?]*)(?::(?P<password>[^@]*))?@)?"
    r"(?P<hosts>[^/?]*)"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<options>.*))?",
    re.IGNORECASE | re.DOTALL,
)
_HOST = re.compile(r"(?:\[(?P<address>[^]]+)\]|(?P<name>[^:]*))(?::(?P<port>.*))?", re.DOTALL)
_NAME = re.compile(r"[\w.~%:/-]+")


class BadDatabaseUrl(BadSetting):
    def __init__(self, why: str) -> None:
        self.why = why
        super().__init__(f"DATABASE_URL is no URL of a database: {why}.")


class Server(NamedTuple):
    """The address of a PostgreSQL server. None is the driver's default."""

    host: str | None = None
    """A name, an address, or the folder of a Unix socket."""
    port: int | None = None

    def __str__(self) -> str:
        shown = f"[{self.host}]" if self.host and ":" in self.host else self.host or "localhost"
        return shown if self.port is None else f"{shown}:{self.port}"


class DatabaseUrl(NamedTuple):
    scheme: str
    """`sqlite` or `postgresql`; the name of a driver behind a `+` is dropped."""
    user: str | None
    password: str | None
    hosts: tuple[Server, ...]
    """The servers between `//` and the path. Options may name others: see `servers`."""
    database: str | None
    """The name of the database; for SQLite the path of its file."""
    options: dict[str, str]
    """The last one of several options with the same name."""

    @property
    def is_sqlite(self) -> bool:
        return self.scheme == "sqlite"

    @property
    def servers(self) -> tuple[Server, ...]:
        """The servers in the order of the URL; the options `host` and `port` have precedence, as
        in libpq. Raises `BadDatabaseUrl`."""
        names, ports = self.options.get("host"), self.options.get("port")
        hosts = self.hosts
        if names:
            hosts = tuple(Server(_plain_name(name)) for name in names.split(","))
        if ports:
            numbers = [_port(port, number) for number, port in enumerate(ports.split(","), 1)]
            numbers = numbers * len(hosts) if len(numbers) == 1 else numbers
            if len(numbers) != len(hosts):
                raise BadDatabaseUrl(f"it names {len(numbers)} ports for {len(hosts)} servers")
            pairs = zip(hosts, numbers, strict=True)
            hosts = tuple(Server(server.host, port) for server, port in pairs)
        return hosts

    def text(self) -> str:
        """Returns the URL in the spelling of libpq and SQLAlchemy, with its password."""
        password = "" if self.password is None else f":{quote(self.password, safe='')}"
        login = "" if self.user is None else f"{quote(self.user, safe='')}{password}@"
        options = f"?{urlencode(self.options, quote_via=quote)}" if self.options else ""
        hosts = ",".join(map(_text_of, self.hosts))
        return f"{self.scheme}://{login}{hosts}/{self.database or ''}{options}"


def parse_database_url(url: str) -> DatabaseUrl:
    """Raises `BadDatabaseUrl` for a text that is no URL of a database."""
    found = _URL.fullmatch(url)
    if found is None:
        raise BadDatabaseUrl("use sqlite:/// or postgresql://")
    password = found["password"]
    is_sqlite = found["scheme"].lower() == "sqlite"
    return DatabaseUrl(
        scheme=found["scheme"].lower(),
        user=unquote(found["user"]) if found["user"] else None,
        password=unquote(password) if password is not None else None,
        hosts=(Server(),) if is_sqlite else _servers(found["hosts"]),
        database=found["database"] or None,
        options=dict(parse_qsl(found["options"] or "", keep_blank_values=True)),
    )


def require_servers(url: DatabaseUrl) -> None:
    """Raises `BadDatabaseUrl` where the servers of a PostgreSQL URL cannot be meant as they are
    written. No sentence quotes a part that may be a misplaced password."""
    servers = url.servers
    if len(servers) > MOST_SERVERS:
        raise BadDatabaseUrl(f"it names {len(servers)} servers; at most {MOST_SERVERS} are asked")
    for number, server in enumerate(servers, 1):
        if len(servers) > 1 and not server.host:
            raise BadDatabaseUrl(f"server {number} has no name: write HOST:PORT,HOST:PORT")
        if server.host and not _NAME.fullmatch(server.host):
            raise BadDatabaseUrl(f"server {number} has characters that no name of a server has")
        if servers.count(server) > 1:
            raise BadDatabaseUrl(f"server {number} is named twice")
    wanted = url.options.get("target_session_attrs", WRITABLE[0])
    if wanted not in WRITABLE:
        raise BadDatabaseUrl(f"curtsy writes, so target_session_attrs must be {WRITABLE[0]}")
    if not re.fullmatch(r"[1-9][0-9]{0,3}", url.options.get("connect_timeout", "2")):
        raise BadDatabaseUrl("connect_timeout must be whole seconds, at least 1")


def _servers(texts: str) -> tuple[Server, ...]:
    return tuple(_server(text, number) for number, text in enumerate(texts.split(","), 1))


def _server(text: str, number: int) -> Server:
    found = _HOST.fullmatch(text)
    if found is None or "[" in (found["name"] or "") or ":" in (found["port"] or ""):
        raise BadDatabaseUrl(
            f"server {number} is not HOST:PORT; commas stand between servers, and brackets around "
            "an IPv6 address"
        )
    name = found["address"] or _plain_name(found["name"])
    return Server(name or None, _port(found["port"], number) if found["port"] else None)


def _plain_name(text: str) -> str:
    text = unquote(text)
    return text[1:-1] if text.startswith("[") and text.endswith("]") else text


def _port(text: str, number: int) -> int:
    if not re.fullmatch(r"[0-9]{1,5}", text) or not 0 < int(text) < 65_536:
        raise BadDatabaseUrl(f"the port of server {number} is no number from 1 to 65535")
    return int(text)


def _text_of(server: Server) -> str:
    name = f"[{server.host}]" if server.host and ":" in server.host else server.host or ""
    name = quote(name, safe="") if name.startswith("/") else name
    return name if server.port is None else f"{name}:{server.port}"
