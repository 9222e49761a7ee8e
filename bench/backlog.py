"""The same visits drained from a small backlog and from a large one: the cost may not grow.

Two shapes. Wide: as many sources in both backlogs, one visit of each is drained; deep: as many
visits to a source in both, all drained before it is released. The large one is loaded once,
through the Submitter, and loses a hundredth with each round; the small one is new every time.
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
    visits = sizes.small_backlog
    deep = sizes.large_backlog // sizes.backlog_sources
    with databases.fresh(engine) as large:
        _load(large, sizes.large_backlog, sizes.backlog_sources)
        for shape, of_each in (("deep", deep), ("wide", 1)):
            contestants: dict[str, Callable[[], float]] = {
                "small": partial(_small, databases, engine, visits, of_each),
                "large": partial(_rate, large, visits, of_each),
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


def _small(databases: Databases, engine: str, visits: int, of_each: int) -> float:
    """A backlog of only the drained visits, warm-up included."""
    backlog = visits + WARM_UP
    with databases.fresh(engine) as url:
        children.run("curtsy_load", database=url, visits=backlog, sources=backlog // of_each)
        return _rate(url, visits, of_each)


def _rate(url: str, visits: int, of_each: int) -> float:
    measured = children.run(
        "curtsy_drain", database=url, visits=visits, per_lease=of_each, drainers=1,
        warm_up=WARM_UP,
    )  # fmt: skip
    if measured["visits"] != visits:
        raise children.ContestantFailed(f"{measured['visits']} of {visits} visits were drained")
    return visits / float(measured["seconds"])
