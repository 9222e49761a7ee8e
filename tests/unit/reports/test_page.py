"""The page: complete, well-formed, harmless whatever the names are, and of bounded size."""

import re
from dataclasses import replace
from html.parser import HTMLParser

import orjson
import pytest

from curtsy.clock import DAY
from curtsy.model.failure_kinds import Kind
from curtsy.reports.html.markup import VOID
from curtsy.reports.html.page import page
from curtsy.reports.html.style import CONTENT_POLICY, STYLE, STYLE_SOURCE
from curtsy.reports.remedies import REMEDIES
from curtsy.reports.report import Finding, Report, ReportFigures, SourceLine, from_json, to_json
from support.sample_report import UNTIL, sample_report

EVIL = (
    "<script>alert(1)</script>", '"><img src=x onerror=alert(1)>', "</style><script>1</script>",
    "\u202e\u2066moc.elgoog", "a\x00b\x1b[2J", "x" * 100_000, "&lt;b&gt;", "مثال.إختبار",
    "{{7*7}}", "]]><x>", "<!--",
)  # fmt: skip
EMPTY = Report(
    id="rep_1", at=UNTIL, since=UNTIL - DAY, until=UNTIL, covered_since=None, trigger="manual",
    version="0", figures=ReportFigures(),
)  # fmt: skip


class Shape(HTMLParser):
    """Which elements and attributes there are; every element is closed in its order."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.elements: set[str] = set()
        self.attributes: set[str] = set()
        self.headings: list[str] = []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.elements.add(tag)
        self.attributes |= {name for name, _value in attrs}
        if re.fullmatch("h[1-6]", tag):
            self.headings.append(tag)
        if tag not in VOID | {"wbr"}:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def evil_report(name: str) -> Report:
    sample = sample_report()
    line = SourceLine(name, 1, 5, 1, 2, worst_kind=name)
    return replace(
        sample, slowest=(line,), failing=(line,), findings=(Finding("x", name),),
        failures=(replace(sample.failures[0], kind=name, means=name, remedy=name),),
        letters=(replace(sample.letters[0], kind=name),),
        courtesy=replace(sample.courtesy,
                         closest=(replace(sample.courtesy.closest[0], source=name),)),
        sites=replace(sample.sites, lines=(replace(sample.sites.lines[0], site=name),)),
        schedules=replace(sample.schedules,
                          lines=(replace(sample.schedules.lines[0], schedule=name),)),
        workers=(replace(sample.workers[0], machine=name),), version=name, id=name,
    )  # fmt: skip


@pytest.mark.parametrize("name", EVIL, ids=range(len(EVIL)))
def test_a_hostile_name_changes_no_element(name: str) -> None:
    plain, hostile = Shape(page(evil_report("plain"))), page(evil_report(name))
    shape = Shape(hostile)
    assert shape.elements - plain.elements <= {"wbr"}
    assert shape.attributes == plain.attributes
    assert not re.search(r"[\x00-\x08\x0b-\x1f\u202a-\u202e\u2066-\u2069]", hostile)
    hostile.encode()


def test_the_page_needs_nothing_from_elsewhere() -> None:
    made = page(sample_report())
    shape = Shape(made)
    assert not shape.elements & {"script", "link", "img", "iframe", "object", "a", "form", "use"}
    assert not {name for name in shape.attributes if name.startswith("on")}
    assert not shape.attributes & {"style", "src", "href"}, "the policy allows no inline styles"
    assert not re.search(r"url\(|@import|https?://", made)
    assert made.count("<style>") == 1
    assert f"<style>{STYLE}</style>" in made
    assert STYLE_SOURCE in CONTENT_POLICY
    assert CONTENT_POLICY in made


def test_headings_come_in_order() -> None:
    assert Shape(page(sample_report())).headings[:2] == ["h1", "h2"]
    assert set(Shape(page(sample_report())).headings) == {"h1", "h2"}


def test_every_section_of_a_full_report_is_there() -> None:
    heads = re.findall(r"<h2>([^<]+)</h2>", page(sample_report()))
    assert heads == [
        "What needs attention", "Pages", "How long requests took", "What pages waited for",
        "Failing sources", "Slowest sources", "Failures by kind", "Dead letters", "Courtesy",
        "Sites", "Schedules", "Workers",
    ]  # fmt: skip


def test_an_empty_report_reads_well() -> None:
    made = page(EMPTY)
    Shape(made)
    assert "Nothing was fetched." in made
    assert "Nothing does." in made
    assert "NaN" not in made
    assert "None" not in re.sub("None is open", "", made)


def test_every_change_is_a_word_and_not_only_a_colour() -> None:
    made = page(sample_report())
    for verdict in ("better", "worse"):
        for text in re.findall(rf'class="change {verdict}">([^<]+)', made):
            assert verdict in text


def test_the_page_stays_small() -> None:
    sample = sample_report()
    line = replace(sample.slowest[0], source="x" * 300)
    full = replace(sample, slowest=(line,) * 10, failing=(line,) * 10,
                   findings=(Finding("x", "y" * 300),) * 12, series=sample.series * 2)  # fmt: skip
    assert len(page(full)) < 150_000


def test_a_report_of_an_earlier_version_can_be_read() -> None:
    stored = to_json(sample_report())
    assert from_json(stored) == sample_report()
    old = orjson.dumps({
        "id": "rep_1", "at": "2026-11-18T10:00:00.000Z", "since": "2026-11-17T10:00:00.000Z",
        "until": "2026-11-18T10:00:00.000Z", "covered_since": None, "trigger": "manual",
        "version": "0", "figures": {}, "no_longer": 1,
    })  # fmt: skip
    assert from_json(old) == EMPTY


def test_every_failure_kind_has_a_remedy() -> None:
    assert set(REMEDIES) == set(Kind)
    assert all(text.endswith(".") for text in REMEDIES.values())
