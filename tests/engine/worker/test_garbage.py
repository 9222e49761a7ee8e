"""Memory that a page took is free when its visit has ended: the garbage collector, which finds
references in a circle, searches all objects only once in a long while."""

import gc
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from curtsy.demo.process import PracticeProcess
from support.engine import Engine, settings

PAGES = 60


@contextmanager
def uncollected() -> Iterator[Counter[str]]:
    """Switches the collector off; afterwards counts what it would have found, by module."""
    found: Counter[str] = Counter()
    gc.collect()
    gc.disable()
    try:
        yield found
        gc.set_debug(gc.DEBUG_SAVEALL)
        gc.collect()
        found.update(f"{type(one).__module__}.{type(one).__qualname__}" for one in gc.garbage)
    finally:
        gc.set_debug(0)
        gc.garbage.clear()
        gc.enable()
        gc.collect()


@pytest.mark.parametrize("path", ["/page/{}", "/missing/{}", "/redirect/{}"])
async def test_a_visit_leaves_nothing_to_the_garbage_collector(
    curtsy: Engine, site_apart: PracticeProcess, path: str
) -> None:
    urls = [site_apart.url(n % 4, path.format(n)) for n in range(PAGES)]
    with uncollected() as found:
        async with curtsy.worker(settings()):
            await curtsy.ended(await curtsy.submit(*urls))
    assert not [what for what, number in found.items() if number >= PAGES], found
