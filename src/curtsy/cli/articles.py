"""Articles as people or programs read them."""

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from enum import StrEnum
from pathlib import Path
from typing import Any, TextIO

import orjson

from curtsy.errors import BadRequest

RULE = "\n\n" + "-" * 72 + "\n\n"


class Form(StrEnum):
    TEXT = "text"
    MARKDOWN = "markdown"
    JSON = "json"


ENDINGS = {".jsonl": Form.JSON, ".ndjson": Form.JSON, ".json": Form.JSON, ".md": Form.MARKDOWN}


def form_for(chosen: Form | None, out: Path | None) -> Form:
    if chosen is not None:
        return chosen
    return ENDINGS.get(out.suffix.lower(), Form.TEXT) if out is not None else Form.TEXT


@contextmanager
def written_to(out: Path | None) -> Iterator[TextIO]:
    """A file, which stays as it was until the new one is complete; or standard output."""
    if out is None:
        yield sys.stdout
        return
    replaces = out.is_file() or not out.exists()
    part = out.with_name(f"{out.name}.part") if replaces else out
    try:
        to = part.open("w", encoding="utf-8")
    except OSError as error:
        raise BadRequest([f"{out} cannot be written ({error.strerror})."]) from None
    try:
        with to:
            yield to
        if replaces:
            part.replace(out)
    finally:
        if replaces:
            part.unlink(missing_ok=True)


class Writer:
    """Writes results one after the other."""

    def __init__(self, form: Form, to: TextIO) -> None:
        self._form, self._to = form, to
        self._written = 0

    def write(self, result: dict[str, Any]) -> None:
        if self._form is Form.JSON:
            self._to.write(f"{orjson.dumps(result).decode()}\n")
        elif "error" not in result:
            self._to.write(f"{RULE if self._written else ''}{_shown(result, self._form)}\n")
        self._written += 1
        self._to.flush()


def _shown(result: dict[str, Any], form: Form) -> str:
    title = result.get("title") or result["url"]
    facts = [result.get("byline"), result.get("date"), result["url"]]
    line = " · ".join(fact for fact in facts if fact)
    if form is Form.MARKDOWN:
        return f"# {title}\n\n*{line}*\n\n{result.get('markdown') or result['content']}"
    return f"{title}\n{line}\n\n{result['content']}"
