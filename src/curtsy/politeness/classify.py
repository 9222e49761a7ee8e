"""Classifies an HTTP response by its status, with two tables.

Only 200 and 203 are pages to extract. Other successes are not the requested page: 201 and 202
report work, 204 and 205 have no content, and 206 is a part that was not requested.
"""

from datetime import UTC
from email.utils import parsedate_to_datetime
from http import HTTPStatus

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Moved, NotModified, Reply
from curtsy.model.urls import BadUrl, as_given, joined

PAGES = frozenset({200, 203})
REDIRECTS = frozenset({301, 302, 303, 307, 308})
NOT_MODIFIED = 304

BY_STATUS = {
    401: Kind.UNAUTHORIZED,
    403: Kind.FORBIDDEN,
    404: Kind.GONE,
    407: Kind.UNAUTHORIZED,
    408: Kind.TIMEOUT,
    410: Kind.GONE,
    429: Kind.RATE_LIMITED,
    451: Kind.FORBIDDEN,
    503: Kind.RATE_LIMITED,  # the whole host is overloaded or closed, not only this page
}
BY_HUNDRED = {
    4: Kind.CLIENT_ERROR,
    5: Kind.SERVER_ERROR,
}

LONGEST_RETRY_AFTER = 24 * 60 * 60 * 1000


def classify(
    reply: Reply, now: int, *, conditional: bool = False
) -> Failed | Moved | NotModified | None:
    """The outcome; None: a page to extract. `conditional`: the request was for a page that is
    stored already, if it has changed."""
    status = reply.status
    if status in PAGES:
        return None
    if status == NOT_MODIFIED and conditional:
        return NotModified(status)
    if status in REDIRECTS:
        return _moved(reply)
    kind = BY_STATUS.get(status) or BY_HUNDRED.get(status // 100, Kind.CLIENT_ERROR)
    wait = retry_after(reply.headers.get("retry-after"), now)
    return Failed(kind, f"The host answered {_named(status)}.", status, wait)


def retry_after(value: str | None, now: int) -> int | None:
    """The wait that a Retry-After header asks for (seconds or a date), in milliseconds: at most a
    day."""
    if value is None:
        return None
    text = value.strip()
    if text.isascii() and text.isdigit():
        span = int(text.lstrip("0")[:9] or 0) * 1000  # nine digits exceed the longest anyway
    else:
        try:
            moment = parsedate_to_datetime(text)
        except (ValueError, TypeError, IndexError, OverflowError):
            return None
        span = int(moment.replace(tzinfo=moment.tzinfo or UTC).timestamp() * 1000) - now
    return min(span, LONGEST_RETRY_AFTER) if span >= 0 else None


def _moved(reply: Reply) -> Moved | Failed:
    answered = f"The host answered {_named(reply.status)}"
    location = reply.headers.get("location", "").strip("\t\n\f\r ")
    if not location:
        return Failed(Kind.CLIENT_ERROR, f"{answered} without a Location.", reply.status)
    try:
        # Not canonical: a host that redirects to its own spelling would redirect for ever.
        return Moved(as_given(joined(reply.url, location)).text, reply.status)
    except BadUrl as why:
        sentence = f"{answered} to {location[:200]!r}, which {why}."
        return Failed(Kind.CLIENT_ERROR, sentence, reply.status)


def _named(status: int) -> str:
    try:
        return f"{status} {HTTPStatus(status).phrase}"
    except ValueError:
        return str(status)
