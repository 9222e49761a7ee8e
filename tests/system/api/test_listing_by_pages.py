"""Lists of jobs by their source, and by pages that wait for another try or were given up."""

from api.conftest import Site
from api.front import Front, assert_problem
from api.visitors import visitor
from support.engine import until

SPEC = {"search_url": "http://b.example/?q={search_term}&p={page}", "interval_minutes": 0,
        "recipe": {"record": "li", "fields": {"title": "a"}}}  # fmt: skip


async def _found(door: Front, query: str) -> list[str]:
    return [job["id"] for job in (await door.get(f"/jobs?{query}")).json["jobs"]]


async def test_a_source_finds_its_jobs_and_a_site_its_runs(door: Front) -> None:
    assert (await door.ask("PUT", "/sites/board", json=SPEC)).status == 201
    here = (await door.submit("http://a.example/1")).json["id"]
    await door.submit("http://other.test/1")
    both = [{"url": "http://other.test/2"}, {"url": "http://www.a.example/2"}]
    mixed = (await door.ask("POST", "/jobs/submit", json={"articles": both})).json["job_id"]
    search = {"site_name": "board", "search_term": "python"}
    run = (await door.ask("POST", "/jobs/scrape", json=search)).json["data"]["run_id"]
    assert await _found(door, "source=a.example") == [mixed, here]
    assert await _found(door, "source=board") == [run]
    assert await _found(door, "source=a.example&door=fetch&status_filter=queued") == [here]
    assert (await door.get("/jobs?source=a.example&limit=1")).json["next_cursor"]
    unknown = await door.get("/jobs?source=nosuch.example")
    assert_problem(unknown, 404, "not_found")
    assert "There is no source 'nosuch.example'" in unknown.json["detail"]


async def test_a_user_finds_only_own_jobs_of_a_source(door: Front) -> None:
    ann, bob = await visitor(door), await visitor(door, "bob")
    mine = await ann.job("http://a.example/1")
    await bob.job("http://a.example/2")
    assert [job["id"] for job in (await ann.get("/jobs?source=a.example")).json["jobs"]] == [mine]


async def test_retry_and_dead_letter_find_jobs_with_such_pages(door: Front, site: Site) -> None:
    again = (await door.submit(site.fails("/busy", 500))).json["id"]
    gone = (await door.submit(site.fails("/gone", 410))).json["id"]
    fine = (await door.submit(site.has("/fine", b"fine", "text/plain"))).json["id"]
    async with door.engine.worker():

        async def is_seen() -> bool:
            ended = [(await door.get(f"/jobs/{job}")).json["status"] for job in (gone, fine)]
            return "queued" not in ended and await _found(door, "status_filter=retry") != []

        await until(is_seen, 20, lambda: "no page waits for another try")
    assert await _found(door, "status_filter=retry") == [again]
    assert await _found(door, "status_filter=dead_letter") == [gone]
    assert await _found(door, "status_filter=dead_letter&door=articles") == []
    [letter] = (await door.get("/dead-letters")).json["letters"]
    await door.ask("POST", f"/dead-letters/{letter['id']}/resolve")
    assert await _found(door, "status_filter=dead_letter") == []
    ann = await visitor(door)
    assert (await ann.get("/jobs?status_filter=retry")).json["jobs"] == [], "not hers"


async def test_a_wrong_word_is_told_the_words_and_no_regular_expression(plain_door: Front) -> None:
    for query in ("status_filter=BOGUS", "door=BOGUS"):
        told = await plain_door.get(f"/jobs?{query}")
        assert_problem(told, 422, "bad_request")
        assert "not 'BOGUS'" in told.json["detail"]
    assert "Allowed are fetch, articles, crawl, runs;" in told.json["detail"]
    words = (await plain_door.get("/jobs?status_filter=BOGUS")).json["detail"]
    for word in ("queued", "IN_PROGRESS", "finished", "partial", "success", "retry", "dead_letter"):
        assert word in words
    for path in ("/jobs?cursor=x", "/schedules?cursor=x", "/dead-letters?cursor=x"):
        detail = (await plain_door.get(path)).json["detail"]
        assert "Not a cursor of this list" in detail
        assert "^" not in detail
