"""What is not told yet is bounded: by its number and by its bytes."""

from typing import Any

import pytest

from curtsy.clock import HOUR, MINUTE
from curtsy.demo.practice_site import PracticeSite
from curtsy.politeness.policy import Policy
from curtsy.worker import document_packer, flusher
from support.engine import Engine, settings


async def test_large_documents_are_told_in_transactions_of_bounded_size(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    told: list[int] = []
    real = flusher.flush

    def weighed(*given: Any, batch: Any, **more: Any) -> Any:
        told.append(sum(r.document.bytes for r in batch.results if r.document))
        return real(*given, batch=batch, **more)

    monkeypatch.setattr(flusher, "flush", weighed)
    monkeypatch.setattr(flusher, "MOST_BYTES", 10_000)
    monkeypatch.setattr(flusher, "MOST_PENDING_BYTES", 20_000)
    async with curtsy.worker(settings(Policy(min_delay=0, concurrency=8))):
        job = await curtsy.submit(*(site.url(0, f"/page/{n}?size=9000") for n in range(60)))
        ended = await curtsy.ended(job)
    assert (ended.state, ended.done) == ("succeeded", 60)
    [(largest,)] = await curtsy.query("SELECT max(bytes) FROM documents")
    assert sum(told) > 5 * 10_000, "there was more than one transaction may carry"
    assert max(told) < 10_000 + largest


async def test_lanes_wait_while_too_many_bytes_are_pending(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    most = 0
    real = flusher.Flusher.add

    def counting(self: Any, lane: Any, result: Any) -> None:
        nonlocal most
        real(self, lane, result)
        most = max(most, self._pending_bytes)

    monkeypatch.setattr(flusher.Flusher, "add", counting)
    monkeypatch.setattr(flusher, "MOST_PENDING_BYTES", 10_000)
    async with curtsy.worker(settings(Policy(min_delay=0, concurrency=2))):
        job = await curtsy.submit(*(site.url(0, f"/page/{n}?size=9000") for n in range(60)))
        ended = await curtsy.ended(job)
    assert ended.done == 60
    [(largest,)] = await curtsy.query("SELECT max(bytes) FROM documents")
    assert most < 10_000 + 3 * largest, "two may be open when the room is full"


async def test_a_clock_that_jumps_while_documents_are_packed_moves_their_results(
    curtsy: Engine, site: PracticeSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    jumps = [HOUR]
    real = document_packer.DocumentPacker.pack

    async def jumping(self: Any, results: Any) -> None:
        waiting = list(results)
        await real(self, waiting)
        if waiting and jumps:
            curtsy.clock._ahead += jumps.pop()

    monkeypatch.setattr(document_packer.DocumentPacker, "pack", jumping)
    async with curtsy.worker(settings(Policy(min_delay=0))):
        ended = await curtsy.ended(await curtsy.submit(site.url(0, "/page/1")))
        assert ended.done == 1
        now = curtsy.clock.now()
    assert jumps == []
    [attempt] = await curtsy.query("SELECT ended_at FROM attempts")
    assert now - attempt.ended_at < MINUTE, "it is in the time after the jump"
