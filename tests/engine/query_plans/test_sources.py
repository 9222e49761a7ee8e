"""Looking at sources costs the same however many there are, described or not."""

from functools import partial

import pytest

from curtsy.clock import Clock
from curtsy.politeness.policy import Policy
from curtsy.sources.source import list_sources, source
from curtsy.store import Store
from support.engine import Engine, engine
from support.explaining import explained

MANY = 20_000
MAKE = (
    """
    INSERT INTO sources (name, described, created_at)
    WITH RECURSIVE n(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < 20000)
    SELECT 'h' || n || '.example', n % 1000 = 0, 1 FROM n
    """,
    "INSERT INTO hosts (host, source_id, created_at) SELECT name, id, 1 FROM sources",
)


@pytest.fixture
async def many(store: Store, clock: Clock) -> Engine:
    return engine(store, clock)


async def filled(curtsy: Engine) -> None:
    for statement in MAKE:
        await curtsy.execute(statement)
    await curtsy.submit(*(f"http://h{n % 500 + 1}.example/{n}" for n in range(MANY)))


@pytest.mark.parametrize(("described", "number"), [(False, 50), (True, 20)])
async def test_the_list_reads_what_it_shows(
    many: Engine, monkeypatch: pytest.MonkeyPatch, described: bool, number: int
) -> None:
    look = partial(list_sources, defaults=Policy(), after="", most=50, described=described,
                   now=many.clock.now())  # fmt: skip
    with explained(monkeypatch) as plans:
        found = await many.store.write(look)
    assert len(found) == number
    assert plans.scanned == set(), [p for p in plans.seen if p.scanned]
    assert plans.buffers <= 50 * 30


async def test_one_is_read_by_its_name(many: Engine, monkeypatch: pytest.MonkeyPatch) -> None:
    look = partial(source, name="h77.example", defaults=Policy(), now=many.clock.now())
    with explained(monkeypatch) as plans:
        assert (await many.store.write(look)).hosts == ["h77.example"]
    assert plans.scanned == set(), [p for p in plans.seen if p.scanned]
    assert plans.buffers <= 60
