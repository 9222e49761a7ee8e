"""Browsers: a key once, then a cookie that pages of strangers can do nothing with."""

import asyncio
from http.cookies import SimpleCookie
from typing import Any

import asyncpg
import pytest

from api.front import Answer, Front, assert_problem, front
from api.visitors import MovableClock, Visitor, revoke, rotate, visitor
from curtsy.access import sessions
from curtsy.api.auth.failed_attempts import MOST_FAILURES
from curtsy.clock import HOUR, MINUTE, SECOND
from curtsy.model.roles import Role
from curtsy.store import Store
from support.engine import engine, until
from support.sql import statements_ran

PAGE = {"url": "http://example.com/"}
FORGED = {"X-CSRF-Token": "0" * 64}


class Browser:
    """Has a cookie, and knows its token as a page of ours would."""

    def __init__(self, door: Front, opened: Answer) -> None:
        self._door = door
        self.cookie = SimpleCookie(opened.headers["set-cookie"])["curtsy_session"]
        self.sends = {"Cookie": f"other=1; curtsy_session={self.cookie.value}"}
        self.token = {"X-CSRF-Token": opened.json["csrf_token"]}

    async def ask(self, method: str, path: str, **options: Any) -> Answer:
        headers = self.sends | options.pop("headers", {})
        return await self._door.ask(method, path, headers=headers, **options)


async def come_in(door: Front, key: str, **options: Any) -> Answer:
    return await door.ask("POST", "/session", json={"key": key}, **options)


async def browser(of: Visitor) -> Browser:
    opened = await come_in(of.front, of.key)
    assert opened.status == 201
    return Browser(of.front, opened)


async def test_a_key_is_exchanged_for_a_cookie_that_no_script_reads(guarded: Front) -> None:
    ann = await visitor(guarded)
    opened = await come_in(guarded, ann.key)
    assert opened.status == 201
    assert opened.json.pop("expires_at").endswith("Z")
    assert len(opened.json.pop("csrf_token")) == 64
    assert opened.json == {
        "user_id": "ann", "role": "submit", "pages_per_hour": None, "open_jobs": None,
    }  # fmt: skip
    cookie = SimpleCookie(opened.headers["set-cookie"])["curtsy_session"]
    assert cookie["httponly"]
    assert not cookie["secure"]
    assert (cookie["samesite"], cookie["path"], cookie["max-age"]) == ("strict", "/", "43200")
    rows = await guarded.engine.query("SELECT * FROM sessions")
    assert cookie.value not in str(rows)


TLS = {"X-Forwarded-Proto": "https"}


async def test_where_tls_is_spoken_the_cookie_goes_nowhere_else(guarded: Front) -> None:
    ann = await visitor(guarded)
    opened = await come_in(guarded, ann.key, headers=TLS)
    [(name, cookie)] = SimpleCookie(opened.headers["set-cookie"]).items()
    assert name == "__Host-curtsy_session", "no other host of the domain can set it"
    assert (cookie["secure"], cookie["httponly"], cookie["path"]) == (True, True, "/")
    assert "domain" not in opened.headers["set-cookie"].lower()
    sent = {"Cookie": f"{name}={cookie.value}", **TLS}
    assert (await guarded.ask("GET", "/session", headers=sent)).json["user_id"] == "ann"
    token = {"X-CSRF-Token": opened.json["csrf_token"]}
    left = await guarded.ask("DELETE", "/session", headers=sent | token)
    [(gone, ended)] = SimpleCookie(left.headers["set-cookie"]).items()
    assert (gone, ended["max-age"], ended["secure"]) == (name, "0", True)
    assert_problem(await guarded.ask("GET", "/jobs", headers=sent), 401, "key_needed")


async def test_a_cookie_that_another_host_could_have_planted_is_nothing_over_tls(
    guarded: Front, movable: MovableClock
) -> None:
    hers = await browser(await visitor(guarded))
    movable.advance(SECOND)
    assert (await hers.ask("GET", "/jobs")).status == 200
    assert_problem(await hers.ask("GET", "/jobs", headers=TLS), 401, "key_needed")
    both = hers.sends["Cookie"].replace("curtsy_session", "__Host-curtsy_session")
    assert_problem(await guarded.ask("GET", "/jobs", headers={"Cookie": both}), 401, "key_needed")


async def test_with_a_cookie_one_is_who_the_key_says(guarded: Front) -> None:
    ann, bob = await visitor(guarded, "ann", Role.READ), await visitor(guarded, "bob")
    job = await bob.job(PAGE["url"])
    hers = await browser(ann)
    who = await hers.ask("GET", "/session")
    assert who.headers["cache-control"] == "no-store"
    assert (who.json["user_id"], who.json["role"]) == ("ann", "read")
    assert who.json["csrf_token"] == hers.token["X-CSRF-Token"]
    assert (await hers.ask("GET", "/jobs")).json["total"] == 0
    assert_problem(await hers.ask("GET", f"/jobs/{job}"), 404, "not_found")
    refused = await hers.ask("POST", "/jobs", json=PAGE, headers=hers.token)
    assert_problem(refused, 403, "not_allowed")
    eve = await visitor(guarded, "eve", pages_per_hour=5, open_jobs=2)
    assert (await eve.get("/session")).json == {
        "user_id": "eve", "role": "submit", "pages_per_hour": 5, "open_jobs": 2,
        "csrf_token": None, "expires_at": None,
    }  # fmt: skip


async def test_while_nobody_is_asked_one_is_nobody_who_may_do_all(guarded: Front) -> None:
    who = (await guarded.get("/session")).json
    assert (who["user_id"], who["role"]) == (None, "admin")


async def test_what_changes_something_needs_the_token_too(guarded: Front) -> None:
    ann = await visitor(guarded)
    hers, other = await browser(ann), await browser(ann)
    for headers in ({}, FORGED, other.token, {"X-CSRF-Token": ""}):
        for method, path in (("POST", "/jobs"), ("DELETE", "/jobs/job_x"), ("DELETE", "/session")):
            refused = await hers.ask(method, path, json=PAGE, headers=headers)
            assert_problem(refused, 403, "not_allowed")
    assert (await hers.ask("GET", "/jobs")).json["total"] == 0
    assert (await hers.ask("POST", "/jobs", json=PAGE, headers=hers.token)).status == 201
    [row] = await guarded.engine.query("SELECT user_id FROM jobs")
    assert row.user_id == "ann"
    with_key = await hers.ask("POST", "/jobs", json=PAGE, headers=ann.headers)
    assert with_key.status == 201, "no browser adds a key by itself"


async def test_a_session_ends_when_it_is_left(guarded: Front) -> None:
    hers = await browser(await visitor(guarded))
    assert (await hers.ask("GET", "/jobs")).status == 200
    left = await hers.ask("DELETE", "/session", headers=hers.token)
    assert left.status == 204
    assert SimpleCookie(left.headers["set-cookie"])["curtsy_session"]["max-age"] == "0"
    assert_problem(await hers.ask("GET", "/jobs"), 401, "key_needed")
    assert await guarded.engine.query("SELECT * FROM sessions") == []


async def test_a_session_ends_with_its_time_and_is_then_forgotten(
    guarded: Front, movable: MovableClock
) -> None:
    ann = await visitor(guarded)
    hers = await browser(ann)
    movable.advance(12 * HOUR)
    assert_problem(await hers.ask("GET", "/jobs"), 401, "key_needed")
    await browser(ann)
    assert len(await guarded.engine.query("SELECT * FROM sessions")) == 1


async def test_a_session_lasts_no_longer_than_its_key(
    guarded: Front, movable: MovableClock
) -> None:
    hers = await browser(await visitor(guarded, expires_at=movable.now() + HOUR))
    movable.advance(HOUR)
    assert_problem(await hers.ask("GET", "/jobs"), 401, "key_needed")


@pytest.mark.parametrize("ends", [revoke, rotate])
async def test_a_session_ends_when_its_key_is_revoked_or_rotated(
    guarded: Front, movable: MovableClock, ends: Any
) -> None:
    ann = await visitor(guarded)
    hers = await browser(ann)
    assert (await hers.ask("GET", "/jobs")).status == 200
    await ends(ann)
    movable.advance(SECOND)
    assert_problem(await hers.ask("GET", "/jobs"), 401, "key_needed")
    assert_problem(await come_in(guarded, ann.key), 401, "key_needed")


async def test_a_session_outlives_a_rotation_by_its_grace(
    guarded: Front, movable: MovableClock
) -> None:
    ann = await visitor(guarded)
    hers = await browser(ann)
    await rotate(ann, grace=HOUR)
    movable.advance(SECOND)
    assert (await hers.ask("GET", "/jobs")).status == 200
    movable.advance(HOUR)
    assert_problem(await hers.ask("GET", "/jobs"), 401, "key_needed")


async def test_a_session_cannot_slip_in_beside_a_rotation(
    postgres_url: str, movable: MovableClock
) -> None:
    async with Store(postgres_url) as store, front(store, engine(store, movable)) as door:
        ann = await visitor(door)
        rotating = await asyncpg.connect(postgres_url)
        await rotating.execute("BEGIN; UPDATE api_keys SET hash = 'another'")
        coming = asyncio.create_task(come_in(door, ann.key))

        async def waits() -> bool:
            locks = await rotating.fetch("SELECT 1 FROM pg_locks WHERE NOT granted")
            return coming.done() or bool(locks)

        await until(waits, 10, lambda: "nobody waits")
        await rotating.execute("COMMIT")
        await rotating.close()
        assert_problem(await coming, 401, "key_needed")


async def test_a_key_has_so_many_sessions_and_the_oldest_makes_room(
    guarded: Front, movable: MovableClock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sessions, "MOST_SESSIONS", 3)
    ann, bob = await visitor(guarded), await visitor(guarded, "bob")
    others = await browser(bob)
    hers = []
    for _ in range(4):
        hers.append(await browser(ann))
        movable.advance(2 * SECOND)
    assert_problem(await hers[0].ask("GET", "/jobs"), 401, "key_needed")
    for one in (*hers[1:], others):
        assert (await one.ask("GET", "/jobs")).status == 200
    assert len(await guarded.engine.query("SELECT * FROM sessions")) == 4


async def test_a_cookie_of_nobody_is_as_good_as_none(guarded: Front, movable: MovableClock) -> None:
    nobodys = {"Cookie": f"curtsy_session={'0' * 64}"}
    assert (await guarded.ask("GET", "/jobs", headers=nobodys)).status == 200, "it is open"
    await visitor(guarded)
    movable.advance(SECOND)
    assert_problem(await guarded.ask("GET", "/jobs", headers=nobodys), 401, "key_needed")


async def test_who_guesses_keys_is_told_to_wait(guarded: Front, movable: MovableClock) -> None:
    ann = await visitor(guarded)
    movable.advance(MINUTE - movable.monotonic() % MINUTE)
    for wrong in range(MOST_FAILURES):
        assert_problem(await come_in(guarded, guess(ann, wrong)), 401, "key_needed")
    refused = await come_in(guarded, guess(ann, 99))
    assert_problem(refused, 429, "over_limit")
    assert 1 <= int(refused.headers["retry-after"]) <= 60
    elsewhere = {"X-Forwarded-For": "192.0.2.7"}
    assert_problem(await come_in(guarded, guess(ann, 99), headers=elsewhere), 401, "key_needed")
    movable.advance(MINUTE)
    assert_problem(await come_in(guarded, guess(ann, 99)), 401, "key_needed")


async def test_wrong_keys_lock_nobody_out_who_has_a_right_one(guarded: Front) -> None:
    """Behind a proxy, others have the same address."""
    ann = await visitor(guarded)
    guesses = [come_in(guarded, guess(ann, wrong)) for wrong in range(3 * MOST_FAILURES)]
    answers = await asyncio.gather(*guesses, *(come_in(guarded, ann.key) for _ in range(5)))
    assert {answer.status for answer in answers[:-5]} <= {401, 429}
    assert [answer.status for answer in answers[-5:]] == [201] * 5
    assert (await come_in(guarded, ann.key)).status == 201
    assert (await ann.get("/jobs")).status == 200


async def test_a_wrong_key_begins_no_transaction(guarded: Front) -> None:
    ann = await visitor(guarded)
    with statements_ran("api_keys") as about_keys:
        for wrong in range(2 * MOST_FAILURES):
            await come_in(guarded, guess(ann, wrong))
    assert not [one for one in about_keys if "FOR UPDATE" in one or "public_id = " in one]


def guess(of: Visitor, wrong: int) -> str:
    return f"curtsy_{of.key_id}_{wrong:064x}"


async def test_many_who_come_at_once_with_the_right_key_all_come_in(guarded: Front) -> None:
    ann = await visitor(guarded)
    answers = await asyncio.gather(*(come_in(guarded, ann.key) for _ in range(3 * MOST_FAILURES)))
    assert {answer.status for answer in answers} == {201}


async def test_many_guesses_at_once_get_no_further_than_one_by_one(
    guarded: Front, movable: MovableClock
) -> None:
    ann = await visitor(guarded)
    movable.advance(MINUTE - movable.monotonic() % MINUTE)
    guesses = [guess(ann, wrong) for wrong in range(3 * MOST_FAILURES)]
    answers = await asyncio.gather(*(come_in(guarded, guessed) for guessed in guesses))
    statuses = sorted(answer.status for answer in answers)
    assert statuses == [401] * MOST_FAILURES + [429] * 2 * MOST_FAILURES


@pytest.mark.parametrize("body", [{}, {"key": 1}, {"key": "x" * 201}, {"key": "x", "more": 1}])
async def test_what_is_no_key_is_refused(guarded: Front, body: dict[str, Any]) -> None:
    assert_problem(await guarded.ask("POST", "/session", json=body), 422, "bad_request")
