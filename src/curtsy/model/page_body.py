"""The method and the body with which a page is requested. They are part of the page's options."""

import re
from collections.abc import Mapping
from enum import StrEnum
from typing import Any, NamedTuple

import orjson

MOST_BODY_BYTES = 64 * 1024
"""Bodies are stored with their pages."""
_CONTENT_TYPE = re.compile(
    r"[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}/[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}"
    r"(?:; ?[!#$%&'*+.^_`|~0-9A-Za-z-]{1,50}=[!#$%&'*+.^_`|~0-9A-Za-z-]{1,100}){0,3}"
)
_KEEP_METHOD = frozenset({307, 308})
_KEEP_PUT = frozenset({301, 302, 307, 308})


class Method(StrEnum):
    POST = "POST"
    PUT = "PUT"


class PageBody(NamedTuple):
    method: Method
    text: str
    content_type: str | None
    """None: the request has no body."""
    idempotent: bool = False
    """To send it twice does no more than to send it once. A PUT always is so."""

    @property
    def is_sent_once(self) -> bool:
        """A second request may change the site a second time."""
        return self.method is Method.POST and not self.idempotent

    def repeats_after(self, status: int) -> bool:
        """Whether a redirect with this status repeats method and body; otherwise a GET follows, as
        in browsers."""
        return status in (_KEEP_PUT if self.method is Method.PUT else _KEEP_METHOD)

    def stored(self) -> dict[str, Any]:
        stored: dict[str, Any] = {"method": str(self.method), "body": self.text}
        if self.content_type is not None:
            stored["content_type"] = self.content_type
        return stored | {"idempotent": True} if self.idempotent else stored


def checked_body(body: PageBody) -> PageBody:
    """Raises `ValueError`, with a predicate, for a body that cannot be sent."""
    try:
        size = len(body.text.encode())
    except UnicodeEncodeError:
        raise ValueError("is not UTF-8 text") from None
    if size > MOST_BODY_BYTES:
        raise ValueError(f"takes {size} bytes, and at most {MOST_BODY_BYTES} may be sent")
    if body.content_type is not None and not _CONTENT_TYPE.fullmatch(body.content_type):
        raise ValueError(f"has the content type {body.content_type[:100]!r}, which is none")
    return body


def body_of(options: str | None) -> PageBody | None:
    """The body in stored options; None: the page is requested with GET."""
    if options is None or '"method"' not in options:  # most options: not worth parsing
        return None
    found: Mapping[str, Any] = orjson.loads(options)
    if "method" not in found:
        return None
    return PageBody(Method(found["method"]), found["body"], found.get("content_type"),
                    found.get("idempotent", False))  # fmt: skip


def is_sent_once(options: str | None) -> bool:
    """Whether a second request for a page with these options may change the site again."""
    body = body_of(options)
    return body is not None and body.is_sent_once
