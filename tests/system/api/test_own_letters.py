"""A team sees its own dead letters with its own key, and nobody else's."""

from typing import Any

import pytest

from api.conftest import Site
from api.front import Front, assert_problem
from api.visitors import Visitor, visitor
from curtsy.jobs import own_letters
from curtsy.model.roles import Role
from support.engine import until


async def _letters(who: Visitor, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = (await who.get(f"/dead-letters{query}")).json["letters"]
    return found


async def _fail(door: Front, *jobs: tuple[Visitor, str]) -> None:
    """Each submits the page, and waits until the page is given up."""
    async with door.engine.worker():
        for who, url in jobs:
            job = await who.job(url)

            async def over(job: str = job, who: Visitor = who) -> bool:
                return bool((await who.get(f"/jobs/{job}")).json["status"] == "FAILED")

            await until(over, 20, lambda: "the page did not fail")


@pytest.mark.parametrize("role", [Role.READ, Role.SUBMIT])
async def test_a_team_sees_its_own_letters_and_only_these(
    door: Front, site: Site, role: Role
) -> None:
    boss, bob = await visitor(door, "boss", Role.OPERATE), await visitor(door, "bob")
    ann, submitter = await visitor(door, "ann", role), await visitor(door, "ann")
    hers, his = site.fails("/hers", 410), site.fails("/his", 404)
    await _fail(door, (submitter, hers), (bob, his))
    assert [letter["url"] for letter in await _letters(boss)] == [his, hers]
    [letter] = await _letters(ann)
    assert letter["url"] == hers
    body = (await ann.get("/dead-letters")).json
    assert [(group["kind"], group["count"]) for group in body["groups"]] == [("gone", 1)]
    assert await _letters(ann, "?kind=timeout") == []
    assert [one["id"] for one in await _letters(ann, "?kind=gone")] == [letter["id"]]
    shown = (await ann.get(f"/dead-letters/{letter['id']}")).json
    assert [attempt["status"] for attempt in shown["history"]] == [410]
    assert "worker" not in shown["history"][0]
    [other] = await _letters(bob)
    assert_problem(await ann.get(f"/dead-letters/{other['id']}"), 404, "not_found")
    for action in ("retry", "resolve"):
        refused = await ann.ask("POST", f"/dead-letters/{letter['id']}/{action}")
        assert_problem(refused, 403, "not_allowed")


async def test_a_page_that_failed_before_the_first_request_is_another_users_letter(
    door: Front, site: Site
) -> None:
    ann, bob = await visitor(door), await visitor(door, "bob")
    url = site.fails("/both", 410)
    await _fail(door, (bob, url))
    [letter] = await _letters(bob)
    await ann.job(url)  # it waits: it has not failed for her
    assert await _letters(ann) == []
    assert_problem(await ann.get(f"/dead-letters/{letter['id']}"), 404, "not_found")


async def test_own_letters_are_found_a_piece_at_a_time(
    door: Front, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(own_letters, "SEARCHED", 2)
    ann, bob = await visitor(door), await visitor(door, "bob")
    mine = [site.fails(f"/{n}", 410) for n in range(2)]
    theirs = [site.fails(f"/other/{n}", 410) for n in range(3)]
    await _fail(door, (ann, mine[0]), *((bob, url) for url in theirs), (ann, mine[1]))
    found, cursor = [], ""
    while True:
        body = (await ann.get(f"/dead-letters?limit=1{cursor}")).json
        found += [letter["url"] for letter in body["letters"]]
        if "next_cursor" not in body:
            break
        cursor = f"&cursor={body['next_cursor']}"
    assert found == mine[::-1]
