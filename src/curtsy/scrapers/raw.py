"""Stores the page as it was received."""

from curtsy.model.outcome import Record, Reply


def raw(reply: Reply) -> Record:
    content_type, _, parameters = reply.headers.get("content-type", "").partition(";")
    charset = None
    for parameter in parameters.split(";"):
        name, _, value = parameter.strip().partition("=")
        if name.lower() == "charset" and value:
            charset = value.strip(" \"'").lower()[:40]
    return Record(reply.body, content_type.strip().lower() or "application/octet-stream", charset)
