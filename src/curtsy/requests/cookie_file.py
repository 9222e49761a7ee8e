"""Reads the cookies of a browser: a file in the Netscape format, or what extensions of browsers
export as JSON."""

import re
from collections.abc import Iterable, Iterator
from math import isfinite
from typing import Any
from urllib.parse import urlsplit

import orjson

from curtsy.clock import SECOND
from curtsy.fetch.cookies import LARGEST_COOKIE, LATEST, Cookie, fits_prefix
from curtsy.model.domains import domain_of, is_public_suffix
from curtsy.model.masks import MASK
from curtsy.model.urls import BadUrl, canonical

LARGEST_FILE = 64 * 1024
"""Bytes of a whole file of cookies."""
MOST_COOKIES = 2_000
COLUMNS = 7
_HTTP_ONLY = "#HttpOnly_"
_NAME = re.compile(r"[!#-+\--:<>-~]{1,4096}")
_VALUE = re.compile(r"[ !-:<-~]{0,4096}")
_LINE_END = re.compile(r"\r\n|\r|\n")
"""No other character: values may have those at which str.splitlines() splits too."""
_HEADER = re.compile(r"(?:cookie: ?)?[^\s;=]+=[^;\t\n]*(?:; ?[^\s;=]+=[^;\t\n]*)*;?", re.I)
_FORMAT = (
    "is not a file of cookies: it has to be a browser's cookies.txt in the Netscape format, or the "
    "JSON of an extension such as Cookie-Editor"
)


class BadCookies(ValueError):
    """Text that has no cookies to send; the message is a sentence without any of them."""


def parse_cookies(text: str) -> list[Cookie]:
    """Returns all cookies that can be sent, those included that have expired. Raises
    `BadCookies`."""
    if text.strip() == MASK:
        raise BadCookies(f"cookies is {MASK}, which only masks them: write the real ones.")
    if len(text.encode(errors="replace")) > LARGEST_FILE:
        raise BadCookies(f"The cookies take more than {LARGEST_FILE // 1024} KiB: export those of "
                         "one site.")  # fmt: skip
    text = text.removeprefix("\ufeff")
    found = _of_json(text) if text.lstrip()[:1] in ("[", "{") else _of_lines(text)
    kept = list({cookie.identity: cookie for cookie in found if _can_be_sent(cookie)}.values())
    if len(kept) > MOST_COOKIES:
        raise BadCookies(f"There are {len(kept)} cookies: export those of one site.")
    return kept


def cookies_for(text: str, urls: Iterable[str]) -> tuple[Cookie, ...]:
    """The cookies for the domains of these URLs; no others are stored. Raises `BadCookies`."""
    every = parse_cookies(text)
    domains = set()
    for url in urls:
        try:
            domains.add(domain_of(canonical(url).host))
        except BadUrl:  # submitting reports it
            continue
    found = tuple(cookie for cookie in every if domain_of(cookie.host) in domains)
    if not found:
        hosts = ", ".join(sorted({cookie.host for cookie in every})[:5]) or "no host"
        sentence = f"None of the {len(every)} cookies is for a host of this job: they are for"
        raise BadCookies(f"{sentence} {hosts}.")
    return found


def _of_lines(text: str) -> Iterator[Cookie]:
    every = _LINE_END.split(text)
    lines = [line for line in every if line.strip()]
    if len(lines) == 1 and _HEADER.fullmatch(lines[0].strip()):
        raise BadCookies("This is a Cookie header, which does not say for which hosts its cookies "
                         "are: export a cookies.txt.")  # fmt: skip
    for number, line in enumerate(every, 1):
        rest = line.removeprefix(_HTTP_ONLY)
        if not rest.strip() or (rest == line and line.lstrip().startswith("#")):
            continue
        yield _of_columns(_columns(rest, number), number)


def _columns(line: str, number: int) -> list[str]:
    columns = line.split("\t") if "\t" in line else line.split()
    if len(columns) == COLUMNS - 1 and _is_number(columns[4]):
        columns.append("")  # an empty value, whose tab an editor took away
    if len(columns) != COLUMNS:
        sentence = f"Line {number} of the cookies has {len(columns)} columns, not {COLUMNS}:"
        raise BadCookies(f"{sentence} the text {_FORMAT}.")
    return columns


def _of_columns(columns: list[str], number: int) -> Cookie:
    host, with_subdomains, path, secure, expires, name, value = columns
    flags = {"TRUE": True, "FALSE": False}
    covers, is_secure = flags.get(with_subdomains.upper()), flags.get(secure.upper())
    if covers is None or is_secure is None or not _is_number(expires):
        raise BadCookies(f"Line {number} of the cookies has its columns in another order: the text "
                         f"{_FORMAT}.")  # fmt: skip
    seconds = float(expires)  # browsers write 0 or -1 for the end of the session
    return _cookie(name, value, host, covers, path, is_secure, seconds if seconds > 0 else None)


def _of_json(text: str) -> Iterator[Cookie]:
    try:
        given = orjson.loads(text)
    except orjson.JSONDecodeError:
        raise BadCookies(f"The text begins like JSON but {_FORMAT}.") from None
    rows = given.get("cookies") if isinstance(given, dict) else given
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise BadCookies(f"The JSON is no list of cookies: the text {_FORMAT}.")
    for number, row in enumerate(rows, 1):
        yield _of_object(row, number)


def _of_object(row: dict[str, Any], number: int) -> Cookie:
    name, value, host = row.get("name"), row.get("value"), row.get("domain") or row.get("host")
    path, expires = row.get("path") or "/", row.get("expirationDate", row.get("expires"))
    if not all(isinstance(text, str) for text in (name, value, host, path)):
        raise BadCookies(f"Cookie {number} of the JSON lacks a name, a value or a domain: the text "
                         f"{_FORMAT}.")  # fmt: skip
    assert isinstance(host, str)
    assert isinstance(name, str)
    assert isinstance(value, str)
    is_instant = isinstance(expires, int | float) and not isinstance(expires, bool) and expires > 0
    covers = host.startswith(".") and row.get("hostOnly") is not True
    seconds = float(expires) if is_instant else None  # type: ignore[arg-type]
    return _cookie(name, value, host, covers, path, row.get("secure") is True, seconds)


def _cookie(
    name: str, value: str, host: str, with_subdomains: bool, path: str, secure: bool,
    expires: float | None,
) -> Cookie:  # fmt: skip
    """`expires`: in seconds since 1970; None: with the session."""
    host = host.strip().lower()
    covers = with_subdomains or host.startswith(".")
    host = host.removeprefix(".")
    at = None
    if expires is not None:
        at = int(max(0.0, min(LATEST, expires * SECOND))) if isfinite(expires) else LATEST
    return Cookie(name, value, host, covers and not is_public_suffix(host),
                  path if path.startswith("/") else "/", secure, at)  # fmt: skip


def _can_be_sent(cookie: Cookie) -> bool:
    """Whether the cookie is one that a site may set, in characters that a header may have."""
    short = len(cookie.name) + len(cookie.value) + len(cookie.path) <= LARGEST_COOKIE
    spelled = _NAME.fullmatch(cookie.name) and _VALUE.fullmatch(cookie.value)
    try:
        host = urlsplit(canonical(f"http://{cookie.host}/").text).hostname
    except BadUrl:
        return False
    return bool(short and spelled and host == cookie.host and fits_prefix(cookie))


def _is_number(text: str) -> bool:
    return re.fullmatch(r"-?[0-9]{1,18}(\.[0-9]{1,9})?", text.strip()) is not None
