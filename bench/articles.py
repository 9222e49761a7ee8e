"""Articles fetched, extracted and stored, beside Scrapy with trafilatura in one process, and beside
a bare loop with trafilatura in two. The pages are those of a folder, or generated ones."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from curtsy.demo import addresses

HOSTS = 100
PER_HOST = 8
CONCURRENT = 100
OF_SCRAPY = 4.0
OF_BARE = 1.0
LEAST_FOUND = 0.85
"""Of the pages: fewer articles mean that something else was measured."""
OTHERS = {
    "scrapy": ("Scrapy + trafilatura", OF_SCRAPY),
    "bare": ("bare loop, 2 processes", OF_BARE),
}


class Articles:
    """Served pages, and what each contestant spent on them."""

    def __init__(self, port: int, number: int, databases: Databases) -> None:
        self._databases = databases
        self.urls = [addresses.url(n % HOSTS, port, f"/article/{n}") for n in range(number)]
        self.cpu: dict[str, list[float]] = {}
        self.found: dict[str, int] = {}

    def to_file(self, contestant: str, **options: Any) -> dict[str, Any]:
        path = self._databases.file("jsonl")
        try:
            return children.run(contestant, urls=self.urls, path=str(path), **options)
        finally:
            path.unlink(missing_ok=True)

    def to_store(self, engine: str) -> dict[str, Any]:
        with self._databases.fresh(engine) as url:
            return children.run("curtsy_articles", database=url, urls=self.urls,
                                concurrency=PER_HOST, slots=CONCURRENT)  # fmt: skip

    def rate(self, name: str, way: Callable[[], dict[str, Any]]) -> float:
        measured = way()
        number = len(self.urls)
        if measured.get("seen", number) != number or measured["pages"] < LEAST_FOUND * number:
            raise children.ContestantFailed(f"{name} found {measured['pages']} of {number}")
        self.found[name] = measured["pages"]
        self.cpu.setdefault(name, []).append(1000 * float(measured["cpu"]) / number)
        return number / float(measured["seconds"])


@contextmanager
def served(sizes: Sizes) -> Iterator[int]:
    """Yields the port of a site with the pages."""
    folder = sizes.article_folder
    if folder is None:
        print("  no folder of pages (--pages): generated ones, which are all alike", flush=True)
    with children.Child("article_site", folder=str(folder) if folder else None) as site:
        yield int(site.first_line())
        site.answer()


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    with served(sizes) as port:
        articles = Articles(port, sizes.articles, databases)
        ways: dict[str, Callable[[], dict[str, Any]]] = {
            "scrapy": partial(articles.to_file, "scrapy_articles", concurrency=CONCURRENT),
            "bare": partial(articles.to_file, "bare_articles"),
        }
        ways |= {engine: partial(articles.to_store, engine) for engine in ENGINES}
        contestants = {name: partial(articles.rate, name, way) for name, way in ways.items()}
        measured = interleaved(contestants, sizes.rounds)
    print(f"  articles found of {sizes.articles}: {articles.found}", flush=True)
    return [*_lines(measured, articles.cpu)]


def _lines(measured: dict[str, list[float]], cpu: dict[str, list[float]]) -> Iterator[Line]:
    rates, spent = medians(measured), medians(cpu)
    for engine in ENGINES:
        for other, (name, bar) in OTHERS.items():
            yield Line("articles", f"{engine} / {name}", f"{rates[engine]:,.0f} /s",
                       f"{rates[other]:,.0f} /s", ratio(measured, engine, other), bar)  # fmt: skip
        for other, (name, _bar) in OTHERS.items():
            yield Line("articles", f"{engine} / {name}, processor time",
                       f"{spent[engine]:.1f} ms/page", f"{spent[other]:.1f} ms/page",
                       ratio(cpu, engine, other), at_least=False)  # fmt: skip
