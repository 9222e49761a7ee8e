"""The files of schedules and of sites: applied again, and by several processes at once."""

import asyncio
from typing import Any

import pytest

from curtsy.errors import WrongState
from curtsy.frontier.source_policy import PolicyContext
from curtsy.politeness.policy import Policy
from curtsy.requests.schedules import ScheduleRequest
from curtsy.requests.schedules_file import apply_schedules
from curtsy.schedules.schedule import ScheduleSpec, create
from curtsy.schedules.site_schedules import apply_sites, declare
from curtsy.sites.spec import SiteSpec
from curtsy.sources.file import Applied
from curtsy.store import Connection, Store
from curtsy.timetable import Cron
from support.engine import Engine
from support.schedules import Hand, firer

SITE = {"search_url": "https://a.example/?q=x", "recipe": {"record": "li", "fields": {"a": "b"}},
        "interval_minutes": 60}  # fmt: skip
SITES = {"board": SiteSpec.model_validate(SITE)}
NIGHTLY = {"cron": "@daily", "payload": {"run": {"site_name": "board"}}}
CLEANUP = {"cron": "@daily", "payload": {"duty": "cleanup"}}


def sites(hand: Hand, sections: Any) -> Any:
    def work(connection: Connection) -> Applied:
        around = PolicyContext(Policy(), 1_000, hand.at)
        return apply_sites(connection, sections, around, firer(hand.clock).check)

    return work


def schedules(hand: Hand, **sections: Any) -> Any:
    said = {name: ScheduleRequest.model_validate(words) for name, words in sections.items()}

    def work(connection: Connection) -> Applied:
        return apply_schedules(connection, said, firer(hand.clock).check, now=hand.at)

    return work


async def test_applied_again_a_file_changes_nothing(store: Store, hand: Hand) -> None:
    assert (await store.write(sites(hand, SITES))).declared == ["board"]
    file = schedules(hand, nightly=NIGHTLY, tidy=CLEANUP)
    assert (await store.write(file)).declared == ["nightly", "tidy"]
    assert await store.write(file) == Applied([], [])
    assert await store.write(sites(hand, SITES)) == Applied([], [])
    assert (await store.write(schedules(hand, tidy=CLEANUP))).removed == ["nightly"]


async def test_several_processes_that_start_at_once_apply_a_file_once(
    store: Store, hand: Hand, ask: Engine
) -> None:
    for file, of_sites in ((schedules(hand, nightly=NIGHTLY), SITES), (schedules(hand), {})):
        await asyncio.gather(*(store.write(sites(hand, of_sites)) for _ in range(4)))
        await asyncio.gather(*(store.write(file) for _ in range(4)))
        left = [row.name for row in await ask.query("SELECT name FROM schedules ORDER BY name")]
        assert left == (["board", "nightly"] if of_sites else [])


async def test_a_site_takes_over_no_schedule_that_has_its_name(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await store.write(schedules(hand, board=CLEANUP))
    with pytest.raises(WrongState, match="'board' is taken by another schedule"):
        await store.write(sites(hand, SITES))
    by_hand = {"board": SITES["board"].model_copy(update={"interval_minutes": 0})}
    await store.write(sites(hand, by_hand))
    [row] = await ask.query("SELECT payload, site_id FROM schedules")
    assert (row.payload, row.site_id) == ('{"duty":"cleanup"}', None)


async def test_the_file_takes_nothing_from_a_user_whose_schedule_has_the_name(
    store: Store, hand: Hand, ask: Engine
) -> None:
    hers = ScheduleSpec(
        name="tidy", rule=Cron("@daily"), payload={"duty": "cleanup"}, user_id="ann"
    )
    await store.write(lambda c: create(c, hers, now=hand.at))
    await store.write(schedules(hand, tidy=CLEANUP))
    rows = await ask.query("SELECT user_id FROM schedules WHERE name = 'tidy' ORDER BY id")
    assert [row.user_id for row in rows] == ["ann", None]


async def test_what_was_said_of_a_site_since_its_file_was_applied_stays(
    store: Store, hand: Hand, ask: Engine
) -> None:
    await store.write(sites(hand, SITES))
    said = SiteSpec.model_validate(SITE | {"interval_minutes": 15})
    around, check = PolicyContext(Policy(), 1_000, hand.at), firer(hand.clock).check
    await store.write(lambda c: declare(c, "board", said, around, check=check) and None)
    assert await store.write(sites(hand, SITES)) == Applied([], [])
    [row] = await ask.query("SELECT rule FROM schedules")
    assert '"minutes": 15' in row.rule
    assert (await store.write(sites(hand, {}))).removed == ["board"], "it is still the file's"


async def test_the_file_of_schedules_takes_no_sites_schedule(store: Store, hand: Hand) -> None:
    await store.write(sites(hand, SITES))
    with pytest.raises(WrongState, match="'board' is taken by the schedule of a site"):
        await store.write(schedules(hand, board=CLEANUP))
