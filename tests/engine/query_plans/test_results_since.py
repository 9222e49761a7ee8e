"""Results after an event, and stored pages, are looked up, however large the job is."""

import pytest

from curtsy.clock import Clock
from curtsy.frontier.admit import Wanted
from curtsy.jobs.results_since import ended_since
from curtsy.jobs.stored_pages import without_stored
from curtsy.store import Store
from support.engine import engine
from support.explaining import explained

MANY = 5_000
NUMBERS = f"WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < {MANY})"
PAGES = f"""
    INSERT INTO pages (fingerprint, url, host, scraper, document_version, created_at)
    {NUMBERS} SELECT 'f' || n, 'http://a/' || n, 'a', 'raw', 1, 1 FROM n
"""
ITEMS = f"""
    INSERT INTO items (job_id, position, page_id, state, priority, kind, error, ended_at)
    {NUMBERS} SELECT j.id, n.n, p.id, 2, 5, 'gone', 'It is gone.', 1
    FROM n JOIN pages p ON p.fingerprint = 'f' || n.n CROSS JOIN jobs j
"""
EVENTS = f"""
    INSERT INTO events (xid, job_id, n, at, name, data)
    {NUMBERS} SELECT 0, j.id, n.n + 1, 1, 'page_failed', '{{{{"position": ' || n.n || '}}}}'
    FROM n CROSS JOIN jobs j
"""


async def test_results_after_an_event_are_looked_up(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    curtsy = engine(store, clock)
    await curtsy.submit("http://b.example/")
    for statement in (PAGES, ITEMS, EVENTS):
        await curtsy.execute(statement)
    [job] = await curtsy.query("SELECT id FROM jobs")
    with explained(monkeypatch) as plans:
        found = await store.write(lambda c: ended_since(c, job.id, event=4_000, most=20))
    assert [item.position for item in found.piece.items] == list(range(4_000, 4_020))
    assert found.last_event == 4_020
    assert plans.scanned == set()
    assert plans.buffers <= 400


async def test_stored_pages_are_looked_up(
    store: Store, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    curtsy = engine(store, clock)
    await curtsy.execute(PAGES)
    wanted = [Wanted(n, name, "http://a/", "a", "raw", 5)
              for n, name in enumerate(("f7", "new", "f9", "other"))]  # fmt: skip
    with explained(monkeypatch) as plans:
        new = await store.write(lambda c: without_stored(c, wanted))
    assert [(page.position, page.fingerprint) for page in new] == [(0, "new"), (1, "other")]
    assert plans.scanned == set()
