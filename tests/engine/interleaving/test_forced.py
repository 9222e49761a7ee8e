"""Pairs of transactions that meet at the worst moment."""

import asyncio
from contextlib import suppress
from importlib import import_module
from typing import Any

import pytest

from curtsy.alerts import stored_rules
from curtsy.alerts.rule_fields import RuleFields
from curtsy.errors import NotFound, WrongState
from curtsy.frontier import admit, flush, worker_rows
from curtsy.frontier.batch import Release
from curtsy.frontier.crawls import leads
from curtsy.jobs import admission
from curtsy.store import Connection
from support.frontier import Bench, failed, fetched
from support.holding import Held, blocked_or_done, hold

cancel = import_module("curtsy.jobs.cancel")
dropping = import_module("curtsy.frontier.withdraw")
purge = import_module("curtsy.jobs.purge")
reopening = import_module("curtsy.frontier.reopen")

A, B = "https://a.example/", "https://b.example/"
Patch = pytest.MonkeyPatch


async def test_a_page_that_fails_while_its_jobs_failures_are_retried_is_not_lost(
    bench: Bench, monkeypatch: Patch
) -> None:
    job = await bench.job(A, B)
    worker = await bench.worker()
    one, other = await worker.lease_and_take()
    await worker.flush(failed(one))
    held = hold(monkeypatch, reopening, "_REOPEN_ITEMS")
    retrying = asyncio.create_task(bench.retry(job))
    await held.reached()
    flushing = asyncio.create_task(worker.flush(failed(other)))
    await blocked_or_done(bench.store, flushing)
    held.let_go()
    await asyncio.gather(retrying, flushing)
    assert await bench.violations() == []


async def test_a_page_retried_while_its_job_is_cancelled_and_joined_by_another_is_not_lost(
    bench: Bench, monkeypatch: Patch
) -> None:
    """The cancel read what waits before the retry; the page that the retry brought back is
    joined by a submit that commits last."""
    job = await bench.job(A, B)
    worker = await bench.worker()
    one, _other = await worker.lease_and_take()
    await worker.flush(failed(one))
    cancel_held = hold(monkeypatch, cancel, "cancel_items")
    cancelling = asyncio.create_task(bench.cancel(job))
    await cancel_held.reached()
    retrying = asyncio.create_task(bench.retry(job))
    await blocked_or_done(bench.store, retrying)
    submit_held = hold(monkeypatch, admission, "insert_deliveries")
    joining = asyncio.create_task(bench.submit(A))
    if not await blocked_or_done(bench.store, retrying):
        await submit_held.reached()
    cancel_held.let_go()
    await blocked_or_done(bench.store, cancelling)
    submit_held.let_go()
    await asyncio.gather(cancelling, retrying, joining)
    assert await bench.violations() == []


async def test_work_that_is_committed_after_its_source_was_given_back_is_found_by_the_next_look(
    bench: Bench, monkeypatch: Patch
) -> None:
    """The submit saw the source awake, so it wakes nobody."""
    await bench.submit(A)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, admission, "insert_deliveries")
    submitting = asyncio.create_task(bench.submit(f"{A}late"))
    await held.reached()
    empty = Release(more=False, band=2, known_band=2, looks=1)
    await worker.flush(fetched(visit), release={visit.source_id: empty})
    held.let_go()
    await submitting
    bench.time.moves(999)
    assert await worker.lease() == []
    bench.time.moves(1)
    assert [v.url for v in await worker.lease_and_take()] == [f"{A}late"]


async def test_links_that_are_committed_after_their_source_was_given_back_wake_it(
    bench: Bench, monkeypatch: Patch
) -> None:
    """The page that leads on is often the last one of its lane: ten seconds later is too late."""
    await bench.crawl(A, depth=1)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(fetched(visit, links=[f"{A}late"]))
    held = hold(monkeypatch, leads, "count_admitted")
    following = asyncio.create_task(bench.follow_links())
    await held.reached()
    await worker.release(visit.source_id, looks=2)
    held.let_go()
    await following
    assert [lease.source_id for lease in await worker.lease()] == [visit.source_id]


async def test_a_release_that_is_under_way_when_links_are_committed_is_waited_for(
    bench: Bench, monkeypatch: Patch
) -> None:
    """It has looked for visits, found none, and has not committed yet."""
    await bench.crawl(A, depth=1)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    await worker.flush(fetched(visit, links=[f"{A}late"]))
    held, release = Held(lambda _connection: None), flush.release

    def release_and_wait(connection: Connection, *given: Any, **values: Any) -> None:
        release(connection, *given, **values)
        held(connection)

    monkeypatch.setattr(flush, "release", release_and_wait)
    releasing = asyncio.create_task(worker.release(visit.source_id, looks=2))
    await held.reached()
    following = asyncio.create_task(bench.follow_links())
    await blocked_or_done(bench.store, following)
    held.let_go()
    await asyncio.gather(releasing, following)
    assert [lease.source_id for lease in await worker.lease()] == [visit.source_id]


async def test_two_retries_of_one_job_at_once_open_one_round(
    bench: Bench, monkeypatch: Patch
) -> None:
    job = await bench.job(A)
    worker = await bench.worker()
    await worker.flush(*[failed(v) for v in await worker.lease_and_take()])
    held = hold(monkeypatch, reopening, "_REOPEN_ITEMS")
    first = asyncio.create_task(bench.retry(job))
    await held.reached()
    second = asyncio.create_task(bench.retry(job))
    await blocked_or_done(bench.store, second)
    held.let_go()
    assert await first == 1
    with pytest.raises(WrongState):
        await second
    assert (await bench.row("SELECT round FROM jobs")).round == 2
    assert await bench.violations() == []


async def test_two_cancels_of_one_job_at_once_remove_its_pages_once(
    bench: Bench, monkeypatch: Patch
) -> None:
    job = await bench.job(A, B)
    held = hold(monkeypatch, dropping, "_DELETE_VISITS")
    first = asyncio.create_task(bench.cancel(job))
    await held.reached()
    second = asyncio.create_task(bench.cancel(job))
    await blocked_or_done(bench.store, second)
    held.let_go()
    assert await first == 2
    with pytest.raises(WrongState):
        await second
    assert await bench.violations() == []


async def test_two_who_forget_one_job_at_once_leave_others_what_they_have_of_its_pages(
    bench: Bench, monkeypatch: Patch
) -> None:
    job, _other = await bench.job(A), await bench.job(A)
    worker = await bench.worker()
    await worker.flush(*[fetched(v) for v in await worker.lease_and_take()])
    held = hold(monkeypatch, purge, "_DELETE_ITEMS")

    async def forget() -> None:
        with suppress(NotFound):
            await bench.store.write(lambda c: purge.purge_some(c, job))

    first = asyncio.create_task(forget())
    await held.reached()
    second = asyncio.create_task(forget())
    await blocked_or_done(bench.store, second)
    held.let_go()
    await asyncio.gather(first, second)
    assert (await bench.row("SELECT reference_count FROM pages")).reference_count == 1
    assert (await bench.row("SELECT count(*) FROM documents")).count == 1
    assert await bench.violations() == []


async def test_a_cancel_that_waits_for_a_flush_counts_only_what_the_flush_left(
    bench: Bench, monkeypatch: Patch
) -> None:
    job = await bench.job(A, B)
    worker = await bench.worker()
    one, _other = await worker.lease_and_take()
    held = hold(monkeypatch, flush, "insert_dead_letters")
    flushing = asyncio.create_task(worker.flush(fetched(one)))
    await held.reached()
    cancelling = asyncio.create_task(bench.cancel(job))
    await blocked_or_done(bench.store, cancelling)
    held.let_go()
    await flushing
    assert await cancelling == 1
    counts = await bench.counts(job)
    assert (counts.done, counts.cancelled) == (1, 1)
    assert await bench.violations() == []


async def test_a_flush_that_waits_for_a_cancel_is_dropped(bench: Bench, monkeypatch: Patch) -> None:
    job = await bench.job(A)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, dropping, "_DELETE_VISITS")
    cancelling = asyncio.create_task(bench.cancel(job))
    await held.reached()
    flushing = asyncio.create_task(worker.flush(fetched(visit)))
    await blocked_or_done(bench.store, flushing)
    held.let_go()
    assert await cancelling == 1
    assert (await flushing).recorded == 0
    assert await bench.violations() == []


async def test_a_flush_that_waits_for_the_reap_of_its_worker_is_dropped(
    bench: Bench, monkeypatch: Patch
) -> None:
    await bench.submit(A)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, worker_rows, "_RELEASE_ORPHANS")
    reaping = asyncio.create_task(bench.bury(worker.name))
    await held.reached()
    flushing = asyncio.create_task(worker.flush(fetched(visit)))
    assert await blocked_or_done(bench.store, flushing)
    held.let_go()
    await reaping
    flushed = await flushing
    assert (flushed.recorded, flushed.lost_sources) == (0, {visit.source_id})
    assert await bench.violations() == []


async def test_a_reap_that_waits_for_a_flush_leaves_what_the_flush_recorded(
    bench: Bench, monkeypatch: Patch
) -> None:
    job = await bench.job(A)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, flush, "insert_dead_letters")
    flushing = asyncio.create_task(worker.flush(fetched(visit)))
    await held.reached()
    reaping = asyncio.create_task(bench.bury(worker.name))
    assert await blocked_or_done(bench.store, reaping)
    held.let_go()
    assert (await flushing).recorded == 1
    assert await reaping == [worker.name]
    assert (await bench.counts(job)).state == "succeeded"
    assert (await bench.source("a.example")).owner is None


async def test_a_beat_that_commits_while_its_worker_is_being_buried_saves_it(
    bench: Bench, monkeypatch: Patch
) -> None:
    worker = await bench.worker()
    held = hold(monkeypatch, worker_rows, "_DECLARE_DEAD")
    burying = asyncio.create_task(bench.bury(worker.name))
    await held.reached()
    assert await worker.beat()
    held.let_go()
    assert await burying == []
    assert await worker.beat()


async def test_two_submits_that_see_a_host_for_the_first_time_share_its_source(
    bench: Bench, monkeypatch: Patch
) -> None:
    held = hold(monkeypatch, admission, "insert_deliveries")
    first = asyncio.create_task(bench.submit(A))
    await held.reached()
    second = asyncio.create_task(bench.submit("https://a.example/2"))
    await blocked_or_done(bench.store, second)
    held.let_go()
    await asyncio.gather(first, second)
    assert len(await bench.rows("SELECT * FROM sources")) == 1
    assert len(await bench.rows("SELECT * FROM visits")) == 2
    assert await bench.violations() == []


async def test_work_committed_while_its_source_was_released_empty_is_found_by_the_next_look(
    bench: Bench, monkeypatch: Patch
) -> None:
    await bench.submit(A)
    worker = await bench.worker()
    [visit] = await worker.lease_and_take()
    held = hold(monkeypatch, admission, "insert_deliveries")
    submitting = asyncio.create_task(bench.submit("https://a.example/2"))
    await held.reached()
    await worker.flush(fetched(visit))
    assert await worker.take() == []
    await worker.release(visit.source_id, looks=1)
    held.let_go()
    await submitting
    bench.time.moves(1_000)
    assert [v.url for v in await worker.lease_and_take()] == ["https://a.example/2"]


async def test_pages_are_locked_in_one_order_whatever_the_databases_collation(
    bench: Bench,
) -> None:
    """The wheel's PostgreSQL has only C locales, so the plan must say it: where the database
    sorts text otherwise, a submit would lock its pages in another order than a flush."""
    explain = f"EXPLAIN {admit._UPSERT_PAGES.sql('postgresql')}"
    arguments = admit._UPSERT_PAGES.postgres_arguments({"wanted": [], "now": 0})
    plan = await bench.store.read(lambda c: [row[0] for row in c.execute(explain, arguments)])
    assert [line for line in plan if "Sort Key" in line and 'COLLATE "C"' not in line] == []


async def test_a_retry_that_meets_a_resume_loses_no_page(bench: Bench, monkeypatch: Patch) -> None:
    """It saw the job paused and made no visit; the resume did not see that the page waits."""
    job = await bench.job(A, B)
    worker = await bench.worker()
    one, _other = await worker.lease_and_take()
    await worker.flush(failed(one))
    await bench.pause(job)
    held = hold(monkeypatch, reopening, "mark_retried")
    retrying = asyncio.create_task(bench.retry(job))
    await held.reached()
    resuming = asyncio.create_task(bench.resume(job))
    await blocked_or_done(bench.store, resuming)
    held.let_go()
    assert (await retrying, await resuming) == (1, 2)
    assert await bench.violations() == []


async def test_a_retry_that_meets_a_pause_starts_no_page(bench: Bench, monkeypatch: Patch) -> None:
    job = await bench.job(A, B)
    worker = await bench.worker()
    one, _other = await worker.lease_and_take()
    await worker.flush(failed(one))
    held = hold(monkeypatch, reopening, "mark_retried")
    retrying = asyncio.create_task(bench.retry(job))
    await held.reached()
    pausing = asyncio.create_task(bench.pause(job))
    await blocked_or_done(bench.store, pausing)
    held.let_go()
    assert (await retrying, await pausing) == (1, 2)
    assert await bench.violations() == []


async def test_processes_that_start_at_once_delete_the_rule_that_left_the_alerts_file_once(
    bench: Bench, monkeypatch: Patch
) -> None:
    rules = {"mine": RuleFields.model_validate({"metric": "wal_size", "above": 1})}
    apply = stored_rules.apply_rules
    await bench.store.write(lambda c: apply(c, rules, now=0))
    held = hold(monkeypatch, stored_rules, "_REPLACE")
    first = asyncio.create_task(bench.store.write(lambda c: apply(c, {}, now=1)))
    await held.reached()
    second = asyncio.create_task(bench.store.write(lambda c: apply(c, {}, now=2)))
    await blocked_or_done(bench.store, second)
    held.let_go()
    applied = await asyncio.gather(first, second)
    assert [one.removed for one in applied] == [["mine"], []]
