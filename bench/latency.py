"""From a submit to the first byte at the site, on an idle system, beside a bare GET."""

import time
from collections.abc import Iterator
from statistics import median, quantiles

from bench import children
from bench.calibration import Calibration
from bench.databases import Databases
from bench.lines import Line
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

EMBEDDED_MILLISECONDS = 5.0
SERVER_MILLISECONDS = 8.0
WAYS = {
    "sqlite, one process": ("sqlite", True),
    "postgresql, one process": ("postgresql", True),
    "postgresql, worker apart": ("postgresql", False),
    "sqlite, worker apart": ("sqlite", False),
}
BARS = {
    "sqlite, one process": EMBEDDED_MILLISECONDS,
    "postgresql, one process": SERVER_MILLISECONDS,
    "postgresql, worker apart": SERVER_MILLISECONDS,
}
"""None for `sqlite, worker apart`: that worker polls the file every 50 ms, the others are
notified."""


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    calibration = Calibration()
    lines: list[Line] = []
    for way, (engine, together) in WAYS.items():
        calibration.measure()
        ours, bare = _measured(sizes.latency_samples, databases, engine, together=together)
        lines += _lines(way, ours, bare)
        print(f"  {way}: from {min(ours):.1f} to {max(ours):.1f} ms", flush=True)
    calibration.measure()
    print(f"  {calibration.sentence()}", flush=True)
    return lines


def _lines(way: str, ours: list[float], bare: list[float]) -> Iterator[Line]:
    p50, p95 = median(ours), quantiles(ours, n=20)[-1]
    beside = f"GET {median(bare):.2f} ms"
    yield Line("latency", f"{way}, p50", f"{p50:.1f} ms", beside, p50, BARS.get(way),
               at_least=False, unit="ms")  # fmt: skip
    yield Line("latency", f"{way}, p95", f"{p95:.1f} ms", beside, p95, unit="ms")
    yield Line("latency", f"{way}, p50 / bare GET", f"{p50:.1f} ms", beside, p50 / median(bare))


def _measured(
    samples: int, databases: Databases, engine: str, *, together: bool
) -> tuple[list[float], list[float]]:
    with databases.fresh(engine) as url, PracticeProcess(hosts=2 * samples) as site:
        urls = [site.url(i, "/page/1") for i in range(samples)]
        bare = [site.url(i + samples, "/page/1") for i in range(samples)]
        if together:
            measured = children.run(
                "curtsy_latency", database=url, urls=urls, bare_urls=bare, worker=True
            )
        else:
            children.run("curtsy_load", database=url, visits=0, sources=1)
            with children.Child("curtsy_worker", database=url) as worker:
                time.sleep(2)
                measured = children.run(
                    "curtsy_latency", database=url, urls=urls, bare_urls=bare, worker=False
                )
                worker.answer()
        site.stop()
        arrived = {f"http://{e.host}:{site.port}{e.path}": e.at for e in site.entries()}
    ours = [(arrived[u] - at) / 1e6 for u, at in measured["submitted"].items()]
    return ours, [seconds * 1000 for seconds in measured["bare"]]
