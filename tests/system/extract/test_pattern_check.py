"""Patterns of users are compiled in a confined process, for a bounded time."""

from pathlib import Path

import pytest

from curtsy.config import load
from curtsy.config.declared_files import read_schedules, read_sites
from curtsy.errors import BadSetting
from curtsy.extract import pattern_check
from curtsy.extract.pattern_check import TOO_SLOW, check_patterns, problems_of
from curtsy.scrapers.recipe import BadRecipe

ENDLESS = "(?i)" + "[b-\uffff]" * 99
"""Takes half a second, and the recipe may have a hundred of them."""
SITE = """
[shop]
search_url = "http://127.0.0.1:9/"
recipe = {{ record = "li", fields = {{ price = {{ css = "b", pattern = '{pattern}' }} }} }}
"""
SCHEDULE = """
[nightly]
every_minutes = 60
[nightly.payload.crawl]
spider = "listing"
start_urls = ["http://127.0.0.1:9/"]
[nightly.payload.crawl.params]
recipe = {{ record = "li", fields = {{ a = {{ css = "b", pattern = '{pattern}' }} }} }}
"""


def recipe(*patterns: str) -> dict[str, object]:
    fields = {f"f{n}": {"css": "a", "pattern": one} for n, one in enumerate(patterns)}
    return {"recipe": {"record": "li", "fields": fields}}


def test_good_patterns_have_no_problem() -> None:
    good = ["a", r"(?<=\$)\d+", r"(\w)\1", "[[a]", r"\bЦена\b"]
    assert problems_of(good) == dict.fromkeys(good)


@pytest.mark.parametrize(
    ("pattern", "word"),
    [
        ("(", "missing ), unterminated subpattern"),
        ("a{99999999999999999999}", "is not a regular expression"),
        ("(" * 5_000 + ")" * 5_000, "is not a regular expression"),
        (r"(?<=a+)b", "look-behind requires fixed-width pattern"),
    ],
)
def test_a_bad_pattern_is_told(pattern: str, word: str) -> None:
    assert word in (problems_of([pattern])[pattern] or "")


async def test_every_bad_pattern_of_a_recipe_is_named() -> None:
    with pytest.raises(BadRecipe) as bad:
        await check_patterns(recipe("a", "(", "b", "["))
    assert [problem.split()[0] for problem in bad.value.problems] == [
        "fields.f1.pattern", "fields.f3.pattern",
    ]  # fmt: skip


def test_patterns_that_take_too_long_are_refused_with_those_after_them() -> None:
    slow = [f"{ENDLESS}{'x' * n}" for n in range(20)]
    found = problems_of(["early", *slow, "late"])
    assert found["early"] is None
    assert found[slow[-1]] == found["late"] == TOO_SLOW


def test_a_pattern_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    assert problems_of(["only once"]) == {"only once": None}
    monkeypatch.setattr(pattern_check, "_compile_apart", lambda _patterns: pytest.fail("again"))
    assert problems_of(["only once"]) == {"only once": None}


def test_what_is_remembered_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pattern_check, "MOST_REMEMBERED", 3)
    problems_of([f"bounded {n}" for n in range(10)])
    assert len(pattern_check._verdicts) == 3


def test_the_files_of_sites_and_schedules_are_checked_too(tmp_path: Path) -> None:
    sites, schedules = tmp_path / "sites.toml", tmp_path / "schedules.toml"
    settings = load(sites_file=str(sites), schedules_file=str(schedules))
    sites.write_text(SITE.format(pattern="[0-9]+"))
    schedules.write_text(SCHEDULE.format(pattern="[0-9]+"))
    assert (read_sites(settings) or {}).keys() == {"shop"}
    assert (read_schedules(settings) or {}).keys() == {"nightly"}
    sites.write_text(SITE.format(pattern="("))
    schedules.write_text(SCHEDULE.format(pattern="("))
    with pytest.raises(BadSetting, match=r"\[shop\].* is not a regular expression"):
        read_sites(settings)
    with pytest.raises(BadSetting, match=r"\[nightly\].* is not a regular expression"):
        read_schedules(settings)
