"""Stores the page as it was received. Who reads it decodes it, by the rule of `charset.text_of`."""

from curtsy.model.outcome import Record, Reply
from curtsy.scrapers.charset import charset_in_header
from curtsy.scrapers.media_type import media_type_of


def raw(reply: Reply) -> Record:
    content_type = reply.headers.get("content-type")
    charset = charset_in_header(content_type)
    return Record(
        reply.body,
        media_type_of(content_type, reply.body),
        charset.lower() if charset is not None else None,
    )
