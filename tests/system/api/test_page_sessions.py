"""Sessions through the API: logins of sources, cookies of browsers, and jobs that use them."""

from collections.abc import AsyncIterator, Iterator
from typing import Any

import orjson
import pytest

from api.front import Answer, Front, front
from curtsy.clock import Clock
from curtsy.extract import ExtractLimits
from curtsy.politeness.policy import Policy
from curtsy.store import Store
from support.engine import engine, settings
from support.members_site import PASSWORD, MembersSite

FAST = settings(Policy(min_delay=5, max_retries=0, retry_base=10),
                extract=ExtractLimits(processes=2, seconds=10))  # fmt: skip
LOGIN = {"url": "https://a.example/login", "form": {"word": "secret"},
         "success": {"cookie": "sid"}}  # fmt: skip
BROWSER = "a.example\tFALSE\t/\tFALSE\t0\tsid\tplanted\n"


@pytest.fixture
def members() -> Iterator[MembersSite]:
    with MembersSite() as site:
        yield site


@pytest.fixture
async def working(store: Store, clock: Clock) -> AsyncIterator[Front]:
    """The API, with a worker."""
    whole = engine(store, clock)
    async with front(store, whole) as opened, whole.worker(FAST):
        yield opened


async def put(door: Front, name: str, login: Any, **words: Any) -> Answer:
    return await door.ask("PUT", f"/sources/{name}", json={"login": login, **words})


async def declared(door: Front, site: MembersSite, **changes: Any) -> None:
    answer = await put(door, site.host, site.login(**changes))
    assert answer.status == 201, answer


async def test_a_job_with_a_session_gets_the_pages_of_members(
    working: Front, members: MembersSite
) -> None:
    await declared(working, members)
    made = await working.submit(members.url("/page/1"), session=True)
    job = await working.ended(made.json["id"])
    assert "Hello ann, this is /page/1" in job["content"]
    assert members.logins == 1


async def test_the_form_of_a_login_is_shown_masked(door: Front) -> None:
    made = await put(door, "a.example", LOGIN | {"lost": {"status": 401}, "send_as": "json"})
    assert made.status == 201
    for shown in (made.json, (await door.get("/sources/a.example")).json):
        for login in (shown["said"]["login"], shown["policy"]["login"]):
            assert login["form"] == {"word": "***"}
            assert (login["url"], login["lost"]["status"]) == (LOGIN["url"], [401])
        assert "secret" not in str(shown)
    again = await put(door, "a.example", made.json["said"]["login"])
    assert again.status == 422, again
    assert "only masks its value" in str(again.json["errors"])


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"form": {"word": "env:HOME"}}, "only the operator's own files may contain"),
        ({"form": {"word": "file:/etc/passwd"}}, "only the operator's own files may contain"),
        ({"form": {"word": {"env": "HOME"}}}, "valid string"),
        ({"url": "https://else.example/login"}, "not a host of this source: add it to hosts"),
        ({"url": "nonsense"}, "is not a URL that can be fetched"),
        ({"method": "GET"}, "a login with GET has no form"),
        ({"success": {}}, "give at least one of"),
        ({"success": {"selector": "p["}}, "selector"),
        ({"success": {"status": 99}}, "greater than or equal to 100"),
        ({"form_from": "https://else.example/"}, "are on different hosts"),
        ({"form_from": "https://a.example/", "url": "http://a.example/"}, "sent in clear"),
        ({"lost": {"cookie": "sid"}}, "Extra inputs"),
        ({"form": {str(n): "1" for n in range(51)}}, "at most 50"),
    ],
)  # fmt: skip
async def test_a_login_that_cannot_work_is_refused_with_a_sentence(
    door: Front, changes: dict[str, Any], says: str
) -> None:
    answer = await put(door, "a.example", LOGIN | changes)
    assert answer.status == 422, answer
    assert says in str(answer.json), answer.json


async def test_a_change_of_the_proxy_deletes_the_login_and_another_change_does_not(
    door: Front,
) -> None:
    await put(door, "a.example", LOGIN)

    async def change(**words: Any) -> Any:
        answer = await door.ask("PATCH", "/sources/a.example", json=words)
        assert answer.status == 200, answer
        return answer.json["said"].get("login")

    assert await change(min_delay_seconds=3) is not None
    assert await change(hosts=["a.example", "b.example"]) is not None
    assert await change(proxy="http://proxy.example:3128", login=LOGIN) is not None
    assert await change(proxy="http://other.example:3128") is None
    assert await change(login=LOGIN) is not None
    assert await change(login=None) is None


async def test_a_crawl_keeps_its_session_from_page_to_page(
    working: Front, members: MembersSite
) -> None:
    await declared(working, members)
    body = {"spider": "raw", "start_urls": [members.url("/list")], "depth": 1,
            "params": {"session": True, "include": ["*/page/*"]}}  # fmt: skip
    made = (await working.ask("POST", "/crawl", json=body)).json
    ended = await wait(working, made["job_id"])
    assert (ended["state"], ended["completed"]) == ("succeeded", 6), ended
    assert sorted(members.seen) == ["/home", "/list", *(f"/page/{n}" for n in range(5))]
    assert members.logins == 1


async def wait(door: Front, job: str) -> Any:
    await door.engine.ended(job)
    return (await door.get(f"/jobs/{job}/status")).json


@pytest.mark.parametrize("kind", ["articles", "fetch", "crawl"])
async def test_the_jobs_of_a_schedule_share_a_session(
    working: Front, members: MembersSite, kind: str
) -> None:
    await declared(working, members)
    url = members.url("/page/1")
    payload = {
        "articles": {"articles": [{"url": url}], "session": True},
        "fetch": {"url": url, "session": True},
        "crawl": {"spider": "raw", "start_urls": [url], "params": {"session": True}},
    }  # fmt: skip
    body = {"name": "nightly", "cron": "@yearly", "payload": {kind: payload[kind]}}
    assert (await working.ask("POST", "/schedules", json=body)).status == 201
    for _ in range(3):
        ran = (await working.ask("POST", "/schedules/nightly/run", json={})).json
        await working.engine.ended(ran["job_id"])
    assert members.seen.count("/page/1") == 3
    assert members.logins == 1


async def test_the_runs_of_a_site_share_a_session(working: Front, members: MembersSite) -> None:
    await declared(working, members)
    site = {"search_url": members.url("/list?q={search_term}"), "session": True,
            "interval_minutes": 0, "recipe": {"record": "p", "fields": {"title": "a"}}}  # fmt: skip
    assert (await working.ask("PUT", "/sites/shop", json=site)).status == 201
    for _ in range(2):
        ran = await working.ask(
            "POST", "/jobs/scrape", json={"site_name": "shop", "search_term": "x"}
        )
        assert ran.status in (200, 202), ran
        await working.engine.ended(ran.json["data"]["run_id"])
    assert members.seen.count("/list") == 2
    assert members.logins == 1


async def test_cookies_of_a_schedule_are_masked_and_kept_for_the_same_hosts_only(
    door: Front,
) -> None:
    crawl = {"spider": "raw", "start_urls": ["https://a.example/"],
             "params": {"cookies": BROWSER}}  # fmt: skip
    body = {"name": "one", "cron": "@daily", "payload": {"crawl": crawl}}
    made = await door.ask("POST", "/schedules", json=body)
    assert made.status == 201, made
    shown = (await door.get("/schedules/one")).json["payload"]
    assert shown["crawl"]["params"]["cookies"] == "***"
    kept = await door.ask("PATCH", "/schedules/one", json={"payload": shown, "name": "two"})
    assert kept.status == 200, kept
    [row] = await door.engine.query("SELECT payload FROM schedules WHERE name = 'two'")
    assert orjson.loads(row.payload)["crawl"]["params"]["cookies"] == BROWSER
    shown["crawl"]["start_urls"] = ["https://evil.example/"]
    refused = await door.ask("PATCH", "/schedules/two", json={"payload": shown})
    assert refused.status == 422, refused
    assert "none are stored for these hosts" in refused.json["detail"]


@pytest.mark.parametrize(
    ("cookies", "says"),
    [
        ("sid=planted", "is a Cookie header"),
        ("a.example\tplanted", "Line 1 of the cookies has 2 columns, not 7"),
        ("[{", "begins like JSON"),
        (BROWSER.replace("a.example", "b.example"), "None of the 1 cookies is for a host of this"),
        ("***", "only masks them"),
        (BROWSER + "#" * 70_000, "more than 64 KiB"),
    ],
)
async def test_cookies_that_cannot_be_read_get_a_sentence(
    door: Front, cookies: str, says: str
) -> None:
    bodies = {
        "/jobs": {"url": "https://a.example/", "cookies": cookies},
        "/jobs/submit": {"articles": [{"url": "https://a.example/"}], "cookies": cookies},
        "/crawl": {"spider": "raw", "start_urls": ["https://a.example/"],
                   "params": {"cookies": cookies}},
    }  # fmt: skip
    for path, body in bodies.items():
        answer = await door.ask("POST", path, json=body)
        assert answer.status == 422, answer
        assert says in str(answer.json), answer.json
        assert "planted" not in str(answer.json)


async def test_what_a_crawl_was_asked_for_is_shown_without_its_cookies(door: Front) -> None:
    body = {"spider": "raw", "start_urls": ["https://a.example/"], "params": {"cookies": BROWSER}}
    made = (await door.ask("POST", "/crawl", json=body)).json
    assert "planted" not in str((await door.get(f"/jobs/{made['job_id']}")).json)
    [row] = await door.engine.query("SELECT cookies FROM cookie_jars WHERE source_id = 0")
    assert "planted" in row.cookies


async def test_a_failed_login_is_named_where_the_page_failed(
    working: Front, members: MembersSite
) -> None:
    members.refuses_logins = True
    await declared(working, members)
    made = await working.submit(members.url("/page/1"), session=True)
    job = await working.ended(made.json["id"])
    assert job["error"].startswith("The login failed: the cookie member was not set")
    [letter] = (await working.get("/dead-letters")).json["letters"]
    assert letter["kind"] == "login_failed"
    assert PASSWORD not in str(letter)
