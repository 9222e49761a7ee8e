"""What the database costs: a statement's processor time, the statements of a submit and of a start,
and submits of one URL a second, beside the same on an earlier revision."""

from bisect import bisect_left
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.revisions import checked_out
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from bench.wire_tap import WireTap

FILES = ("statement_trace.py", "contestants/curtsy_counts.py", "contestants/curtsy_submits.py")
OF_BEFORE = {"sqlite": 1.4, "postgresql": 1.7}
AT_ONCE = 32
COUNTED = {
    "new": "of a submit of one URL, new host",
    "known": "of a submit of one URL, known host",
    "starts": "from the commit of a submit to its request",
}


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines = [line for engine in ENGINES for line in _costs(engine, sizes, databases)]
    with checked_out(sizes.beside, *FILES) as before:
        for engine in ENGINES:
            lines += _counts(engine, sizes, databases, before)
            if before is not None:
                lines += _submits(engine, sizes, databases, before)
    return lines


def _costs(engine: str, sizes: Sizes, databases: Databases) -> Iterator[Line]:
    with databases.fresh(engine) as url:
        measured = children.run("curtsy_statement", database=url, calls=sizes.statement_calls,
                                pairs=sizes.statement_pairs)  # fmt: skip
    spent = {name: median(times) for name, times in measured.items()}
    for other in ("sqlalchemy", "driver"):
        yield Line(
            "statements", f"{engine}, a statement through the store / {other}, processor time",
            f"{spent['store']:.0f} µs", f"{spent[other]:.0f} µs",
            ratio(measured, "store", other), at_least=False,
        )  # fmt: skip


def _counts(engine: str, sizes: Sizes, databases: Databases, before: Path | None) -> Iterator[Line]:
    now = _counted(databases, engine, sizes.count_samples, children.ROOT)
    then = None if before is None else _counted(databases, engine, sizes.count_samples, before)
    for name, number in now.items():
        beside = "" if then is None else f"{then[name]:.0f} at {sizes.beside}"
        yield Line("statements", f"{engine}, {name}", f"{number:.0f}", beside, number, unit="")


def _counted(databases: Databases, engine: str, samples: int, root: Path) -> dict[str, float]:
    """Statements, begin and commit included; on PostgreSQL also the round trips they took."""
    with databases.fresh(engine) as url, ExitStack() as stack:
        tap = stack.enter_context(WireTap(url)) if engine == "postgresql" else None
        measured = children.run("curtsy_counts", root=root, database=tap.url if tap else url,
                                samples=samples)  # fmt: skip
        noted = {"statements": tap.sent.statements if tap else measured["begun"]}
        if tap:
            noted["round trips"] = tap.sent.turns
    return {
        f"{what} {part}": median(_between(instants, span) for span in measured[name])
        for what, instants in noted.items() for name, part in COUNTED.items()
    }  # fmt: skip


def _between(instants: list[int], span: tuple[int, int]) -> int:
    instants.sort()  # threads note them
    return bisect_left(instants, span[1]) - bisect_left(instants, span[0])


def _submits(engine: str, sizes: Sizes, databases: Databases, before: Path) -> Iterator[Line]:
    for at_once, bar in ((1, OF_BEFORE[engine]), (AT_ONCE, None)):
        number = max(sizes.one_url_submits * (1 if at_once == 1 else 3), at_once)
        cpu: dict[str, list[float]] = {"before": [], "now": []}
        submits = partial(_rate, databases, engine, number, at_once)
        contestants: dict[str, Callable[[], float]] = {
            "before": partial(submits, before, cpu["before"]),
            "now": partial(submits, children.ROOT, cpu["now"]),
        }
        measured = interleaved(contestants, sizes.statement_pairs)
        rates = medians(measured)
        what = f"{engine}, submits of one URL, {at_once} at once: now / {sizes.beside}"
        yield Line("statements", what, f"{rates['now']:,.0f} /s", f"{rates['before']:,.0f} /s",
                   ratio(measured, "now", "before"), bar)  # fmt: skip
        spent = medians(cpu)
        yield Line("statements", f"{what}, processor time", f"{spent['now']:.2f} ms",
                   f"{spent['before']:.2f} ms", ratio(cpu, "now", "before"),
                   at_least=False)  # fmt: skip


def _rate(
    databases: Databases, engine: str, number: int, at_once: int, root: Path, cpu: list[float]
) -> float:
    with databases.fresh(engine) as url:
        measured: dict[str, Any] = children.run("curtsy_submits", root=root, database=url,
                                                number=number, at_once=at_once)  # fmt: skip
    cpu.append(1000 * float(measured["cpu"]) / measured["submits"])
    return float(measured["submits"]) / float(measured["seconds"])
