"""What robots.txt, the address guard and the caps cost, beside a whole request on loopback."""

from statistics import median

from bench import children
from bench.databases import Databases
from bench.lines import Line
from bench.sizes import Sizes

PARTS = {
    "robots": "robots.txt of 100 rules, a page",
    "guard": "address guard, a new connection",
    "caps": "caps on an answer of 20 KB, a page",
    "reading": "reading a robots.txt of 100 rules, a host and day",
}


def run(sizes: Sizes, _databases: Databases) -> list[Line]:
    seen = [children.run("curtsy_care", number=sizes.requests) for _ in range(sizes.rounds)]
    whole = median(m["whole"] for m in seen)
    lines = []
    for part, what in PARTS.items():
        cost = median(m[part] for m in seen)
        lines.append(Line("care", what, f"{cost:.1f} µs", f"{whole:.0f} µs a request",
                          cost / whole))  # fmt: skip
    return lines
