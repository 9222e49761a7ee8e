"""Articles extracted by the pool, beside the same scraper in a bare loop of one process."""

from functools import partial
from statistics import median
from typing import Any

from bench import children
from bench.databases import Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes

OF_BARE = 1.5
MOST_PROCESSOR_TIME = 1.25


def run(sizes: Sizes, _databases: Databases) -> list[Line]:
    seen: dict[str, list[dict[str, Any]]] = {"bare": [], "pool": []}
    contestants = {
        "bare": partial(_rate, "bare_scraper", sizes, seen["bare"]),
        "pool": partial(_rate, "curtsy_pool", sizes, seen["pool"]),
    }
    measured = interleaved(contestants, sizes.rounds)
    rates = medians(measured)
    spent = {name: median(1000 * m["cpu"] / m["pages"] for m in of) for name, of in seen.items()}
    overhead = median(1e6 * m["overhead"] for m in seen["pool"])
    return [
        Line("pool", "pool / bare loop", f"{rates['pool']:,.0f} pages/s",
             f"{rates['bare']:,.0f} pages/s", ratio(measured, "pool", "bare"), OF_BARE),
        Line("pool", "processor time, pool / bare loop", f"{spent['pool']:.1f} ms/page",
             f"{spent['bare']:.1f} ms/page", spent["pool"] / spent["bare"], MOST_PROCESSOR_TIME,
             at_least=False),
        Line("pool", "way through the pool and back, 20 KB", f"{overhead:.0f} µs", "", overhead,
             unit="µs"),
    ]  # fmt: skip


def _rate(contestant: str, sizes: Sizes, seen: list[dict[str, Any]]) -> float:
    measured = children.run(contestant, number=sizes.pool_pages)
    if measured["pages"] != sizes.pool_pages:
        raise children.ContestantFailed(f"{measured['pages']} of {sizes.pool_pages} were articles")
    seen.append(measured)
    return sizes.pool_pages / float(measured["seconds"])
