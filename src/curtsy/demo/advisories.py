"""Three travel-advisory sites on every host of the practice site, each with its own HTML. Pure.

/advisories/us/                a table: country, level, day
/advisories/uk/                a list under the letters of the alphabet
/advisories/ca/                a table, and a choice of regions: `?region=europe`
/advisories/{office}/{slug}    an office's advice on one country, such as /advisories/uk/france

The countries exist; offices, levels, days and texts are invented.
"""

import html
from collections.abc import Callable
from itertools import groupby
from typing import assert_never
from urllib.parse import parse_qs

from curtsy.demo.answers import answer
from curtsy.demo.countries import BY_SLUG, REGIONS, Advisory, Office, advisories, advisory
from curtsy.demo.dates import day_first, month_first
from curtsy.demo.plans import Plan

_NAMES = {
    Office.US: "Bureau of Going Elsewhere",
    Office.UK: "The Overseas Desk",
    Office.CA: "Canoes, Voyages and Counsel",
}


def plan(path: str, query: str) -> Plan | None:
    """Returns the plan of a page; None if there is no such page."""
    match path.removeprefix("/advisories/").split("/"):
        case [word, ""] if word in _NAMES:
            office = Office(word)
            return _page_of(office, "All countries", _index(office, query))
        case [word, slug] if word in _NAMES and slug in BY_SLUG:
            office = Office(word)
            one = advisory(office, BY_SLUG[slug])
            return _page_of(office, one.country.name, _COUNTRY_PAGES[office](one))
        case _:
            return None


def _index(office: Office, query: str) -> str:
    match office:
        case Office.US:
            return _us_index()
        case Office.UK:
            return _uk_index()
        case Office.CA:
            return _ca_index(query)
        case _:
            assert_never(office)


def _page_of(office: Office, title: str, body: str) -> Plan:
    return Plan(answer(200, f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{_escaped(title)} - {_NAMES[office]}</title></head>
<body class="{office}">
<a class="skip" href="#content">Straight to the content</a>
<header><a href="/advisories/{office}/">{_NAMES[office]}</a></header>
{body}
<footer>A practice page. It advises nobody, and no government wrote it.</footer>
</body>
</html>
""".encode()))  # fmt: skip


def _escaped(text: str) -> str:
    return html.escape(text)


def _paragraphs(one: Advisory) -> str:
    return "\n".join(f"<p>{_escaped(sentence)}</p>" for sentence in one.text)


# US: a table; the level is a number and a text.


def _us_index() -> str:
    rows = "\n".join(_us_row(one) for one in advisories(Office.US))
    return f"""<main id="content">
<h1>Advice by country</h1>
<table id="advisory-table">
<thead><tr><th>Country</th><th>Level</th><th>Issued</th></tr></thead>
<tbody>
{rows}
</tbody>
</table>
</main>"""


def _us_row(one: Advisory) -> str:
    name, slug = _escaped(one.country.name), one.country.slug
    return f"""<tr>
<th scope="row"><a href="/advisories/us/{slug}">{name}</a></th>
<td class="level level-{one.level}">Level {one.level}: {one.words}</td>
<td class="issued" data-sort="{one.updated_on}">{month_first(one.updated_on)}</td>
</tr>"""


def _us_page(one: Advisory) -> str:
    return f"""<main id="content">
<div class="banner level-{one.level}">
<h1>{_escaped(one.country.name)}</h1>
<h2 class="level">Level {one.level}: {one.words}</h2>
<div class="issued" data-sort="{one.updated_on}">Issued {month_first(one.updated_on)}</div>
</div>
<div class="advisory-text">
{_paragraphs(one)}
</div>
</main>"""


# UK: a list under each letter.


def _uk_index() -> str:
    by_letter = groupby(advisories(Office.UK), lambda one: one.country.slug[0].upper())
    sections = "\n".join(_uk_letter(letter, list(group)) for letter, group in by_letter)
    return f"""<main id="content">
<h1>Where are you going?</h1>
<p class="count">{len(BY_SLUG)} countries</p>
<div id="countries">
{sections}
</div>
</main>"""


def _uk_letter(letter: str, group: list[Advisory]) -> str:
    rows = "\n".join(_uk_row(one) for one in group)
    return f"""<section aria-labelledby="{letter}">
<h2 id="{letter}">{letter}</h2>
<ul>
{rows}
</ul>
</section>"""


def _uk_row(one: Advisory) -> str:
    return f"""<li class="country">
<a href="/advisories/uk/{one.country.slug}">{_escaped(one.country.name)}</a>
<span class="status">{one.words}</span>
<small>Updated <time datetime="{one.updated_on}">{day_first(one.updated_on)}</time></small>
</li>"""


def _uk_page(one: Advisory) -> str:
    return f"""<main id="content">
<p class="kind">Advice for travellers</p>
<h1>{_escaped(one.country.name)}</h1>
<dl>
<dt>In short</dt><dd class="status">{one.words}</dd>
<dt>Updated</dt><dd><time datetime="{one.updated_on}">{day_first(one.updated_on)}</time></dd>
</dl>
<article>
{_paragraphs(one)}
</article>
</main>"""


# Canada: a table with a choice of regions and relative links.


def _ca_index(query: str) -> str:
    wanted = parse_qs(query, errors="replace").get("region", [""])[-1].strip().lower()
    chosen = wanted if wanted in {region.lower() for region in REGIONS} else ""
    rows = "\n".join(
        _ca_row(one)
        for one in advisories(Office.CA)
        if chosen in ("", one.country.region.lower())
    )  # fmt: skip
    return f"""<main id="content">
<h1>Destinations</h1>
<form method="get">
<label for="region">Part of the world</label>
<select id="region" name="region">
<option value="">Everywhere</option>
{_ca_regions(chosen)}
</select>
<button>Show</button>
</form>
<table class="destinations">
<tr><th>Destination</th><th>Region</th><th>Risk</th><th>Last updated</th></tr>
{rows}
</table>
</main>"""


def _ca_regions(chosen: str) -> str:
    lines = []
    for region in REGIONS:
        mark = " selected" if region.lower() == chosen else ""
        lines.append(f'<option value="{region.lower()}"{mark}>{region}</option>')
    return "\n".join(lines)


def _ca_row(one: Advisory) -> str:
    return f"""<tr class="destination">
<td><a href="{one.country.slug}">{_escaped(one.country.name)}</a></td>
<td class="region">{one.country.region}</td>
<td><span class="risk risk-{one.level}">{one.words}</span></td>
<td class="updated">{one.updated_on} 09:30</td>
</tr>"""


def _ca_page(one: Advisory) -> str:
    return f"""<main id="content">
<h1>Advice about {_escaped(one.country.name)}</h1>
<p class="updated">Last updated: {one.updated_on} 09:30</p>
<section id="risk">
<h2><span class="risk risk-{one.level}">{one.words}</span></h2>
{_paragraphs(one)}
</section>
</main>"""


_COUNTRY_PAGES: dict[Office, Callable[[Advisory], str]] = {
    Office.US: _us_page,
    Office.UK: _uk_page,
    Office.CA: _ca_page,
}
