"""The same visits drained from a small backlog and from a large one: the cost may not grow.

Two shapes. Wide: as many sources in both backlogs, one visit of each; deep: as many visits to a
source in both, so the large backlog has more sources. The large one is loaded once, through the
Submitter, and loses about a hundredth with each round; the small one is new every time.
"""

from collections.abc import Callable, Iterator
from functools import partial

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes

MOST = 1.2
WARM_UP = 500


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    return [line for engine in ENGINES for line in _on(engine, sizes, databases)]


def _on(engine: str, sizes: Sizes, databases: Databases) -> Iterator[Line]:
    deep = sizes.large_backlog // sizes.backlog_sources
    small_sources = {"wide": sizes.backlog_sources, "deep": sizes.small_backlog // deep}
    per_lease = {"wide": 1, "deep": deep}
    with databases.fresh(engine) as large:
        _load(large, sizes.large_backlog, sizes.backlog_sources)
        for shape in ("wide", "deep"):
            small = (sizes.small_backlog, small_sources[shape])
            contestants: dict[str, Callable[[], float]] = {
                "small": partial(_small, databases, engine, small, per_lease[shape]),
                "large": partial(_rate, large, sizes.small_backlog, per_lease[shape]),
            }
            measured = interleaved(contestants, sizes.backlog_rounds)
            rates = medians(measured)
            yield Line(
                "backlog", f"{engine}, {shape}: small / large", f"{rates['large']:,.0f} /s",
                f"{rates['small']:,.0f} /s", ratio(measured, "small", "large"), MOST,
                at_least=False,
            )  # fmt: skip


def _load(url: str, visits: int, sources: int) -> None:
    loaded = children.run("curtsy_load", database=url, visits=visits, sources=sources)
    print(f"  {visits:,} visits were submitted in {loaded['seconds']:.0f} s", flush=True)


def _small(databases: Databases, engine: str, size: tuple[int, int], per_lease: int) -> float:
    visits, sources = size
    with databases.fresh(engine) as url:
        children.run("curtsy_load", database=url, visits=visits + 2 * WARM_UP, sources=sources)
        return _rate(url, visits, per_lease)


def _rate(url: str, visits: int, per_lease: int) -> float:
    measured = children.run(
        "curtsy_drain", database=url, visits=visits, per_lease=per_lease, drainers=1,
        warm_up=WARM_UP,
    )  # fmt: skip
    return float(measured["visits"]) / float(measured["seconds"])
