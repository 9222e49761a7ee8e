"""Sources through the API: described, changed, forgotten, paused, and shown as they stand."""

from typing import Any

import pytest

from api.front import Answer, Front, assert_problem
from api.visitors import visitor
from curtsy.api.schemas.sources import SourceShown
from curtsy.clock import DAY
from curtsy.model.roles import Role
from curtsy.sources import source as sources_module

ONE = "/sources/one.example"
NEWS = {"hosts": ["one.example", "two.example"], "min_delay_seconds": 2}


async def put(door: Front, name: str, **words: Any) -> Answer:
    return await door.ask("PUT", f"/sources/{name}", json=words)


async def patch(door: Front, name: str, **words: Any) -> Answer:
    return await door.ask("PATCH", f"/sources/{name}", json=words)


async def post(door: Front, path: str) -> Answer:
    return await door.ask("POST", path)


async def names(door: Front, query: str = "") -> list[str]:
    return [one["name"] for one in (await door.get(f"/sources{query}")).json["sources"]]


async def set_row(door: Front, **columns: Any) -> None:
    changes = ", ".join(f"{name} = :{name}" for name in columns)
    await door.engine.execute(f"UPDATE sources SET {changes}", **columns)


async def test_a_source_that_nobody_described_is_as_the_settings_have_it(door: Front) -> None:
    await door.submit("http://one.example/1")
    found = (await door.get(ONE)).json
    assert found.keys() == SourceShown.model_fields.keys()
    assert (found["described"], found["said"], found["hosts"]) == (False, {}, ["one.example"])
    policy = found["policy"]
    assert (policy["min_delay_seconds"], policy["max_delay_seconds"]) == (1, 1)
    assert (policy["concurrency"], policy["robots"], policy["max_retries"]) == (1, "obey", 3)
    assert (policy["requests_per_hour"], policy["burst_limit"]) == (None, None)
    assert (policy["enabled"], policy["lanes"]) == (True, 1)
    assert (found["waiting"], found["waiting_is_capped"]) == (1, False)
    assert (found["used_this_hour"], found["utilisation"]) == (None, None)
    assert (found["paused"], found["paused_by"], found["resting"]) == (False, None, None)
    assert found["today"]["requests"] == 0


async def test_it_is_described_and_described_again(door: Front) -> None:
    made = await put(door, "news", **NEWS, requests_per_hour=60, user_agent="me (me@x.example)")
    assert made.status == 201
    assert made.json["hosts"] == NEWS["hosts"]
    assert made.json["described"] is True
    said = {"min_delay_seconds": 2, "requests_per_hour": 60, "user_agent": "me (me@x.example)"}
    assert made.json["said"] == said
    assert made.json["policy"]["burst_limit"] == 1
    again = await put(door, "news", min_delay_seconds=3)
    assert (again.status, again.json["said"]) == (200, {"min_delay_seconds": 3})
    assert again.json["hosts"] == NEWS["hosts"], "they stay where none are said"
    assert (await door.get("/sources/news")).json == again.json


async def test_one_that_was_seen_before_is_not_made(door: Front) -> None:
    await door.submit("http://one.example/1")
    assert (await put(door, "one.example", concurrency=2)).status == 200


async def test_a_change_leaves_the_rest_as_it_was(door: Front) -> None:
    await put(door, "news", **NEWS, requests_per_hour=60, max_retries=7)
    burst = await patch(door, "news", burst_limit=10)
    assert burst.status == 200, "it has a limit of the hour already"
    assert burst.json["policy"]["requests_per_hour"] == 60
    changed = (await patch(door, "news", min_delay_seconds=None, timeout=5)).json
    assert changed["said"] == {
        "requests_per_hour": 60, "burst_limit": 10, "max_retries": 7, "timeout": 5
    }  # fmt: skip
    assert changed["policy"]["min_delay_seconds"] == 1, "null is as the settings have it"
    assert_problem(await patch(door, "news", burst_limit=61), 422, "bad_request")
    assert_problem(await patch(door, "news", requests_per_hour=None), 422, "bad_request")
    assert_problem(await patch(door, "news", max_delay_seconds=0.5), 422, "bad_request")
    assert (await door.get("/sources/news")).json["said"] == changed["said"]


async def test_what_is_forgotten_is_as_if_nobody_had_described_it(door: Front) -> None:
    await door.submit("http://two.example/1")
    await put(door, "news", **NEWS)
    assert (await door.get("/sources/news")).json["waiting"] == 1
    gone = await door.delete("/sources/news")
    assert (gone.status, gone.json["name"]) == (200, "news")
    assert await names(door, "?described=true") == []
    assert (await door.get("/sources/two.example")).json["waiting"] == 1
    assert_problem(await door.delete("/sources/news"), 404, "not_found")


async def test_it_is_paused_and_resumed_once(door: Front) -> None:
    await put(door, "news", **NEWS)
    paused = await post(door, "/sources/news/pause")
    assert (paused.status, paused.json["paused"], paused.json["paused_by"]) == (200, True, "anyone")
    assert_problem(await post(door, "/sources/news/pause"), 409, "wrong_state")
    resumed = (await post(door, "/sources/news/resume")).json
    assert (resumed["paused"], resumed["paused_by"]) == (False, None)
    assert_problem(await post(door, "/sources/news/resume"), 409, "wrong_state")


async def test_one_that_is_not_enabled_stands_still_until_it_is(door: Front) -> None:
    made = (await put(door, "news", **NEWS, enabled=False)).json
    assert (made["paused"], made["paused_by"], made["said"]["enabled"]) == (True, "policy", False)
    assert_problem(await post(door, "/sources/news/resume"), 409, "wrong_state")
    assert (await patch(door, "news", concurrency=2)).json["paused"] is True
    assert (await patch(door, "news", enabled=True)).json["paused"] is False


async def test_who_paused_it_is_told(plain_door: Front) -> None:
    await put(plain_door, "news", **NEWS)
    ann = await visitor(plain_door, "ann", Role.OPERATE)
    assert (await ann.ask("POST", "/sources/news/pause")).json["paused_by"] == "ann"


async def test_a_user_who_is_called_policy_can_pause_and_resume(plain_door: Front) -> None:
    await put(plain_door, "news", **NEWS)
    one = await visitor(plain_door, "policy", Role.OPERATE)
    assert (await one.ask("POST", "/sources/news/pause")).json["paused_by"] == "user policy"
    assert (await one.ask("POST", "/sources/news/resume")).status == 200


async def test_workers_are_woken_by_every_change(plain_door: Front) -> None:
    woken: list[int] = []
    plain_door.engine.submitter._on_submitted = lambda: woken.append(1)
    await put(plain_door, "news", **NEWS)
    await patch(plain_door, "news", concurrency=2)
    for what in ("pause", "resume"):
        await post(plain_door, f"/sources/news/{what}")
    await plain_door.delete("/sources/news")
    assert len(woken) == 5


async def test_they_are_listed_by_name_a_page_at_a_time(door: Front) -> None:
    for n in range(5):
        await door.submit(f"http://h{n}.example/")
    await put(door, "news", **NEWS)
    seen, path = [], "/sources?limit=2"
    while True:
        page = (await door.get(path)).json
        assert len(page["sources"]) <= 2
        seen += [one["name"] for one in page["sources"]]
        if page["next_cursor"] is None:
            break
        path = f"/sources?limit=2&cursor={page['next_cursor']}"
    assert seen == ["h0.example", "h1.example", "h2.example", "h3.example", "h4.example", "news"]
    assert await names(door, "?described=true") == ["news"]


async def test_hosts_and_what_waits_are_counted_to_a_limit_for_each(
    door: Front, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("aa", "bb"):
        hosts = [f"{name}{n}.example" for n in range(12)]
        await put(door, name, hosts=hosts)
        for host in hosts[:3]:
            await door.submit(f"http://{host}/")
    monkeypatch.setattr(sources_module, "HOSTS_SHOWN", 11)
    monkeypatch.setattr(sources_module, "WAITING_CAP", 2)
    for one in (await door.get("/sources")).json["sources"]:
        assert (len(one["hosts"]), one["hosts_are_all"]) == (11, False)
        assert (one["waiting"], one["waiting_is_capped"]) == (2, True)
    monkeypatch.setattr(sources_module, "HOSTS_SHOWN", 12)
    monkeypatch.setattr(sources_module, "WAITING_CAP", 3)
    for one in (await door.get("/sources")).json["sources"]:
        assert (len(one["hosts"]), one["hosts_are_all"]) == (12, True)
        assert (one["waiting"], one["waiting_is_capped"]) == (3, False)
    monkeypatch.setattr(sources_module, "WAITING_CAP_TOGETHER", 4)
    assert [one["waiting"] for one in (await door.get("/sources")).json["sources"]] == [2, 2]


@pytest.mark.usefixtures("one_day")
async def test_it_is_shown_as_it_stands(door: Front) -> None:
    await put(door, "news", **NEWS, requests_per_hour=60)
    now = door.engine.clock.now()
    why = '{"announced": true, "kind": "rate_limited", "status": 429, "url": "http://x/secret"}'
    pace = f'{{"rest": 60000, "hour": [[4000000, 5], [1000, 3]], "crawl": 5000, "why": {why}}}'
    await set_row(door, pace=pace, paced_at=now, next_fetch_at=now + 60_000, fail_streak=2)
    await door.engine.execute(
        "INSERT INTO receipts (source_id, day, requests, smallest_gap_ms) "
        "SELECT id, :day, 17, 2001 FROM sources WHERE name = 'news'",
        day=now // DAY,
    )
    answer = await door.get("/sources/news")
    found = answer.json
    assert (found["used_this_hour"], found["utilisation"]) == (3, 0.05), "the five are over"
    assert found["crawl_delay_seconds"] == 5
    resting = found["resting"]
    assert resting["because"] == "the host asked us to slow down (429), and said for how long"
    assert (resting["kind"], resting["status"], resting["failures"]) == ("rate_limited", 429, 2)
    assert resting["until"] == found["next_start_at"]
    assert "secret" not in str(found), "the page is somebody's"
    assert (found["today"]["requests"], found["today"]["smallest_gap_seconds"]) == (17, 2.001)
    await set_row(door, paced_at=now - 70_000, next_fetch_at=now - 10_000)
    found = (await door.get("/sources/news")).json
    assert (found["resting"]["until"], found["next_start_at"]) == (None, None), "a probe is next"


async def test_a_pair_of_hours_is_short_for_slow_hours(plain_door: Front) -> None:
    found = (await put(plain_door, "news", **NEWS, respectful_hours=[9, 17])).json
    assert found["said"]["respectful_hours"] == {
        "start": "09:00", "end": "17:00", "timezone": "UTC", "slowdown": 2.0, "closed": False,
    }  # fmt: skip
    for wrong in ([9], [9, 17, 18], [9, 9], ["a", 17], [9, 25]):
        assert (await put(plain_door, "news", **NEWS, respectful_hours=wrong)).status == 422


async def test_closed_hours_say_when_they_end(plain_door: Front) -> None:
    hours = {"start": 0, "end": "23:59", "timezone": "UTC", "closed": True}
    found = (await put(plain_door, "news", **NEWS, respectful_hours=hours)).json
    closed = found["in_respectful_hours"]  # but in the last minute of the day
    assert not closed or found["next_start_at"].endswith("T23:59:00.000Z")


@pytest.mark.parametrize(
    ("proxy", "shown"),
    [
        ("http://me:hush@p.example:80", "http://me:***@p.example:80"),
        ("http://hush@p.example:80", "http://***@p.example:80"),
        ("http://p.example:80", "http://p.example:80"),
    ],
)
async def test_secrets_are_not_shown_and_their_mask_is_not_taken(
    plain_door: Front, proxy: str, shown: str
) -> None:
    headers = {"X-Api-Key": "hush", "Accept-Language": "de"}
    made = (await put(plain_door, "news", **NEWS, proxy=proxy, headers=headers)).json
    listed = (await plain_door.get("/sources")).json
    assert "hush" not in f"{made}{listed}"
    for part in (made["said"], made["policy"]):
        assert part["proxy"] == shown
        assert part["headers"] == {"X-Api-Key": "***", "Accept-Language": "***"}
    if shown != proxy:
        assert_problem(await put(plain_door, "news", proxy=shown), 422, "bad_request")
    answer = await put(plain_door, "news", headers=made["said"]["headers"])
    assert_problem(answer, 422, "bad_request")
    [row] = await plain_door.engine.query("SELECT policy FROM sources")
    assert row.policy.count("hush") == (2 if "hush" in proxy else 1)


async def test_several_proxies_are_shown_without_their_passwords(plain_door: Front) -> None:
    given = [
        "socks5://me:hush@p.example:1080",
        "https://token@q.example:443",
        "http://r.example:3128",
    ]
    shown = ["socks5://me:***@p.example:1080", "https://***@q.example:443", "http://r.example:3128"]
    made = (await put(plain_door, "news", **NEWS, proxies=given)).json
    assert made["policy"]["proxies"] == made["said"]["proxies"] == shown
    assert "hush" not in str((await plain_door.get("/sources")).json)
    assert_problem(await patch(plain_door, "news", proxies=shown), 422, "bad_request")
    changed = (await patch(plain_door, "news", proxies=None)).json
    assert (changed["policy"]["proxies"], "proxies" in changed["said"]) == (None, False)


@pytest.mark.parametrize(
    ("proxies", "said"),
    [
        (["http://p.example:3128", "http://127.0.0.1:8811"], "ALLOW_PROXIES"),
        (["http://p.example:3128", "socks4://me:hush@p.example:1"], "socks5://host:port"),
        (["http://p.example:3128", "env:HOME"], "only the operator's own files"),
        ([], "at least 1"),
        ([f"http://p.example:{port}" for port in range(8_000, 8_051)], "at most 50"),
    ],
)
async def test_one_wrong_proxy_of_several_is_refused(
    plain_door: Front, proxies: list[str], said: str
) -> None:
    await put(plain_door, "news", **NEWS)
    for answer in (
        await put(plain_door, "news", **NEWS, proxies=proxies),
        await patch(plain_door, "news", proxies=proxies),
    ):
        assert_problem(answer, 422, "bad_request")
        assert said in str(answer.json)
        assert "hush" not in str(answer.json)


async def test_a_wrong_proxy_is_refused_without_its_password(plain_door: Front) -> None:
    answer = await put(plain_door, "news", **NEWS, proxy="http://me:hush@p.example:99999")
    assert_problem(answer, 422, "bad_request")
    assert "hush" not in str(answer.json)


async def test_who_sees_only_their_own_jobs_sees_only_what_is_described(plain_door: Front) -> None:
    """Other sources tell what other people ask for."""
    await plain_door.submit("http://one.example/1")
    await put(plain_door, "news", hosts=["two.example"])
    for role in Role:
        one = await visitor(plain_door, role.word, role)
        listed = [s["name"] for s in (await one.get("/sources")).json["sources"]]
        status = (await one.get(ONE)).status
        assert (await one.get("/sources/news")).status == 200
        if role >= Role.OPERATE:
            assert (listed, status) == (["news", "one.example"], 200)
        else:
            assert (listed, status) == (["news"], 404)


async def test_all_that_is_wrong_is_told_at_once(plain_door: Front) -> None:
    hours = {"start": 9, "end": 9, "closed": True}
    wrong = {"hosts": ["a b"], "requests_per_hour": 0, "min_delay": 1, "timeout": "5",
             "concurrency": True, "respectful_hours": hours}  # fmt: skip
    for method in ("PUT", "PATCH"):
        answer = await plain_door.ask(method, "/sources/news", json=wrong)
        assert_problem(answer, 422, "bad_request")
        assert {error["loc"][1] for error in answer.json["errors"]} == wrong.keys()


@pytest.mark.parametrize(
    "words",
    [
        {"min_delay_seconds": 3, "max_delay_seconds": 2}, {"burst_limit": 5},
        {"max_delay_seconds": 0.5},
        {"burst_limit": 5, "requests_per_hour": 4}, {"hosts": []}, {"lanes": 2},
        {"respectful_hours": {"start": 9, "end": 17}}, {"robots": "sometimes"},
        {"respectful_hours": {"start": 9, "end": 17, "slowdown": 2, "timezone": "Mars/North"}},
        {"user_agent": "a\nb"}, {"headers": {"Host": "x"}},
    ],
    ids=str,
)  # fmt: skip
async def test_what_makes_no_sense_is_refused(plain_door: Front, words: dict[str, Any]) -> None:
    assert_problem(await put(plain_door, "news", **({"hosts": ["a.example"]} | words)), 422,
                   "bad_request")  # fmt: skip
    assert await names(plain_door) == []


@pytest.mark.parametrize("name", ["News", "a%20b", "ü", "-.-", "x" * 300, "other.example"])
async def test_what_is_no_name_for_it_is_refused(plain_door: Front, name: str) -> None:
    assert_problem(await put(plain_door, name, hosts=["one.example"]), 422, "bad_request")


async def test_a_new_source_without_hosts_is_named_after_one(plain_door: Front) -> None:
    answer = await put(plain_door, "news", min_delay_seconds=5)
    assert_problem(answer, 422, "bad_request")
    assert "hosts" in answer.json["detail"], "else it would slow down nothing, and nobody knew"
    assert (await put(plain_door, "one.example:8080")).json["hosts"] == ["one.example:8080"]


@pytest.mark.parametrize("name", ["nobody", "UPPER", "x" * 300, "a%00b"])
async def test_what_is_not_there_is_not_found(plain_door: Front, name: str) -> None:
    for method in ("GET", "PATCH", "DELETE"):
        body = {"json": {}} if method == "PATCH" else {}
        answer = await plain_door.ask(method, f"/sources/{name}", **body)
        assert_problem(answer, 404, "not_found")
    for what in ("pause", "resume"):
        assert_problem(await post(plain_door, f"/sources/{name}/{what}"), 404, "not_found")


@pytest.mark.parametrize("query", ["limit=0", "limit=1001", "cursor=", "described=perhaps"])
async def test_a_wrong_question_is_refused(plain_door: Front, query: str) -> None:
    assert_problem(await plain_door.get(f"/sources?{query}"), 422, "bad_request")


async def test_a_move_of_much_may_take_its_time(plain_door: Front) -> None:
    """All that waits for a host goes along."""
    await plain_door.get("/sources")
    plain_door.backend.timed.answer_within = 0.0
    assert (await put(plain_door, "news", **NEWS)).status == 201


async def test_one_that_was_forgotten_can_be_described_anew(door: Front) -> None:
    await put(door, "news", **NEWS)
    await door.delete("/sources/news")
    assert_problem(await door.get("/sources/news"), 404, "not_found")
    assert_problem(await patch(door, "news", concurrency=2), 404, "not_found")
    assert_problem(await post(door, "/sources/news/pause"), 404, "not_found")
    assert_problem(await put(door, "news", concurrency=2), 422, "bad_request")
    assert await names(door) == ["one.example", "two.example"]
    assert (await put(door, "news", **NEWS)).status == 201


SECRET = {"X-Api-Key": "hush"}
HOSTS = ["one.example", "two.example"]


@pytest.mark.parametrize(
    "proxy", ["http://127.0.0.1:8811", "http://localhost:3128", "http://me:hush@10.0.0.1:3128",
              "http://[::1]:3128", "http://p.example:25"],
)  # fmt: skip
async def test_a_proxy_that_the_operator_does_not_allow_is_refused_when_it_is_set(
    plain_door: Front, proxy: str
) -> None:
    await put(plain_door, "news", **NEWS, headers=SECRET)
    for answer in (
        await put(plain_door, "news", **NEWS, proxy=proxy),
        await patch(plain_door, "news", proxy=proxy),
    ):
        assert_problem(answer, 422, "bad_request")
        told = str(answer.json)
        assert "ALLOW_PROXIES does not name it" in told or "browsers block" in told
        assert "hush" not in told
    assert (await plain_door.get("/sources/news")).json["said"]["headers"] == {"X-Api-Key": "***"}


@pytest.mark.parametrize(
    ("change", "keeps"),
    [
        ({"proxy": "http://p.example:3128"}, False),
        ({"proxy": None}, False),
        ({"hosts": [*HOSTS, "elsewhere.example"]}, False),
        ({"hosts": ["elsewhere.example"]}, False),
        ({"hosts": HOSTS}, True),
        ({"proxies": ["http://p.example:3128"]}, False),
        ({"proxy": "http://old.example:3128"}, True),
        ({"min_delay_seconds": 3}, True),
        ({"proxy": None, "headers": {"X-Api-Key": "new"}}, True),
    ],
)
async def test_stored_headers_are_deleted_when_they_would_go_elsewhere(
    plain_door: Front, change: dict[str, Any], keeps: bool
) -> None:
    await put(plain_door, "news", **NEWS, headers=SECRET, proxy="http://old.example:3128")
    changed = await patch(plain_door, "news", **change)
    assert changed.status == 200
    assert ("headers" in changed.json["said"]) is keeps
    [row] = await plain_door.engine.query("SELECT policy FROM sources WHERE name = 'news'")
    assert ("hush" in row.policy) is (keeps and "headers" not in change)
