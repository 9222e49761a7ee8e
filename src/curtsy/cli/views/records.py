"""Shows records for people: aligned lines of name and value, or a list in Markdown."""

import re
from collections.abc import Mapping
from typing import Any

import orjson
from rich.cells import cell_len

from curtsy.cli.console.text import one_line

WIDEST_NAME = 30
"""Values behind longer names are not aligned with the others."""
_MARKS = re.compile(r"([\\`*_\[\]<>#|~])")


def record_of(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The fields of a result that is a record; None: it is a page, or a failure. A record of a run
    of a site is the result itself, with its key and its change."""
    if "_key" in result:
        return {name: value for name, value in result.items() if name != "_key"}
    if "record_key" in result and "record" in result:
        fields: Mapping[str, Any] | None = result["record"]
        return fields or {}  # null: the scraper stored what cannot be written
    return None


def as_text(fields: Mapping[str, Any]) -> str:
    named = [(f"{one_line(name)}:", _shown(value)) for name, value in fields.items()]
    widths = (cell_len(name) for name, _value in named)
    width = max((width for width in widths if width <= WIDEST_NAME), default=0)
    return "\n".join(f"{name}{' ' * (width - cell_len(name))} {value}".rstrip()
                     for name, value in named)  # fmt: skip


def as_markdown(fields: Mapping[str, Any]) -> str:
    return "\n".join(
        f"- **{_escaped(one_line(name))}**: {_escaped(_shown(value))}".rstrip()
        for name, value in fields.items()
    )


def _shown(value: Any) -> str:
    if value is None:
        return ""
    return one_line(value if isinstance(value, str) else orjson.dumps(value).decode())


def _escaped(text: str) -> str:
    return _MARKS.sub(r"\\\1", text)
