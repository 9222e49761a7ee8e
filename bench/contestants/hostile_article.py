"""Processor time of each hostile page: in our scraper of articles, or in trafilatura.

Each page has a process of its own, which the kernel kills at the limit.
"""

import os
import resource
import signal
import time
from collections.abc import Callable
from typing import Any

import trafilatura

from bench.children import contestant
from bench.hostile_pages import SHAPES
from curtsy.model.outcome import Record, Reply
from curtsy.scrapers.article import article

URL = "http://a.example/news/1"


def by_curtsy(page: bytes) -> str:
    found = article(Reply(200, URL, {"content-type": "text/html"}, page, len(page)))
    return f"{len(found.content):,} bytes" if isinstance(found, Record) else str(found.kind)


def by_trafilatura(page: bytes) -> str:
    found = trafilatura.extract(page, url=URL, output_format="json", with_metadata=True)
    return "nothing" if found is None else f"{len(found):,} characters"


EXTRACTORS: dict[str, Callable[[bytes], str]] = {
    "curtsy": by_curtsy,
    "trafilatura": by_trafilatura,
}


def _in_child(extract: Callable[[bytes], str], page: bytes, most: int, out: int) -> None:
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    spent = resource.getrusage(resource.RUSAGE_SELF)
    limit = most + int(spent.ru_utime + spent.ru_stime)
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 1))
    began = time.process_time()
    try:
        end = extract(page)
    except Exception as error:
        end = type(error).__name__
    os.write(out, f"{time.process_time() - began} {end}".encode())


def spent_on(extract: Callable[[bytes], str], page: bytes, most: int) -> dict[str, Any]:
    into, out = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            _in_child(extract, page, most, out)
        finally:
            os._exit(0)
    os.close(out)
    _, status, usage = os.wait4(child, 0)
    found = os.read(into, 1000).decode()
    os.close(into)
    seconds, _, end = found.partition(" ")
    if not found:
        killed = signal.Signals(os.WTERMSIG(status)).name
        end = "stopped at the limit" if killed == "SIGXCPU" else f"died of {killed}"
        seconds = str(usage.ru_utime + usage.ru_stime)
    return {"seconds": float(seconds), "end": end, "megabytes": usage.ru_maxrss / 1024}


def measure(extractor: str, size: int, most: int) -> dict[str, Any]:
    extract = EXTRACTORS[extractor]
    extract(next(iter(SHAPES.values()))(1_000))  # loads whatever is loaded on first use
    return {name: spent_on(extract, shape(size), most) for name, shape in SHAPES.items()}


if __name__ == "__main__":
    contestant(measure)
