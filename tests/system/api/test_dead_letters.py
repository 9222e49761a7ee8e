"""Dead letters through the API: found by cause, read, retried and laid aside."""

from typing import Any

import pytest

from api.conftest import Site
from api.front import Answer, Front, assert_problem
from curtsy.jobs import dead_letters as letters_module
from curtsy.politeness.policy import Policy
from support.engine import settings, until

ONE_TRY = settings(Policy(min_delay=5, max_retries=0, retry_base=10))


async def given_up(door: Front, *urls: str) -> list[str]:
    """One job each; returns their ids when all have ended."""
    jobs = [(await door.submit(url)).json["id"] for url in urls]
    for job in jobs:
        await door.ended(job)
    return jobs


async def post(door: Front, path: str, **body: Any) -> Answer:
    return await door.ask("POST", path, json=body)


async def test_they_are_grouped_by_cause_and_listed_newest_first(door: Front, site: Site) -> None:
    urls = [site.fails(f"/gone/{n}", 404) for n in range(3)] + [site.fails("/secret", 403)]
    async with door.engine.worker(ONE_TRY):
        await given_up(door, *urls)
    answer = await door.get("/dead-letters")
    groups = {group["kind"]: group for group in answer.json["groups"]}
    assert {kind: group["count"] for kind, group in groups.items()} == {"gone": 3, "forbidden": 1}
    assert groups["gone"]["means"] == "the page does not exist"
    assert groups["gone"]["newest"]["url"] == urls[2]
    assert [letter["url"] for letter in answer.json["letters"]] == urls[::-1]
    letter = answer.json["letters"][0]
    assert letter["source"] == site.url.removeprefix("http://")
    assert (letter["kind"], letter["family"], letter["state"]) == ("forbidden", "network", "open")
    assert letter["error"] == "The host answered 403 Forbidden."
    assert letter["attempts"] == 1


async def test_the_list_is_read_page_by_page_and_by_kind_and_source(
    door: Front, site: Site
) -> None:
    urls = [site.fails(f"/{n}", 404 if n % 2 else 403) for n in range(5)]
    async with door.engine.worker(ONE_TRY):
        await given_up(door, *urls)
    seen, path = [], "/dead-letters?limit=2"
    while True:
        page = (await door.get(path)).json
        seen += [letter["url"] for letter in page["letters"]]
        if "next_cursor" not in page:
            break
        path = f"/dead-letters?limit=2&cursor={page['next_cursor']}"
    assert seen == urls[::-1]
    only = (await door.get("/dead-letters?kind=gone")).json
    assert [letter["url"] for letter in only["letters"]] == [urls[3], urls[1]]
    assert [group["kind"] for group in only["groups"]] == ["gone"]
    source = site.url.removeprefix("http://")
    assert len((await door.get(f"/dead-letters?source={source}")).json["letters"]) == 5
    both = (await door.get(f"/dead-letters?source={source}&kind=gone")).json
    assert (len(both["letters"]), both["groups"][0]["count"]) == (2, 2)
    nothing = (await door.get("/dead-letters?source=other.example")).json
    assert (nothing["letters"], nothing["groups"]) == ([], [])


async def test_one_is_shown_with_every_attempt_at_its_page(door: Front, site: Site) -> None:
    url = site.fails("/broken", 500)
    async with door.engine.worker(settings(Policy(min_delay=5, max_retries=2, retry_base=10))):
        await given_up(door, url)
    [letter] = (await door.get("/dead-letters")).json["letters"]
    story = (await door.get(f"/dead-letters/{letter['id']}")).json
    assert [a["attempt"] for a in story["history"]] == [3, 2, 1]
    assert {a["status"] for a in story["history"]} == {500}
    assert story["attempts"] == 3
    page = (await door.get(f"/pages/{story['page_id']}")).json
    assert page["history"] == story["history"]


async def test_one_that_is_retried_opens_every_job_that_wanted_it(door: Front, site: Site) -> None:
    url = site.fails("/late", 404)
    async with door.engine.worker(ONE_TRY):
        [first], [second] = await given_up(door, url), await given_up(door, url)
        [letter] = (await door.get("/dead-letters")).json["letters"]
        assert letter["times"] == 2
        assert letter["last_failed_at"] > letter["created_at"]
        site.has("/late", b"here at last", "text/plain")
        answer = await post(door, f"/dead-letters/{letter['id']}/retry")
        assert (answer.status, answer.json["pages"], answer.json["jobs"]) == (202, 1, 2)
        for job in (first, second):
            assert (await door.ended(job))["content"] == "here at last"
    assert (await door.get(f"/dead-letters/{letter['id']}")).json["state"] == "retried"
    again = await post(door, f"/dead-letters/{letter['id']}/retry")
    assert_problem(again, 409, "wrong_state")
    assert (await door.get("/dead-letters")).json["groups"] == []


async def test_one_that_is_resolved_is_left_alone(door: Front, site: Site) -> None:
    async with door.engine.worker(ONE_TRY):
        [job] = await given_up(door, site.fails("/gone", 404))
    [letter] = (await door.get("/dead-letters")).json["letters"]
    assert (await post(door, f"/dead-letters/{letter['id']}/resolve")).status == 200
    assert (await door.get("/dead-letters")).json["letters"] == []
    [laid_aside] = (await door.get("/dead-letters?state=resolved")).json["letters"]
    assert laid_aside["id"] == letter["id"]
    assert (await door.get(f"/jobs/{job}")).json["status"] == "error"
    for what in ("retry", "resolve"):
        assert_problem(await post(door, f"/dead-letters/{letter['id']}/{what}"), 409, "wrong_state")


async def test_many_are_counted_first_and_then_retried(
    door: Front, site: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In several transactions, here of two letters each."""
    monkeypatch.setattr(letters_module, "BATCH", 2)
    monkeypatch.setattr("curtsy.api.backend.BATCH", 2)
    urls = [site.fails(f"/{n}", 404) for n in range(5)]
    other = site.fails("/secret", 403)
    async with door.engine.worker(ONE_TRY):
        jobs = await given_up(door, *urls)
        await given_up(door, other)
        asked = len(site.asked)
        preview = (await post(door, "/dead-letters/retry", kind="gone")).json
        assert (preview["preview"], preview["letters"], preview["pages"]) == (True, 5, 0)
        assert preview["groups"][0]["kind"] == "gone"
        assert len(site.asked) == asked
        for n in range(5):
            site.has(f"/{n}", b"here", "text/plain")
        done = (await post(door, "/dead-letters/retry", kind="gone", preview=False)).json
        assert (done["letters"], done["pages"], done["jobs"], done["left"]) == (5, 5, 5, 0)
        for job in jobs:
            assert (await door.ended(job))["status"] == "completed"
    [left] = (await door.get("/dead-letters")).json["letters"]
    assert left["url"] == other


async def test_many_are_resolved_by_id_source_or_all(door: Front, site: Site) -> None:
    async with door.engine.worker(ONE_TRY):
        await given_up(door, *(site.fails(f"/{n}", 404) for n in range(4)))
    ids = [letter["id"] for letter in (await door.get("/dead-letters")).json["letters"]]
    assert (await post(door, "/dead-letters/resolve", ids=[ids[0], 999])).json["letters"] == 1
    done = await post(door, "/dead-letters/resolve", ids=[ids[0], 999], preview=False)
    assert done.json["letters"] == 1
    elsewhere = await post(door, "/dead-letters/resolve", source="a.example", preview=False)
    assert elsewhere.json["letters"] == 0
    assert (await post(door, "/dead-letters/resolve", all=True, preview=False)).json["letters"] == 3
    assert (await door.get("/dead-letters")).json["letters"] == []


async def test_of_a_cancelled_job_nothing_is_retried(door: Front, site: Site) -> None:
    urls = [site.fails("/gone", 404), site.has("/never", b"", "text/plain")]
    job = await door.engine.submit(*urls)
    async with door.engine.worker(settings(Policy(min_delay=60_000, max_retries=0))):

        async def one_failed() -> bool:
            return bool((await door.engine.job(job)).failed)

        await until(one_failed, 10, lambda: "nothing failed")
        assert (await door.delete(f"/jobs/{job}")).status == 200
        [letter] = (await door.get("/dead-letters")).json["letters"]
        answer = await post(door, f"/dead-letters/{letter['id']}/retry")
        assert (answer.status, answer.json["pages"]) == (202, 0)
    assert (await door.engine.job(job)).state == "cancelled"
    assert (await door.get(f"/dead-letters/{letter['id']}")).json["state"] == "resolved"


@pytest.mark.parametrize(
    "body",
    [{}, {"preview": False}, {"ids": []}, {"ids": [1], "kind": "gone"}, {"kind": "nonsense"},
     {"ids": [-1]}, {"ids": ["1"]}, {"ids": [2**70]}, {"everything": True}, {"all": "yes"}],
)  # fmt: skip
async def test_what_does_not_say_which_is_refused(plain_door: Front, body: dict[str, Any]) -> None:
    for what in ("retry", "resolve"):
        answer = await plain_door.ask("POST", f"/dead-letters/{what}", json=body)
        assert_problem(answer, 422, "bad_request")


@pytest.mark.parametrize("path", ["1", "0", "99999999999999999999999", "x", "-1", "1e3", "١"])
async def test_what_is_not_there_is_not_found(plain_door: Front, path: str) -> None:
    assert_problem(await plain_door.get(f"/dead-letters/{path}"), 404, "not_found")
    for what in ("retry", "resolve"):
        answer = await plain_door.ask("POST", f"/dead-letters/{path}/{what}")
        assert_problem(answer, 404, "not_found")


@pytest.mark.parametrize("query", ["kind=x", "state=x", "limit=0", "limit=1001", "cursor=x"])
async def test_a_wrong_question_is_refused(plain_door: Front, query: str) -> None:
    assert_problem(await plain_door.get(f"/dead-letters?{query}"), 422, "bad_request")
