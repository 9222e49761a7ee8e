"""A practice site on real sockets, a client for it, and a way to speak raw HTTP to it."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager

import aiohttp
import pytest

from curtsy.demo.addresses import address
from curtsy.demo.practice_site import PracticeSite

Raw = Callable[..., Awaitable[bytes]]
Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]
Dial = Callable[[], AbstractAsyncContextManager[Streams]]


@pytest.fixture
async def site() -> AsyncIterator[PracticeSite]:
    async with PracticeSite(hosts=3) as running:
        yield running


@pytest.fixture
async def client() -> AsyncIterator[aiohttp.ClientSession]:
    async with aiohttp.ClientSession() as session:
        yield session


@pytest.fixture
def dial(site: PracticeSite) -> Dial:
    """A connection to the first host."""

    @asynccontextmanager
    async def opened() -> AsyncIterator[Streams]:
        reader, writer = await asyncio.open_connection(address(0), site.port)
        try:
            yield reader, writer
        finally:
            writer.close()
            await writer.wait_closed()

    return opened


@pytest.fixture
def raw(dial: Dial) -> Raw:
    """Send these bytes to the first host and read until it closes the connection."""

    async def asked(sent: bytes) -> bytes:
        async with dial() as (reader, writer):
            writer.write(sent)
            return await asyncio.wait_for(reader.read(), 5)

    return asked
