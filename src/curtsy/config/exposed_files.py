"""Finds secrets in the operator's files: those that others may read, and references that lead to
none."""

import re
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from curtsy import env_file
from curtsy.config.settings import FILE, Settings
from curtsy.env_file import read_env_file
from curtsy.privacy import is_open_to_others
from curtsy.references import SecretMissing, reference_in

_SECRET_NAME = re.compile(
    r"auth(?!or)|token|secret|passw|passphrase|credential|session|signature|cookie"
    r"|(api|access|private)[_-]?key", re.I,
)  # fmt: skip
_SECRET_URL = re.compile(
    r"//[^/@\s]*:[^@\s]+@|[?&][^=&]*(key|token|secret|passw|sig|auth)[^=&]*=[^&]", re.I
)
_NO_SECRETS = ("recipe",)
"""Tables whose names and texts only look like secrets: selectors."""
_SECRET_TABLES = ("headers", "form")
"""Of requests, and of logins."""
_SECRET_FIELDS = ("webhook_url",)
_PROXIES = ("proxy", "proxies")
_SECRETS_OF_CHANNELS = ("url", "token", "password")


def exposed_files(settings: Settings) -> list[str]:
    """Returns a sentence for each file of the operator's that contains a secret and that others may
    read."""
    return [
        f"{path} contains secrets, and other users may read it: `chmod 600 {path}`, or write "
        "references (env:NAME or file:PATH) instead of the secrets."
        for path in (Path(env_file.FILE), *_files(settings))
        if is_open_to_others(path) and any(_secrets(_contents(path)))
    ]


def missing_secrets(settings: Settings) -> list[str]:
    """Returns a sentence for each reference, in a declared file, that leads to no secret here."""
    found = []
    for path in _files(settings):
        for text in _texts(_contents(path)):
            reference = reference_in(text)
            try:
                if reference is not None:
                    reference.resolve()
            except SecretMissing as missing:
                found.append(f"In {path}: {missing}")
    return list(dict.fromkeys(found))


def _files(settings: Settings) -> list[Path]:
    return [Path(FILE), Path(settings.sources_file), Path(settings.sites_file),
            Path(settings.schedules_file), Path(settings.alerts_file)]  # fmt: skip


def _contents(path: Path) -> Any:
    """An unreadable file has no secrets here; whoever uses the file says what is wrong with it."""
    try:
        if path == Path(env_file.FILE):
            return read_env_file().variables
        return tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}


def _secrets(value: Any, name: str = "", *, hidden: bool = False) -> Iterator[str]:
    """Yields the texts that are secrets by their place, their name or their look."""
    if isinstance(value, dict):
        for key, one in value.items():
            if key not in _NO_SECRETS:
                of_channel = _is_channel(value) and key in _SECRETS_OF_CHANNELS
                hidden_too = hidden or name in _SECRET_TABLES or of_channel
                yield from _secrets(one, key, hidden=hidden_too)
    elif isinstance(value, list):
        for one in value:
            yield from _secrets(one, name, hidden=hidden)
    elif isinstance(value, str) and value and reference_in(value) is None:
        in_place = hidden or name in _SECRET_TABLES or name in _SECRET_FIELDS
        in_place = in_place or (name in _PROXIES and "@" in value)
        if in_place or _SECRET_NAME.search(name) or _SECRET_URL.search(value):
            yield value


def _texts(value: Any, name: str = "", *, may_refer: bool = False) -> Iterator[str]:
    """Yields the texts that may be references: headers, proxies, webhooks and the database."""
    if isinstance(value, dict):
        for key, one in value.items():
            of_channel = _is_channel(value) and key in _SECRETS_OF_CHANNELS
            yield from _texts(one, key, may_refer=name in _SECRET_TABLES or of_channel)
    elif isinstance(value, list) and name in _PROXIES:
        for one in value:
            yield from _texts(one, name)
    elif isinstance(value, str) and (may_refer or name in (*_SECRET_FIELDS, *_PROXIES)):
        yield value


def _is_channel(table: dict[str, Any]) -> bool:
    """Whether this is a channel of the alerts file."""
    return "kind" in table
