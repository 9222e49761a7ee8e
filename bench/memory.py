"""A worker's resident memory while it works: it may not grow with the pages it has done."""

from bench import children
from bench.calibration import Calibration
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.sizes import Sizes
from curtsy.demo.process import PracticeProcess

MOST_GROWTH = 1.05


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    calibration = Calibration()
    calibration.measure()
    lines: list[Line] = []
    for engine in ENGINES:
        resident = _resident(engine, sizes, databases)
        shown = [
            f"{mb:.0f} MB at {n:,}" for n, mb in zip(sizes.memory_marks, resident, strict=True)
        ]
        lines.append(Line(
            "memory", f"{engine}: end / middle", shown[2], ", ".join(shown[:2]),
            resident[2] / resident[1], MOST_GROWTH, at_least=False,
        ))  # fmt: skip
        calibration.measure()
    print(f"  {calibration.sentence()}", flush=True)
    return lines


def _resident(engine: str, sizes: Sizes, databases: Databases) -> list[float]:
    pages = sizes.memory_marks[-1] + sizes.memory_marks[0]  # still at work at the last measurement
    with databases.fresh(engine) as url, PracticeProcess(hosts=sizes.page_hosts) as site:
        hosts = sizes.page_hosts
        urls = [site.url(i % hosts, f"/page/{i // hosts}") for i in range(pages)]
        children.run("curtsy_send", database=url, urls=urls)
        marks = list(sizes.memory_marks)
        measured = children.run("curtsy_memory", database=url, marks=marks)
    return [float(mb) for mb in measured["resident"]]
