"""Lists and status with many jobs in the store, beside the same with few: the cost may not grow."""

from bench import children
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.sizes import Sizes

MOST = 1.3
SCREENS = {"list": "list of 50 jobs", "filtered": "the same, COMPLETED", "status": "status of one"}


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    lines = []
    for engine in ENGINES:
        costs = {}
        for jobs in (sizes.few_jobs, sizes.many_jobs):
            with databases.fresh(engine) as url:
                costs[jobs] = children.run("curtsy_history", database=url, jobs=jobs)
        few, many = costs[sizes.few_jobs], costs[sizes.many_jobs]
        for screen, what in SCREENS.items():
            lines.append(Line(
                "history", f"{engine}, {what}: {sizes.many_jobs:,} / {sizes.few_jobs:,} jobs",
                f"{many[screen]:.2f} ms", f"{few[screen]:.2f} ms", many[screen] / few[screen],
                MOST, at_least=False,
            ))  # fmt: skip
    return lines
