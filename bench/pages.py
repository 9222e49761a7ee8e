"""Pages fetched and stored, beside a bare loop that appends to a file and beside Scrapy."""

from collections import defaultdict
from collections.abc import Callable, Iterator
from functools import partial
from statistics import median
from typing import Any

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

CONCURRENT = 100
PER_HOST = 8
BARS = {"bare": 0.5, "scrapy": 5.0, "scrapy+aiohttp": 3.5}
AIM = 0.6
"""Of the bare loop: printed, not judged."""


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        urls = [
            site.url(i % sizes.page_hosts, f"/page/{i // sizes.page_hosts}")
            for i in range(sizes.pages)
        ]
        cpu: dict[str, list[float]] = defaultdict(list)
        to_file = partial(_to_file, databases, urls)
        ways: dict[str, Callable[[], dict[str, Any]]] = {
            "bare": partial(to_file, "bare_pages"),
            "scrapy": partial(to_file, "scrapy_pages", handler="twisted"),
            "scrapy+aiohttp": partial(to_file, "scrapy_pages", handler="aiohttp"),
        }
        ways |= {engine: partial(_to_store, databases, urls, engine) for engine in ENGINES}
        contestants = {name: partial(_rate, way, urls, cpu[name]) for name, way in ways.items()}
        measured = interleaved(contestants, sizes.page_rounds)
    return [*_lines(measured), *_cpu_lines(cpu)]


def _lines(measured: dict[str, list[float]]) -> Iterator[Line]:
    rates = medians(measured)

    def rate(name: str) -> str:
        return f"{rates[name]:,.0f} pages/s"

    for engine in ENGINES:
        for other, bar in BARS.items():
            aim = f", aim {AIM:.1f}" if other == "bare" else ""
            yield Line(
                "pages", f"{engine} / {other}{aim}", rate(engine), rate(other),
                ratio(measured, engine, other), bar,
            )  # fmt: skip


def _cpu_lines(cpu: dict[str, list[float]]) -> Iterator[Line]:
    """Processor time: less noisy than the rate, but without the work of the database server."""
    spent = {name: median(values) for name, values in cpu.items()}
    for engine in ENGINES:
        for other in ("bare", "scrapy"):
            yield Line(
                "pages", f"{engine} / {other}, own processor time", f"{spent[engine]:.2f} ms/page",
                f"{spent[other]:.2f} ms/page", spent[engine] / spent[other], at_least=False,
            )  # fmt: skip


def _rate(way: Callable[[], dict[str, Any]], urls: list[str], cpu: list[float]) -> float:
    measured = way()
    if measured["pages"] != len(urls):
        raise children.ContestantFailed(f"{measured['pages']} of {len(urls)} pages were stored")
    cpu.append(1000 * float(measured["cpu"]) / len(urls))
    return len(urls) / float(measured["seconds"])


def _to_file(
    databases: Databases, urls: list[str], contestant: str, **options: Any
) -> dict[str, Any]:
    path = databases.file("jsonl")
    try:
        return children.run(
            contestant, urls=urls, path=str(path), concurrency=CONCURRENT, **options
        )
    finally:
        path.unlink(missing_ok=True)


def _to_store(databases: Databases, urls: list[str], engine: str) -> dict[str, Any]:
    with databases.fresh(engine) as url:
        return children.run(
            "curtsy_pages", database=url, urls=urls, concurrency=PER_HOST, slots=CONCURRENT
        )
