"""Validators of settings that are not plain numbers. Each error says which values are allowed."""

import os
import re
from pathlib import Path
from urllib.parse import quote

from curtsy.errors import BadSetting
from curtsy.fetch import parse_allowed_proxies, parse_networks
from curtsy.references import SecretMissing, reference_in
from curtsy.store.database_url import BadDatabaseUrl, parse_database_url, require_servers

DATABASE_URLS = "sqlite:///FILE or postgresql://USER:PASSWORD@HOST:PORT/DATABASE"
SQLITE = ("sqlite", "sqlite+aiosqlite", "sqlite+pysqlite")
POSTGRES = ("postgresql", "postgres", "postgresql+asyncpg")
MOST_FILES = 100
MOST_PROCESSES = 256
LEAST_WORKER_MEMORY, MOST_WORKER_MEMORY = 64 * 2**20, 2**50
_NAME = re.compile(r"[a-z0-9_-]+(\.[a-z0-9_-]+)*")
_ORIGIN = re.compile(r"https?://([a-z0-9_.-]+|\[[0-9a-f:.]+\])(:[0-9]{1,5})?")


def secret(given: object) -> object:
    """Returns the secret that the value of a setting refers to, or the value itself."""
    found = reference_in(given) if isinstance(given, str) else None
    try:
        return given if found is None else found.resolve()
    except SecretMissing as missing:
        raise ValueError(f"it refers to a secret: {missing}".removesuffix(".")) from None


def database_url(url: str) -> str:
    """Returns the URL with the one scheme of its engine: `postgresql://…` or `sqlite:///…`."""
    scheme, _, rest = url.partition("://")
    if scheme in SQLITE and "?" in rest:
        raise ValueError(f"it must be {DATABASE_URLS}; a SQLite file takes no options")
    if scheme in SQLITE and rest.startswith("/") and rest not in ("/", "/:memory:"):
        return f"sqlite://{rest}"
    if scheme not in POSTGRES:
        raise ValueError(f"it must be {DATABASE_URLS}")
    whole = f"postgresql://{_encoded(rest)}"
    try:
        require_servers(parse_database_url(whole))
    except BadDatabaseUrl as error:
        raise ValueError(f"it must be {DATABASE_URLS}; {error.why}") from None
    return whole


def _encoded(rest: str) -> str:
    """Percent-encodes the @, / and # of a password that was written as it is."""
    before, at, place = rest.rpartition("@")
    if "?" in before:  # the @ is in an option
        return rest
    user, colon, password = before.partition(":")
    for character in "@/#":
        password = password.replace(character, quote(character, safe=""))
    return f"{user}{colon}{password}{at}{place}"


def worker_processes(given: object) -> int:
    """Returns the number; for `auto` the number of cores that this process may use."""
    if given == "auto":
        return min(MOST_PROCESSES, cores())
    text = str(given)
    if not (
        text.isascii() and text.isdigit() and len(text) < 4 and 0 < int(text) <= MOST_PROCESSES
    ):
        raise ValueError(f"it must be auto or a whole number from 1 to {MOST_PROCESSES}")
    return int(text)


def worker_memory(given: object) -> object:
    """Returns `auto`, or the number of bytes."""
    text = str(given)
    if text != "auto" and not (
        text.isascii() and text.isdigit() and len(text) < 20
        and LEAST_WORKER_MEMORY <= int(text) <= MOST_WORKER_MEMORY
    ):  # fmt: skip
        raise ValueError(
            f"it must be auto or a whole number from {LEAST_WORKER_MEMORY} to {MOST_WORKER_MEMORY}"
        )
    return text if text == "auto" else int(text)


def cores() -> int:
    """The number of cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):  # a container may have fewer than its machine
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def header_value(text: str) -> str:
    if not (text.isascii() and text.isprintable() and 0 < len(text.strip()) <= 500):
        raise ValueError("it must be 1 to 500 printable ASCII characters")
    return text.strip()


def networks(text: str) -> str:
    try:
        parse_networks(text)
    except BadSetting as error:
        allowed = "it must be addresses or networks such as 10.0.0.0/8, separated by commas"
        raise ValueError(f"{allowed}; {error}".removesuffix(".")) from None
    return text


def proxy_addresses(text: str) -> str:
    try:
        parse_allowed_proxies(text)
    except BadSetting as error:
        allowed = "it must be addresses such as 127.0.0.1:3128 or networks, separated by commas"
        raise ValueError(f"{allowed}; {error}".removesuffix(".")) from None
    return text


def host_names(text: str) -> str:
    return _list(text, _NAME, "names such as curtsy.example.com, without a port")


def origins(text: str) -> str:
    return _list(text, _ORIGIN, "origins such as https://example.com, without a path")


def python_files(text: str) -> str:
    files = [one.strip() for one in text.split(",") if one.strip()]
    if len(files) > MOST_FILES or not all(one.endswith(".py") for one in files):
        raise ValueError(f"it must be up to {MOST_FILES} Python files, separated by commas")
    return ",".join(dict.fromkeys(files))


def existing_paths(text: str) -> str:
    paths = [one.strip() for one in text.split(",") if one.strip()]
    missing = [one for one in paths if not Path(one).exists()]
    if len(paths) > MOST_FILES or missing:
        allowed = f"it must be up to {MOST_FILES} files and folders, separated by commas"
        raise ValueError(f"{allowed}; {missing[0]} does not exist" if missing else allowed)
    if any(Path(one).resolve() == Path("/") for one in paths):
        raise ValueError("it must not name the root folder, which holds everything")
    return ",".join(dict.fromkeys(paths))


def _list(text: str, form: re.Pattern[str], what: str) -> str:
    values = [one for one in re.split(r"[,\s]+", text.lower()) if one]
    if not all(form.fullmatch(one) for one in values):
        raise ValueError(f"it must be {what}, separated by commas")
    return ",".join(values)
