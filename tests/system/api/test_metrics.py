"""Figures for a monitoring system, read back by its own parser."""

from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

from api.conftest import Site
from api.front import Front
from api.stage import Stage
from curtsy.api.exposition import MEDIA_TYPE, Family, exposition
from curtsy.history.steps import HistorySteps

Figures = dict[tuple[str, tuple[tuple[str, str], ...]], float]


def parsed(text: str) -> Figures:
    found: Figures = {}
    for family in text_string_to_metric_families(text):
        for sample in family.samples:
            assert family.documentation
            assert family.type in ("gauge", "counter", "histogram")
            key = (sample.name, tuple(sorted(sample.labels.items())))
            assert key not in found
            found[key] = sample.value
    return found


async def figures(door: Front) -> Figures:
    async with door.session.get(f"{door.url}/metrics") as answer:
        assert (answer.status, answer.headers["Content-Type"]) == (200, MEDIA_TYPE)
        return parsed(await answer.text())


def of(found: Figures, name: str, **labels: str) -> Any:
    return found.get((name, tuple(sorted(labels.items()))))


def test_values_and_labels_come_through_as_they_are() -> None:
    odd = 'a "quoted"\\name\nof two lines'
    text = exposition([
        Family("one", "Many.").add(123_456_789, of=odd).add(0.1 + 0.2, of="b").add(True, of="c"),
        Family("none", "Of which nothing is known.").add(None),
        Family("bare_total", "Without labels.", "counter").add(2**53),
    ])  # fmt: skip
    assert parsed(text) == {
        ("one", (("of", odd),)): 123_456_789,
        ("one", (("of", "b"),)): 0.1 + 0.2,
        ("one", (("of", "c"),)): 1,
        ("bare_total", ()): 2**53,
    }


async def test_the_figures_of_an_idle_system(door: Front) -> None:
    found = await figures(door)
    for name in ("workers", "worker_slots", "in_flight", "schedulers", "slots_fired"):
        assert of(found, f"curtsy_{name}") == 0
    for band in ("high", "medium", "low"):
        assert of(found, "curtsy_queue_waiting", band=band) == 0
        assert of(found, "curtsy_queue_oldest_wait_seconds", band=band) == 0
    assert not [name for name, _labels in found if "lag" in name or "fetch_seconds" in name]


@pytest.mark.usefixtures("one_day")
async def test_the_figures_after_some_work(working: Front, site: Site) -> None:
    url = site.has("/1", b"one page", "text/plain")
    host = url.removeprefix("http://").partition("/")[0]
    said = {"hosts": [host], "requests_per_hour": 40, "burst_limit": 10, "min_delay_seconds": 0}
    assert (await working.ask("PUT", "/sources/ours", json=said)).status == 201
    for one in (url, site.fails("/2", 404)):
        await working.ended((await working.submit(one)).json["id"])
    found, source = await figures(working), (await working.get("/sources/ours")).json
    assert of(found, "curtsy_workers") == 1
    assert of(found, "curtsy_pages_per_minute") == 2
    assert of(found, "curtsy_success_ratio") == 0.5
    assert 0 <= of(found, "curtsy_fetch_seconds", quantile="0.99") < 5
    assert of(found, "curtsy_source_requests_total", source="ours") == source["today"]["requests"]
    assert of(found, "curtsy_source_hourly_limit", source="ours") == 40
    assert of(found, "curtsy_source_hourly_used", source="ours") == source["used_this_hour"] == 2
    assert of(found, "curtsy_source_utilisation_ratio", source="ours") == 0.05
    assert of(found, "curtsy_source_paused", source="ours") == 0


async def test_what_waits_where_it_waits(door: Front) -> None:
    for priority in (1, 5, 5, 10):
        await door.submit(f"https://a.example/{priority}", priority=priority)
    await door.ask("PUT", "/sources/a.example", json={})
    await door.ask("POST", "/sources/a.example/pause")
    found = await figures(door)
    assert of(found, "curtsy_source_waiting", source="a.example") == 3
    assert of(found, "curtsy_source_paused", source="a.example") == 1
    assert of(found, "curtsy_queue_waiting", band="medium") == 1


async def test_how_late_slots_fired(stage: Stage) -> None:
    stage.at("2026-03-27T12:00:30Z")
    fetch = {"fetch": {"url": "https://a.example/"}}
    plan = {"cron": "* * * * *", "overlap": "allow", "payload": fetch}
    for n in range(20):
        made = await stage.door.ask("POST", "/schedules", json=plan | {"name": f"n{n}"})
        assert made.status == 201, made
    stage.at("2026-03-27T12:01:00Z")
    await stage.door.ask("POST", "/scheduler/run")
    found = await figures(stage.door)
    assert of(found, "curtsy_slots_fired") == 20
    assert of(found, "curtsy_slots_late") == 0
    stage.at("2026-03-27T12:02:07Z")
    await stage.door.ask("POST", "/scheduler/run")
    found = await figures(stage.door)
    assert (of(found, "curtsy_slots_fired"), of(found, "curtsy_slots_late")) == (40, 20)
    lag = "curtsy_schedule_lag_seconds"
    assert [of(found, lag, quantile=part) for part in ("0.5", "0.95", "1")] == [0, 7, 7]
    assert of(found, "curtsy_schedules", enabled="true") == 20


@pytest.mark.usefixtures("one_day")
async def test_counters_and_histograms_count_each_request_once(working: Front, site: Site) -> None:
    url = site.has("/1", b"one page", "text/plain")
    host = url.removeprefix("http://").partition("/")[0]
    said = {"hosts": [host], "min_delay_seconds": 0}
    assert (await working.ask("PUT", "/sources/ours", json=said)).status == 201
    for one in (url, site.has("/2", b"another", "text/plain"), site.fails("/3", 404)):
        await working.ended((await working.submit(one)).json["id"])
    kept = HistorySteps(store=working.engine.store, clock=working.engine.clock)
    await kept.fold_all()
    found = await figures(working)
    assert of(found, "curtsy_attempts_total", outcome="fetched", kind="") == 2
    assert of(found, "curtsy_attempts_total", outcome="failed", kind="gone") == 1
    assert of(found, "curtsy_pages_total", result="succeeded", band="medium") == 2
    assert of(found, "curtsy_pages_total", result="failed", band="medium") == 1
    assert of(found, "curtsy_source_attempts_total", source="ours", outcome="fetched") == 2
    assert of(found, "curtsy_dead_letters_total") == 1
    assert of(found, "curtsy_dead_letters_open", kind="gone") == 1
    assert of(found, "curtsy_ready_pages") == 0
    for name in ("fetch", "wait"):
        whole = f"curtsy_{name}_duration_seconds"
        assert of(found, f"{whole}_bucket", le="+Inf") == of(found, f"{whole}_count") == 3
        buckets = [v for (n, _labels), v in found.items() if n == f"{whole}_bucket"]
        assert buckets == sorted(buckets), "each includes those below"
    waited = [of(found, "curtsy_wait_seconds_total", reason=reason)
              for reason in ("capacity", "politeness", "closed", "backoff")]  # fmt: skip
    assert sum(waited) == pytest.approx(of(found, "curtsy_wait_duration_seconds_sum"))
