"""What a page costs in jobs of several sizes and before a large backlog: processor time and
statements. The cost may not grow.

Each size runs on a fresh database, submitted by another process. The backlog is of the same hosts;
its worker stops after as many pages as the job of the middle size has.
"""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from statistics import median

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.pages import CONCURRENT, PER_HOST
from bench.rounds import interleaved
from bench.sizes import Sizes
from bench.wire_tap import WireTap
from curtsy.demo.process import PracticeProcess

MOST = 1.2


@dataclass(slots=True)
class Costs:
    """Of one page, by the name of the contestant."""

    processor: dict[str, list[float]] = field(default_factory=dict)
    """Milliseconds, the server's included."""
    statements: dict[str, list[float]] = field(default_factory=dict)


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        return [line for engine in ENGINES for line in _on(engine, sizes, databases, site)]


def _on(engine: str, sizes: Sizes, databases: Databases, site: PracticeProcess) -> Iterator[Line]:
    costs, middle = Costs(), sizes.growth_pages[1]
    hosts = sizes.page_hosts

    def urls(first: int, number: int) -> list[str]:
        return [site.url(i % hosts, f"/page/{i // hosts}") for i in range(first, first + number)]

    with databases.fresh(engine) as large:
        _submit(large, urls(0, sizes.growth_backlog))
        contestants: dict[str, Callable[[], float]] = {}
        for pages in sizes.growth_pages:
            name = f"{pages:,} pages"
            contestants[name] = partial(_fresh, databases, engine, urls(0, pages), costs, name)
        name = f"{middle:,} of {sizes.growth_backlog:,}"
        contestants[name] = partial(_measured, databases, engine, large, middle, costs, name)
        interleaved(contestants, sizes.growth_rounds)
    first = f"{sizes.growth_pages[0]:,} pages"
    for name in contestants:
        if name != first:
            yield from _lines(engine, name, first, costs)


def _lines(engine: str, name: str, first: str, costs: Costs) -> Iterator[Line]:
    parts = ((costs.processor, "processor time", "ms/page"),
             (costs.statements, "statements", "/page"))  # fmt: skip
    for of, what, unit in parts:
        many, few = median(of[name]), median(of[first])
        ratios = [a / b for a, b in zip(of[name], of[first], strict=True)]
        yield Line("growth", f"{engine}, {what}: {name} / {first}", f"{many:.3f} {unit}",
                   f"{few:.3f} {unit}", median(ratios), MOST, at_least=False)  # fmt: skip


def _submit(database: str, urls: list[str]) -> None:
    children.run("curtsy_send", database=database, urls=urls, settled=True)


def _fresh(databases: Databases, engine: str, urls: list[str], costs: Costs, name: str) -> float:
    with databases.fresh(engine) as url:
        _submit(url, urls)
        return _measured(databases, engine, url, len(urls), costs, name)


def _measured(
    databases: Databases, engine: str, url: str, pages: int, costs: Costs, name: str
) -> float:
    """Returns milliseconds of processor time a page."""
    with _tapped(engine, url) as (address, tap):
        before = databases.server_seconds() if tap else 0.0
        measured = children.run("curtsy_cost", database=address, pages=pages,
                                concurrency=PER_HOST, slots=CONCURRENT)  # fmt: skip
        server = databases.server_seconds() - before if tap else 0.0
        statements = len(tap.sent.statements) if tap else measured["statements"]
    if measured["pages"] < pages:
        raise children.ContestantFailed(f"{measured['pages']} of {pages} pages were stored")
    spent = 1000 * (measured["cpu"] + server) / measured["pages"]
    costs.processor.setdefault(name, []).append(spent)
    costs.statements.setdefault(name, []).append(statements / measured["pages"])
    return float(spent)


@contextmanager
def _tapped(engine: str, url: str) -> Iterator[tuple[str, WireTap | None]]:
    with ExitStack() as stack:
        tap = stack.enter_context(WireTap(url)) if engine == "postgresql" else None
        yield (tap.url if tap else url), tap
