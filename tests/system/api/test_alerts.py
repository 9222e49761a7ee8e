"""Alerts at the API: what fires, the rules, mutes, channels without secrets, the live events."""

import json
from typing import Any

import pytest

from api.front import Front, assert_problem
from api.test_streams import followed, sse_events, stream
from api.visitors import visitor
from curtsy.alerts.builtin_rules import BUILTIN
from curtsy.alerts.channel import ChannelFields
from curtsy.alerts.evaluator import Evaluator
from curtsy.alerts.readings.reader import MetricReader
from curtsy.alerts.stored_channels import apply_channels
from curtsy.events import Place
from curtsy.frontier.worker_rows import WorkerRow, register
from curtsy.model.roles import Role
from curtsy.politeness.policy import Policy

SECRET = "https://hooks.example.com/services/T0/B0/s3cret"


async def declare(door: Front, **channels: dict[str, Any]) -> None:
    sections = {name: ChannelFields.model_validate(fields) for name, fields in channels.items()}
    now = door.engine.clock.now()
    await door.engine.store.write(lambda c: apply_channels(c, sections, now=now))


async def evaluate(door: Front) -> None:
    store, clock = door.engine.store, door.engine.clock
    reader = MetricReader(store=store, clock=clock, policy=Policy())
    assert await Evaluator(store=store, clock=clock, reader=reader).evaluate()


async def fire(door: Front) -> None:
    """Without a worker."""
    assert (await door.ask("PUT", "/alerts/rules/no_worker", json={"for": 0})).status == 200
    await evaluate(door)


async def resolve(door: Front) -> None:
    now = door.engine.clock.now()
    row = WorkerRow("w", "here", 1, "curtsy", slots=10)
    await door.engine.store.write(lambda c: register(c, row, lease_until=now + 60_000, now=now))
    await evaluate(door)


async def test_what_fires_is_told_with_what_to_do(door: Front) -> None:
    assert (await door.get("/alerts")).json == {
        "alerts": [], "firing": 0, "pending": 0, "evaluated_at": None}  # fmt: skip
    await fire(door)
    found = (await door.get("/alerts")).json
    [alert] = found["alerts"]
    assert (found["firing"], found["pending"], alert["phase"]) == (1, 0, "firing")
    assert alert["says"] == "The number of live workers is 0, below 1."
    assert "curtsy worker" in alert["to_do"]
    assert alert["severity"] == "critical"
    await resolve(door)
    [alert] = (await door.get("/alerts")).json["alerts"]
    assert (alert["phase"], alert["says"], alert["to_do"]) == (
        "resolved", "The number of live workers is 1 again.", None)  # fmt: skip
    assert (await door.get("/alerts?resolved_hours=0")).json["alerts"] == []


async def test_rules_are_changed_and_set_back(plain_door: Front) -> None:
    rules = {one["name"]: one for one in (await plain_door.get("/alerts/rules")).json["rules"]}
    assert rules.keys() == BUILTIN.keys()
    assert (rules["success_rate"]["below"], rules["ready_pages"]["above"]) == (80, 100)
    assert (rules["worker_memory"]["above"], rules["limit_use"]["above"]) == (500, 90)
    path = "/alerts/rules/worker_memory"
    changed = (await plain_door.ask("PUT", path, json={"above": 800, "for": 60})).json
    assert (changed["above"], changed["clear"], changed["for"]) == (800, 720, 60)
    assert changed["changed"] == {"above": 800, "for": 60}
    again = (await plain_door.ask("PUT", path, json={"below": 5})).json
    assert (again["above"], again["below"], again["clear"], again["for"]) == (None, 5, 5, 120)
    assert (await plain_door.delete(path)).json["message"] == "worker_memory is again as it came."
    assert (await plain_door.get(path)).json == rules["worker_memory"]
    own = {"metric": "source_success_rate", "below": 90, "only": ["shop.*"]}
    assert (await plain_door.ask("PUT", "/alerts/rules/shops", json=own)).json["about"] == "source"
    assert (await plain_door.delete("/alerts/rules/shops")).status == 200
    assert_problem(await plain_door.delete("/alerts/rules/shops"), 404, "not_found")


@pytest.mark.parametrize(("name", "body", "says"), [
    ("mine", {"above": 1}, "needs a metric"),
    ("Mine!", {"metric": "wal_size", "above": 1}, "not a valid name"),
    ("rules", {"metric": "wal_size", "above": 1}, "not a valid name"),
    ("mine", {"metric": "wal_size"}, "exactly one of above and below"),
    ("mine", {"metric": "wal_size", "above": 1, "below": 2}, "exactly one of above and below"),
    ("mine", {"metric": "wal_size", "above": 5, "clear": 6}, "clear (6) above its threshold (5)"),
    ("mine", {"metric": "wal_size", "above": 5, "only": ["a"]}, "it has one value"),
    ("success_rate", {"below": 120}, "success_rate is at most 100"),
    ("mine", {"metric": "success_rate", "below": 80, "clear": 101}, "success_rate is at most 100"),
    ("no_worker", {"metric": "wal_size"}, "give a rule on wal_size another name"),
    ("mine", {"metric": "wal_size", "above": 5, "channels": ["team"]}, "no channel 'team'"),
    ("mine", {"metric": "wal_size", "above": "NaN"}, "finite"),
    ("mine", {"metric": "wal_size", "above": 5, "hold": 5}, "hold"),
])  # fmt: skip
async def test_a_wrong_rule_is_refused_with_a_sentence(
    plain_door: Front, name: str, body: dict[str, Any], says: str
) -> None:
    answer = await plain_door.ask("PUT", f"/alerts/rules/{name}", json=body)
    assert_problem(answer, 422, "bad_request")
    assert says in json.dumps(answer.json)


async def test_a_mute_is_shown_and_ended(plain_door: Front) -> None:
    await fire(plain_door)
    muted = await plain_door.ask("POST", "/alerts/no_worker/mute", json={"seconds": 3600})
    assert muted.status == 200
    [alert] = (await plain_door.get("/alerts")).json["alerts"]
    assert alert["muted_until"] == muted.json["until"]
    rule = (await plain_door.get("/alerts/rules/no_worker")).json
    assert rule["muted_until"] == muted.json["until"]
    assert (await plain_door.ask("POST", "/alerts/no_worker/unmute", json={})).status == 200
    answer = await plain_door.ask("POST", "/alerts/no_worker/unmute", json={})
    assert_problem(answer, 409, "wrong_state")
    [alert] = (await plain_door.get("/alerts")).json["alerts"]
    assert alert["muted_until"] is None
    for body in ({}, {"seconds": 5, "until": "2030-01-01T00:00:00Z"}, {"until": "2030-01-01"}):
        answer = await plain_door.ask("POST", "/alerts/no_worker/mute", json=body)
        assert answer.status == 422
    for until in ("9999-12-31T23:59:59-14:00", "0001-01-01T00:00:00+14:00", "2020-01-01T00:00:00Z"):
        answer = await plain_door.ask("POST", "/alerts/no_worker/mute", json={"until": until})
        assert_problem(answer, 422, "bad_request")
    body = {"seconds": 5}
    answer = await plain_door.ask("POST", "/alerts/unknown/mute", json=body)
    assert_problem(answer, 404, "not_found")


async def test_channels_are_shown_without_secrets(door: Front) -> None:
    await declare(door, team={"kind": "slack", "url": SECRET},
                  mail={"kind": "mail", "host": "smtp.example.com", "username": "me",
                        "password": "s3cret", "from": "a@example.com",
                        "to": ["b@example.com"]})  # fmt: skip
    sent = await door.ask("POST", "/alerts/test", json={"channel": "team"})
    assert (sent.status, sent.json["state"], sent.json["test"]) == (202, "waiting", True)
    channels = {one["name"]: one for one in (await door.get("/alerts/channels")).json["channels"]}
    assert channels["team"]["leads_to"] == "https://hooks.example.com/***"
    assert channels["team"]["last"] == sent.json
    assert channels["mail"]["leads_to"] == "b@example.com by smtp.example.com:587"
    assert "s3cret" not in json.dumps(channels)
    answer = await door.ask("POST", "/alerts/test", json={"channel": "other"})
    assert_problem(answer, 404, "not_found")


async def test_alerts_are_events_and_a_client_that_resumes_misses_none(door: Front) -> None:
    async with stream(door, "/events") as reply:
        events = sse_events(reply)
        await followed(door)
        await fire(door)
        first = await anext(events)
        assert first["event"] == "alert"
        told = json.loads(first["data"])
        assert (told["rule"], told["phase"], told["id"]) == ("no_worker", "firing", "alert-1")
        await door.submit("http://127.0.0.1:9999/x")
        assert json.loads((await anext(events))["data"])["type"] == "job_update"
    await resolve(door)
    async with stream(door, "/events", first["id"]) as reply:
        events = sse_events(reply)
        both = [json.loads((await anext(events))["data"]) for _ in range(2)]
    assert {one["type"]: one.get("phase") for one in both} == {
        "job_update": None, "alert": "resolved"}  # fmt: skip


async def test_a_page_of_events_has_alerts_beside_them(door: Front) -> None:
    accept = {"Accept": "application/json"}
    last = (await door.ask("GET", "/events", headers=accept)).json["last"]
    assert Place.parse(last), "before the first alert it is the place alone"
    await fire(door)
    page = (await door.ask("GET", "/events", headers=accept | {"Last-Event-ID": last})).json
    assert [one["event"] for one in page["alerts"]] == ["alert_firing"]
    assert page["events"] == []
    again = await door.ask("GET", "/events", headers=accept | {"Last-Event-ID": page["last"]})
    assert again.json == {"events": [], "alerts": [], "last": page["last"]}
    wrong = await door.ask("GET", "/events", headers=accept | {"Last-Event-ID": "1-2+x"})
    assert wrong.status == 422


async def test_who_sees_only_own_jobs_learns_of_no_alert(door: Front) -> None:
    one = await visitor(door, role=Role.SUBMIT)
    operator = await visitor(door, role=Role.OPERATE)
    path = "/alerts/rules/no_worker"
    assert (await operator.ask("PUT", path, json={"for": 0})).status == 200
    await evaluate(door)
    accept = {"Accept": "application/json"}
    page = await one.ask("GET", "/events", headers=accept | {"Last-Event-ID": "0-0"})
    assert (page.json["alerts"], page.json["last"]) == ([], "0-0")
    assert "+" not in (await one.ask("GET", "/events", headers=accept)).json["last"]
    seen = await operator.ask("GET", "/events", headers=accept | {"Last-Event-ID": "0-0"})
    assert len(seen.json["alerts"]) == 1
