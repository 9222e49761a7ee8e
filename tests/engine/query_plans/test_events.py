"""Who follows events reads the new ones, however many there were before."""

import pytest

from curtsy.clock import Clock
from curtsy.events.stored_events import Place, end_of_all, read_all_after, read_job_after, read_news
from curtsy.jobs.listing import open_jobs
from curtsy.store import Store
from support.engine import Engine, engine
from support.explaining import explained

EACH = 100
MANY_EVENTS = f"""
    INSERT INTO events (xid, job_id, n, at, name, data)
    WITH RECURSIVE n(n) AS (SELECT 2 UNION ALL SELECT n + 1 FROM n WHERE n < {EACH})
    SELECT 0, j.id, n.n, 1, 'page_fetched', 'null' FROM jobs j CROSS JOIN n
    WHERE j.created_at <= 300
"""
MANY_JOBS = """
    INSERT INTO jobs (public_id, door, user_id, scraper, state, total, done, last_event,
                      created_at, updated_at, finished_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
    SELECT 'old_' || n, 'fetch', 'ann', 'raw', 'succeeded', 1, 1, 100, n, n, n FROM n
"""


@pytest.fixture
async def eventful(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    """5000 old jobs, 300 of them with a hundred events, and one more with its first."""
    await curtsy.execute(MANY_JOBS)
    await curtsy.execute(MANY_EVENTS)
    await curtsy.submit("http://a.example/")


async def test_the_feed_of_all_reads_on_from_its_place(
    eventful: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    await eventful.submit("http://b.example/")
    [before] = await eventful.query("SELECT xid, seq FROM events ORDER BY seq DESC LIMIT 1")
    place = Place(before.xid, before.seq - 1)
    with explained(monkeypatch) as plans:
        facts = await eventful.store.write(lambda c: read_all_after(c, place, most=500))
    assert [fact.name for fact in facts] == ["job_queued"]
    assert plans.scanned == set()
    assert not any(plan.sorts for plan in plans.seen)
    assert plans.buffers <= 20


async def test_the_end_of_all_is_found_at_once(
    eventful: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    [last] = await eventful.query("SELECT xid, seq FROM events ORDER BY seq DESC LIMIT 1")
    with explained(monkeypatch) as plans:
        end = await eventful.store.write(end_of_all)
    assert end == tuple(last)
    assert not any(plan.sorts for plan in plans.seen)
    assert plans.buffers <= 20


async def test_followers_of_quiet_jobs_cost_a_look_at_their_rows(
    eventful: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows = await eventful.query("SELECT id, last_event FROM jobs WHERE created_at <= 300")
    known = [(row.id, row.last_event) for row in rows]
    with explained(monkeypatch) as plans:
        facts, gone = await eventful.store.write(lambda c: read_news(c, known, most=500))
    assert (facts, gone) == ([], [])
    assert len(plans.seen) == 1
    assert plans.scanned <= {"jobs"}, "where that is less than to look for each"
    assert plans.buffers <= 3 * len(known)
    job, n = known[0]
    with explained(monkeypatch) as plans:
        await eventful.store.write(lambda c: read_job_after(c, job, n - 5, most=500))
    assert plans.scanned == set()
    assert plans.buffers <= 50


async def test_open_jobs_are_counted_without_the_others(
    eventful: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with explained(monkeypatch) as plans:
        assert await eventful.store.write(lambda c: open_jobs(c, None)) == 1
        assert await eventful.store.write(lambda c: open_jobs(c, "ann")) == 0
    assert plans.buffers <= 40
    assert plans.scanned == set()
