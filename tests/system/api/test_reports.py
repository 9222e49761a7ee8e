"""Reports at the API: made, listed, read as JSON and as a page, and looked at in a browser."""

import json
import re

import pytest

from api.conftest import Site
from api.front import Front, assert_problem
from curtsy.reports.html.style import STYLE_SOURCE
from curtsy.reports.report import from_json, to_json
from curtsy.reports.stored_reports import store_report
from support.browser import Browser, browser, chromium
from support.sample_report import sample_report

STORY = b"<html><title>A story</title><body><article>" + b"<p>Once upon a time. </p>" * 20
IDENTIFIER = re.compile(r"rep_[0-9a-f]{12}")
PHONE = {"width": 360, "height": 740, "deviceScaleFactor": 1, "mobile": True}


async def text(door: Front, path: str, **headers: str) -> tuple[str, dict[str, str]]:
    async with door.session.get(door.url + path, headers=headers) as reply:
        assert reply.status == 200
        return await reply.text(), {name.lower(): value for name, value in reply.headers.items()}


async def test_a_report_tells_of_what_was_fetched(working: Front, site: Site) -> None:
    urls = [site.has(f"/{n}", STORY, "text/html") for n in range(3)]
    body = {"articles": [{"url": url} for url in [*urls, site.fails("/gone", 404)]]}
    job = (await working.ask("POST", "/jobs/submit", json=body)).json["job_id"]
    await working.engine.ended(job)
    made = await working.ask("POST", "/reports?hours=1")
    assert made.status == 201
    assert made.headers["location"] == f"/reports/{made.json['id']}"
    figures = made.json["figures"]
    assert (figures["succeeded"], figures["failed"], figures["success_rate"]) == (3, 1, 0.75)
    assert [line["kind"] for line in made.json["failures"]] == ["gone"]
    assert [line["failed"] for line in made.json["failing"]] == [1]
    assert made.json["courtesy"]["requests"] >= 4
    assert made.json["workers_alive"] == 1
    for path in ("/reports/latest", f"/reports/{made.json['id']}"):
        assert (await working.get(path)).json == made.json
    page, _headers = await text(working, "/reports/latest", Accept="text/html,*/*")
    assert "75.0\N{NO-BREAK SPACE}%" in page


async def test_a_list_goes_on_where_it_ended(plain_door: Front) -> None:
    assert (await plain_door.get("/reports")).json == {"reports": [], "limit": 50}
    made = [(await plain_door.ask("POST", "/reports")).json["id"] for _ in range(3)]
    first = (await plain_door.get("/reports?limit=2")).json
    [row, _] = first["reports"]
    assert IDENTIFIER.fullmatch(row.pop("id"))
    assert row.keys() == {"trigger", "at", "since", "until", "ended", "failed"}
    second = (await plain_door.get(f"/reports?limit=2&cursor={first['next_cursor']}")).json
    assert "next_cursor" not in second
    found = (await plain_door.get("/reports")).json["reports"]
    assert [one["id"] for one in found] == made[::-1]
    assert second["reports"] == found[2:]


async def test_what_is_not_there_or_out_of_bounds_is_refused(plain_door: Front) -> None:
    nothing = await plain_door.get("/reports/latest")
    assert_problem(nothing, 404, "not_found")
    assert "generate-report" in nothing.json["detail"]
    assert_problem(await plain_door.get("/reports/rep_nosuch"), 404, "not_found")
    for query in ("hours=0", "hours=8761", "hours=x", "days=1"):
        assert_problem(await plain_door.ask("POST", f"/reports?{query}"), 422, "bad_request")
    for query in ("limit=0", "limit=1001", "cursor=-1", "cursor=x"):
        assert_problem(await plain_door.get(f"/reports?{query}"), 422, "bad_request")
    await plain_door.ask("POST", "/reports")
    assert_problem(await plain_door.get("/reports/latest?format=pdf"), 422, "bad_request")


@pytest.mark.parametrize(
    ("query", "accept", "media_type"),
    [("", "*/*", "application/json"), ("", "text/html", "text/html; charset=utf-8"),
     ("?format=json", "text/html", "application/json"),
     ("?format=html", "application/json", "text/html; charset=utf-8")],
)  # fmt: skip
async def test_the_form_is_negotiated(
    plain_door: Front, query: str, accept: str, media_type: str
) -> None:
    await plain_door.ask("POST", "/reports")
    body, headers = await text(plain_door, f"/reports/latest{query}", Accept=accept)
    assert headers["content-type"] == media_type
    if "html" in media_type:
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'")
        assert policy.endswith(STYLE_SOURCE)
    else:
        assert to_json(from_json(body.encode())) == body.encode()


async def test_the_duty_makes_a_report(plain_door: Front) -> None:
    body = {"name": "reports", "every_minutes": 360, "payload": {"duty": "reports"}}
    made = await plain_door.ask("POST", "/schedules", json=body)
    assert made.status == 201, made
    assert "note" not in made.json
    ran = (await plain_door.ask("POST", "/schedules/reports/run")).json
    assert re.match(r"Report rep_\w+ on 6 hours: 0 pages ended\.", ran["message"])
    [row] = (await plain_door.get("/reports")).json["reports"]
    assert row["trigger"] == "schedule"


async def _background(chrome: Browser, media: str) -> str:
    """The page's background where the system is dark."""
    dark = [{"name": "prefers-color-scheme", "value": "dark"}]
    await chrome._call("Emulation.setEmulatedMedia", media=media, features=dark)
    return str(await chrome.run("getComputedStyle(document.body).backgroundColor"))


@pytest.mark.skipif(chromium() is None, reason="LEFT OUT: there is no Chromium")
async def test_a_browser_shows_a_report_and_loads_nothing_else(plain_door: Front) -> None:
    """On a phone it is as wide as the screen; the policies allow everything that it has."""
    report = sample_report()
    await plain_door.engine.store.write(lambda c: store_report(c, report))
    async with browser() as chrome:
        await chrome._call("Emulation.setDeviceMetricsOverride", **PHONE)
        await chrome._call(
            "Page.addScriptToEvaluateOnNewDocument",
            source="window.refused = [];"
            "addEventListener('securitypolicyviolation', e => refused.push(e.violatedDirective))",
        )
        await chrome.go(f"{plain_door.url}/reports/{report.id}?format=html")
        found = json.loads(await chrome.run(
            "JSON.stringify({wide: document.documentElement.scrollWidth, "
            "title: document.title, refused: window.refused,"
            "loaded: performance.getEntriesByType('resource').map(e => e.name),"
            "styled: getComputedStyle(document.querySelector('.cards')).display,"
            "bars: document.querySelectorAll('.chart rect.good').length,"
            "tall: document.querySelector('.chart').getBoundingClientRect().height,"
            "size: parseFloat(getComputedStyle(document.querySelector('.tick')).fontSize)})"
        ))  # fmt: skip
        backgrounds = [await _background(chrome, media) for media in ("screen", "print")]
    assert backgrounds == ["rgb(18, 23, 30)", "rgb(255, 255, 255)"], "paper is white, also at night"
    assert found.pop("title").startswith("Operations report, 18 Nov 2026")
    assert found == {"wide": 360, "refused": [], "loaded": [], "styled": "grid",
                     "bars": len(report.series), "tall": 204, "size": 11}  # fmt: skip
