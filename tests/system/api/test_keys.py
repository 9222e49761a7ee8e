"""Keys: only their hashes are kept, and whoever comes without a valid one learns nothing."""

import pytest

from api.front import Front, assert_problem, front
from api.visitors import MovableClock, Visitor, revoke, rotate, visitor
from curtsy.access.keys import NewKey, create_key, list_keys
from curtsy.api.auth.access_rules import AccessRules
from curtsy.clock import HOUR, SECOND
from curtsy.errors import BadRequest, WrongState
from curtsy.model.roles import Role
from curtsy.store import Store
from support.engine import engine, until
from support.sql import statements_ran

PAGE = "http://example.com/"
UNKNOWN = f"curtsy_{'0' * 12}_{'0' * 64}"


async def test_a_key_is_known_by_its_hash_alone(guarded: Front) -> None:
    ann = await visitor(guarded)
    [row] = await guarded.engine.query("SELECT * FROM api_keys")
    secret = ann.key.split("_")[2]
    assert len(bytes.fromhex(secret)) * 8 == 256
    assert secret not in str(tuple(row))
    assert (await ann.get("/jobs")).status == 200


async def test_every_key_that_does_not_hold_gets_the_same_answer(
    guarded: Front, movable: MovableClock
) -> None:
    revoked = await visitor(guarded)
    expired = await visitor(guarded, expires_at=movable.now() + HOUR)
    await revoke(revoked)
    movable.advance(HOUR)
    holds = await visitor(guarded)
    wrong_secret = holds.key[:-1] + ("0" if holds.key[-1] != "0" else "1")
    wrong = (revoked.key, expired.key, UNKNOWN, wrong_secret, "", "curtsy", holds.key[:-1], "é")
    answers = [await guarded.get("/jobs")]
    answers += [await Visitor(guarded, key).get("/jobs") for key in wrong]
    for answer in answers:
        assert_problem(answer, 401, "key_needed")
        assert answer.headers["www-authenticate"] == "Bearer"
        assert answer.json == answers[0].json
    assert (await holds.get("/jobs")).status == 200


async def test_the_way_in_is_spelled_as_the_standard_has_it(guarded: Front) -> None:
    ann = await visitor(guarded)
    for said in (f"bearer {ann.key}", f"BEARER  {ann.key} "):
        answer = await guarded.ask("GET", "/jobs", headers={"Authorization": said})
        assert answer.status == 200
    for said in (ann.key, f"Basic {ann.key}", f"Bearer{ann.key}"):
        answer = await guarded.ask("GET", "/jobs", headers={"Authorization": said})
        assert_problem(answer, 401, "key_needed")


async def test_a_key_is_looked_up_once_a_second_and_revoked_within_one(
    guarded: Front, movable: MovableClock
) -> None:
    ann = await visitor(guarded)
    await ann.get("/jobs")
    movable.advance(SECOND)
    began = movable.monotonic()
    with statements_ran("api_keys") as looked:
        for _ in range(20):
            assert (await ann.get("/health")).status == 200
            assert (await ann.get("/jobs")).status == 200
    passed = (movable.monotonic() - began) // SECOND
    assert 1 <= len(looked) <= 2 + passed, "once, and for each second that the requests took"
    await revoke(ann)
    movable.advance(SECOND)
    assert_problem(await ann.get("/jobs"), 401, "key_needed")


async def test_the_first_key_closes_the_door_for_all_and_the_last_does_not_open_it_again(
    guarded: Front, movable: MovableClock
) -> None:
    assert (await guarded.submit(PAGE)).status == 201
    ann = await visitor(guarded)
    movable.advance(SECOND)
    assert_problem(await guarded.get("/jobs"), 401, "key_needed")
    assert (await guarded.get("/health")).status == 200
    await revoke(ann)
    movable.advance(SECOND)
    assert_problem(await guarded.get("/jobs"), 401, "key_needed")


async def test_with_open_access_nobody_needs_a_key_and_a_wrong_one_is_still_wrong(
    store: Store, movable: MovableClock
) -> None:
    everyone = AccessRules(is_private=False, open_access=True)
    async with front(store, engine(store, movable), access_rules=everyone) as door:
        ann = await visitor(door)
        assert (await door.get("/dead-letters")).status == 200
        assert_problem(await ann.ask("POST", "/dead-letters/retry", json={}), 403, "not_allowed")
        assert_problem(await Visitor(door, UNKNOWN).get("/jobs"), 401, "key_needed")


async def test_where_others_reach_it_nobody_comes_in_without_a_key(
    store: Store, movable: MovableClock
) -> None:
    async with front(
        store, engine(store, movable), access_rules=AccessRules(is_private=False)
    ) as door:
        assert_problem(await door.get("/jobs"), 401, "key_needed")


async def test_a_rotated_key_has_a_new_secret_and_the_old_one_ends(guarded: Front) -> None:
    old = await visitor(guarded)
    new = await rotate(old)
    assert new.key_id == old.key_id
    assert (await new.get("/jobs")).status == 200
    assert_problem(await old.get("/jobs"), 401, "key_needed")


async def test_a_rotation_may_leave_the_old_secret_a_while(
    guarded: Front, movable: MovableClock
) -> None:
    old = await visitor(guarded)
    new = await rotate(old, grace=HOUR)
    for one in (old, new):
        assert (await one.get("/jobs")).status == 200
    with pytest.raises(WrongState, match="within the grace of its last rotation until 20"):
        await rotate(new, grace=HOUR)
    movable.advance(HOUR - SECOND)
    assert (await old.get("/jobs")).status == 200, "it was promised"
    movable.advance(2 * SECOND)
    assert_problem(await old.get("/jobs"), 401, "key_needed")
    newest = await rotate(new, grace=HOUR)
    for one in (new, newest):
        assert (await one.get("/jobs")).status == 200


async def test_a_rotation_without_a_grace_ends_all_secrets_before_it(
    guarded: Front, movable: MovableClock
) -> None:
    old = await visitor(guarded)
    new = await rotate(old, grace=HOUR)
    newest = await rotate(new)
    movable.advance(SECOND)
    for one in (old, new):
        assert_problem(await one.get("/jobs"), 401, "key_needed")
    assert (await newest.get("/jobs")).status == 200


async def test_a_key_that_does_not_hold_is_neither_rotated_nor_revoked(guarded: Front) -> None:
    ann = await visitor(guarded)
    await revoke(ann)
    with pytest.raises(WrongState, match="is revoked"):
        await rotate(ann)
    with pytest.raises(WrongState, match="is revoked"):
        await revoke(ann)


async def test_when_a_key_was_used_is_known_to_the_hour(
    guarded: Front, movable: MovableClock
) -> None:
    ann = await visitor(guarded)

    async def used_at() -> int | None:
        [key] = await guarded.engine.store.read(list_keys)
        return key.used_at

    assert await used_at() is None
    with statements_ran("SET used_at") as notes:
        for _ in range(5):
            await ann.get("/jobs")
        await until(used_at, 10, lambda: "its use was not noted")
        first = await used_at()
        assert len(notes) == 1
        movable.advance(HOUR + SECOND)
        await ann.get("/jobs")

        async def later() -> bool:
            return await used_at() != first

        await until(later, 10, lambda: "its later use was not noted")


@pytest.mark.parametrize(
    "wrong",
    [NewKey("", Role.READ), NewKey("a:b", Role.READ), NewKey("a b", Role.READ),
     NewKey("x" * 101, Role.READ), NewKey("ann", Role.READ, name="x" * 301),
     NewKey("ann", Role.READ, pages_per_hour=0), NewKey("ann", Role.READ, open_jobs=2**31),
     NewKey("ann", Role.READ, expires_at=1)],
    ids=str,
)  # fmt: skip
async def test_a_key_that_makes_no_sense_is_not_made(guarded: Front, wrong: NewKey) -> None:
    with pytest.raises(BadRequest):
        await guarded.engine.store.write(lambda c: create_key(c, wrong, now=SECOND))
    assert await guarded.engine.store.read(list_keys) == []


async def test_a_job_belongs_to_the_keys_user_who_sees_no_others(guarded: Front) -> None:
    unowned = (await guarded.submit(PAGE)).json["id"]
    ann, bob = await visitor(guarded, "ann"), await visitor(guarded, "bob", Role.READ)
    again = await visitor(guarded, "ann", Role.READ)
    boss = await visitor(guarded, "boss", Role.OPERATE)
    made = [await ann.job(f"{PAGE}{n}") for n in range(3)]
    fetched = (await ann.ask("POST", "/jobs", json={"url": PAGE})).json["id"]
    owners = await guarded.engine.query("SELECT public_id, user_id FROM jobs")
    assert {row.public_id: row.user_id for row in owners} == {
        unowned: None, fetched: "ann", **dict.fromkeys(made, "ann"),
    }  # fmt: skip
    for one, seen in ((ann, [fetched, *made[::-1]]), (again, [fetched, *made[::-1]]), (bob, [])):
        listed = (await one.get("/jobs")).json
        assert [job.get("job_id") or job["id"] for job in listed["jobs"]] == seen
        assert listed["total"] == len(seen)
    assert (await boss.get("/jobs")).json["total"] == 5


async def test_ones_own_list_is_filtered_and_paged_as_any(guarded: Front) -> None:
    ann, bob = await visitor(guarded, "ann"), await visitor(guarded, "bob")
    made = []
    for n in range(6):
        body = {"articles": [{"url": f"{PAGE}{n}"}], "name": f"No {n}", "tags": [f"t{n % 2}"]}
        for one in (bob, ann):
            answer = await one.ask("POST", "/jobs/submit", json=body)
        made.append(answer.json["job_id"])
    await ann.ask("DELETE", f"/jobs/{made[1]}")
    for query, found in {
        "tag=t1": [5, 3, 1], "q=no+3": [3], "status_filter=cancelled": [1],
        "status_filter=IN_PROGRESS": [5, 4, 3, 2, 0], "tag=t1&status_filter=CANCELLED": [1],
        "limit=2&skip=1": [4, 3],
    }.items():  # fmt: skip
        listed = (await ann.get(f"/jobs?{query}")).json
        assert [job["job_id"] for job in listed["jobs"]] == [made[n] for n in found], query
    first = (await ann.get("/jobs?limit=4")).json
    rest = (await ann.get(f"/jobs?cursor={first['next_cursor']}")).json
    assert [job["job_id"] for job in rest["jobs"]] == made[1::-1]
    assert (first["total"], rest["total"]) == (6, 6)


async def test_an_idempotency_key_is_each_users_own(guarded: Front) -> None:
    ann, bob = await visitor(guarded, "ann"), await visitor(guarded, "bob")
    first, same, other = [
        (await one.submit(PAGE, Idempotency_Key="k")).json["job_id"] for one in (ann, ann, bob)
    ]
    assert first == same != other


async def test_a_probe_may_ask_for_the_head_alone(guarded: Front, movable: MovableClock) -> None:
    await visitor(guarded)
    movable.advance(SECOND)
    async with guarded.session.head(f"{guarded.url}/health") as reply:
        assert (reply.status, await reply.read()) == (200, b"")
    async with guarded.session.head(f"{guarded.url}/jobs") as reply:
        assert reply.status == 401
