"""`curtsy demo` shows what the engine makes of a newspaper, in well under a minute."""

import re
import time

from cli.conftest import Curtsy


def test_it_shows_articles_and_failures_and_ends_well(curtsy: Curtsy) -> None:
    began = time.monotonic()
    told = curtsy("demo")
    assert told.exit_code == 0, told
    assert time.monotonic() - began < 60
    assert "54 articles" in told.out
    assert "Seven Eggs Will Do, Says the Cook" in told.out
    assert "12 pages that are not articles, and why" in told.out
    for kind in ("gone", "robots_denied", "extract_failed"):
        assert kind in told.out
    [gap] = re.findall(r"closer than ([0-9.]+) s", told.err)
    assert float(gap) >= 0.2 - 0.008


def test_it_tells_programs_the_same(curtsy: Curtsy) -> None:
    found = curtsy("demo", "--json").json
    assert (found["articles"], found["failed"]) == (54, 12)
    assert sum(failure["pages"] for failure in found["failures"]) == 12
    assert found["closest_seconds"] >= found["delay_seconds"] - 0.008
