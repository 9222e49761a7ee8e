"""What one user may see is found without wading through what belongs to others."""

from collections.abc import Callable
from typing import Any

import pytest

from curtsy.access.keys import NewKey, create_key
from curtsy.access.quota import Quotas
from curtsy.clock import Clock
from curtsy.jobs.listing import FIRST, SEARCHED, JobFilter, list_jobs
from curtsy.jobs.ownership import ITEMS_SEARCHED, has_page
from curtsy.model.roles import Role
from curtsy.model.status_words import FILTERS
from curtsy.store import Connection, Store
from support.engine import Engine, engine
from support.explaining import QueryPlans, explained

MANY = 40_000
HERS = 200
MOST_READ = HERS * 12
"""Buffers. Each job of hers may cost a few indexes: PostgreSQL finds its tags by the index of the
jobs (3 buffers) or skips through that of the tags (6)."""
MAKE_JOBS = f"""
    INSERT INTO jobs (public_id, door, user_id, name, scraper, state, total, done, created_at,
                      updated_at, finished_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {MANY})
    SELECT 'old_' || n, 'fetch', CASE WHEN n % {HERS} = 0 THEN 'ann' ELSE 'bob' || (n % 3) END,
           'No ' || n, 'raw', 'succeeded', 1, 1, n, n, n FROM n
"""
MAKE_ITEMS = """
    INSERT INTO items (job_id, position, page_id, state, priority)
    SELECT id, 0, 1 + created_at % 100, 1, 5 FROM jobs WHERE public_id LIKE 'old%'
"""
MAKE_TAGS = """
    INSERT INTO job_tags (tag, job_id) SELECT 'news', id FROM jobs WHERE public_id LIKE 'old%'
"""


@pytest.fixture
async def crowded(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    """Of 40,000 jobs that have ended, 200 are Ann's; all share a hundred pages."""
    await curtsy.submit(*(f"http://a.example/{n}" for n in range(101)))
    for statement in (MAKE_JOBS, MAKE_ITEMS, MAKE_TAGS):
        await curtsy.execute(statement)


async def plans_of(
    of: Engine, monkeypatch: pytest.MonkeyPatch, work: Callable[[Connection], Any]
) -> tuple[Any, QueryPlans]:
    with explained(monkeypatch) as plans:
        return await of.store.write(work), plans


@pytest.mark.parametrize(
    ("filters", "found"),
    [({}, 50), ({"wanted": "completed"}, 50), ({"wanted": "cancelled"}, 0), ({"tag": "news"}, 50),
     ({"tag": "none"}, 0), ({"q": "no 40000"}, 1)],
    ids=str,
)  # fmt: skip
async def test_a_list_of_ones_own_reads_ones_own(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch, filters: dict[str, str], found: int
) -> None:
    wanted = FILTERS[filters["wanted"]] if "wanted" in filters else None
    wish = JobFilter("ann", wanted, filters.get("tag"), filters.get("q"))
    (rows, _, _), plans = await plans_of(
        crowded,
        monkeypatch,
        lambda c: list_jobs(c, wish, after=FIRST, limit=50, skip=0),
    )
    assert len(rows) == found
    assert plans.scanned <= {"pages"}
    assert plans.buffers <= MOST_READ
    assert SEARCHED > HERS


async def test_whether_a_page_is_ones_own_is_found_among_ones_own(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    for user, page, hers in (("ann", 1, True), ("ann", 2, False), ("bob1", 2, True)):
        has, plans = await plans_of(
            crowded, monkeypatch, lambda c, u=user, p=page: has_page(c, u, p)
        )
        assert has == hers
        assert plans.scanned == set()
        if user == "ann":
            assert plans.buffers <= HERS * 8
    assert ITEMS_SEARCHED > HERS


async def test_open_jobs_are_counted_without_a_look_at_those_that_ended(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = crowded.clock.now()
    wish = NewKey("bob1", Role.SUBMIT, open_jobs=3)
    key, _ = await crowded.store.write(lambda c: create_key(c, wish, now=now))
    _, plans = await plans_of(crowded, monkeypatch, lambda c: Quotas(c, [key.id], now=now))
    assert plans.scanned == set()
    assert plans.of("finished_at IS NULL").buffers <= 10


@pytest.mark.parametrize("word", ["finished", "error", "queued", "completed", "partial"])
@pytest.mark.parametrize("of", [None, "crawl"])
async def test_jobs_that_show_a_word_are_found_without_the_others(
    crowded: Engine, monkeypatch: pytest.MonkeyPatch, word: str, of: str | None
) -> None:
    """40,000 of the fetch door have succeeded: a rare word and a rare door cost no look at them."""
    wish = JobFilter(status=FILTERS[word] if of is None else FILTERS[word].of(of))
    (rows, total, _), plans = await plans_of(
        crowded, monkeypatch, lambda c: list_jobs(c, wish, after=FIRST, limit=50, skip=0)
    )
    meant = {("completed", None): 50, ("queued", None): 1}.get((word, of), 0)
    assert len(rows) == meant
    assert total >= meant
    assert plans.scanned <= {"pages"}
    assert plans.buffers <= 300 + 10 * meant
