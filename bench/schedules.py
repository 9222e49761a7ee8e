"""A tick with ten due of many schedules, beside ten of few: the cost may not grow. And a year of
them in the scheduler's own code, on a simulated clock."""

from collections.abc import Callable, Iterator
from functools import partial
from statistics import median

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes

DUE = 10
MOST = 1.3
YEARS_SCHEDULES = 1_000
SECONDS_OF_A_YEAR = 30.0


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines = [line for engine in ENGINES for line in _ticks(engine, sizes, databases)]
    return [*lines, _year(sizes)]


def _ticks(engine: str, sizes: Sizes, databases: Databases) -> Iterator[Line]:
    few, many = sizes.few_schedules, sizes.many_schedules
    with databases.fresh(engine) as small, databases.fresh(engine) as large:
        children.run("curtsy_schedules", database=small, schedules=few)
        children.run("curtsy_schedules", database=large, schedules=many)
        contestants: dict[str, Callable[[], float]] = {
            "few": partial(_milliseconds, small, sizes.ticks),
            "many": partial(_milliseconds, large, sizes.ticks),
        }
        measured = interleaved(contestants, sizes.tick_rounds)
    costs = medians(measured)
    yield Line(
        "schedules", f"{engine}, a tick with {DUE} due: of {many:,} / of {few:,}",
        f"{costs['many']:.1f} ms", f"{costs['few']:.1f} ms", ratio(measured, "many", "few"), MOST,
        at_least=False,
    )  # fmt: skip


def _milliseconds(url: str, ticks: int) -> float:
    found = children.run("curtsy_ticks", database=url, ticks=ticks, due=DUE)
    if found["fired"] != ticks * DUE:
        raise children.ContestantFailed(f"{found['fired']} of {ticks * DUE} slots fired")
    return float(found["milliseconds"])


def _year(sizes: Sizes) -> Line:
    seen = [children.run("curtsy_year", schedules=YEARS_SCHEDULES, days=sizes.year_days)
            for _ in range(sizes.rounds)]  # fmt: skip
    seconds = median(found["seconds"] for found in seen)
    fired = seen[0]["fired"]
    return Line(
        "schedules", f"{sizes.year_days} days of {YEARS_SCHEDULES:,} schedules, {fired:,} slots",
        f"{seconds:.1f} s", f"{1e6 * seconds / fired:.0f} µs a slot", seconds, SECONDS_OF_A_YEAR,
        at_least=False, unit="s",
    )  # fmt: skip
