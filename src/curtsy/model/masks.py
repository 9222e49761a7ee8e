"""Masks secrets in what is shown: headers, webhook URLs and the URL of the database."""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import unquote

from curtsy.references import Reference, from_stored

MASK = "***"
"""Shown in place of a secret; not accepted as one."""
_URL = re.compile(r"([a-z][a-z0-9+.-]*://)(?:[^/?#]*@)?([^/?#]*)/?(.*)", re.I | re.S)
_SCHEME = re.compile(r"([a-z][a-z0-9+.-]*)://", re.I)
_PLAIN_OPTIONS = frozenset({
    "application_name", "connect_timeout", "dbname", "host", "port", "ssl", "sslmode",
    "target_session_attrs", "user",
})  # fmt: skip
"""Options of a database URL that are shown; any other may be a secret."""
_SHORTEST = 4
"""Shorter passwords are not searched for in error texts: they occur in any text."""


def masked_headers(headers: Mapping[str, Any]) -> dict[str, str]:
    """Masks every value: any header may be a secret, whatever its name. A reference is none."""
    secrets = {name: from_stored(value) for name, value in headers.items()}
    return {name: MASK if isinstance(s, str) else str(s) for name, s in secrets.items()}


def masked_url(url: Any) -> str:
    """Leaves scheme, host and port of a webhook URL: tokens are in paths as well as in queries."""
    url = from_stored(url)
    if isinstance(url, Reference):
        return str(url)
    found = _URL.fullmatch(url)
    if found is None:
        return MASK
    scheme, host, rest = found.groups()
    return f"{scheme}{host}/{MASK if rest else ''}"


def masked_database_url(url: str) -> str:
    """Masks the password, wherever the URL has one: before the last @, or in an option.

    Where a `?` before the last @ leaves open which of the two it is, masks all of it.
    """
    found = _SCHEME.match(url)
    if found is None or found[1].lower().startswith("sqlite"):
        return url
    before, at, rest = url[found.end() :].rpartition("@")
    if "?" in before:
        return f"{found[0]}{MASK}"
    user, colon, _password = before.partition(":")
    user = MASK if "/" in user or "#" in user else user
    place, mark, options = rest.partition("?")
    shown = "&".join(map(_masked_option, options.split("&"))) if options else ""
    return f"{found[0]}{user}{f':{MASK}' if colon else ''}{at}{place}{mark}{shown}"


def without_credentials(text: str, url: str) -> str:
    """Masks the database URL and its passwords in a text, such as the error of a driver."""
    text = text.replace(url, masked_database_url(url))
    for password in sorted(_passwords(url), key=len, reverse=True):
        text = text.replace(password, MASK)
    return text


def _masked_option(option: str) -> str:
    name, equals, _value = option.partition("=")
    if name in _PLAIN_OPTIONS:
        return option
    return f"{name}={MASK}" if equals else MASK


def _passwords(url: str) -> set[str]:
    """The passwords of a URL in each spelling that a driver may quote, with every part that a
    driver may see where a password has an @ or a colon in it."""
    found = _SCHEME.match(url)
    if found is None or found[1].lower().startswith("sqlite"):
        return set()
    whole = url[found.end() :]
    _user, _colon, password = whole.rpartition("@")[0].partition(":")
    _place, _mark, options = whole.partition("?")
    secrets = [password, *password.split("@"), *password.split(":")]
    for option in options.split("&"):
        name, _equals, value = option.partition("=")
        if name not in _PLAIN_OPTIONS:
            secrets.append(value)
    return {one for secret in secrets for one in (secret, unquote(secret)) if len(one) >= _SHORTEST}
