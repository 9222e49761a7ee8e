"""Processor time of hostile pages in the scraper of articles, beside an earlier revision and
trafilatura."""

from collections.abc import Iterator
from typing import Any

from bench import children
from bench.databases import Databases
from bench.lines import Line
from bench.revisions import checked_out
from bench.sizes import Sizes

FILES = ("hostile_pages.py", "contestants/hostile_article.py")
MOST_OF_BEFORE = 2.0
NOTHING_SECONDS = 0.2
"""A hundredth of the limit: a page may cost this, whatever it cost before."""

Found = dict[str, dict[str, Any]]


def run(sizes: Sizes, _databases: Databases) -> list[Line]:
    options: dict[str, Any] = {"size": sizes.hostile_bytes, "most": sizes.hostile_seconds}
    ours = children.run("hostile_article", extractor="curtsy", **options)
    theirs = children.run("hostile_article", extractor="trafilatura", **options)
    before: Found | None = None
    with checked_out(sizes.beside, *FILES) as root:
        if root is not None:
            before = children.run("hostile_article", root=root, extractor="curtsy", **options)
    worst_first = sorted(ours, key=lambda name: -ours[name]["seconds"])
    return [*_lines(worst_first, ours, theirs, before, sizes)]


def _lines(
    names: list[str], ours: Found, theirs: Found, before: Found | None, sizes: Sizes
) -> Iterator[Line]:
    for name in names:
        beside, bar = f"trafilatura {theirs[name]['seconds']:.2f} s", None
        if before is not None:
            then = min(float(before[name]["seconds"]), sizes.hostile_seconds)
            beside = f"{sizes.beside} {then:.2f}, {beside}"
            bar = max(NOTHING_SECONDS, min(MOST_OF_BEFORE * then, sizes.hostile_seconds))
        yield Line("hostile-articles", name, ours[name]["end"], beside, ours[name]["seconds"], bar,
                   at_least=False, unit="s")  # fmt: skip
