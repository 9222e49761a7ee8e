import base64
import re

import pytest

from api.conftest import Site
from api.front import Front, assert_problem
from curtsy import __version__
from support.engine import until


async def test_a_submitted_url_comes_back_with_its_text(working: Front, site: Site) -> None:
    url = site.has("/page", b"<h1>Gr\xc3\xbc\xc3\x9fe</h1>", "text/html; charset=utf-8")

    made = await working.submit(url)
    assert made.status == 201
    assert made.json == {"id": made.json["id"], "url": url, "status": "queued"}
    assert re.fullmatch(r"job_[0-9a-f]{12}", made.json["id"])
    assert made.headers["location"] == f"/jobs/{made.json['id']}"

    job = await working.ended(made.json["id"])
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", job.pop("fetched_at"))
    assert job == {
        "id": made.json["id"], "url": url, "status": "completed", "door": "fetch",
        "state": "succeeded", "content": "<h1>Grüße</h1>", "content_type": "text/html",
    }  # fmt: skip


async def test_a_body_that_is_not_text_comes_back_as_base64(working: Front, site: Site) -> None:
    body = bytes(range(256)) * 2_000
    url = site.has("/picture", body, "image/png")
    job = await working.ended((await working.submit(url)).json["id"])
    assert job["content_encoding"] == "base64"
    assert base64.b64decode(job["content"]) == body


async def test_text_in_another_charset_comes_back_as_text(working: Front, site: Site) -> None:
    url = site.has("/text", "žluťoučký".encode("cp1250"), "text/plain; charset=windows-1250")
    job = await working.ended((await working.submit(url)).json["id"])
    assert job["content"] == "žluťoučký"
    assert "content_encoding" not in job


@pytest.mark.parametrize(
    ("head", "codec", "content_type"),
    [
        ("<meta charset=windows-1251>", "cp1251", "text/html"),
        ("<meta charset=Shift_JIS>", "cp932", "text/html"),
        ("<!DOCTYPE html><meta charset=Shift_JIS>", "cp932", "*/*"),
        ("<?xml version='1.0' encoding='EUC-JP'?><a/>", "euc_jp", "application/xml"),
        ("", "utf-8-sig", "text/html; charset=windows-1252"),
        ("", "utf-16", "text/plain; charset=utf-8"),
        ("", "koi8-r", "text/html; charset=KOI8-R"),
    ],
)
async def test_a_page_comes_back_as_text_however_it_declares_its_charset(
    working: Front, site: Site, head: str, codec: str, content_type: str
) -> None:
    text = f"{head}Привет, мир"
    url = site.has("/text", text.encode(codec), content_type)
    job = await working.ended((await working.submit(url)).json["id"])
    assert job["content"] == text


async def test_a_page_that_does_not_answer_200_is_an_error_with_a_sentence(
    working: Front, site: Site
) -> None:
    url = site.fails("/missing", 404)
    job = await working.ended((await working.submit(url)).json["id"])
    assert (job["status"], job["state"]) == ("error", "failed")
    assert "404" in job["error"]
    assert "content" not in job


async def test_a_recent_copy_completes_the_job_at_once_only_if_asked_for(
    working: Front, site: Site
) -> None:
    url = site.has("/news", b"one", "text/plain")
    await working.ended((await working.submit(url)).json["id"])
    site.has("/news", b"two", "text/plain")

    cached = await working.submit(url, max_age=3600)
    assert (cached.status, cached.json["status"]) == (201, "completed")
    assert (await working.get(cached.headers["location"])).json["content"] == "one"

    fetched = await working.submit(url)
    assert fetched.json["status"] == "queued"
    assert (await working.ended(fetched.json["id"]))["content"] == "two"
    assert (await working.get(cached.headers["location"])).json["content"] == "one"
    assert len(site.asked) == 2


async def test_a_url_beyond_ascii_is_fetched_and_shown_as_it_was_given(
    working: Front, site: Site
) -> None:
    site.has("/straße/日本", b"found", "text/plain")
    url = f"{site.url}/straße/日本?ß=é#part"
    made = await working.submit(url)
    assert made.json["url"] == url
    job = await working.ended(made.json["id"])
    assert (job["content"], job["url"]) == ("found", url)
    assert site.asked == ["/stra%C3%9Fe/%E6%97%A5%E6%9C%AC?%C3%9F=%C3%A9"]


async def test_failures_are_fetched_again_when_asked(working: Front, site: Site) -> None:
    url = site.fails("/later", 404)
    job = (await working.submit(url)).json["id"]
    assert (await working.ended(job))["status"] == "error"
    site.has("/later", b"now", "text/plain")

    retried = await working.ask("POST", f"/jobs/{job}/retry")
    assert retried.status == 202
    assert (retried.json["pages"], type(retried.json["message"])) == (1, str)
    ended = await working.ended(job)
    assert (ended["status"], ended["content"]) == ("completed", "now")
    assert "error" not in ended

    assert_problem(await working.ask("POST", f"/jobs/{job}/retry"), 409, "wrong_state")


@pytest.mark.parametrize("status", [204, 205, 206])
async def test_an_answer_that_is_no_page_is_an_error(
    working: Front, site: Site, status: int
) -> None:
    job = await working.ended((await working.submit(site.fails("/none", status))).json["id"])
    assert (job["status"], job["state"]) == ("error", "failed")
    assert f"answered {status} " in job["error"]
    assert "content" not in job


async def test_a_finished_job_cannot_be_cancelled(working: Front, site: Site) -> None:
    url = site.has("/done", b"done", "text/plain")
    job = (await working.submit(url)).json["id"]
    await working.ended(job)
    assert_problem(await working.delete(f"/jobs/{job}"), 400, "wrong_state")
    assert (await working.get(f"/jobs/{job}")).json["status"] == "completed"


async def test_a_waiting_job_is_cancelled_once(door: Front) -> None:
    job = (await door.submit("http://example.com/")).json["id"]
    answer = await door.delete(f"/jobs/{job}")
    assert answer.status == 200
    assert answer.json == {"job_id": job, "status": "cancelled",
                           "message": "Job cancelled. Removed 1 pending task."}  # fmt: skip
    shown = (await door.get(f"/jobs/{job}")).json
    assert (shown["status"], shown["state"]) == ("cancelled", "cancelled")
    assert_problem(await door.delete(f"/jobs/{job}"), 400, "wrong_state")


async def test_a_job_that_is_not_there_is_not_found(door: Front) -> None:
    for name in ("job_000000000000", "%00", "a%20b", "%F0%9F%92%A9", "x" * 5_000):
        for method, path in [("GET", ""), ("DELETE", ""), ("POST", "/retry")]:
            assert_problem(await door.ask(method, f"/jobs/{name}{path}"), 404, "not_found")


async def test_the_list_and_the_way_in_answer_with_and_without_a_slash(plain_door: Front) -> None:
    for path in ("/jobs", "/jobs/"):
        made = await plain_door.ask("POST", path, json={"url": "http://example.com/"})
        assert made.status == 201
        assert (await plain_door.get(path)).status == 200


async def test_health_tells_whether_anything_fetches(door: Front) -> None:
    idle = await door.get("/health")
    assert (idle.status, idle.json["status"], idle.json["workers"]) == (200, "degraded", 0)
    async with door.engine.worker():

        async def registered() -> bool:
            return bool((await door.get("/health")).json["workers"])

        await until(registered, 10, lambda: "no worker is seen")
        busy = (await door.get("/health")).json
        facts = {"store": "ok", "workers": 1, "version": __version__}
        assert busy == facts | {"status": "ok", "data": facts}
