"""A job of a hundred thousand URLs, beside a bare insert of the same URLs; and its memory."""

from collections.abc import Callable
from functools import partial

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes

OF_BARE = 0.25
PEAK_MEGABYTES = 300.0


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines: list[Line] = []
    for engine in ENGINES:
        peaks: list[float] = []
        contestants: dict[str, Callable[[], float]] = {
            "bare": partial(_rate, databases, engine, "bare_insert", sizes, peaks),
            engine: partial(_rate, databases, engine, "curtsy_submit", sizes, peaks),
        }
        measured = interleaved(contestants, sizes.rounds)
        rates = medians(measured)
        lines += [
            Line("submit", f"{engine} / bare insert", f"{rates[engine]:,.0f} URLs/s",
                 f"{rates['bare']:,.0f} URLs/s", ratio(measured, engine, "bare"), OF_BARE),
            Line("submit", f"{engine}, peak of memory", f"{max(peaks):.0f} MB", "", max(peaks),
                 PEAK_MEGABYTES, at_least=False, unit="MB"),
        ]  # fmt: skip
    return lines


def _rate(
    databases: Databases, engine: str, contestant: str, sizes: Sizes, peaks: list[float]
) -> float:
    with databases.fresh(engine) as url:
        measured = children.run(
            contestant, database=url, urls=sizes.submit_urls, hosts=sizes.submit_hosts
        )
    if "peak" in measured:
        peaks.append(float(measured["peak"]))
    return float(measured["urls"]) / float(measured["seconds"])
