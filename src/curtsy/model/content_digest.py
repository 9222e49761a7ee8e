"""The digest of a stored document: a page changed if its digest did."""

import base64
import hashlib
import re

_FORM = re.compile(r"[A-Za-z0-9+/]{22}")


def content_digest(content: bytes, content_type: str, charset: str | None) -> str:
    digest = hashlib.blake2b(content, digest_size=16)
    digest.update(f"\0{content_type};{charset}".encode(errors="replace"))
    return base64.b64encode(digest.digest()).decode()[:22]


def is_digest(given: object) -> bool:
    return isinstance(given, str) and _FORM.fullmatch(given) is not None
