"""What a full policy costs, for each start and in pages a second, beside none."""

from collections.abc import Iterator
from functools import partial
from statistics import median
from typing import Any

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.pages import CONCURRENT, PER_HOST
from bench.rounds import interleaved, medians, ratio
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

PARTS = {
    "delay": "a delay",
    "random": "a random delay",
    "limit": "a limit of the hour with bursts",
    "slower": "slower hours in Berlin",
    "closed": "closed hours in Berlin",
    "full": "all rules",
    "strained": "all rules, the site under strain",
    "keeping": "keeping 600 requests of the last hour, a flush",
}
MOST_MICROSECONDS = 30
GENEROUS: dict[str, Any] = {
    "requests_per_hour": 1_000_000,
    "burst_limit": 1_000_000,
    "hours": {"start": 480, "end": 1_200, "timezone": "Europe/Berlin", "slowdown": 1.0001},
}
POLICIES: dict[str, dict[str, Any]] = {
    "no rule": {},
    "generous": GENEROUS,
    "generous, delays to 1 ms": GENEROUS | {"max_delay": 1},
}


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    return [*_alone(sizes), *_whole(sizes, databases)]


def _alone(sizes: Sizes) -> Iterator[Line]:
    seen = [children.run("curtsy_pace", number=sizes.requests) for _ in range(sizes.rounds)]
    none = median(found["none"] for found in seen)
    for part, what in PARTS.items():
        cost = median(found[part] for found in seen)
        yield Line("policy", f"{what}, a start" if part != "keeping" else what,
                   f"{cost:.1f} µs", f"{none:.1f} µs without", cost,
                   MOST_MICROSECONDS if part in ("full", "strained") else None, at_least=False,
                   unit="µs")  # fmt: skip


def _whole(sizes: Sizes, databases: Databases) -> Iterator[Line]:
    with PracticeProcess(hosts=sizes.page_hosts) as site:
        urls = [
            site.url(i % sizes.page_hosts, f"/page/{i // sizes.page_hosts}")
            for i in range(sizes.pages)
        ]
        for engine in ENGINES:
            cpu: dict[str, list[float]] = {name: [] for name in POLICIES}
            ways = {
                name: partial(_rate, databases, engine, urls, overrides, cpu[name])
                for name, overrides in POLICIES.items()
            }
            measured = interleaved(ways, sizes.rounds)
            yield from _beside_none(engine, measured, "pages/s", ",.0f")
            yield from _beside_none(f"{engine}, own processor time", cpu, "µs a page", ".0f")


def _beside_none(
    what: str, measured: dict[str, list[float]], unit: str, form: str
) -> Iterator[Line]:
    shown = {name: f"{value:{form}} {unit}" for name, value in medians(measured).items()}
    for name in [*POLICIES][1:]:
        yield Line("policy", f"{what}: {name}", shown[name], shown["no rule"],
                   ratio(measured, name, "no rule"))  # fmt: skip


def _rate(
    databases: Databases, engine: str, urls: list[str], overrides: dict[str, Any], cpu: list[float]
) -> float:
    with databases.fresh(engine) as url:
        measured = children.run("curtsy_pages", database=url, urls=urls, concurrency=PER_HOST,
                            slots=CONCURRENT, overrides=overrides)  # fmt: skip
    if measured["pages"] != len(urls):
        raise children.ContestantFailed(f"{measured['pages']} of {len(urls)} pages were stored")
    cpu.append(1e6 * float(measured["cpu"]) / len(urls))
    return len(urls) / float(measured["seconds"])
