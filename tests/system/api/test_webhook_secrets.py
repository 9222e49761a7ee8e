"""Each user has a secret that signs its webhooks, and replaces it without a pause."""

import re
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from api.conftest import Site
from api.front import Front, assert_problem
from api.test_webhooks import Receiver, listening
from api.visitors import MovableClock, Visitor, visitor
from curtsy.clock import HOUR, SECOND
from curtsy.errors import WrongState
from curtsy.events.webhook_secrets import rotate_secret, signing_secret, signing_secrets
from curtsy.model.roles import Role
from curtsy.store import Store
from curtsy.worker import webhook_sender

GUIDE = Path(__file__).parents[3] / "docs/how-to/webhooks.md"
IsOurs = Callable[[str, str, bytes], bool]


@pytest.fixture(autouse=True)
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhook_sender, "POLL_SECONDS", 0.05)


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    async with listening() as listens:
        yield listens


@pytest.fixture(scope="module")
def is_ours() -> IsOurs:
    """As the guide shows it to receivers."""
    found: dict[str, Any] = {}
    [code] = re.findall(r"```python\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    exec(code, found)
    checks: IsOurs = found["is_ours"]
    return checks


async def told(by: Visitor, page: str, receiver: Receiver) -> tuple[str, bytes]:
    """The signature and the body that the receiver gets of a job of this visitor."""
    before = len(receiver.heard)
    body = {"articles": [{"url": page}], "webhook_url": receiver.url}
    made = await by.ask("POST", "/jobs/submit", json=body)
    assert made.status == 201, made
    await receiver.has_heard(before + 1)
    headers, said = receiver.heard[before]
    return headers["Curtsy-Signature"], said


async def secret_of(one: Visitor, query: str = "") -> str:
    shown = await one.get(f"/webhooks/secret{query}")
    assert shown.status == 200, shown
    return str(shown.json["secret"])


async def test_who_knows_ones_secret_cannot_sign_as_another(
    working: Front, site: Site, receiver: Receiver, is_ours: IsOurs
) -> None:
    ann, bob = await visitor(working), await visitor(working, "bob")
    page = site.fails("/gone", 410)
    hers, his = await secret_of(ann), await secret_of(bob)
    assert hers != his
    signed, body = await told(ann, page, receiver)
    assert (is_ours(hers, signed, body), is_ours(his, signed, body)) == (True, False)
    signed, body = await told(bob, page, receiver)
    assert (is_ours(hers, signed, body), is_ours(his, signed, body)) == (False, True)


async def test_only_admins_see_the_secrets_of_others(guarded: Front) -> None:
    ann, again = await visitor(guarded), await visitor(guarded)
    reader, boss = await visitor(guarded, "ann", Role.READ), await visitor(guarded, "b", Role.ADMIN)
    operator = await visitor(guarded, "op", Role.OPERATE)
    hers = await secret_of(ann)
    assert await secret_of(again, "?user=ann") == hers, "it is the user's, not the key's"
    assert await secret_of(boss, "?user=ann") == hers
    assert await secret_of(boss) != hers
    nobodys = await secret_of(boss, "?user=")
    assert nobodys not in (hers, await secret_of(boss))
    assert_problem(await reader.get("/webhooks/secret"), 403, "not_allowed")
    for query in ("?user=bob", "?user="):
        for one in (ann, operator):
            for method, path in (("GET", "/webhooks/secret"), ("POST", "/webhooks/secret/rotate")):
                refused = await one.ask(method, path + query, json={})
                assert_problem(refused, 403, "not_allowed")
    assert_problem(await ann.get("/webhooks/other"), 404, "not_found")


async def test_while_it_is_rotated_both_secrets_sign(
    working: Front, site: Site, receiver: Receiver, is_ours: IsOurs
) -> None:
    ann = await visitor(working)
    page = site.fails("/gone", 410)
    old = await secret_of(ann)
    assert (await told(ann, page, receiver))[0].count("v1=") == 1
    rotated = await ann.ask("POST", "/webhooks/secret/rotate", json={"grace_hours": 1})
    new = rotated.json["secret"]
    assert (rotated.status, await secret_of(ann)) == (200, new)
    assert new != old
    assert rotated.json["old_secret_until"].endswith("Z")
    signed, body = await told(ann, page, receiver)
    assert (is_ours(new, signed, body), is_ours(old, signed, body)) == (True, True)
    again = await ann.ask("POST", "/webhooks/secret/rotate", json={"grace_hours": 1})
    assert_problem(again, 409, "wrong_state")
    newest = await ann.ask("POST", "/webhooks/secret/rotate", json={"grace_hours": 0})
    assert newest.json["old_secret_until"] is None
    signed, body = await told(ann, page, receiver)
    assert [is_ours(one, signed, body) for one in (old, new, newest.json["secret"])] == [
        False, False, True,
    ]  # fmt: skip


async def test_the_old_secret_signs_until_its_grace_is_over(store: Store) -> None:
    def work(connection: Any) -> None:
        first = signing_secret(connection, "ann", now=0)
        second = rotate_secret(connection, "ann", grace=HOUR, now=SECOND)
        assert second.all == (second.secret, first.secret)
        late = SECOND + HOUR
        assert signing_secret(connection, "ann", now=late - 1) == second
        with pytest.raises(WrongState, match="within the grace"):
            rotate_secret(connection, "ann", grace=HOUR, now=late - 1)
        assert signing_secret(connection, "ann", now=late).all == (second.secret,)
        third = rotate_secret(connection, "ann", grace=HOUR, now=late)
        assert third.all == (third.secret, second.secret)
        found = signing_secrets(connection, ["ann", "bob", None], now=late)
        assert found["ann"] == third
        assert len({one.secret for one in found.values()}) == 3

    await store.write(work)


@pytest.mark.parametrize(
    "body", [{"grace_hours": -1}, {"grace_hours": 721}, {"grace_hours": "1"}, {"grace": 1}]
)
async def test_a_rotation_that_makes_no_sense_is_refused(
    guarded: Front, movable: MovableClock, body: Any
) -> None:
    ann = await visitor(guarded)
    before = await secret_of(ann)
    refused = await ann.ask("POST", "/webhooks/secret/rotate", json=body)
    assert_problem(refused, 422, "bad_request")
    assert await secret_of(ann) == before
