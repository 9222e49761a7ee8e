"""What a job was asked for can be read back: URLs, depth, params, pages, its schedule's name."""

from typing import Any

from api.front import Front

URLS = [f"http://a.example/{n}" for n in range(5)]


async def read_all(door: Front, job: str, limit: int) -> list[dict[str, Any]]:
    """The job, read a page at a time."""
    found, cursor = [], ""
    while True:
        found.append((await door.get(f"/jobs/{job}?limit={limit}{cursor}")).json)
        if "next_cursor" not in found[-1]:
            return found
        cursor = f"&cursor={found[-1]['next_cursor']}"


async def test_a_crawl_says_where_it_starts_how_deep_it_goes_and_with_which_params(
    door: Front,
) -> None:
    params = {"scope": "domain", "max_pages": 7, "include": ["*/blog/*"],
              "headers": {"X-Token": "secret"}}  # fmt: skip
    body = {"spider": "article", "start_urls": URLS, "depth": 2, "params": params}
    job = (await door.ask("POST", "/crawl", json=body)).json["job_id"]
    [whole] = await read_all(door, job, 100)
    assert (whole["start_urls"], whole["depth"]) == (URLS, 2)
    assert {name: whole["params"][name] for name in ("scope", "max_pages", "include")} == {
        name: params[name] for name in ("scope", "max_pages", "include")
    }
    assert "secret" not in str(whole)
    pieces = await read_all(door, job, 2)
    assert [piece["start_urls"] for piece in pieces] == [URLS[:2], URLS[2:4], URLS[4:]]


async def test_the_articles_of_a_job_are_read_a_page_at_a_time(door: Front) -> None:
    body = {"articles": [{"url": url} for url in URLS]}
    job = (await door.ask("POST", "/jobs/submit", json=body)).json["job_id"]
    pieces = await read_all(door, job, 3)
    assert [len(piece["article_ids"]) for piece in pieces] == [3, 2]
    ids = [page for piece in pieces for page in piece["article_ids"]]
    found = [(await door.get(f"/pages/{page}")).json["url"] for page in ids]
    assert found == URLS
    assert (await door.get(f"/jobs/{job}?limit=0")).status == 422


async def test_a_crawl_that_waits_for_its_slot_says_the_same(door: Front) -> None:
    body = {"spider": "article", "start_urls": URLS, "depth": 1, "interval": "0 9 * * *"}
    made = (await door.ask("POST", "/crawl", json=body)).json
    pieces = await read_all(door, made["job_id"], 2)
    assert [piece["start_urls"] for piece in pieces] == [URLS[:2], URLS[2:4], URLS[4:]]
    assert {piece["depth"] for piece in pieces} == {1}
    [row] = (await door.get("/jobs/")).json["jobs"]
    assert (row["url"], row["state"]) == (URLS[0], "scheduled")


async def test_a_job_of_a_schedule_says_its_name(door: Front) -> None:
    payload = {"articles": {"articles": [{"url": URLS[0]}]}}
    body = {"name": "front pages", "every_minutes": 60, "payload": payload}
    await door.ask("POST", "/schedules", json=body)
    job = (await door.ask("POST", "/schedules/front pages/run")).json["job_id"]
    for path in (f"/jobs/{job}", f"/jobs/{job}/status"):
        assert (await door.get(path)).json["schedule_name"] == "front pages"
    [row] = (await door.get("/jobs/")).json["jobs"]
    assert row["schedule_name"] == "front pages"


async def test_a_run_says_what_was_searched_for(door: Front) -> None:
    spec = {"search_url": "http://b.example/?q={search_term}&p={page}",
            "recipe": {"record": "li", "fields": {"title": "a"}}}  # fmt: skip
    assert (await door.ask("PUT", "/sites/board", json=spec)).status == 201
    body = {"site_name": "board", "search_term": "python", "results_wanted": 3,
            "webhook_url": "http://hook.example/?token=secret"}  # fmt: skip
    run = (await door.ask("POST", "/jobs/scrape", json=body)).json["data"]["run_id"]
    whole = (await door.get(f"/jobs/{run}")).json
    assert whole["params"]["search_term"] == "python"
    assert whole["params"]["results_wanted"] == 3
    assert len(whole["article_ids"]) == whole["requested_pages"]
    assert "secret" not in str(whole)
