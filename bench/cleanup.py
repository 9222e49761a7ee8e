"""Pages per second while a cleanup deletes finished visits, in windows with and without it, and the
size of the SQLite file before and after."""

from statistics import median

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.pages import CONCURRENT, PER_HOST
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

KEPT = 0.9
"""Of the pages per second."""


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        hosts = [site.url(n, "") for n in range(sizes.page_hosts)]
        return [line for engine in ENGINES for line in _on(engine, sizes, databases, hosts)]


def _on(engine: str, sizes: Sizes, databases: Databases, hosts: list[str]) -> list[Line]:
    with databases.fresh(engine) as url:
        found = children.run(
            "curtsy_cleanup", database=url, hosts=hosts, visits=sizes.old_visits,
            pairs=sizes.cleanup_pairs, window_seconds=sizes.cleanup_seconds,
            concurrency=PER_HOST, slots=CONCURRENT,
        )  # fmt: skip
    beside = found["deleted_beside"]["pages"]
    spent = sizes.cleanup_pairs * sizes.cleanup_seconds
    print(f"  {engine}: {found['told']}\n  {beside:,} pages went in {spent:,.0f} s beside "
          f"the work, the others in {found['rest_seconds']:.0f} s", flush=True)  # fmt: skip
    ratios = [a / b for a, b in zip(found["with"], found["without"], strict=True)]
    lines = [Line(
        "cleanup", f"{engine}, pages per second: with / without a cleanup of "
        f"{sizes.old_visits:,} visits", f"{median(found['with']):,.0f} /s",
        f"{median(found['without']):,.0f} /s", median(ratios), KEPT,
    )]  # fmt: skip
    if engine == "sqlite":
        before, after = found["before"] / 2**20, found["after"] / 2**20
        lines.append(Line("cleanup", "sqlite, the file: after / before", f"{after:,.0f} MiB",
                          f"{before:,.0f} MiB", after / before, 1.0, at_least=False))  # fmt: skip
    return lines
