"""Dates and texts of feeds, in the forms in which they come."""

import pytest

from curtsy.scrapers.feeds.dates import stamp_of
from curtsy.scrapers.feeds.plain_text import plain

NOON = "2026-11-19T12:00:00Z"
MIDNIGHT = "2026-11-19T00:00:00Z"
DATES = {
    "2026-11-19T12:00:00Z": NOON,
    "2026-11-19T12:00:00.123456Z": NOON,
    "2026-11-19T12:00:00,5+00:00": NOON,
    "2026-11-19T13:00:00+01:00": NOON,
    "2026-11-19T13:00:00+0100": NOON,
    "2026-11-19T13:00+01": NOON,
    "2026-11-19T07:00:00-05:00": NOON,
    " 2026-11-19 12:00 ": NOON,
    "2026-11-19t12:00:00z": NOON,
    "20261119T120000Z": NOON,
    "2026-11-19": MIDNIGHT,
    "2026/11/19": MIDNIGHT,
    "20261119": MIDNIGHT,
    "2026-11": "2026-11-01T00:00:00Z",
    "2026": "2026-01-01T00:00:00Z",
    "2026-11-19T24:00:00Z": "2026-11-20T00:00:00Z",
    "2026-11-19T23:59:60Z": "2026-11-19T23:59:59Z",
    "Thu, 19 Nov 2026 12:00:00 GMT": NOON,
    "Thu, 19 Nov 2026 12:00:00 +0000": NOON,
    "Thu, 19 Nov 2026 13:00:00 GMT+1": NOON,
    "Thu, 19 Nov 2026 07:00:00 EST": NOON,
    "Thu, 19 Nov 2026 04:00:00 PST": NOON,
    "Thu, 19 Nov 2026 12:00:00 XYZ": NOON,
    "Fri, 19 Nov 2026 12:00:00 GMT": NOON,
    "Thu,19 Nov 2026 12:00 UT": NOON,
    "Thursday, 19 November 2026 12:00:00 Z": NOON,
    "19 Nov 26 12:00:00 GMT": NOON,
    "19-Nov-2026 12:00:00 GMT": NOON,
    "19 Nov 2026": MIDNIGHT,
    "19. November 2026": MIDNIGHT,
    "Do, 19 Nov 2026 13:00:00 MEZ": NOON,
    "jeu., 19 nov. 2026 12:00:00 GMT": NOON,
    "19 Dez 2026": "2026-12-19T00:00:00Z",
    "Thu Nov 19 12:00:00 2026": NOON,
    "Thu Nov 19 12:00:00 UTC 2026": NOON,
    "Nov 19, 2026": MIDNIGHT,
    "November 19th, 2026 at 7:00 am EST": NOON,
    "Nov 19, 2026 12:00 PM": NOON,
    "Nov 19, 2026 12:00 AM": MIDNIGHT,
    "2098-01-01": "2098-01-01T00:00:00Z",
    "": None,
    "yesterday": None,
    "0000-00-00T00:00:00Z": None,
    "2026-02-30": None,
    "2026-11-19T99:00:00Z": None,
    "32 Nov 2026": None,
    "19 Foo 2026": None,
    "1969-12-31": None,
    "2101-01-01": None,
    "1763546400": None,
    "2026-11-19T12:00:00+99:99": None,
    "19/11/2026": None,
    "Mon, 01 Jan 0001 00:00:00 GMT": None,
    "1" * 5_000: None,
}
TEXTS = {
    "A &amp; B": "A & B",
    "1 < 2 &amp;&amp; 3 > 2": "1 < 2 && 3 > 2",
    "<b>One</b>, <i class='x'>two</i>": "One, two",
    "<p>One</p><p>Two<br/>three": "One Two three",
    "a<script>evil()</script>b<!-- no -->c": "abc",
    "&lt;b&gt; is a tag": "<b> is a tag",
    "  many\n\twords  ": "many words",
    "<![CDATA[One]]>": "One",
    "<img src=x>": None,
    "": None,
    "x" * 501: "x" * 499 + "…",
}


@pytest.mark.parametrize("given", DATES)
def test_a_date_becomes_an_instant_or_nothing(given: str) -> None:
    assert stamp_of(given) == DATES[given]


@pytest.mark.parametrize("given", TEXTS)
def test_a_text_has_no_markup(given: str) -> None:
    assert plain(given) == TEXTS[given]
