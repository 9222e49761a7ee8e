"""The kernel as a witness: it sees every request when it leaves."""

import asyncio
import os

import aiohttp
import pytest

from chaos.reckoning import too_soon
from curtsy.demo.process import PracticeProcess
from support.departures import Departures, port_of

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="only root may listen on a device")


async def asked(site: PracticeProcess, pause: float) -> None:
    async with aiohttp.ClientSession() as session:
        for n in range(3):
            async with session.get(site.url(0, f"/page/{n}")) as reply:
                await reply.read()
            await asyncio.sleep(pause)


@needs_root
async def test_it_tells_how_far_apart_requests_left() -> None:
    async with PracticeProcess(hosts=1) as site:
        with Departures(port_of(site)) as departures:
            await asked(site, 0.1)
        first, second, third = site.entries()
    for before, after in ((first, second), (second, third)):
        gap = departures.gap(before, after)
        assert gap is not None
        assert 0.1 <= gap < 0.2
    assert (departures.gap(first, third) or 0) >= 0.2


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
