"""Memory of a worker that stores articles: it may not grow with the articles it has done."""

from collections.abc import Iterator

from bench import children
from bench.articles import HOSTS, served
from bench.databases import ENGINES, Databases
from bench.lines import Line
from bench.memory import MOST_GROWTH
from bench.sizes import Sizes
from curtsy.demo import addresses

SAMPLES = 40
"""At each mark. The pages in flight come and go by tens of megabytes."""


def run(sizes: Sizes, databases: Databases) -> list[Line]:
    with served(sizes) as port:
        return [line for engine in ENGINES for line in _on(engine, port, sizes, databases)]


def _on(engine: str, port: int, sizes: Sizes, databases: Databases) -> Iterator[Line]:
    marks = sizes.article_marks
    number = marks[-1] + marks[0]  # still at work at the last measurement
    urls = [addresses.url(n % HOSTS, port, f"/article/{n}") for n in range(number)]
    with databases.fresh(engine) as url:
        children.run("curtsy_send", database=url, urls=urls, scraper="article")
        measured = children.run("curtsy_memory", database=url, marks=marks, samples=SAMPLES)
    for who, what, bar in (("resident", "worker", MOST_GROWTH), ("children", "its children", None)):
        of = measured[who]
        shown = [f"{mb:.0f} MB at {n:,}" for n, mb in zip(marks, of, strict=True)]
        yield Line("article-memory", f"{engine}, {what}: end / middle", shown[2],
                   ", ".join(shown[:2]), of[2] / of[1], bar, at_least=False)  # fmt: skip
