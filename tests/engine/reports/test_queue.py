"""What waits, band by band: exact while little does, honest about a deep backlog."""

import pytest

from curtsy.clock import Clock
from curtsy.model.job_states import Band
from curtsy.reports import queue as module
from curtsy.reports.queue import BandQueue, queue
from curtsy.store import Store
from support.engine import Engine, engine

NOTHING = BandQueue(waiting=0, due_retries=0, later_retries=0, oldest=None)


@pytest.fixture
def curtsy(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def look(curtsy: Engine, *busy: int, after: int = 0) -> dict[Band, BandQueue]:
    now = curtsy.clock.now() + after
    return dict(await curtsy.store.read(lambda c: queue(c, in_flight=busy, now=now)))


async def submit(curtsy: Engine, host: str, number: int, priority: int) -> None:
    urls = (f"http://{host}.example/{priority}/{n}" for n in range(number))
    await curtsy.submit(*urls, priority=priority)


@pytest.fixture
def shallow(monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty visits are a deep backlog."""
    monkeypatch.setattr(module, "COUNT_CAP", 50)
    monkeypatch.setattr(module, "MUCH", 20)


async def test_each_priority_counts_in_its_band(curtsy: Engine) -> None:
    for priority in range(1, 11):
        await submit(curtsy, "a", 1, priority)
    found = await look(curtsy)
    assert [found[band].waiting for band in Band] == [3, 4, 3]
    assert not any(found[band].capped for band in Band)


async def test_an_empty_queue(curtsy: Engine) -> None:
    assert await look(curtsy) == dict.fromkeys(Band, NOTHING)


async def test_open_requests_do_not_count_as_waiting(curtsy: Engine) -> None:
    await submit(curtsy, "a", 3, 5)
    [first, *_] = await curtsy.query("SELECT page_id FROM visits ORDER BY page_id")
    assert (await look(curtsy, first.page_id, 10**9))[Band.MEDIUM].waiting == 2


async def test_due_and_later_retries_are_counted_separately(curtsy: Engine) -> None:
    await submit(curtsy, "a", 4, 2)
    now = curtsy.clock.now()
    for page, due_at in ((1, now - 5_000), (2, now - 1), (3, now + 60_000)):
        await curtsy.execute(
            "UPDATE visits SET due_at = :due_at WHERE page_id = "
            "(SELECT page_id FROM visits ORDER BY page_id LIMIT 1 OFFSET :page)",
            due_at=due_at, page=page,
        )  # fmt: skip
    high = (await look(curtsy))[Band.HIGH]
    assert (high.waiting, high.due_retries, high.later_retries) == (1, 2, 1)


async def test_the_oldest_is_the_longest_waiting_visit(curtsy: Engine) -> None:
    await submit(curtsy, "a", 3, 5)
    await curtsy.execute("UPDATE visits SET created_at = 1000 * page_id, due_at = NULL")
    [first, second, _] = await curtsy.query("SELECT page_id FROM visits ORDER BY page_id")
    assert (await look(curtsy))[Band.MEDIUM].oldest == 1000 * first.page_id
    busy = await look(curtsy, first.page_id)
    assert busy[Band.MEDIUM].oldest == 1000 * second.page_id
    later = curtsy.clock.now() + 60_000
    await curtsy.execute("UPDATE visits SET due_at = :later", later=later)
    assert (await look(curtsy))[Band.MEDIUM].oldest is None


@pytest.mark.usefixtures("shallow")
async def test_urgent_visits_are_counted_behind_a_deep_backlog(curtsy: Engine) -> None:
    await submit(curtsy, "deep", 60, 5)
    await submit(curtsy, "urgent", 3, 1)
    await submit(curtsy, "deep", 2, 3)
    [busy] = await curtsy.query("SELECT page_id FROM visits WHERE priority = 3 LIMIT 1")
    found = await look(curtsy, busy.page_id)
    assert (found[Band.HIGH].waiting, found[Band.HIGH].capped) == (4, False)
    assert found[Band.MEDIUM].waiting >= 20
    assert found[Band.MEDIUM].capped
    assert found[Band.LOW] == NOTHING


@pytest.mark.usefixtures("shallow")
async def test_retries_are_counted_behind_a_deep_backlog(curtsy: Engine) -> None:
    await submit(curtsy, "deep", 60, 5)
    await submit(curtsy, "failing", 3, 2)
    now = curtsy.clock.now()
    await curtsy.execute(
        "UPDATE visits SET due_at = CAST(:now AS bigint) + 100 * (page_id % 2), created_at = 7 "
        "WHERE priority = 2",
        now=now,
    )
    high = (await look(curtsy, after=50))[Band.HIGH]
    assert high.due_retries + high.later_retries == 3
    assert 0 < high.due_retries < 3
    assert (high.waiting, high.oldest) == (0, 7)
    assert (high.capped, high.retries_capped) == (False, False)


@pytest.mark.usefixtures("shallow")
async def test_a_retry_is_counted_in_a_source_of_a_lower_band(curtsy: Engine) -> None:
    await submit(curtsy, "deep", 60, 5)
    await submit(curtsy, "bulk", 12, 9)
    await curtsy.execute(
        "UPDATE visits SET priority = 3, due_at = 7 WHERE page_id = "
        "(SELECT max(page_id) FROM visits WHERE priority = 9)"
    )
    high = (await look(curtsy))[Band.HIGH]
    assert (high.due_retries, high.retries_capped, high.capped) == (1, False, False)


@pytest.mark.usefixtures("shallow")
async def test_leased_sources_are_counted(curtsy: Engine) -> None:
    await submit(curtsy, "deep", 60, 5)
    await submit(curtsy, "urgent", 3, 1)
    await curtsy.execute("UPDATE sources SET owner = 'w_1'")
    high = (await look(curtsy))[Band.HIGH]
    assert (high.waiting, high.capped) == (3, False)


@pytest.mark.usefixtures("shallow")
async def test_with_more_sources_than_are_read_the_count_is_a_lower_bound(
    curtsy: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "SOURCES_READ", 2)
    await submit(curtsy, "deep", 60, 5)
    for n in range(5):
        await submit(curtsy, f"urgent{n}", 1, 1)
    high = (await look(curtsy))[Band.HIGH]
    assert high.capped
    assert 0 < high.waiting < 5


@pytest.mark.usefixtures("shallow")
async def test_the_count_of_a_deep_band_is_a_lower_bound(curtsy: Engine) -> None:
    await submit(curtsy, "deep", 60, 5)
    await submit(curtsy, "bulk", 200, 9)
    low = (await look(curtsy))[Band.LOW]
    assert low.capped
    assert 10 <= low.waiting < 200
