"""The file of sources: what is in it counts, and what is wrong in it is told in sentences."""

import re
from pathlib import Path

import pytest

from curtsy.config import load, read_sources
from curtsy.config.sources_file import sections_of
from curtsy.errors import BadSetting
from curtsy.politeness.hours import Hours
from curtsy.politeness.policy import Policy

GUIDE = Path(__file__).parents[3] / "docs/how-to/be-polite-to-a-site.md"
EXAMPLE = Path(__file__).parents[3] / "examples/travel_advisories.toml"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def _refused(text: str) -> str:
    Path("sources.toml").write_text(text)
    with pytest.raises(BadSetting) as refused:
        read_sources(load())
    return str(refused.value)


@pytest.mark.parametrize(
    ("name", "hosts", "limit", "burst", "delay", "timezone"),
    [
        ("us_state_dept", ["travel.state.gov"], 60, 10, 1_500, "America/New_York"),
        ("uk_foreign_office", ["gov.uk"], 120, 15, 1_000, "Europe/London"),
        ("canada_travel", ["travel.gc.ca"], 100, 12, 1_200, "America/Toronto"),
    ],
)
def test_the_example_has_the_documents_numbers(
    name: str, hosts: list[str], limit: int, burst: int, delay: int, timezone: str
) -> None:
    sections = sections_of(EXAMPLE, Policy())
    assert len(sections) == 3
    assert sections[name].hosts == hosts
    policy = Policy().with_overrides(sections[name].overrides())
    assert (policy.requests_per_hour, policy.burst_limit, policy.min_delay) == (limit, burst, delay)
    assert policy.hours == Hours(9 * 60, 17 * 60, timezone, slowdown=2.0)


def test_the_documentation_shows_a_file_that_works() -> None:
    [block] = re.findall(r"```toml\n(.*?)```", GUIDE.read_text(), re.DOTALL)
    Path("sources.toml").write_text(block)
    assert sections_of(Path("sources.toml"), Policy()).keys() == {"us_state_dept", "example.com"}


def test_no_file_is_needed_but_one_that_is_named_is(monkeypatch: pytest.MonkeyPatch) -> None:
    assert read_sources(load()) is None
    Path("sources.toml").write_text("")
    assert read_sources(load()) == {}, "an empty file says something: that there are none"
    monkeypatch.setenv("CURTSY_SOURCES_FILE", "mine.toml")
    with pytest.raises(BadSetting, match=r"There is no file /.*/mine\.toml .* CURTSY_SOURCES_FILE"):
        read_sources(load())


def test_the_default_that_is_named_must_be_there(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTSY_SOURCES_FILE", "sources.toml")
    with pytest.raises(BadSetting, match="There is no file"):
        read_sources(load())


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("[news", "sources.toml cannot be read as TOML: "),
        ("x = 1", "In sources.toml, 'x' is outside of any table: start with a [name]."),
        ("[news]\nhosts = ['a.example']\nmin_delay = 1",
         "[news] has no field 'min_delay' (did you mean 'min_delay_seconds'?)."),
        ("[news]\nhosts = ['a.example']\nrequests_per_hour = '60'",
         "In sources.toml, [news] requests_per_hour: Input should be a valid integer."),
        ("[news]\nhosts = ['a.example', 'a b']", "[news] hosts.1: 'a b' is not a host: "),
        ("[news]\nhosts = ['a.example']\nburst_limit = 5",
         "[news] is not valid: burst_limit needs a requests_per_hour"),
        ("[news]\nhosts = ['a.example']\nmax_delay_seconds = 0.5",
         "In sources.toml, [news]: max_delay_seconds is below min_delay_seconds."),
        ("[travel.state.gov]\ntimeout = 5",
         'a name with dots needs quotes, as ["travel.state.gov"].'),
        ("[News]\nhosts = ['a.example']", "[News]: 'News' is not a valid source name"),
        ("[news]\ntimeout = 5", "[news]: news is not the name of a host, so list its hosts"),
        ("[a]\nhosts = ['x.example']\n[b]\nhosts = ['www.x.example']",
         "[a] and [b] both have the host x.example."),
        ("['x.example']\n[b]\nhosts = ['x.example']",
         "[x.example] and [b] both have the host x.example."),
        ("[a]\nhosts = ['x.example']\nrespectful_hours = {start = 9, end = 17}",
         "[a] respectful_hours: needs either a slowdown or closed."),
        ("[a]\nhosts = ['x.example']\nrespectful_hours = {start = 2020-01-01, end = 17}",
         "[a] respectful_hours.start: must be an hour (9) or a time of day"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_told_with_file_source_and_field(text: str, sentence: str) -> None:
    said = _refused(text)
    assert sentence in said
    assert said.endswith(".")
    assert ".." not in said


def test_all_that_is_wrong_is_told_at_once() -> None:
    said = _refused("[a]\nlanes = 7\ntimeout = 0\n[b]\nhosts = []\n")
    assert [part in said for part in ("[a] lanes", "[a] timeout", "[b] hosts")] == [True] * 3


def test_a_password_is_not_told() -> None:
    assert "hush" not in _refused("[a.example]\nproxy = 'http://me:hush@p:99999'")
    assert "hush" not in _refused("['a.example']\nproxy = 'http://me:hush@p:99999'")


def test_a_file_that_cannot_be_read_is_told() -> None:
    Path("sources.toml").mkdir()
    with pytest.raises(BadSetting, match=r"sources\.toml cannot be read \(Is a directory\)\."):
        read_sources(load())


def test_bytes_that_are_no_text_are_told() -> None:
    Path("sources.toml").write_bytes(b"[a]\nuser_agent = '\xff'")
    with pytest.raises(BadSetting, match=r"cannot be read as TOML"):
        read_sources(load())


def test_a_proxy_that_is_not_allowed_is_refused_with_its_section(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    text = "['a.example']\nproxy = 'http://me:hush@127.0.0.1:3128'\n"
    sentence = _refused(text)
    assert "[a.example]" in sentence
    assert "The proxy 127.0.0.1:3128 is this machine: ALLOW_PROXIES does not name it." in sentence
    assert "hush" not in sentence
    monkeypatch.setenv("CURTSY_ALLOW_PROXIES", "127.0.0.1:3128")
    sections = read_sources(load())
    assert sections is not None
    assert sections.keys() == {"a.example"}
