"""`curtsy schedules` and `curtsy schedule`: jobs that come at their time, from the command line."""

import json
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Curtsy, complaints
from cli.running import running, wait_for
from cli.terminal import terminal
from cli.test_completion import _offered
from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.text import minutes_of, span
from curtsy.cli.views.schedule_preview import clash, overrun, page
from curtsy.cli.views.schedules import does, local, next_run
from curtsy.demo.process import PracticeProcess

PAGE = "https://a.example/1"
LATER = date(datetime.now(UTC).year + 4, 1, 1)
NEWS = ("schedules", "add", "news", "--every", "2h", "--fetch", PAGE)


@pytest.fixture
def news(curtsy: Curtsy) -> Any:
    return curtsy(*NEWS, "--json").json


@pytest.mark.parametrize(
    ("text", "minutes"),
    [("90m", 90), ("2h", 120), ("1d", 1440), ("45", 45), ("1d12h", 2160), ("1H 30 min", 90)],
)
def test_a_span_is_typed_as_people_say_it(text: str, minutes: int) -> None:
    assert minutes_of(text, "--every") == minutes


@pytest.mark.parametrize("text", ["", "soon", "1x", "-5", "2h30", "1.5h", "٣", "9" * 5000])
def test_what_is_no_span_is_said_to_be_none(text: str) -> None:
    with pytest.raises(WrongUsage, match="give a span such as 90m"):
        minutes_of(text, "--every")


def test_a_span_is_told_in_one_unit() -> None:
    assert [span(s) for s in (0, 59.6, 300, 7199, 9000, 60_000, 172_800, 10**7)] == [
        "0 s", "60 s", "5 min", "120 min", "2.5 h", "17 h", "2 d", "116 d"
    ]  # fmt: skip


def test_a_moment_is_told_as_a_clock_in_its_zone_shows_it() -> None:
    assert local("2026-03-29T01:00:00.000Z", "Europe/Berlin") == "Sun 2026-03-29 03:00 CEST"
    assert local("2026-03-29T01:00:00.000Z", "Nowhere/Known") == "Sun 2026-03-29 01:00 UTC"


def test_one_that_counts_from_an_end_says_so_while_it_runs() -> None:
    busy = {"state": "waiting", "after_end": True, "timezone": "UTC"}
    assert next_run(busy) == "after the current run"
    assert next_run(busy | {"next_run": "2020-01-01T00:00:00.000Z"}).endswith(", now")


def test_every_payload_is_told_in_words() -> None:
    assert does({"articles": {"articles": [{"url": PAGE}, {"url": "https://b.example/"}]}}) == (
        f"fetches 2 articles, {PAGE} and 1 more"
    )
    crawl = {"spider": "raw", "start_urls": [PAGE], "params": {"max_pages": 1}}
    assert does({"crawl": crawl}) == f"crawls {PAGE} to depth 0, 1 page at most (raw)"
    assert does({"duty": "cleanup"}) == "runs the maintenance task cleanup"
    assert does({"run": {"site_name": "board"}}) == "scrapes the site board"
    assert does({"something": {}}) == "something"


def test_add_makes_what_was_said(curtsy: Curtsy, tmp_path: Path) -> None:
    made = curtsy("schedules", "add", "blog", "--cron", "0 9 * * MON-FRI", "--timezone",
                  "Europe/Berlin", "--crawl", "https://a.example/", "--crawl", "https://b.example/",
                  "--spider", "raw", "--depth", "3", "--max-pages", "50", "--overlap", "queue-one",
                  "--catch-up", "none", "--catch-up-within", "2h", "--not-before",
                  f"{LATER}T00:00:00Z", "--paused", "--json").json  # fmt: skip
    said = {name: made[name] for name in ("cron", "timezone", "overlap", "catch_up", "state",
                                          "catch_up_minutes", "not_before")}  # fmt: skip
    assert said == {
        "cron": "0 9 * * MON-FRI", "timezone": "Europe/Berlin", "overlap": "queue_one",
        "catch_up": "none", "state": "paused", "catch_up_minutes": 120,
        "not_before": f"{LATER}T00:00:00.000Z",
    }  # fmt: skip
    assert made["payload"] == {"crawl": {
        "spider": "raw", "start_urls": ["https://a.example/", "https://b.example/"], "depth": 3,
        "params": {"max_pages": 50},
    }}  # fmt: skip
    every = curtsy("schedules", "add", "every", "--every", "90m", "--no-jitter", "--after-end",
                   "--duty", "cleanup", "--json").json  # fmt: skip
    assert (every["every_minutes"], every["jitter"], every["after_end"]) == (90, False, True)
    (tmp_path / "urls.txt").write_text(f"# two\n{PAGE}\nhttps://b.example/\n")
    files = curtsy("schedules", "add", "files", "--at", f"{LATER}T09:00:00Z", "--articles",
                   "urls.txt", "--json").json  # fmt: skip
    assert [a["url"] for a in files["payload"]["articles"]["articles"]] == [
        PAGE, "https://b.example/"
    ]  # fmt: skip
    (tmp_path / "payload.json").write_text(json.dumps({"fetch": {"url": PAGE, "priority": 2}}))
    anything = curtsy("schedules", "add", "any", "--every", "60", "--payload", "payload.json",
                      "--json").json  # fmt: skip
    assert anything["payload"] == {"fetch": {"url": PAGE, "priority": 2}}


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--fetch", PAGE), "Give one of --cron, --every and --at, to say when the schedule runs."),
        (
            ("--every", "2h"),
            "Give one of --fetch, --crawl, --feed, --sitemap, --articles, --duty and --payload",
        ),
        (
            ("--every", "2h", "--cron", "@daily", "--fetch", PAGE),
            "Give only one of --cron, --every and --at.",
        ),
        (
            ("--every", "2h", "--duty", "cleanup", "--fetch", PAGE),
            "Give only one of --fetch, --crawl",
        ),
        (("--every", "often", "--fetch", PAGE), "--every is 'often': give a span"),
        (("--every", "2h", "--fetch", PAGE, "--depth", "2"), "need --crawl, --feed or --sitemap."),
        (("--every", "2h", "--fetch", PAGE, "--country", "x"), "No such option: --country"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    curtsy: Curtsy, options: tuple[str, ...], sentence: str
) -> None:
    assert sentence in curtsy("schedules", "add", "x", *options).sentence(2)


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--cron", "0 9 * *", "--fetch", PAGE), "has 4 fields, but must have five"),
        (("--every", "0", "--fetch", PAGE), "The interval is 0"),
        (("--at", "2020-01-01T00:00:00Z", "--fetch", PAGE), "is in the past"),
        (("--cron", "@daily", "--timezone", "Mars/X", "--fetch", PAGE), "no time zone 'Mars/X'"),
        (("--every", "2h", "--overlap", "maybe", "--fetch", PAGE), "'queue_one'"),
        (
            ("--cron", "@daily", "--no-jitter", "--fetch", PAGE),
            "can only be used with --every",
        ),
        (("--every", "2h", "--duty", "peace"), "'cleanup'"),
        (("--every", "2h", "--fetch", "a.example"), "did you mean https://a.example?"),
        (("--every", "2h", "--payload", "nowhere.json"), "nowhere.json cannot be read"),
        (("--every", "2h", "--payload", "list.json"), "list.json is not a JSON payload"),
    ],
)
def test_what_is_refused_is_told_in_the_apis_sentence(
    curtsy: Curtsy, options: tuple[str, ...], sentence: str
) -> None:
    Path("list.json").write_text("[]")
    assert sentence in curtsy("schedules", "add", "x", *options).sentence()


def test_edit_changes_only_what_is_said(curtsy: Curtsy, news: Any) -> None:
    changed = curtsy("schedules", "edit", "news", "--every", "3h", "--overlap", "allow",
                     "--json").json  # fmt: skip
    assert (changed["every_minutes"], changed["overlap"]) == (180, "allow")
    assert changed["payload"] == news["payload"]
    renamed = curtsy("schedules", "edit", "news", "--name", "old", "--fetch", "https://b.example/",
                     "--paused", "--json").json  # fmt: skip
    assert (renamed["name"], renamed["state"], renamed["every_minutes"]) == ("old", "paused", 180)
    assert renamed["payload"] == {"fetch": {"url": "https://b.example/"}}
    assert "Give at least one option to change" in curtsy("schedules", "edit", "old").sentence(2)
    assert "this schedule is not one" in curtsy(
        "schedules", "edit", "old", "--depth", "2"
    ).sentence(2)
    curtsy("schedules", "edit", "old", "--crawl", PAGE, "--max-pages", "9")
    deeper = curtsy("schedules", "edit", "old", "--depth", "4", "--json").json["payload"]["crawl"]
    assert (deeper["depth"], deeper["params"], deeper["start_urls"]) == (
        4, {"max_pages": 9}, [PAGE]
    )  # fmt: skip


def next_change_of_clocks() -> date:
    """The last Sunday of next year's March, when Europe goes to summer time."""
    march = date(datetime.now(UTC).year + 1, 3, 31)
    return march - timedelta(days=march.isoweekday() % 7)


def test_it_is_shown_to_read(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    assert "no schedules yet" in curtsy("schedules", "list").out
    sunday = next_change_of_clocks()
    friday, saturday = sunday - timedelta(days=2), sunday - timedelta(days=1)
    cron = f"30 2 {saturday.day}-{sunday.day} 3 *"
    told = curtsy("schedules", "add", "night", "--cron", cron, "--timezone", "Europe/Berlin",
                  "--not-before", f"{friday}T00:00:00Z", "--fetch", PAGE)  # fmt: skip
    assert complaints(told.err) == [
        "No scheduler is up, so no schedule runs yet: `curtsy up` starts one."
    ]
    out = curtsy("schedules", "show", "night").out
    assert out.startswith(f"night\n  When        {cron} in Europe/Berlin\n")
    assert f"  Does        fetches {PAGE}\n" in out
    assert f"  Sat {saturday} 02:30 CET   {saturday} 01:30:00Z\n" in out
    assert f"  Sun {sunday} 03:00 CEST  {sunday} 01:00:00Z  clocks change on this day\n" in out
    assert out.endswith("\nNo slot has passed yet.\n")
    job = curtsy("schedules", "run", "night").out.strip()
    *_, ran, hint = curtsy("schedules", "show", "night").out.splitlines()
    assert ran.split()[4:] == ["by", "hand", "queued", job]
    assert hint == f"`curtsy logs {job}` shows what happened in a run."
    head, row = curtsy("schedules", "list").out.splitlines()
    assert head.split() == ["schedule", "when", "next", "run", "last", "run", "state"]
    assert row.split()[0] == "night"
    assert row.endswith(", queued  on"), row
    curtsy(*NEWS)
    assert "--limit shows them" in curtsy("schedules", "list", "--limit", "1").out


def test_a_duty_tells_what_it_did(curtsy: Curtsy) -> None:
    curtsy("schedules", "add", "tidy", "--cron", "@daily", "--duty", "cleanup")
    told = curtsy("schedules", "run", "tidy").out
    assert told.startswith("Deleted 0 jobs older than 30 days, and 0 records")
    assert curtsy("schedules", "show", "tidy").out.endswith(f"  done          {told}")
    assert curtsy("schedules", "list").out.endswith(", done  on\n")


def test_it_is_paused_resumed_and_removed(curtsy: Curtsy, news: Any) -> None:
    assert curtsy("schedules", "pause", "news").out.startswith("news is paused: ")
    assert "is paused already" in curtsy("schedules", "pause", "news").sentence()
    assert "  Next run  " in curtsy("schedules", "resume", news["id"]).out
    assert curtsy("schedules", "remove", "news").out == "news is removed.\n"
    for command in ("show", "pause", "run", "remove"):
        said = curtsy("schedules", command, "news").sentence()
        assert "no schedule 'news': see `curtsy schedules list`." in said


def test_on_a_terminal_it_asks_before_it_removes(curtsy: Curtsy, news: Any, tmp_path: Path) -> None:
    with terminal(tmp_path, "schedules", "remove", "news") as asked:
        asked.shows("Remove news (every 2 h ± 10 %)? [y/N]")
        asked.press(b"n\r")
        assert asked.ended() == 1
    assert curtsy("schedules", "show", "news").exit_code == 0
    with terminal(tmp_path, "schedules", "remove", "news", "--yes") as unasked:
        assert unasked.ended() == 0


def test_schedule_runs_what_is_on_now(curtsy: Curtsy, news: Any) -> None:
    curtsy("schedules", "add", "newspaper", "--every", "1d", "--fetch", "https://b.example/")
    curtsy("schedules", "add", "off", "--every", "1d", "--fetch", PAGE, "--paused")
    curtsy("schedules", "add", "tidy", "--every", "1d", "--duty", "cleanup")
    ran = curtsy("schedule", "--source", "newspaper", "--json").json
    assert [one["schedule"] for one in ran["queued"]] == ["newspaper"]
    told = curtsy("schedule", "--source", "news")
    assert told.exit_code == 1
    [line] = told.out.splitlines()
    job, _, name = line.partition(": ")
    assert name == "news"
    assert curtsy("status", job).exit_code == 0
    [_no_worker, busy] = complaints(told.err)
    assert busy.startswith("newspaper: Schedule newspaper is running as ")
    both = curtsy("schedule", "--json").json
    assert [one["schedule"] for one in both["refused"]] == ["news", "newspaper"]
    for name in ("off", "tidy"):
        assert f"No schedule of '{name}' can run" in curtsy("schedule", "--source", name).sentence()
    assert (
        "no schedule 'x': see `curtsy schedules" in curtsy("schedule", "--source", "x").sentence()
    )


def test_schedule_has_nothing_to_do_where_nothing_is_scheduled(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    assert "There is nothing to run" in curtsy("schedule").out
    assert curtsy("schedule", "--json").json == {"queued": [], "refused": []}


def test_plan_tells_what_is_scheduled(curtsy: Curtsy, tmp_path: Path) -> None:
    curtsy("db", "upgrade")
    assert "Nothing is scheduled" in curtsy("plan", "--next", "1d").out
    (tmp_path / "urls.txt").write_text("".join(f"https://a.example/{n}\n" for n in range(90)))
    for name, more in (("one", ("--overlap", "allow")), ("other", ())):
        curtsy("schedules", "add", name, "--cron", "* * * * *", "--articles", "urls.txt", *more)
    said = curtsy("plan", "--next", "90m")
    assert "No scheduler is up" in said.err
    assert "No worker is up" in said.err
    out = said.out
    head, _, table, headings, *rows = out.splitlines()
    assert ": 180 slots of 2 schedules, " in head
    assert table == "The busiest hours"
    assert headings.split() == ["source", "hour", "pages", "at", "most"]
    assert rows[0].split()[0] == "a.example"
    assert "  one and other use a.example at the same time: " in out
    assert "  one takes " in out
    assert "but its next slot comes after 60 s: the next slot runs beside it (" in out
    assert "the next slot is skipped (" in out
    found = curtsy("plan", "--next", "90m", "--json").json
    assert (found["slots_total"], len(found["clashes"])) == (180, 1)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("--next", "32d"), "--next is '32d': give a span of at most 31d."),
        (("--next", "0"), "give a span of at most 31d"),
        (("--next", "week"), "--next is 'week': give a span such as 90m"),
        (("--next", "7d", PAGE), "--next previews the schedules: give it without articles."),
    ],
)
def test_a_plan_of_the_schedules_has_bounds(
    curtsy: Curtsy, arguments: tuple[str, ...], sentence: str
) -> None:
    assert sentence in curtsy("plan", *arguments).sentence(2)


def test_a_plan_is_told_in_sentences() -> None:
    late = {"schedule": "blog", "first_at": "2026-03-29T01:00:00.000Z", "times": 1,
            "takes_seconds": None, "next_after_seconds": 3600, "overlap": "skip",
            "certain": True}  # fmt: skip
    assert overrun(late) == "blog does not end: a source that it uses is paused (1 slot)."
    may = late | {"takes_seconds": 9_000, "certain": False, "times": 3}
    assert overrun(may) == (
        "blog may take 2.5 h, but its next slot comes after 60 min: the next slot is skipped "
        "(3 slots, the first at 2026-03-29 01:00Z)."
    )
    both = {"source": "a.com", "schedules": ["a", "b"], "times": 1, "certain": False,
            "first_at": "2026-03-29T01:00:00.000Z"}  # fmt: skip
    assert (
        clash(both) == "a and b may use a.com at the same time: once, first at 2026-03-29 01:00Z."
    )
    calm = {"schedules": 1, "skipped": 0, "slots_total": 1, "until": "2026-03-29T01:00:00.000Z",
            "capped": True, "pages": 1, "pages_at_most": 9, "busiest": [], "clashes": [both] * 21,
            "overruns": []}  # fmt: skip
    told = list(page(calm))
    assert told[0] == ("Until 2026-03-29 01:00Z: 1 slot of 1 schedule; 1 page, or up to 9 where "
                       "links are followed.")  # fmt: skip
    assert "choose a shorter span" in told[1]
    assert told[-2:] == ["  and 1 more: --json has them",
                         "Every slot ends before the next one of its schedule."]  # fmt: skip


def test_their_names_are_offered(curtsy: Curtsy, news: Any, tmp_path: Path) -> None:
    assert _offered(tmp_path, "curtsy schedules show ne") == ["news"]
    assert _offered(tmp_path, "curtsy schedule --source n") == ["news"]


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_all_of_it_is_json_here_and_elsewhere(curtsy: Curtsy, tmp_path: Path, remote: bool) -> None:
    curtsy("db", "upgrade")
    with running(tmp_path, "api") as api:
        where = ("--url", api.url) if remote else ()

        def said(*command: str) -> Any:
            return curtsy(*command, "--json", *where).json

        for command in (
            NEWS, ("schedules", "edit", "news", "--every", "3h"), ("schedules", "pause", "news"),
            ("schedules", "resume", "news"),
        ):  # fmt: skip
            assert said(*command)["name"] == "news"
        assert said("schedules", "run", "news")["job_id"]
        assert len(said("schedules", "show", "news")["runs"]) == 1
        [listed] = said("schedules", "list")["schedules"]
        assert listed["last_outcome"] == "queued"
        assert len(said("schedule")["refused"]) == 1
        assert said("plan", "--next", "1d")["schedules"] == 1
        assert said("schedules", "remove", "news")["message"] == "news is removed."


def test_slots_fire_where_curtsy_is_up(
    quick: Curtsy, pages: PracticeProcess, tmp_path: Path
) -> None:
    with running(tmp_path, "up", max_retry_attempts=0):
        quick("schedules", "add", "soon", "--every", "1", "--after-end", "--fetch",
              pages.url(0, "/page/1"))  # fmt: skip

        def ran() -> Any:
            runs = quick("schedules", "show", "soon", "--json").json["runs"]
            return runs if runs and runs[0].get("status") == "completed" else None

        [run] = wait_for(ran, lambda: quick("schedules", "show", "soon").out)
        assert run["trigger"] == "schedule"
        again = quick("schedules", "run", "soon", "--wait")
        assert again.exit_code == 0, again
        assert again.out.splitlines()[-1].endswith(": completed")
