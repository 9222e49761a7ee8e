"""A login, and workers that are killed around it: each kill costs one more login at most."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest

from curtsy.clock import Clock
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.jobs.job_request import JobSession
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import LOOPBACK, until
from support.members_site import PASSWORD, MembersSite
from support.patience import PATIENCE
from support.processes import Fleet
from support.sql import run, text

PAGES = 60
_DONE = text("SELECT count(*) FROM items WHERE state = 1")
_OPEN = text("SELECT count(*) FROM items WHERE state = 0")


@pytest.fixture
def members() -> Iterator[MembersSite]:
    with MembersSite() as site:
        yield site


@pytest.fixture
def any_fleet(database_url: str, folder: Path) -> Iterator[Fleet]:
    with Fleet(folder, database_url, min_delay_seconds=0.05, robots="ignore") as made:
        yield made


async def submit(store: Store, site: MembersSite) -> None:
    """The password is in a variable of the workers, to which the policy refers."""
    clock = Clock()
    form = {"user": "ann", "word": {"file": "word.txt"}}
    around = PolicyContext(Policy(min_delay=50), 50, clock.now())
    wanted = Description(site.host, {"login": site.login(form=form), "min_delay": 50})
    await store.write(partial(describe, wanted=wanted, context=around))
    door = Submitter(store=store, clock=clock, limits=SubmitLimits(allow=LOOPBACK), delay_ms=50)
    pages = [PageRequest(site.url(f"/page/{n}")) for n in range(PAGES)]
    await door.submit(JobRequest("fetch", pages, session=JobSession("job_killed")))


async def done(store: Store, pages: int) -> None:
    async def are_done() -> bool:
        return bool(await store.read(lambda c: run(c, _DONE).scalar()) >= pages)

    await until(are_done, PATIENCE, lambda: f"not {pages} pages are done")


def kept_quiet(fleet: Fleet, folder: Path) -> bool:
    """The password is in no file but its own; the store is read apart."""
    files = [path for path in folder.rglob("*") if path.is_file() and path.name != "word.txt"]
    return all(PASSWORD.encode() not in path.read_bytes() for path in files)


async def test_each_kill_costs_one_more_login_at_most_and_no_page(
    store: Store, any_fleet: Fleet, members: MembersSite, folder: Path
) -> None:
    (folder / "word.txt").write_text(PASSWORD)
    await submit(store, members)
    for kills in range(3):
        worker = any_fleet.worker()
        await done(store, (kills + 1) * 10)
        worker.kill()
        assert members.logins <= 1 + kills
    any_fleet.worker()
    await done(store, 40)
    members.end_sessions()
    await done(store, PAGES)
    assert members.logins <= 1 + 3 + 1, "one to begin with, one a kill, one for the lost session"
    assert await store.read(lambda c: run(c, _OPEN).scalar()) == 0
    assert {*members.seen} >= {f"/page/{n}" for n in range(PAGES)}
    await any_fleet.stop()
    assert any_fleet.crashes() == []
    assert kept_quiet(any_fleet, folder)
    tables = await store.read(lambda c: [tuple(row) for name in (
        "cookie_jars", "sources", "events", "attempts", "pages", "dead_letters", "items", "visits")
        for row in run(c, text(f"SELECT * FROM {name}"))])  # fmt: skip
    assert len(tables) > PAGES
    assert PASSWORD not in str(tables)


async def test_a_worker_killed_in_the_middle_of_a_login_costs_one_more(
    store: Store, any_fleet: Fleet, members: MembersSite, folder: Path
) -> None:
    (folder / "word.txt").write_text(PASSWORD)
    members.may_answer.clear()  # the page behind the login does not come
    await submit(store, members)
    worker = any_fleet.worker()

    async def is_sent() -> bool:
        return "/home" in members.paths()

    await until(is_sent, PATIENCE, lambda: "no login is sent")
    worker.kill()
    members.may_answer.set()
    any_fleet.worker()
    await done(store, PAGES)
    assert members.logins == 2


@pytest.mark.parametrize(("without", "logins"), [(None, 1), ("jar", 2)])
async def test_the_successor_goes_on_with_the_stored_session(
    store: Store, any_fleet: Fleet, members: MembersSite, folder: Path, without: str | None,
    logins: int,
) -> None:  # fmt: skip
    (folder / "word.txt").write_text(PASSWORD)
    await submit(store, members)
    worker = any_fleet.worker(without=without)
    await done(store, 10)
    worker.kill()
    any_fleet.worker(without=without)
    await done(store, PAGES)
    assert members.logins == logins
