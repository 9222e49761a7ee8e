"""The frontier and the flush without HTTP, beside PgQueuer's no-op jobs and raw sqlite3."""

from collections.abc import Callable
from functools import partial
from typing import Any

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes

DRAINERS = 2
PER_LEASE = 1_000
FAST = {"consumers": 2, "batch_size": 500}
OWN = {"consumers": 5, "batch_size": 10}
"""What PgQueuer's own benchmark runs with."""
SQLITE_VISITS_PER_SECOND = 5_000.0


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    visits, sources = sizes.frontier_visits, sizes.frontier_sources
    contestants: dict[str, Callable[[], float]] = {
        "pgqueuer": partial(_rate, databases, "postgresql", "pgqueuer_drain", jobs=visits, **FAST),
        "pgqueuer, own settings": partial(
            _rate, databases, "postgresql", "pgqueuer_drain", jobs=visits, **OWN
        ),
        "raw sqlite3": partial(
            _rate, databases, "sqlite", "raw_sqlite_drain", visits=visits, sources=sources
        ),
    }
    for engine in ENGINES:
        contestants[engine] = partial(_drain, databases, engine, visits, sources)
    measured = interleaved(contestants, sizes.rounds)
    rates = medians(measured)
    shown = {name: f"{rate:,.0f} /s" for name, rate in rates.items()}

    def line(engine: str, other: str, bar: float | None) -> Line:
        return Line(
            "frontier", f"{engine} / {other}", shown[engine], shown[other],
            ratio(measured, engine, other), bar,
        )  # fmt: skip

    return [
        line("postgresql", "pgqueuer", 1.0),
        line("postgresql", "pgqueuer, own settings", None),
        line("sqlite", "raw sqlite3", None),
        Line("frontier", "sqlite, absolute", shown["sqlite"], "", rates["sqlite"],
             SQLITE_VISITS_PER_SECOND, unit="/s"),
    ]  # fmt: skip


def _drain(databases: Databases, engine: str, visits: int, sources: int) -> float:
    with databases.fresh(engine) as url:
        children.run("curtsy_load", database=url, visits=visits, sources=sources)
        measured = children.run(
            "curtsy_drain", database=url, visits=None, per_lease=PER_LEASE, drainers=DRAINERS
        )
    return _checked("curtsy_drain", measured["visits"], visits) / float(measured["seconds"])


def _rate(databases: Databases, engine: str, contestant: str, **options: Any) -> float:
    with databases.fresh(engine) as url:
        measured = children.run(contestant, database=url, **options)
    wanted = options.get("visits") or options["jobs"]
    done = measured.get("visits") or measured["jobs"]
    return _checked(contestant, done, wanted) / float(measured["seconds"])


def _checked(contestant: str, done: int, wanted: int) -> int:
    if done != wanted:
        raise children.ContestantFailed(f"{contestant} did {done} of {wanted}")
    return done
