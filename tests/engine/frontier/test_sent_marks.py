"""The mark of a POST: set at most once for a turn, by the owner of its source, and seen by the
next one."""

import asyncio
from dataclasses import replace
from functools import partial

from curtsy.frontier.fence import mark_sent
from curtsy.frontier.take import Visit
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.outcome import Moved
from curtsy.model.page_body import Method, PageBody
from support.frontier import Bench, fetched, moved, retried

POST = PageBody(Method.POST, "q=1", "text/plain")


async def posted(bench: Bench, *urls: str) -> str:
    pages = [PageRequest(url, body=POST) for url in urls]
    return (await bench.submitter.submit(JobRequest(door="fetch", pages=pages))).job


async def mark(bench: Bench, visit: Visit, worker: str) -> bool:
    return await bench.store.write(
        partial(mark_sent, page_id=visit.page_id, turn=visit.turn, worker=worker)
    )


async def test_only_the_owner_sets_it_and_only_once(bench: Bench) -> None:
    await posted(bench, "https://a.example/")
    owner, other = await bench.worker("w1"), await bench.worker("w2")
    [visit] = await owner.lease_and_take()
    assert visit.sent_turn is None
    assert not await mark(bench, visit, other.name)
    marks = await asyncio.gather(*[mark(bench, visit, owner.name) for _ in range(8)])
    assert sorted(marks) == [False] * 7 + [True]


async def test_the_next_owner_sees_it_and_the_last_one_sets_none(bench: Bench) -> None:
    await posted(bench, "https://a.example/1", "https://a.example/2")
    dead = await bench.worker("w1")
    first, second = await dead.lease_and_take()
    assert await mark(bench, first, dead.name)
    await bench.bury(dead.name)
    bench.time.moves(60_000)
    heir = await bench.worker("w2")
    seen = {visit.page_id: visit for visit in await heir.lease_and_take()}
    assert seen[first.page_id].sent_turn == seen[first.page_id].turn == first.turn
    assert seen[second.page_id].sent_turn is None
    assert not await mark(bench, second, dead.name), "it no longer owns the source"
    assert await mark(bench, seen[second.page_id], heir.name)


async def test_it_holds_for_one_turn(bench: Bench) -> None:
    """A POST that the site declined is at its next turn, and so is one that a person retries."""
    await posted(bench, "https://a.example/")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    assert await mark(bench, visit, worker.name)
    await worker.flush(retried(visit, again_at=bench.time()))
    [later] = await worker.take()
    assert (later.sent_turn, later.turn) == (visit.turn, visit.turn + 1)
    assert await mark(bench, later, worker.name)
    await worker.flush(fetched(later))
    assert not await mark(bench, later, worker.name), "its result is stored"


async def paused_after_a_redirect(bench: Bench, *, repeats: bool) -> Visit:
    """The visit after a POST was sent and redirected, and its job was paused and resumed."""
    job = await posted(bench, "https://a.example/")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    assert await mark(bench, visit, worker.name)
    result = moved(visit, "https://a.example/done")
    outcome = Moved("https://a.example/done", 307 if repeats else 303, repeats=repeats)
    await worker.flush(replace(result, outcome=outcome))
    await bench.pause(job)
    await bench.resume(job)
    [later] = await worker.lease_and_take()
    return later


async def test_a_post_that_was_redirected_to_a_get_is_marked_after_a_pause(bench: Bench) -> None:
    later = await paused_after_a_redirect(bench, repeats=False)
    assert later.page_url is None, "it begins again with the page itself"
    assert later.sent_turn == later.turn


async def test_one_that_the_next_host_is_to_get_first_is_not(bench: Bench) -> None:
    later = await paused_after_a_redirect(bench, repeats=True)
    assert later.sent_turn != later.turn


async def test_a_page_without_a_mark_gets_none_by_a_pause(bench: Bench) -> None:
    job = await bench.job("https://a.example/")
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(moved(visit, "https://a.example/done"))
    await bench.pause(job)
    await bench.resume(job)
    [later] = await worker.lease_and_take()
    assert later.sent_turn is None
