"""What is a rule and what is not; as text, and in words."""

import json
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from curtsy.timetable import (
    BadRule,
    Cron,
    Every,
    Once,
    Rule,
    checked,
    from_json,
    in_words,
    shown,
    slot_after,
    slots,
    to_json,
)
from curtsy.timetable.rules import LATEST, LONGEST_MINUTES
from curtsy.timetable.zones import names

NOON = 1_782_302_400_000  # 24 June 2026, 12:00 UTC
ANYTHING: st.SearchStrategy[Any] = st.one_of(
    st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=300), st.binary(),
    st.lists(st.integers(), max_size=3), st.sampled_from([5000, 50]).map(lambda digits: 10**digits),
)  # fmt: skip
KEYS = ["kind", "at", "line", "timezone", "minutes", "jitter", "after_end", "x"]
NEARLY_LINES = st.text("0123456789*/,-#LW@ MONJAN\t", max_size=230) | st.lists(
    st.text("0123456789*/,-#LW", min_size=1, max_size=6) | st.sampled_from(["MON", "L", "0", "*"]),
    min_size=5, max_size=5,
).map(" ".join)  # fmt: skip
NEARLY_ZONES = st.sampled_from(
    ["UTC", "Europe/Berlin", "Europe", "Europe/", "/etc/localtime", "../Europe/Berlin", "", ".",
     "Europe/Berlin\0", "europe/berlin", "posix/UTC", "right/UTC", "localtime", "Factory", "..",
     "posixrules", "tzdata.zi", "zone.tab", "Europe\\Berlin", "CON", "\ud800", " UTC", "UTC\n"]
)  # fmt: skip


def told_or(make: Callable[[], Rule]) -> Rule | str:
    """The rule, or why it is none."""
    try:
        return make()
    except BadRule as error:
        return str(error)


def sentence(rule: Rule) -> str:
    with pytest.raises(BadRule) as caught:
        checked(rule)
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("0 0 * * * *", "has six fields, but must have five, without seconds"),
        ("0 0 * *", "has 4 fields"),
        ("", "has 0 fields"),
        ("* * * * * * *", "has 7 fields"),
        ("60 * * * *", "The minute '60'"),
        ("* 24 * * *", "The hour '24'"),
        ("* * 0 * *", "The day-of-month '0'"),
        ("* * * 13 *", "The month '13'"),
        ("* * * * 8", "The day-of-week '8'"),
        ("* * * * MON#6", "The day-of-week 'MON#6'"),
        ("*/0 * * * *", "The minute '*/0'"),
        ("5-5/0 * * * *", "The minute '5-5/0'"),
        ("9-5 * * * *", "The minute '9-5'"),
        ("٣ * * * *", "only letters, digits"),
        ("@reboot", "There is no cron name '@reboot': use one of @hourly"),
        ("@", "There is no cron name '@'"),
        ("0 0 30 2 *", "'0 0 30 2 *'"),
        ("0 0 31 2,4 *", "'0 0 31 2,4 *'"),
        ("0 0 31 2,4,6,9,11 *", "a day that its months have"),
        ("0 0 29 2 */7", "never fires from"),
        ("0 0 * 2 1#5", "never fires from 2026 to 2035"),
        ("0 0 L 4 *" + " " * 200, "has 209 characters, but may have 200"),
    ],
)
def test_a_bad_line_is_refused_with_a_sentence_that_quotes_it(line: str, said: str) -> None:
    told = sentence(Cron(line))
    assert said in told
    assert told.endswith(".")
    assert line[:40] in told or "cron name" in told
    assert len(told) < 300


def test_a_wildcard_within_the_hour_that_is_skipped_every_time_is_refused() -> None:
    assert "never fires" in sentence(Cron("*/5 2 * 3 0L", "Europe/Berlin"))
    assert checked(Cron("*/5 2 * 3 0L", "UTC")) == Cron("*/5 2 * 3 0L", "UTC")
    assert checked(Cron("5 2 * 3 0L", "Europe/Berlin")) == Cron("5 2 * 3 0L", "Europe/Berlin")
    assert (
        list(slots(Cron("*/5 2 * 3 0L", "Europe/Berlin"), after=NOON, until=2 * NOON, seed=""))
        == []
    )
    assert slot_after(Cron("*/5 2 * 3 0L", "Europe/Berlin"), NOON, seed="") is None


@pytest.mark.parametrize("year", [2026, 2027, 2028, 2095, 2096])
def test_a_leap_day_is_waited_for(year: int) -> None:
    rule = checked(Cron("0 0 29 2 *", "Europe/Berlin"))
    after = int(datetime(year, 3, 1, tzinfo=UTC).timestamp() * 1000)
    slot = slot_after(rule, after, seed="")
    assert slot is not None
    leap = next(y for y in range(year + 1, year + 9) if y % 4 == 0 and y != 2100)
    assert shown(slot, "Europe/Berlin").local == f"{leap}-02-29T00:00:00.000+01:00"


@pytest.mark.parametrize(
    ("zone", "said"),
    [
        ("europe/berlin", "did you mean Europe/Berlin?"),
        ("EUROPE/BERLIN", "did you mean Europe/Berlin?"),
        ("Europe/Berln", "did you mean Europe/Berlin?"),
        ("Mars/Crater", "use a name such as"),
        ("../../etc/passwd", "use a name such as"),
        ("/usr/share/zoneinfo/UTC", "use a name such as"),
        ("UTC\0", "There is no time zone 'UTC\\x00'"),
        ("localtime", "There is no time zone"),
        ("right/UTC", "There is no time zone"),
        ("x" * 10_000, f"There is no time zone '{'x' * 40}'…:"),
    ],
)
def test_a_bad_zone_is_refused_with_a_sentence_that_quotes_it(zone: str, said: str) -> None:
    assert said in sentence(Cron("0 9 * * *", zone))
    assert len(sentence(Cron("0 9 * * *", zone))) < 200
    for ask in (
        lambda: slot_after(Cron("0 9 * * *", zone), NOON, seed=""),
        lambda: slots(Cron("0 9 * * *", zone), after=NOON, until=NOON, seed=""),
        lambda: shown(NOON, zone),
    ):
        with pytest.raises(BadRule, match="no time zone"):
            ask()


def test_a_zone_of_any_length_is_refused_soon() -> None:
    began = time.process_time()
    assert "There is no time zone" in sentence(Cron("0 9 * * *", "Europe/Berlin " * 100_000))
    assert time.process_time() - began < 0.5


def test_a_bad_line_is_told_before_its_slots_are_read() -> None:
    with pytest.raises(BadRule, match="The minute"):
        slots(Cron("61 * * * *"), after=NOON, until=NOON, seed="")


@pytest.mark.parametrize("minutes", [0, -5, True, 1.5, "60", None, LONGEST_MINUTES + 1, 10**50])
def test_an_interval_is_a_minute_to_a_year(minutes: Any) -> None:
    assert "from 1 to 527040 (366 days)" in sentence(Every(minutes))


def test_the_shortest_and_the_longest_interval_are_rules() -> None:
    assert checked(Every(1)) == Every(1)
    assert checked(Every(LONGEST_MINUTES)) == Every(LONGEST_MINUTES)


@pytest.mark.parametrize("at", [-1, True, 0.5, None, LATEST, 10**50])
def test_an_instant_is_one_that_can_be_shown(at: Any) -> None:
    assert "milliseconds since 1970" in sentence(Once(at))


def test_switches_are_true_or_false() -> None:
    wrong: Any = "yes"
    assert "jitter is 'yes'" in sentence(Every(5, jitter=wrong))
    assert "after_end is 'yes'" in sentence(Every(5, after_end=wrong))


def test_a_rule_has_one_spelling() -> None:
    assert checked(Cron("  0\t9  * *   MON-fri ", "UTC")) == Cron("0 9 * * MON-fri", "UTC")
    assert checked(Cron(" @Daily ")) == Cron("@daily")
    assert checked(Once(0)) == Once(0)


@pytest.mark.parametrize(
    ("name", "line"),
    [
        ("@hourly", "0 * * * *"), ("@daily", "0 0 * * *"), ("@midnight", "0 0 * * *"),
        ("@weekly", "0 0 * * SUN"), ("@monthly", "0 0 1 * *"), ("@yearly", "0 0 1 1 *"),
        ("@annually", "0 0 1 JAN *"),
    ],
)  # fmt: skip
def test_names_stand_for_lines(name: str, line: str) -> None:
    until = NOON + 400 * 86_400_000
    first, second = (
        list(slots(Cron(text, "Europe/Berlin"), after=NOON, until=until, seed=""))
        for text in (name, line)
    )
    assert first == second != []


def test_a_rule_that_fires_once_has_one_slot() -> None:
    assert slot_after(Once(NOON), NOON - 1, seed="") == NOON
    assert slot_after(Once(NOON), NOON, seed="") is None
    assert slot_after(Once(LATEST - 1), 0, seed="") == LATEST - 1
    assert list(slots(Once(NOON), after=NOON - 1, until=NOON, seed="")) == [NOON]
    assert list(slots(Once(NOON), after=NOON, until=NOON + 5, seed="")) == []
    assert list(slots(Once(NOON), after=NOON - 5, until=NOON - 1, seed="")) == []


@settings(deadline=2000, max_examples=300)
@example(Once("\U00100000" * 40))  # type: ignore[arg-type]
@given(
    st.one_of(
        st.builds(Once, ANYTHING),
        st.builds(Every, ANYTHING, ANYTHING | st.just(True), ANYTHING | st.just(False)),
        st.builds(Cron, ANYTHING | NEARLY_LINES, st.just("UTC") | NEARLY_ZONES),
        st.builds(Cron, st.just("0 9 * * *"), ANYTHING | NEARLY_ZONES),
    )
)
def test_whatever_comes_is_a_rule_or_a_bad_rule_and_soon(rule: Rule) -> None:
    good = told_or(lambda: checked(rule))
    if isinstance(good, str):
        assert 10 < len(good) < 300
        assert good.isprintable()
        return
    assert checked(good) == good
    assert from_json(to_json(good)) == good
    assert in_words(good).isprintable()
    if not (isinstance(good, Every) and good.after_end):
        slot = slot_after(good, NOON, seed="a")
        assert slot is None or slot > NOON
        assert slot is not None or isinstance(good, Once)


@settings(deadline=2000, max_examples=300)
@given(
    st.text(max_size=1200)
    | st.integers(900, 1000).map(lambda depth: "[" * depth)
    | st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=300),
        lambda inner: st.lists(inner) | st.dictionaries(
            st.sampled_from(KEYS),
            inner | st.sampled_from(["once", "cron", "every", 5, True, 1.5]),
        ),
    ).map(json.dumps)
)  # fmt: skip
def test_whatever_was_stored_is_a_rule_or_a_bad_rule(text: str) -> None:
    rule = told_or(lambda: from_json(text))
    if isinstance(rule, str):
        assert rule.isprintable()
        return
    assert from_json(to_json(rule)) == rule


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "short object of JSON"),
        ("[" * 999, "short object of JSON"),
        ('{"kind": "every", "minutes": 5}' + " " * 1000, "short object of JSON"),
        ('{"minutes": 5}', "must be once, cron or every"),
        ('{"kind": ["cron"]}', "must be once, cron or every"),
        ('{"kind": "every"}', "needs 'minutes'"),
        ('{"kind": "every", "minutes": 0}', "from 1 to"),
        ('{"kind": "every", "minutes": 5, "spread": 1}', "has no 'spread'"),
        ('{"kind": "once", "at": "now"}', "milliseconds"),
        ('{"kind": "cron", "line": 5}', "must be a text like"),
        ('{"kind": "cron", "line": "* * * * *", "timezone": 5}', "must be a name"),
    ],
)
def test_a_row_that_is_no_rule_says_why(text: str, said: str) -> None:
    with pytest.raises(BadRule, match=said):
        from_json(text)


def test_rows_of_today_can_be_read_for_ever() -> None:
    for text, rule in {
        '{"kind": "once", "at": 5}': Once(5),
        '{"kind": "cron", "line": "0 9 * * *", "timezone": "Asia/Tokyo"}': Cron(
            "0 9 * * *", "Asia/Tokyo"
        ),
        '{"kind": "every", "minutes": 5, "jitter": false, "after_end": true}': Every(
            5, jitter=False, after_end=True
        ),
    }.items():
        assert from_json(text) == rule
        assert to_json(rule) == text


def test_a_row_can_be_read_after_its_zone_was_renamed() -> None:
    rule = from_json('{"kind": "cron", "line": "0 9 * * *", "timezone": "Old/Name"}')
    assert in_words(rule) == "0 9 * * * in Old/Name"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Once(NOON), "once at 2026-06-24T12:00:00.000Z"),
        (Cron("0 9 * * *", "Europe/Berlin"), "0 9 * * * in Europe/Berlin"),
        (Every(120), "every 2 h ± 10 %"),
        (Every(1, jitter=False), "every 1 min"),
        (Every(1530, jitter=False), "every 1 d 1 h 30 min"),
        (Every(30, jitter=False, after_end=True), "30 min after the last end"),
        (Every(30, after_end=True), "30 min ± 10 % after the last end"),
    ],
)
def test_rules_in_words(rule: Rule, words: str) -> None:
    assert in_words(rule) == words


def test_a_firing_is_shown_in_both_times() -> None:
    firing = shown(NOON + 5, "Asia/Kathmandu")
    assert firing.utc == "2026-06-24T12:00:00.005Z"
    assert firing.local == "2026-06-24T17:45:00.005+05:45"
    assert (firing.at, firing.changes_clock) == (NOON + 5, False)


@pytest.mark.parametrize(
    ("moment", "zone", "changes"),
    [
        ("2026-03-28T23:59+01:00", "Europe/Berlin", False),
        ("2026-03-29T00:00+01:00", "Europe/Berlin", True),
        ("2026-03-29T23:59+02:00", "Europe/Berlin", True),
        ("2026-03-30T00:00+02:00", "Europe/Berlin", False),
        ("2026-04-04T12:00-03:00", "America/Santiago", True),  # repeats its last hour
        ("2026-04-05T12:00-04:00", "America/Santiago", False),
        ("2026-03-08T12:00-04:00", "America/Havana", True),  # lacks its first
        ("2026-03-07T12:00-05:00", "America/Havana", False),
        ("2011-12-31T12:00+14:00", "Pacific/Apia", True),
        ("1995-01-01T12:00+14:00", "Pacific/Kiritimati", True),  # a change at New Year
        ("2026-03-29T12:00+00:00", "UTC", False),
    ],
)
def test_a_day_on_which_clocks_change_is_marked(moment: str, zone: str, changes: bool) -> None:
    at = int(datetime.fromisoformat(moment).timestamp() * 1000)
    firing = shown(at, zone)
    assert firing.changes_clock is changes
    assert firing.local == moment[:16] + ":00.000" + moment[16:]


def test_the_first_and_the_last_slots_can_be_shown_everywhere() -> None:
    for zone in names():
        assert shown(0, zone).at == 0
    assert shown(LATEST - 1, "Pacific/Kiritimati").local.startswith("9998-01-01T13:59")
    assert shown(LATEST - 1, "America/New_York").local.startswith("9997-12-31T18:59")
    assert slot_after(Cron("0 0 1 1 *"), LATEST - 1, seed="") is None
    assert slot_after(Cron("* * * * *"), 10**30, seed="") is None
    assert slot_after(Cron("* * * * *"), -(10**30), seed="") is None
    assert next(slots(Cron("* * * * *"), after=-(10**30), until=10**30, seed="")) == 0
