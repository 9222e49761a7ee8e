"""What the history costs a page, how long a day of many sources takes to read, and how large a year
is."""

from collections.abc import Iterator
from functools import partial
from statistics import median

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.pages import CONCURRENT, PER_HOST
from bench.rounds import interleaved
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

MOST_OF_A_PAGE = 1.03
MOST_MS = 100.0


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines = []
    for engine in ENGINES:
        lines += list(_of_a_page(sizes, databases, engine))
        lines += list(_of_a_flush(sizes, databases, engine))
        lines += list(_of_a_day(sizes, databases, engine))
    return [*lines, *_of_a_year(sizes, databases)]


def _of_a_page(sizes: Sizes, databases: Databases, engine: str) -> Iterator[Line]:
    """In alternating pairs on the same pages: processor time, the server's included, and pages a
    second."""
    speeds: dict[bool, list[float]] = {True: [], False: []}
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        hosts = sizes.page_hosts
        urls = [site.url(i % hosts, f"/page/{i // hosts}") for i in range(sizes.recorded_pages)]
        work = partial(_page, databases, engine, urls, speeds)
        measured = interleaved(
            {"with": partial(work, True), "without": partial(work, False)}, sizes.recorded_pairs
        )
    ratios = [a / b for a, b in zip(measured["with"], measured["without"], strict=True)]
    ours, theirs = median(measured["with"]), median(measured["without"])
    yield Line("history-cost", f"{engine}, processor time a page: with the history / without",
               f"{ours:.4f} ms", f"{theirs:.4f} ms", median(ratios), MOST_OF_A_PAGE,
               at_least=False)  # fmt: skip
    pairs = [a / b for a, b in zip(speeds[True], speeds[False], strict=True)]
    yield Line("history-cost", f"{engine}, pages a second: with the history / without",
               f"{median(speeds[True]):,.0f} /s", f"{median(speeds[False]):,.0f} /s",
               median(pairs))  # fmt: skip


def _page(
    databases: Databases, engine: str, urls: list[str], speeds: dict[bool, list[float]],
    recorded: bool,
) -> float:  # fmt: skip
    """Returns microseconds of processor time."""
    with databases.fresh(engine) as url:
        on_server = engine == "postgresql"
        before = databases.server_seconds() if on_server else 0.0
        measured = children.run("curtsy_recorded", database=url, urls=urls, recorded=recorded,
                                concurrency=PER_HOST, slots=CONCURRENT)  # fmt: skip
        server = databases.server_seconds() - before if on_server else 0.0
    if measured["pages"] != len(urls):
        raise children.ContestantFailed(f"{measured['pages']} of {len(urls)} pages were stored")
    speeds[recorded].append(len(urls) / float(measured["seconds"]))
    return 1000 * (float(measured["cpu"]) + server) / len(urls)


def _of_a_flush(sizes: Sizes, databases: Databases, engine: str) -> Iterator[Line]:
    """Flushes without HTTP, with the history and without it in turns, in one process: what the
    history takes of the processor is the difference and the folds."""
    visits, sources = sizes.frontier_visits, sizes.frontier_sources
    with databases.fresh(engine) as url:
        children.run("curtsy_load", database=url, visits=visits, sources=sources)
        server = databases.server.pid if engine == "postgresql" else None
        found = children.run("curtsy_flush_share", database=url, server=server)
    added = found["with"] - found["without"] + found["fold"]
    yield Line("history-cost", f"{engine}, added to a flush and folds, a page",
               f"{found['with']:.1f} + {found['fold']:.1f} us", f"{found['without']:.1f} us",
               added, unit="us")  # fmt: skip


def _of_a_day(sizes: Sizes, databases: Databases, engine: str) -> Iterator[Line]:
    with databases.fresh(engine) as url:
        measured = children.run("curtsy_counted", database=url, hours=24,
                                sources=sizes.counted_sources)  # fmt: skip
    what = f"{engine}, 24 h of {sizes.counted_sources:,} sources"
    for part, ms in measured["ms"].items():
        yield Line("history-cost", f"{what}: {part}", f"{ms:.1f} ms", "", ms, MOST_MS,
                   at_least=False, unit="ms")  # fmt: skip


def _of_a_year(sizes: Sizes, databases: Databases) -> Iterator[Line]:
    for engine in ENGINES:
        with databases.fresh(engine) as url:
            found = children.run("curtsy_counted_year", database=url, sources=sizes.year_sources,
                                 days=sizes.counted_days)  # fmt: skip
        what = f"{engine}, {sizes.counted_days} days, {sizes.year_sources} sources, 1 page/s"
        size = found["bytes"] / 2**20
        yield Line("history-cost", what, f"{found['rows']:,} rows", "", size, unit="MiB")
