import asyncio

import pytest

from curtsy.fetch import Request, TrustEnded
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Reply
from fetch.sites import Serve, Site, answers, fetcher, page


async def hang_up_at_the_second(
    site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
) -> None:
    """What a server does whose idle timeout ends while a request is on its way."""
    await site.heard(reader)
    writer.write(page(b"first"))
    await site.heard(reader)


async def test_without_trust_nothing_is_sent_on_a_new_connection(serve: Serve) -> None:
    received: list[bytes] = []

    async def listen(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        received.append(await reader.read())

    site = await serve(listen)
    async with fetcher(may_start=lambda: False) as open_fetcher:
        with pytest.raises(TrustEnded):
            await open_fetcher.fetch(Request(site.url))
    await site.arrived.wait()
    await site.left()
    assert received == [b""]  # it was connected to, and then left


async def test_without_trust_nothing_is_sent_on_a_kept_connection(serve: Serve) -> None:
    site = await serve(page(b"page"))
    trust = iter([True, False])
    async with fetcher(may_start=lambda: next(trust)) as open_fetcher:
        assert isinstance(await open_fetcher.fetch(Request(site.url)), Reply)
        with pytest.raises(TrustEnded):
            await open_fetcher.fetch(Request(site.url))
        await site.left()
    assert len(site.requests) == 1


async def test_trust_that_ends_while_connecting_stops_the_request(serve: Serve) -> None:
    """The question is put when the connection stands, not when the call is made."""
    trusted = True
    site = await serve(page(b"page"))
    async with fetcher(may_start=lambda: trusted) as open_fetcher:
        fetching = asyncio.ensure_future(open_fetcher.fetch(Request(site.url)))
        await asyncio.sleep(0)
        assert not fetching.done()
        trusted = False
        with pytest.raises(TrustEnded):
            await fetching
    assert site.requests == []


async def test_a_dead_kept_connection_is_not_answered_by_a_second_request(serve: Serve) -> None:
    site = await serve(hang_up_at_the_second)
    asked: list[None] = []
    async with fetcher(may_start=lambda: not asked.append(None)) as open_fetcher:
        assert isinstance(await open_fetcher.fetch(Request(site.url)), Reply)
        outcome = await open_fetcher.fetch(Request(site.url))
        assert isinstance(outcome, Failed)
        assert outcome.kind is Kind.RESET
    assert (len(site.requests), len(asked)) == (2, 2)


async def test_a_connection_seen_to_be_closed_costs_no_page(serve: Serve) -> None:
    async def answer_and_leave(
        site: Site, reader: asyncio.StreamReader, writer: asyncio.StreamWriter
    ) -> None:
        await site.heard(reader)
        writer.write(page(b"page"))

    site = await serve(answer_and_leave)
    async with fetcher() as open_fetcher:
        assert isinstance(await open_fetcher.fetch(Request(site.url)), Reply)
        await site.left()
        await asyncio.sleep(0.02)  # the end of the connection is on its way through the kernel
        assert isinstance(await open_fetcher.fetch(Request(site.url)), Reply)
    assert len(site.requests) == 2


async def test_each_call_asks_for_trust_once(serve: Serve) -> None:
    site = await serve(answers(page(b"", status=b"503 Service Unavailable"), page(b"page")))
    asked: list[None] = []
    async with fetcher(may_start=lambda: not asked.append(None)) as open_fetcher:
        for count in (1, 2, 3):
            await open_fetcher.fetch(Request(site.url))
            assert len(asked) == len(site.requests) == count
