"""Bodies that are small on the wire and costly to decode: who waits for them, and how long."""

import asyncio
import gzip
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from curtsy.fetch import Request
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from fetch.sites import Serve, get, page
from support.hostile_bodies import STACKED, Body

MEGABYTE = 2**20


def coded(body: Body, size: int) -> bytes:
    return page(body.make(size), b"Content-Encoding: " + body.encoding.encode())


@pytest.mark.parametrize("body", STACKED, ids=lambda body: body.encoding)
async def test_a_small_body_that_is_costly_to_decode_does_not_hold_the_loop(
    serve: Serve, body: Body
) -> None:
    site = await serve(coded(body, 10 * MEGABYTE - 100))
    began = time.thread_time()
    await get(site.url)
    assert time.thread_time() - began < 0.2  # the loop's thread, server and client together


async def test_a_small_body_that_becomes_large_does_not_hold_the_loop(serve: Serve) -> None:
    site = await serve(page(gzip.compress(bytes(60 * MEGABYTE)), b"Content-Encoding: gzip"))
    began = time.thread_time()
    reply = await get(site.url, body_bytes=100 * MEGABYTE)
    spent = time.thread_time() - began
    assert isinstance(reply, Reply)
    assert len(reply.body) == 60 * MEGABYTE
    assert spent < 0.1


async def test_decoding_ends_with_the_attempts_time(serve: Serve) -> None:
    size = 200 * MEGABYTE
    site = await serve(coded(STACKED[-1], size))
    began = time.monotonic()
    outcome = await get(Request(site.url, timeout_ms=1_000), body_bytes=2 * size)
    assert time.monotonic() - began < 10  # it takes forty seconds, and may take sixteen
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.TIMEOUT
    assert outcome.error == (
        f"The answer of 127.0.0.1:{site.port} arrived, but was not decoded in time."
    )
    while any(thread.name.startswith("decode") for thread in threading.enumerate()):
        await asyncio.sleep(0.01)  # its thread stops too
    assert time.monotonic() - began < 10


async def test_a_body_that_spends_its_processor_time_is_refused(serve: Serve) -> None:
    site = await serve(coded(STACKED[-1], 10 * MEGABYTE - 100))
    outcome = await get(site.url)
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.BAD_ENCODING
    assert "decoding it takes more than 0.8 s of processor time" in outcome.error


async def test_bodies_are_decoded_in_threads_of_their_own(serve: Serve) -> None:
    """The threads that everything else shares are all busy, and the body comes nevertheless."""
    site = await serve(page(gzip.compress(bytes(5 * MEGABYTE)), b"Content-Encoding: gzip"))
    loop, free = asyncio.get_running_loop(), threading.Event()
    loop.set_default_executor(ThreadPoolExecutor(1))
    busy = asyncio.ensure_future(asyncio.to_thread(free.wait))
    try:
        assert isinstance(await asyncio.wait_for(get(site.url), 20), Reply)
    finally:
        free.set()
        await busy
