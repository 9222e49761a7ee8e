"""The child's side: runs scrapers on one page after another until the parent closes the channel."""

import os
import resource
import socket
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from curtsy.extract.confinement import confine_child
from curtsy.extract.frames import LARGEST_RECORD, frame, receive
from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link, packed
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers import Scraper, load, load_links
from curtsy.scrapers.page import LONGEST_LINE, MOST_LINES
from curtsy.scrapers.tracebacks import attached_lines, trace_of

OUT_OF_MEMORY = 77
"""The exit status of a child that had no memory left even for its answer."""


LoadScraper = Callable[[str, Mapping[str, Any]], Scraper]
"""From a scraper's name and parameters to the scraper."""


def serve(
    channel: socket.socket,
    *,
    memory_bytes: int,
    address_space: int,
    load_scraper: LoadScraper = load,
) -> None:
    """`memory_bytes` are allowed beyond the `address_space` that the process has at the fork."""
    confine_child(memory_bytes=memory_bytes, address_space=address_space)
    while (request := receive(channel)) is not None:
        response = _respond(load_scraper, *request)
        del request
        channel.sendall(response)


def _respond(load_scraper: LoadScraper, request: dict[str, Any], body: bytes) -> bytes:
    reply = Reply(request["status"], request["url"], request["headers"], body, len(body),
                  asked_url=request["asked_url"])  # fmt: skip
    try:
        record = load_scraper(request["scraper"], request["params"])(reply)
        if isinstance(record, Record):
            links = _links(record, reply, request) if request["links"] else None
            record = replace(record, links=links)
    except MemoryError:
        record = Failed(Kind.EXTRACT_MEMORY, "The scraper exceeded its memory limit.")
    except BaseException as error:  # SystemExit and KeyboardInterrupt too
        sentence = f"The scraper failed: {type(error).__name__}: {error}"[:300].rstrip(" .:")
        record = Failed(Kind.EXTRACT_FAILED, f"{sentence}.", traceback=trace_of(error),
                        lines=attached_lines(error))  # fmt: skip
    try:
        return _frame(record)
    except MemoryError:
        os._exit(OUT_OF_MEMORY)


def _links(record: Record, reply: Reply, request: dict[str, Any]) -> tuple[Link, ...]:
    """Returns the links that the scraper chose, else all links of the page."""
    if record.links is not None:
        return record.links
    return () if request["chosen"] else tuple(map(Link, load_links()(reply)))


def _frame(record: Record | Failed) -> bytes:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024
    if isinstance(record, Failed):
        trace = None if record.traceback is None else _encodable(record.traceback)
        return frame({"kind": record.kind, "error": _encodable(record.error), "traceback": trace,
                      "peak": peak, "lines": _short(record.lines)})  # fmt: skip
    if len(record.content) > LARGEST_RECORD:
        sentence = f"The scraper returned a record of {len(record.content)} bytes."
        return _frame(Failed(Kind.TOO_LARGE, sentence))
    links = None if record.links is None else packed(record.links)
    header = {"content_type": record.content_type, "charset": record.charset, "peak": peak,
              "links": links, "lines": _short(record.lines), "digest": record.digest}  # fmt: skip
    return frame(header, record.content)


def _short(lines: Sequence[tuple[str, str]]) -> list[tuple[str, str]]:
    """Returns the scraper's log lines, cut to the limits of a job's log."""
    return [(level[:20], _encodable(text[:LONGEST_LINE])) for level, text in lines[:MOST_LINES]]


def _encodable(text: str) -> str:
    """Replaces lone surrogates, which UTF-8 cannot encode."""
    return text.encode(errors="replace").decode()
