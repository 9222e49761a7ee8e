"""`curtsy sources`, `curtsy rate-limits`, and the file of sources at the start of a process."""

from pathlib import Path
from typing import Any

import pytest

from cli.conftest import Curtsy
from cli.running import ask, running
from cli.test_completion import _offered
from curtsy.demo.process import PracticeProcess

EXAMPLE = Path(__file__).parents[3] / "src/curtsy/demo/examples/travel/sources.toml"
NEWS = ("sources", "set", "news", "--hosts", "a.example,b.example")


@pytest.fixture
def news(curtsy: Curtsy) -> Any:
    return curtsy(*NEWS, "--min-delay", "2", "--json").json


def test_set_makes_a_source_and_changes_it(curtsy: Curtsy, news: Any) -> None:
    assert (news["hosts"], news["said"]) == (["a.example", "b.example"], {"min_delay_seconds": 2})
    told = curtsy("sources", "set", "news", "--requests-per-hour", "60", "--burst", "10",
                  "--max-delay", "5", "--concurrency", "2", "--hours", "9-17:30", "--slowdown", "2",
                  "--timezone", "Europe/London", "--max-retries", "1", "--timeout", "20",
                  "--robots", "ignore", "--user-agent", "me", "--header", "Accept-Language: de",
                  "--proxy", "http://me:hush@p.example:80", "--disabled", "--json")  # fmt: skip
    assert "hush" not in told.out
    hours = {"start": "09:00", "end": "17:30", "timezone": "Europe/London", "slowdown": 2,
             "closed": False}  # fmt: skip
    assert told.json["said"] == {
        "min_delay_seconds": 2, "max_delay_seconds": 5, "requests_per_hour": 60, "burst_limit": 10,
        "concurrency": 2, "respectful_hours": hours, "max_retries": 1, "timeout": 20,
        "robots": "ignore", "user_agent": "me", "headers": {"Accept-Language": "***"},
        "proxy": "http://me:***@p.example:80", "enabled": False,
    }  # fmt: skip
    several = curtsy("sources", "set", "news", "--proxy", "socks5://me:hush@p.example:80",
                     "--proxy", "https://q.example:80")  # fmt: skip
    assert "Proxy             socks5://me:***@p.example:80, https://q.example:80" in several.out
    none = curtsy("sources", "set", "news", "--reset", "proxy", "--json").json
    assert not {"proxy", "proxies"} & none["said"].keys()
    back = curtsy("sources", "set", "news", "--reset", "burst", "--reset", "hours", "--enabled",
                  "--json").json  # fmt: skip
    assert not {"burst_limit", "respectful_hours", "enabled"} & back["said"].keys()
    assert back["paused"] is False


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), "Give at least one option to change"),
        (("--hours", "9-17"), "--hours needs one of --slowdown and --closed."),
        (("--hours", "9-17", "--closed", "--slowdown", "2"), "needs one of"),
        (("--hours", "daytime", "--closed"), "--hours is 'daytime': give two times of day"),
        (("--timezone", "UTC"), "--timezone, --slowdown and --closed need --hours."),
        (("--reset", "colour"), "--reset takes requests-per-hour, "),
        (("--reset", "burst", "--burst", "2"), "--burst is both given and reset."),
        (("--header", "Accept"), "A --header is a name and a value"),
    ],
)
def test_what_makes_no_sense_is_wrong_usage(
    curtsy: Curtsy, options: tuple[str, ...], sentence: str
) -> None:
    assert sentence in curtsy("sources", "set", "news", *options).sentence(2)


def test_what_the_api_refuses_is_told(curtsy: Curtsy, news: Any) -> None:
    assert "hosts" in curtsy("sources", "set", "other", "--min-delay", "2").sentence()
    said = curtsy("sources", "set", "news", "--hours", "9-17", "--closed", "--timezone", "X/Y")
    assert "there is no time zone 'X/Y'" in said.sentence()
    assert "see `curtsy sources list`" in curtsy("sources", "show", "nobody").sentence()


def test_it_is_shown_to_read(curtsy: Curtsy, news: Any) -> None:
    curtsy("submit", "http://a.example/1")
    curtsy("submit", "http://c.example/1")
    out = curtsy("sources", "show", "news").out
    assert out.startswith("news\n")
    for words in ("Hosts             a.example, b.example", "Waiting           1 page",
                  "Delay             2 s\n", "Concurrency       1 (default)"):  # fmt: skip
        assert words in out
    assert curtsy("sources", "show", "c.example").out.startswith("c.example (not described)")
    lines = curtsy("sources", "list").out.splitlines()
    assert [line.split()[0] for line in lines] == ["source", "c.example", "news"]
    assert "c.example" not in curtsy("sources", "list", "--described").out
    assert "--limit shows them" in curtsy("sources", "list", "--limit", "1").out


def test_it_is_paused_resumed_and_removed(curtsy: Curtsy, news: Any) -> None:
    assert curtsy("sources", "pause", "news").out == "news is paused: 0 pages wait.\n"
    assert "paused" in curtsy("sources", "list").out
    assert "news is paused already" in curtsy("sources", "pause", "news").sentence()
    assert curtsy("sources", "resume", "news").out == "news is resumed: 0 pages wait.\n"
    assert "news is removed" in curtsy("sources", "remove", "news").out
    assert "no described source 'news'" in curtsy("sources", "remove", "news").sentence()
    assert "news" not in curtsy("sources", "list").out, "nothing of it is left"
    assert "list its hosts" in curtsy("sources", "set", "news", "--min-delay", "9").sentence()


def test_a_file_is_applied_and_nothing_else_is_touched(curtsy: Curtsy, news: Any) -> None:
    told = curtsy("sources", "apply", str(EXAMPLE))
    assert told.out.startswith("3 sources described:\n")
    listed = curtsy("sources", "list", "--json").json["sources"]
    assert [one["name"] for one in listed] == [
        "canada_travel", "news", "uk_foreign_office", "us_state_dept"
    ]  # fmt: skip
    limits = curtsy("rate-limits", "--json").json["rate_limits"]
    assert {one["source"]: one["requests_per_hour"] for one in limits} == {
        "canada_travel": 100, "news": None, "uk_foreign_office": 120, "us_state_dept": 60
    }  # fmt: skip
    Path("wrong.toml").write_text("[a]\nmin_delay = 1\n")
    sentence = curtsy("sources", "apply", "wrong.toml").sentence()
    assert "In wrong.toml, [a] has no field 'min_delay'" in sentence
    assert "There is no file" in curtsy("sources", "apply", "nowhere.toml").sentence()


def test_rate_limits_are_told_in_columns(curtsy: Curtsy, news: Any) -> None:
    curtsy("sources", "set", "news", "--requests-per-hour", "60")
    curtsy("submit", "http://c.example/1")
    head, *rows = curtsy("rate-limits").out.splitlines()
    assert head.split() == ["source", "limit/h", "used", "utilisation", "delay", "next", "start",
                            "now"]  # fmt: skip
    assert [row.split() for row in rows] == [
        ["c.example", "none", "1", "s", "now", "ready"],
        ["news", "60", "0", "0%", "2", "s", "now", "ready"],
    ]
    one = curtsy("rate-limits", "--source", "news", "--json").json["rate_limits"]
    assert [(row["source"], row["utilisation"]) for row in one] == [("news", 0)]
    assert "see `curtsy sources list`" in curtsy("rate-limits", "--source", "x").sentence()


def test_hours_that_are_on_are_told(curtsy: Curtsy, news: Any) -> None:
    for hours in ("0-12", "12-24"):
        curtsy("sources", "set", "news", "--hours", hours, "--slowdown", "3")
        out = curtsy("rate-limits").out
        if "slow until" in out:
            assert " 6 s " in out
            break
    else:
        pytest.fail("it is always before noon or after")


def test_their_names_are_offered(curtsy: Curtsy, news: Any, tmp_path: Path) -> None:
    assert _offered(tmp_path, "curtsy sources show ne") == ["news"]
    assert _offered(tmp_path, "curtsy rate-limits --source n") == ["news"]


@pytest.mark.parametrize("remote", [False, True], ids=["local", "remote"])
def test_all_of_it_is_json_here_and_elsewhere(curtsy: Curtsy, tmp_path: Path, remote: bool) -> None:
    curtsy("db", "upgrade")
    with running(tmp_path, "api") as api:
        where = ("--url", api.url) if remote else ()
        for command in (
            (*NEWS,), ("sources", "show", "news"), ("sources", "pause", "news"),
            ("sources", "resume", "news"), ("sources", "remove", "news"),
        ):  # fmt: skip
            assert curtsy(*command, "--json", *where).json["name"] == "news"
        applied = curtsy("sources", "apply", str(EXAMPLE), "--json", *where).json
        assert len(applied["sources"]) == 3
        assert len(curtsy("sources", "list", "--json", *where).json["sources"]) == 5
        limits = curtsy("rate-limits", "--json", *where).json["rate_limits"]
        assert len(limits) == 5


@pytest.mark.parametrize("role", ["up", "api", "worker", "scheduler"])
def test_every_role_applies_the_file_and_refuses_a_wrong_one(
    curtsy: Curtsy, tmp_path: Path, role: str
) -> None:
    curtsy("db", "upgrade")
    file = tmp_path / "sources.toml"
    file.write_text("[news]\nhosts = ['a.example']\nmin_delay_seconds = 7\n")
    with running(tmp_path, role) as process:
        applied = process.said("sources_applied")
        assert (applied["described"], applied["forgotten"]) == (["news"], [])
        assert process.stop() == 0
    assert curtsy("sources", "show", "news", "--json").json["said"] == {"min_delay_seconds": 7}
    file.write_text("[news]\nmin_delay = 7\n")
    wrong = "In sources.toml, [news] has no field 'min_delay'"
    assert wrong in curtsy(role).sentence()
    assert "There is no file" in curtsy(role, sources_file="other.toml").sentence()


def test_config_check_reads_the_file(curtsy: Curtsy, tmp_path: Path) -> None:
    assert "describes" not in curtsy("config", "check").out
    (tmp_path / "sources.toml").write_text(EXAMPLE.read_text())
    assert "sources.toml describes 3 sources." in curtsy("config", "check").out
    assert curtsy("config", "check", "--json").json
    (tmp_path / "sources.toml").write_text("[x]\nhosts = []")
    assert "In sources.toml, [x] hosts: " in curtsy("config", "check").sentence()


@pytest.mark.usefixtures("one_day")
def test_scrape_keeps_to_the_file(quick: Curtsy, pages: PracticeProcess, tmp_path: Path) -> None:
    host = pages.url(0, "/").split("/")[2]
    (tmp_path / "sources.toml").write_text(f"['{host}']\nmin_delay_seconds = 0.7\n")
    quick("scrape", pages.url(0, "/page/71"), pages.url(0, "/page/72"), "-q")
    found = quick("sources", "show", host, "--json").json
    assert found["described"]
    assert found["today"]["smallest_gap_seconds"] >= 0.7


def test_a_policy_that_is_changed_elsewhere_is_heard_of(tmp_path: Path) -> None:
    (tmp_path / "sources.toml").write_text("[news]\nhosts = ['a.example']\n")
    with running(tmp_path, "up") as up:
        ask("PATCH", f"{up.url}/sources/news", {"min_delay_seconds": 9})
        assert up.stop() == 0
    with running(tmp_path, "up") as up:
        said = ask("GET", f"{up.url}/sources/news").json["said"]
        assert said == {"min_delay_seconds": 9}, "the file is as it was, so this stays"
        assert up.stop() == 0


def test_a_receipt_tells_what_the_site_had(curtsy: Curtsy, news: Any) -> None:
    out = curtsy("sources", "receipt", "news").out
    assert "a.example, b.example" in out
    assert "total" in out
    found = curtsy("sources", "receipt", "news", "--days", "3", "--json").json
    assert (found["days"], found["total"]["requests"]) == ([], 0)
    assert found["promised_gap_seconds"] == 2
    assert "There is no source" in curtsy("sources", "receipt", "nobody").sentence(1)
