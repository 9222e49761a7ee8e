"""Pages fetched and stored, beside a bare loop that appends to a file and beside Scrapy."""

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

CONCURRENT = 100
PER_HOST = 8
OF_BARE = 0.6
OF_SCRAPY = 5.0


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        urls = [
            site.url(i % sizes.page_hosts, f"/page/{i // sizes.page_hosts}")
            for i in range(sizes.pages)
        ]
        contestants: dict[str, Callable[[], float]] = {
            "bare": partial(_to_file, databases, "bare_pages", urls),
            "scrapy": partial(_to_file, databases, "scrapy_pages", urls, handler="twisted"),
            "scrapy+aiohttp": partial(_to_file, databases, "scrapy_pages", urls, handler="aiohttp"),
        }
        for engine in ENGINES:
            contestants[engine] = partial(_to_store, databases, engine, urls)
        measured = interleaved(contestants, sizes.rounds)
    return list(_lines(measured))


def _lines(measured: dict[str, list[float]]) -> Iterator[Line]:
    rates = medians(measured)

    def rate(name: str) -> str:
        return f"{rates[name]:,.0f} pages/s"

    bars = {"bare": OF_BARE, "scrapy": OF_SCRAPY, "scrapy+aiohttp": OF_SCRAPY}
    for engine in ENGINES:
        for other, bar in bars.items():
            yield Line(
                "pages", f"{engine} / {other}", rate(engine), rate(other),
                ratio(measured, engine, other), bar,
            )  # fmt: skip


def _to_file(databases: Databases, contestant: str, urls: list[str], **options: Any) -> float:
    path = databases.file("jsonl")
    try:
        measured = children.run(
            contestant, urls=urls, path=str(path), concurrency=CONCURRENT, **options
        )
    finally:
        path.unlink(missing_ok=True)
    return _rate(measured, len(urls))


def _to_store(databases: Databases, engine: str, urls: list[str]) -> float:
    with databases.fresh(engine) as url:
        measured = children.run(
            "curtsy_pages", database=url, urls=urls, concurrency=PER_HOST, slots=CONCURRENT
        )
    return _rate(measured, len(urls))


def _rate(measured: dict[str, Any], wanted: int) -> float:
    if measured["pages"] != wanted:
        raise children.ContestantFailed(f"{measured['pages']} of {wanted} pages were stored")
    return wanted / float(measured["seconds"])
