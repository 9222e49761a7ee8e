"""In the child: page after page through a scraper, until the parent is gone or has had enough."""

import os
import resource
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from curtsy.extract.confinement import confine
from curtsy.extract.frames import LARGEST_RECORD, frame, receive
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import Scraper, load, load_links
from curtsy.scrapers.page import LONGEST_LINE, MOST_LINES
from curtsy.scrapers.tracebacks import lines_before, trace_of

OUT_OF_MEMORY = 77
"""The status with which a child ends that could not even say so."""


Named = Callable[[str, Mapping[str, Any]], Scraper]
"""From a scraper's name and what it is told to the scraper."""


def serve(
    channel: socket.socket, *, memory_bytes: int, named: Named = load, alone: bool = False
) -> None:
    confine(memory_bytes=memory_bytes, alone=alone)
    while (asked := receive(channel)) is not None:
        said = _answer(named, *asked)
        del asked
        channel.sendall(said)


def _answer(named: Named, asked: dict[str, Any], body: bytes) -> bytes:
    reply = Reply(asked["status"], asked["url"], asked["headers"], body, len(body))
    try:
        record = named(asked["scraper"], asked["params"])(reply)
        if isinstance(record, Record):
            record = replace(record, links=_links(record, reply, asked) if asked["links"] else None)
    except MemoryError:
        record = Failed(Kind.EXTRACT_MEMORY, "The scraper needed more memory than it may have.")
    except BaseException as error:  # also one that wants to end the process
        sentence = f"The scraper failed: {type(error).__name__}: {error}"[:300].rstrip(" .:")
        record = Failed(Kind.EXTRACT_FAILED, f"{sentence}.", traceback=trace_of(error),
                        lines=lines_before(error))  # fmt: skip
    try:
        return _frame(record)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _links(record: Record, reply: Reply, asked: dict[str, Any]) -> tuple[str, ...]:
    """Those that the scraper chose, or all."""
    if record.links is not None:
        return record.links
    return () if asked["chosen"] else load_links()(reply)


def _frame(record: Record | Failed) -> bytes:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if isinstance(record, Failed):
        trace = None if record.traceback is None else _whole(record.traceback)
        return frame({"kind": record.kind, "error": _whole(record.error), "traceback": trace,
                      "peak": peak, "lines": _short(record.lines)})  # fmt: skip
    if len(record.content) > LARGEST_RECORD:
        sentence = f"The scraper made a record of {len(record.content)} bytes of the page."
        return _frame(Failed(Kind.TOO_LARGE, sentence))
    said = {"content_type": record.content_type, "charset": record.charset, "peak": peak,
            "links": record.links, "lines": _short(record.lines)}  # fmt: skip
    return frame(said, record.content)


def _short(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """As much of a scraper's lines as a log can bear."""
    return [(level[:20], _whole(text[:LONGEST_LINE])) for level, text in lines[:MOST_LINES]]


def _whole(text: str) -> str:
    """Halves of characters cannot be told."""
    return text.encode(errors="replace").decode()
