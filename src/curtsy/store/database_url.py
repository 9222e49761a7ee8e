"""Parses the URL of a database."""

import re
from typing import NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlencode

from curtsy.errors import BadSetting

_URL = re.compile(
    r"(?P<scheme>[a-z]\w*)(?:\+\w+)?://"
    r"(?:(?P<user>[^:/?]*)(?::(?P<password>[^@]*))?@)?"
    r"(?:\[(?P<address>[^]/?]+)\]|(?P<host>[^/:?]*))(?::(?P<port>[0-9]+))?"
    r"(?:/(?P<database>[^?]*))?(?:\?(?P<options>.*))?",
    re.IGNORECASE | re.DOTALL,
)


class DatabaseUrl(NamedTuple):
    scheme: str
    """`sqlite` or `postgresql`; the name of a driver behind a `+` is dropped."""
    user: str | None
    password: str | None
    host: str | None
    port: int | None
    database: str | None
    """The name of the database; for SQLite the path of its file."""
    options: dict[str, str]
    """The last one of several options with the same name."""

    @property
    def is_sqlite(self) -> bool:
        return self.scheme == "sqlite"

    def text(self) -> str:
        """Returns the URL in the spelling of libpq and SQLAlchemy, with its password."""
        password = "" if self.password is None else f":{quote(self.password, safe='')}"
        login = "" if self.user is None else f"{quote(self.user, safe='')}{password}@"
        host = f"[{self.host}]" if self.host and ":" in self.host else self.host or ""
        port = "" if self.port is None else f":{self.port}"
        options = f"?{urlencode(self.options, quote_via=quote)}" if self.options else ""
        return f"{self.scheme}://{login}{host}{port}/{self.database or ''}{options}"


def parse_database_url(url: str) -> DatabaseUrl:
    """Raises `BadSetting` for a text that is no URL of a database."""
    found = _URL.fullmatch(url)
    if found is None:
        raise BadSetting("DATABASE_URL is no URL: use sqlite:/// or postgresql://")
    password, port = found["password"], found["port"]
    return DatabaseUrl(
        scheme=found["scheme"].lower(),
        user=unquote(found["user"]) if found["user"] else None,
        password=unquote(password) if password is not None else None,
        host=found["address"] or found["host"] or None,
        port=int(port) if port else None,
        database=found["database"] or None,
        options=dict(parse_qsl(found["options"] or "", keep_blank_values=True)),
    )
