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
from curtsy.processes.declarations import apply_sources
from curtsy.sources.file import Applied, apply_file, hash_of
from curtsy.sources.policy_fields import PolicyChanges, PolicyFields
from curtsy.sources.source import delete_source, patch_source, put_source, source
from curtsy.store import Store
from support.engine import engine

EXAMPLE = Path(__file__).parents[3] / "src/curtsy/demo/examples/travel/sources.toml"
POLICY = Policy()


def policy_fields(**values: Any) -> PolicyFields:
    return PolicyFields.model_validate(values)


NEWS = {"hosts": ["one.example", "two.example"], "min_delay_seconds": 2}


class Sources:
    def __init__(self, store: Store, clock: Clock) -> None:
        self.store, self.clock = store, clock

    def context(self) -> PolicyContext:
        return PolicyContext(POLICY, 15_000, self.clock.now())

    async def apply(self, **sections: PolicyFields) -> Applied:
        return await self.store.write(lambda c: apply_file(c, sections, self.context()))

    async def overrides(self, name: str) -> Mapping[str, Any]:
        now = self.clock.now()
        return (await self.store.read(lambda c: source(c, name, POLICY, now=now))).overrides

    async def rows(self) -> list[Any]:
        sql = "SELECT name, control_version, described, described_as FROM sources ORDER BY name"
        return [tuple(row) for row in await engine(self.store, self.clock).query(sql)]


@pytest.fixture
def sources(store: Store, clock: Clock) -> Sources:
    return Sources(store, clock)


async def test_the_file_is_applied_and_a_second_time_changes_nothing(sources: Sources) -> None:
    sections = {"news": policy_fields(**NEWS), "shop": policy_fields(hosts=["shop.example"])}
    applied = await sources.apply(**sections)
    assert (applied.declared, applied.removed) == (["news", "shop"], [])
    assert await sources.overrides("news") == {"min_delay": 2_000}
    before = await sources.rows()
    assert await sources.apply(**sections) == Applied([], [])
    assert await sources.rows() == before, "no worker has anything to hear of"


async def test_only_a_changed_section_is_applied_again(sources: Sources) -> None:
    shop = policy_fields(hosts=["shop.example"])
    await sources.apply(news=policy_fields(**NEWS), shop=shop)
    applied = await sources.apply(news=policy_fields(**NEWS | {"min_delay_seconds": 3}), shop=shop)
    assert applied == Applied(["news"], [])
    assert await sources.overrides("news") == {"min_delay": 3_000}


@pytest.mark.parametrize("how", [patch_source, put_source])
async def test_a_later_change_stays_until_the_section_changes(sources: Sources, how: Any) -> None:
    await sources.apply(news=policy_fields(**NEWS))
    later = PolicyChanges.model_validate({"min_delay_seconds": 9})
    await sources.store.write(lambda c: how(c, "news", later, sources.context()))
    assert await sources.apply(news=policy_fields(**NEWS)) == Applied([], [])
    assert await sources.overrides("news") == {"min_delay": 9_000}
    await sources.apply(news=policy_fields(**NEWS, concurrency=2))
    assert await sources.overrides("news") == {"min_delay": 2_000, "concurrency": 2}


async def test_only_sources_whose_section_is_gone_are_removed(sources: Sources) -> None:
    by_hand = policy_fields(hosts=["hand.example"])
    await sources.store.write(lambda c: put_source(c, "hand", by_hand, sources.context()))
    await sources.apply(news=policy_fields(**NEWS))
    assert await sources.apply() == Applied([], ["news"])
    described = {row[0] for row in await sources.rows() if row[2]}
    assert described == {"hand"}, "whom the file never described, it does not forget"
    assert await sources.apply() == Applied([], [])


async def test_a_deleted_source_that_still_has_its_section_comes_back(sources: Sources) -> None:
    await sources.apply(news=policy_fields(**NEWS))
    await sources.store.write(lambda c: delete_source(c, "news", sources.context()))
    assert await sources.apply(news=policy_fields(**NEWS)) == Applied(["news"], [])


async def test_a_host_moves_from_section_to_section(sources: Sources) -> None:
    await sources.apply(news=policy_fields(**NEWS))
    await sources.apply(
        first=policy_fields(hosts=["two.example"]), news=policy_fields(hosts=["one.example"])
    )
    now = sources.clock.now()
    for name, host in (("first", "two.example"), ("news", "one.example")):
        found = await sources.store.read(lambda c, n=name: source(c, n, POLICY, now=now))
        assert found.hosts == [host]


async def test_the_file_is_applied_as_a_whole_or_not_at_all(sources: Sources) -> None:
    wrong = policy_fields(
        hosts=["b.example"], max_delay_seconds=0.5
    )  # below what the settings have
    with pytest.raises(Exception, match="max_delay_seconds"):
        await sources.apply(aa=policy_fields(hosts=["a.example"]), bb=wrong)
    assert await sources.rows() == []


async def test_parallel_processes_agree(sources: Sources) -> None:
    sections = {"news": policy_fields(**NEWS), "shop": policy_fields(hosts=["shop.example"])}
    applied = await asyncio.gather(*(sources.apply(**sections) for _ in range(4)))
    assert ["news", "shop"] in [list(one.declared) for one in applied]
    assert await sources.apply(**sections) == Applied([], [])
    assert await sources.overrides("news") == {"min_delay": 2_000}


async def test_spelling_does_not_change_the_hash() -> None:
    hours = {"end": "17:00", "start": 9, "slowdown": 2.0, "timezone": "UTC"}
    same = policy_fields(respectful_hours=hours, min_delay_seconds=2.0, hosts=["WWW.One.Example"])
    plain = policy_fields(hosts=["one.example"], min_delay_seconds=2,
                  respectful_hours={"start": "09:00", "end": 17, "timezone": "UTC",
                                    "slowdown": 2})  # fmt: skip
    assert hash_of(same) == hash_of(plain) != hash_of(policy_fields(hosts=["one.example"]))


async def test_the_example_is_applied(sources: Sources) -> None:
    described = sections_of(EXAMPLE, POLICY)
    for _ in range(2):
        await apply_sources(load(), described, sources.store, sources.clock)
    assert [(name, version) for name, version, *_ in await sources.rows()] == [
        ("canada_travel", 1), ("uk_foreign_office", 1), ("us_state_dept", 1)
    ]  # fmt: skip
    await apply_sources(load(), None, sources.store, sources.clock)
    assert len(await sources.rows()) == 3, "where there is no file, nothing is forgotten"
