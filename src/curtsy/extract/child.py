"""In the child: page after page through a scraper, until the parent is gone or has had enough."""

import os
import resource
import socket
import traceback
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from curtsy.extract.confinement import confine
from curtsy.extract.frames import LARGEST_RECORD, frame, receive
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import load, load_links

OUT_OF_MEMORY = 77
"""The status with which a child ends that could not even say so."""
_FRAMES_SHOWN = 30
MOST_LINES, LONGEST_LINE = 50, 1_000


def serve(channel: socket.socket, *, memory_bytes: int) -> None:
    confine(memory_bytes=memory_bytes)
    while (asked := receive(channel)) is not None:
        said = _answer(*asked)
        del asked
        channel.sendall(said)


def _answer(asked: dict[str, Any], body: bytes) -> bytes:
    reply = Reply(asked["status"], asked["url"], asked["headers"], body, len(body))
    try:
        record = load(asked["scraper"])(reply)
        if asked["links"] and isinstance(record, Record):
            record = replace(record, links=load_links()(reply))
    except MemoryError:
        record = Failed(Kind.EXTRACT_MEMORY, "The scraper needed more memory than it may have.")
    except Exception as error:
        sentence = f"The scraper failed: {type(error).__name__}: {error}"[:300]
        trace = "".join(traceback.format_exception(error, limit=-_FRAMES_SHOWN))
        record = Failed(Kind.EXTRACT_FAILED, f"{sentence.rstrip('.')}.", traceback=trace)
    try:
        return _frame(record)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _frame(record: Record | Failed) -> bytes:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if isinstance(record, Failed):
        return frame({"kind": record.kind, "error": record.error, "traceback": record.traceback,
                      "peak": peak})  # fmt: skip
    if len(record.content) > LARGEST_RECORD:
        sentence = f"The scraper made a record of {len(record.content)} bytes of the page."
        return _frame(Failed(Kind.TOO_LARGE, sentence))
    said = {"content_type": record.content_type, "charset": record.charset, "peak": peak,
            "links": record.links, "lines": _short(record.lines)}  # fmt: skip
    return frame(said, record.content)


def _short(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """As much of a scraper's lines as a log can bear."""
    return [(level[:20], text[:LONGEST_LINE]) for level, text in lines[:MOST_LINES]]
