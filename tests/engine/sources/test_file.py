"""The file of sources, applied: once for every change of it, and never against what came later."""

import asyncio
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from curtsy.clock import Clock
from curtsy.config import load
from curtsy.config.sources_file import sections_of
from curtsy.frontier.source_policy import PolicyContext
from curtsy.politeness.policy import Policy
from curtsy.processes.declared_files import apply_sources
from curtsy.sources.file import Applied, apply_file, hash_of
from curtsy.sources.policy_fields import PolicyChanges, PolicyFields
from curtsy.sources.source import delete_source, patch_source, put_source, source
from curtsy.store import Store
from support.engine import engine

EXAMPLE = Path(__file__).parents[3] / "examples/travel_advisories.toml"
POLICY = Policy()


def words(**said: Any) -> PolicyFields:
    return PolicyFields.model_validate(said)


NEWS = {"hosts": ["one.example", "two.example"], "min_delay_seconds": 2}


class House:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock

    def around(self) -> PolicyContext:
        return PolicyContext(POLICY, 15_000, self.clock.now())

    async def applies(self, **sections: PolicyFields) -> Applied:
        return await self.store.write(lambda c: apply_file(c, sections, self.around()))

    async def said(self, name: str) -> Mapping[str, Any]:
        now = self.clock.now()
        return (await self.store.read(lambda c: source(c, name, POLICY, now=now))).overrides

    async def rows(self) -> list[Any]:
        sql = "SELECT name, control_version, described, described_as FROM sources ORDER BY name"
        return [tuple(row) for row in await engine(self.store, self.clock).query(sql)]


@pytest.fixture
def house(store: Store, clock: Clock) -> House:
    return House(store, clock)


async def test_what_it_says_holds_and_saying_it_twice_changes_nothing(house: House) -> None:
    sections = {"news": words(**NEWS), "shop": words(hosts=["shop.example"])}
    applied = await house.applies(**sections)
    assert (applied.declared, applied.removed) == (["news", "shop"], [])
    assert await house.said("news") == {"min_delay": 2_000}
    before = await house.rows()
    assert await house.applies(**sections) == Applied([], [])
    assert await house.rows() == before, "no worker has anything to hear of"


async def test_only_a_section_that_changed_counts_anew(house: House) -> None:
    shop = words(hosts=["shop.example"])
    await house.applies(news=words(**NEWS), shop=shop)
    applied = await house.applies(news=words(**NEWS | {"min_delay_seconds": 3}), shop=shop)
    assert applied == Applied(["news"], [])
    assert await house.said("news") == {"min_delay": 3_000}


@pytest.mark.parametrize("how", [patch_source, put_source])
async def test_what_was_said_later_is_left_alone_until_the_section_changes(
    house: House, how: Any
) -> None:
    await house.applies(news=words(**NEWS))
    later = PolicyChanges.model_validate({"min_delay_seconds": 9})
    await house.store.write(lambda c: how(c, "news", later, house.around()))
    assert await house.applies(news=words(**NEWS)) == Applied([], [])
    assert await house.said("news") == {"min_delay": 9_000}
    await house.applies(news=words(**NEWS, concurrency=2))
    assert await house.said("news") == {"min_delay": 2_000, "concurrency": 2}


async def test_a_section_that_is_gone_is_forgotten_and_nothing_else_is(house: House) -> None:
    by_hand = words(hosts=["hand.example"])
    await house.store.write(lambda c: put_source(c, "hand", by_hand, house.around()))
    await house.applies(news=words(**NEWS))
    assert await house.applies() == Applied([], ["news"])
    described = {row[0] for row in await house.rows() if row[2]}
    assert described == {"hand"}, "whom the file never described, it does not forget"
    assert await house.applies() == Applied([], [])


async def test_what_was_deleted_but_still_has_its_section_comes_back(house: House) -> None:
    await house.applies(news=words(**NEWS))
    await house.store.write(lambda c: delete_source(c, "news", house.around()))
    assert await house.applies(news=words(**NEWS)) == Applied(["news"], [])


async def test_a_host_moves_from_section_to_section(house: House) -> None:
    await house.applies(news=words(**NEWS))
    await house.applies(first=words(hosts=["two.example"]), news=words(hosts=["one.example"]))
    now = house.clock.now()
    for name, host in (("first", "two.example"), ("news", "one.example")):
        found = await house.store.read(lambda c, n=name: source(c, n, POLICY, now=now))
        assert found.hosts == [host]


async def test_all_of_it_counts_or_nothing(house: House) -> None:
    wrong = words(hosts=["b.example"], max_delay_seconds=0.5)  # below what the settings have
    with pytest.raises(Exception, match="max_delay_seconds"):
        await house.applies(aa=words(hosts=["a.example"]), bb=wrong)
    assert await house.rows() == []


async def test_processes_that_start_together_agree(house: House) -> None:
    sections = {"news": words(**NEWS), "shop": words(hosts=["shop.example"])}
    applied = await asyncio.gather(*(house.applies(**sections) for _ in range(4)))
    assert ["news", "shop"] in [list(one.declared) for one in applied]
    assert await house.applies(**sections) == Applied([], [])
    assert await house.said("news") == {"min_delay": 2_000}


async def test_how_it_is_spelt_makes_no_difference() -> None:
    hours = {"end": "17:00", "start": 9, "slowdown": 2.0, "timezone": "UTC"}
    same = words(respectful_hours=hours, min_delay_seconds=2.0, hosts=["WWW.One.Example"])
    plain = words(hosts=["one.example"], min_delay_seconds=2,
                  respectful_hours={"start": "09:00", "end": 17, "timezone": "UTC",
                                    "slowdown": 2})  # fmt: skip
    assert hash_of(same) == hash_of(plain) != hash_of(words(hosts=["one.example"]))


async def test_the_example_is_applied(house: House) -> None:
    described = sections_of(EXAMPLE, POLICY)
    for _ in range(2):
        await apply_sources(load(), described, house.store, house.clock)
    assert [(name, version) for name, version, *_ in await house.rows()] == [
        ("canada_travel", 1), ("uk_foreign_office", 1), ("us_state_dept", 1)
    ]  # fmt: skip
    await apply_sources(load(), None, house.store, house.clock)
    assert len(await house.rows()) == 3, "where there is no file, nothing is forgotten"
