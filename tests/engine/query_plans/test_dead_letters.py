"""Looking at dead letters, and retrying some, costs the same however many there are."""

from functools import partial

import pytest

from curtsy.clock import Clock
from curtsy.jobs import LetterSelection, retry_letters
from curtsy.jobs.dead_letters import groups, letters
from curtsy.jobs.pages import read_page
from curtsy.store import Store
from support.engine import Engine, engine
from support.explaining import explained

MANY = 20_000
MAKE_FAILURES = (
    """
    INSERT INTO jobs (public_id, door, scraper, state, total, created_at, updated_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 5000)
    SELECT 'old_' || n, 'fetch', 'raw', 'succeeded', 1, 1, 1 FROM n
    """,
    "UPDATE items SET state = 2, kind = 'gone', error = 'It is gone.'",
    "UPDATE jobs SET state = 'failed', failed = total",
    "DELETE FROM visits",
    """
    INSERT INTO dead_letters (page_id, turn, source_id, kind, family, error, attempts, state,
                              created_at)
    SELECT id, 1, 1 + id % 2, CASE WHEN id % 5 = 0 THEN 'timeout' ELSE 'gone' END, 'network', 'No.',
           1, CASE WHEN id % 3 = 0 THEN 'resolved' ELSE 'open' END, 1 FROM pages
    """,
    """
    INSERT INTO attempts (page_id, turn, source_id, worker, attempt, outcome, started_at, ended_at)
    SELECT id, 1, 1, 'w', 1, 'failed', 1, 1 FROM pages
    """,
)


@pytest.fixture
async def failed(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    await curtsy.submit(*(f"http://{n % 2}.example/{n}" for n in range(MANY)))
    for statement in MAKE_FAILURES:
        await curtsy.execute(statement)


@pytest.mark.parametrize(
    "filters",
    [{}, {"kind": "timeout"}, {"source": "1.example"}, {"kind": "gone", "source": "0.example"}],
    ids=str,
)
async def test_the_list_reads_what_it_shows(
    failed: Engine, monkeypatch: pytest.MonkeyPatch, filters: dict[str, str]
) -> None:
    asked = {"kind": None, "source": None} | filters
    with explained(monkeypatch) as plans:
        rows = await failed.store.write(
            partial(letters, state="open", before=None, most=50, **asked)
        )
    assert len(rows) == 50
    assert plans.scanned <= {"sources"}
    assert plans.buffers <= 50 * 30


async def test_a_retry_of_many_goes_from_the_letters_to_their_items(
    failed: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    some = [row.id for row in await failed.query("SELECT id FROM dead_letters LIMIT 20")]
    with explained(monkeypatch) as plans:
        settled = await failed.store.write(
            lambda c: retry_letters(c, LetterSelection(some), now=failed.clock.now())
        )
    assert settled.pages == settled.letters > 5
    assert plans.scanned <= {"sources", "hosts"}
    assert plans.buffers <= 20 * 60


async def test_a_page_is_shown_by_its_own_rows(
    failed: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    with explained(monkeypatch) as plans:
        story = await failed.store.write(lambda c: read_page(c, 777, "art_309"))
    assert len(story.attempts) == 1
    assert plans.scanned <= {"sources", "hosts", "workers"}
    assert plans.buffers <= 60


async def test_groups_are_counted_to_a_cap(failed: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("curtsy.jobs.dead_letters.COUNT_CAP", 100)
    with explained(monkeypatch) as plans:
        found = await failed.store.write(lambda c: groups(c, kind=None, source=None))
        of_one = await failed.store.write(lambda c: groups(c, kind=None, source="1.example"))
    assert [(g.kind, g.count.number, g.count.capped) for g in found] == [
        ("gone", 100, True), ("timeout", 100, True),
    ]  # fmt: skip
    assert sum(g.count.number for g in of_one) == 101
    assert plans.scanned <= {"sources"}
