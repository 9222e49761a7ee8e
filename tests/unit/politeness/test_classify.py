from datetime import UTC, datetime
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed, Moved, NotModified, Reply
from curtsy.politeness.classify import LONGEST_RETRY_AFTER, classify, retry_after

NOW = 1_767_225_600_000  # 2026-01-01T00:00:00Z
DAY = 24 * 60 * 60 * 1000


def answer(status: int, **headers: str) -> Reply:
    named = {name.replace("_", "-"): value for name, value in headers.items()}
    return Reply(status, "https://example.org/a/b?c=d", named, b"", 0)


@pytest.mark.parametrize("status", [200, 203])
def test_a_success_with_the_page_is_a_page(status: int) -> None:
    assert classify(answer(status), NOW) is None


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (101, Kind.CLIENT_ERROR),
        (201, Kind.CLIENT_ERROR),
        (202, Kind.CLIENT_ERROR),
        (204, Kind.CLIENT_ERROR),
        (205, Kind.CLIENT_ERROR),
        (206, Kind.CLIENT_ERROR),
        (300, Kind.CLIENT_ERROR),
        (400, Kind.CLIENT_ERROR),
        (401, Kind.UNAUTHORIZED),
        (403, Kind.FORBIDDEN),
        (404, Kind.GONE),
        (407, Kind.UNAUTHORIZED),
        (408, Kind.TIMEOUT),
        (410, Kind.GONE),
        (418, Kind.CLIENT_ERROR),
        (429, Kind.RATE_LIMITED),
        (451, Kind.FORBIDDEN),
        (500, Kind.SERVER_ERROR),
        (502, Kind.SERVER_ERROR),
        (503, Kind.RATE_LIMITED),
        (504, Kind.SERVER_ERROR),
        (599, Kind.SERVER_ERROR),
        (600, Kind.CLIENT_ERROR),
        (999, Kind.CLIENT_ERROR),
    ],
)
def test_each_other_status_has_its_kind(status: int, kind: Kind) -> None:
    outcome = classify(answer(status), NOW)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.status) == (kind, status)


def test_a_failure_is_told_in_a_sentence() -> None:
    for status, sentence in (
        (404, "The host answered 404 Not Found."),
        (599, "The host answered 599."),
        (302, "The host answered 302 Found without a Location."),
    ):
        outcome = classify(answer(status), NOW)
        assert isinstance(outcome, Failed)
        assert outcome.error == sentence


@given(st.integers(-1, 1200))
def test_every_status_means_something(status: int) -> None:
    classify(answer(status), NOW)


def test_an_unchanged_page_is_not_modified() -> None:
    assert classify(answer(304), NOW, conditional=True) == NotModified()


def test_a_page_that_nobody_has_cannot_be_unchanged() -> None:
    outcome = classify(answer(304), NOW)
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.CLIENT_ERROR


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirect_is_a_move(status: int) -> None:
    assert classify(answer(status, location="/x"), NOW) == Moved("https://example.org/x", status)


@pytest.mark.parametrize(
    ("location", "url"),
    [
        ("x", "https://example.org/a/x"),
        ("../x", "https://example.org/x"),
        ("?z=1&y=2", "https://example.org/a/b?z=1&y=2"),
        ("//other.example/x", "https://other.example/x"),
        ("\\\\other.example\\x", "https://other.example/x"),
        ("HTTP://Other.example:80", "http://other.example/"),
        (" /x#part ", "https://example.org/x"),
        ("/é", "https://example.org/%C3%A9"),
        ("/%7euser?b&a", "https://example.org/%7euser?b&a"),
        ("///other.example", "https://other.example/"),
        ("/a\tb", "https://example.org/ab"),
        ("https:x", "https://example.org/a/x"),
    ],
)
def test_a_move_is_resolved_as_browsers_do(location: str, url: str) -> None:
    assert classify(answer(302, location=location), NOW) == Moved(url, 302)


@pytest.mark.parametrize(
    "location",
    [
        "",
        "  ",
        "http://[",
        "mailto:me@example.org",
        "javascript:alert(1)",
        "//x:99999/",
        "\udce9",
        "https://me:secret@example.org/",
        "/" + "a" * 9000,
    ],
)
def test_a_move_to_nowhere_fails_the_page(location: str) -> None:
    outcome = classify(answer(302, location=location), NOW)
    assert isinstance(outcome, Failed)
    assert (outcome.kind, outcome.status) == (Kind.CLIENT_ERROR, 302)


@given(st.text(max_size=60))
def test_any_location_is_a_move_or_a_failure(location: str) -> None:
    assert isinstance(classify(answer(301, location=location), NOW), Moved | Failed)


@pytest.mark.parametrize(
    ("value", "span"),
    [
        (None, None),
        ("0", 0),
        ("120", 120_000),
        (" 120 ", 120_000),
        ("000000000000120", 120_000),
        ("86401", DAY),
        ("9" * 5000, DAY),
        ("Thu, 01 Jan 2026 00:02:00 GMT", 120_000),
        ("Thursday, 01-Jan-26 00:02:00 GMT", 120_000),
        ("Thu Jan  1 00:02:00 2026", 120_000),
        ("Thu, 01 Jan 2026 01:02:00 +0100", 120_000),
        ("Thu, 01 Jan 2026 00:00:00 GMT", 0),
        ("Fri, 01 Jan 2027 00:00:00 GMT", DAY),
        ("Wed, 31 Dec 2025 23:59:59 GMT", None),
        ("-1", None),
        ("1.5", None),
        ("soon", None),
        ("", None),
        ("١٢٠", None),
        ("Thu, 99 Jan 2026 00:00:00 GMT", None),
    ],
)
def test_both_forms_of_retry_after_are_a_span(value: str | None, span: int | None) -> None:
    assert retry_after(value, NOW) == span


@given(
    st.text(max_size=40) | st.from_regex(r"[A-Z][a-z]{2}, \d{1,5} Jan \d{1,6} [\d:]{1,9} .{0,6}")
)
def test_any_retry_after_is_within_a_day_or_nothing(value: str) -> None:
    span = retry_after(value, NOW)
    assert span is None or 0 <= span <= LONGEST_RETRY_AFTER


@given(st.integers(-(2 * DAY), 2 * DAY))
def test_a_date_asks_for_the_time_until_it(ahead: int) -> None:
    then = (NOW + ahead) // 1000
    span = retry_after(format_datetime(datetime.fromtimestamp(then, UTC), usegmt=True), NOW)
    wanted = then * 1000 - NOW
    assert span == (None if wanted < 0 else min(wanted, DAY))


@pytest.mark.parametrize("status", [429, 503])
def test_a_host_that_asks_for_time_is_heard(status: int) -> None:
    outcome = classify(answer(status, retry_after="7"), NOW)
    assert isinstance(outcome, Failed)
    assert outcome.retry_after == 7_000
