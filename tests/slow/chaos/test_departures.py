"""The kernel as a witness: it sees every request when it leaves."""

import asyncio
import os
import time
from itertools import combinations

import aiohttp
import pytest

from chaos.reckoning import LEFT_LATE, too_soon
from curtsy.demo.process import PracticeProcess
from support.departures import Departures, port_of

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may listen on a device")


async def asked(site: PracticeProcess, pause: float) -> list[tuple[float, float]]:
    """Begin and end of each of three requests, by our own clock."""
    spans = []
    async with aiohttp.ClientSession() as session:
        for n in range(3):
            began = time.monotonic()
            async with session.get(site.url(0, f"/page/{n}")) as reply:
                await reply.read()
            spans.append((began, time.monotonic()))
            await asyncio.sleep(pause)
    return spans


@needs_root
async def test_it_tells_how_far_apart_requests_left() -> None:
    async with PracticeProcess(hosts=1) as site:
        with Departures(port_of(site)) as departures:
            spans = await asked(site, 0.1)
    for (before, after), (was, then) in zip(
        combinations(site.entries(), 2), combinations(spans, 2), strict=True
    ):
        gap = departures.gap(before, after)
        assert gap is not None
        assert then[0] - was[1] <= gap + LEFT_LATE
        assert gap - LEFT_LATE <= then[1] - was[0]
        assert gap >= 0.1 - LEFT_LATE


@needs_root
async def test_what_the_site_suspects_and_the_kernel_confirms_is_too_soon() -> None:
    async with PracticeProcess(hosts=1) as site:
        with Departures(port_of(site)) as departures:
            await asked(site, 0.05)
    assert len(too_soon(site.entries(), 0.2, departures)) == 1
    assert too_soon(site.entries(), 0.02, departures) == []


async def test_where_nobody_listened_the_sites_word_counts() -> None:
    async with PracticeProcess(hosts=1) as site:
        await asked(site, 0.05)
        silent = Departures(port_of(site))
    assert silent.gap(*site.entries()[:2]) is None
    assert len(too_soon(site.entries(), 0.2, silent)) == 1
