"""`GET /jobs/{id}/performance`: how a job went."""

from api.front import Front
from api.visitors import visitor
from curtsy.model.roles import Role
from support.engine import until
from support.pages import PageServer


async def test_a_job_shows_duration_memory_retries_and_failures(working: Front) -> None:
    page = b"<html><body><article><p>" + b"Some words of an article. " * 40 + b"</p></article>"
    async with PageServer({"/ok": page}) as site:
        body = {"articles": [{"url": site.url("/ok")}, {"url": site.url("/gone")}]}
        job = (await working.ask("POST", "/jobs/submit", json=body)).json["job_id"]

        async def ended() -> bool:
            return bool((await working.get(f"/jobs/{job}/status")).json["pending"] == 0)

        await until(ended, 10, lambda: f"{job} has not ended")
        found = (await working.get(f"/jobs/{job}/performance")).json
    assert found["job_id"] == job
    assert found["duration_seconds"] >= 0
    assert (found["attempts"], found["retries"], found["is_capped"]) == (2, 0, False)
    assert found["peak_memory_bytes"] > 2**20
    [failure] = found["failures"]
    assert failure["kind"] == "gone"
    assert failure["error"].endswith(".")
    assert failure["duration_ms"] >= 0
    assert (await working.get(f"/pages/{failure['page']}")).json["status"] == "FAILED"


async def test_tracebacks_are_for_those_who_see_all_jobs(door: Front) -> None:
    ann, boss = await visitor(door, "ann"), await visitor(door, "boss", Role.OPERATE)
    job = (await ann.ask("POST", "/jobs", json={"url": "https://a.example/"})).json["id"]
    await door.engine.execute("""
        INSERT INTO attempts (page_id, turn, source_id, worker, attempt, outcome, kind, error,
                              traceback, started_at, ended_at)
        SELECT i.page_id, 1, 1, 'w', 1, 'failed', 'extract_failed', 'It fell.', 'secret.py line 1',
               j.created_at, j.created_at
        FROM items i JOIN jobs j ON j.id = i.job_id""")  # fmt: skip
    shown = [(await one.ask("GET", f"/jobs/{job}/performance")).json["failures"][0]["traceback"]
             for one in (ann, boss)]  # fmt: skip
    assert shown == [None, "secret.py line 1"]
    stranger = await visitor(door, "bob")
    assert (await stranger.ask("GET", f"/jobs/{job}/performance")).status == 404
