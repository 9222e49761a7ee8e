"""A job board on every host of the practice site: pages that change between two runs. Pure.

/board/                        the front page, with a form
/board/search                  the postings that match, ten a page; `?q=…&l=…&remote=…&page=…`
/board/{edition}/search        the same in another edition; `postings.py` explains editions
/board/broken/search           edition 0 after a redesign: all classes and elements changed
/board/half/search             edition 0, where most cards have a title without a link
/board/flaky/search            edition 0, whose page 2 always answers 500
/board/jobs/{id}               a posting by itself, as it was when it first appeared

`remote=true` shows only remote postings; any other value shows all. A query parameter that is
missing or makes no sense is ignored.
"""

import html
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from urllib.parse import parse_qs, urlencode

from curtsy.demo import postings, prose
from curtsy.demo.answers import answer, plain
from curtsy.demo.dates import day_first
from curtsy.demo.plans import Plan
from curtsy.demo.postings import LAST_EDITION, Posting

PER_PAGE = 10
_LONGEST_TEXT = 200
_MOST_DIGITS = 9
_PAST_THE_END = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Search:
    words: str = ""
    place: str = ""
    remote: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """One page of search results."""

    path: str
    search: Search
    total: int
    shown: Sequence[Posting]


Renderer = Callable[[Found], str]


def plan(path: str, query: str) -> Plan | None:
    """Returns the plan of a page; None if there is no such page."""
    match path.removeprefix("/board/").split("/"):
        case [""]:
            return _page_of("Lantern Jobs", f"<h1>Lantern Jobs</h1>\n{_form(Search())}")
        case ["jobs", id_]:
            posting = postings.by_id(id_)
            return None if posting is None else _page_of(posting.title, _posting_page(posting))
        case ["search"]:
            return _listing(path, query, 0, _usual)
        case ["broken", "search"]:
            return _listing(path, query, 0, _redesigned)
        case ["half", "search"]:
            return _listing(path, query, 0, _half)
        case ["flaky", "search"] if parse_search(query).page == 2:
            return Plan(plain(500))
        case ["flaky", "search"]:
            return _listing(path, query, 0, _usual)
        case [number, "search"] if (n := _number(number)) is not None and n <= LAST_EDITION:
            return _listing(path, query, n, _usual)
        case _:
            return None


def parse_search(query: str) -> Search:
    """Parses any text as a query; the last of repeated parameters counts."""
    given = parse_qs(query, keep_blank_values=True, errors="replace")

    def last(name: str) -> str:
        return " ".join(given.get(name, [""])[-1].split())[:_LONGEST_TEXT]

    remote = last("remote").lower() in ("true", "1", "yes")
    return Search(last("q"), last("l"), remote, _page(last("page")))


def search_page(path: str, search: Search, n: int) -> Found:
    matches = postings.matching(postings.edition(n), search.words, search.place, search.remote)
    before = (search.page - 1) * PER_PAGE
    return Found(path, search, len(matches), matches[before : before + PER_PAGE])


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _page(text: str) -> int:
    """The page number, 1 by default; a number with too many digits is past the end."""
    if text.isdecimal() and len(text) > _MOST_DIGITS:
        return _PAST_THE_END
    return _number(text) or 1


def _listing(path: str, query: str, n: int, render: Renderer) -> Plan:
    listed = search_page(path, parse_search(query), n)
    return _page_of(_total_text(listed.total), render(listed))


def _page_of(title: str, body: str) -> Plan:
    return Plan(answer(200, f"""<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>{html.escape(title)} | Lantern Jobs</title></head>
<body>
<header><a href="/board/">Lantern Jobs</a> <em>Work by daylight, and some by lamp</em></header>
{body}
<footer>Invented employers, invented wages. Nobody here can hire you.</footer>
</body>
</html>
""".encode("utf-8", "replace")))  # fmt: skip


# The usual pages.


def _usual(listed: Found) -> str:
    return _with_cards(listed, [_card(posting) for posting in listed.shown])


def _half(listed: Found) -> str:
    """Two of three cards lack the link, and the first two always do: more than half per page."""
    cards = [_card(p, linked=at % 3 == 2) for at, p in enumerate(listed.shown)]
    return _with_cards(listed, cards)


def _with_cards(listed: Found, cards: list[str]) -> str:
    inside = "<ol>\n" + "\n".join(cards) + "\n</ol>" if cards else _nothing(listed)
    return f"""{_form(listed.search)}
<p class="total">{_total_text(listed.total)}</p>
<section id="results">
{inside}
</section>
<nav>{_link(listed, -1, "previous", "prev")} {_link(listed, 1, "next", "next")}</nav>"""


def _card(posting: Posting, *, linked: bool = True) -> str:
    title = html.escape(posting.title)
    if linked:
        title = f'<a href="/board/jobs/{posting.id}">{title}</a>'
    return f"""<li class="job" data-id="{posting.id}">
<h2>{title}</h2>
{_facts(posting)}
</li>"""


def _facts(posting: Posting) -> str:
    badge = ' <span class="remote">Remote</span>' if posting.remote else ""
    return f"""<span class="company">{html.escape(posting.company)}</span>
<span class="location">{html.escape(posting.location)}</span>{badge}
<span class="salary">{posting.salary}</span>
<time datetime="{posting.posted_on}">{day_first(posting.posted_on)}</time>"""


def _nothing(listed: Found) -> str:
    if listed.total:
        return '<p class="no-results">The list ends before this page.</p>'
    return '<p class="no-results">Nothing of that kind today. Try fewer words.</p>'


def _posting_page(posting: Posting) -> str:
    text = "\n".join(f"<p>{p}</p>" for p in prose.paragraphs("board", posting.number, 3))
    return f"""<main id="job" data-id="{posting.id}">
<h1>{html.escape(posting.title)}</h1>
{_facts(posting)}
<div class="description">
{text}
</div>
<p class="apply">Write us a letter, and put the stamp on straight.</p>
</main>"""


def _form(search: Search) -> str:
    ticked = " checked" if search.remote else ""
    return f"""<form action="/board/search" method="get">
<input name="q" aria-label="What" value="{html.escape(search.words)}">
<input name="l" aria-label="Where" value="{html.escape(search.place)}">
<label><input type="checkbox" name="remote" value="true"{ticked}> From anywhere</label>
<button>Look</button>
</form>"""


def _link(listed: Found, step: int, name: str, relation: str) -> str:
    """A link to the previous or next page, if that page has results."""
    page = listed.search.page + step
    if page < 1 or (page - 1) * PER_PAGE >= listed.total:
        return ""
    href = html.escape(_address(listed, page))
    return f'<a class="{name}" rel="{relation}" href="{href}">{name.title()} page</a>'


def _address(listed: Found, page: int) -> str:
    search = listed.search
    remote = "true" if search.remote else "false"
    parameters = {"q": search.words, "l": search.place, "remote": remote, "page": page}
    return f"{listed.path}?{urlencode(parameters, errors='replace')}"


def _total_text(total: int) -> str:
    match total:
        case 0:
            return "No jobs match"
        case 1:
            return "1 job matches"
        case _:
            return f"{total} jobs match"


# The redesign: no selector for the pages above matches anything.


def _redesigned(listed: Found) -> str:
    tiles = "\n".join(_tile(posting) for posting in listed.shown)
    forward = _link(listed, 1, "onward", "next")
    return f"""<div class="summary">{_total_text(listed.total)}</div>
<div class="stream">
{tiles or '<div class="void">Nothing to see.</div>'}
</div>
<div class="pager">{forward}</div>"""


def _tile(posting: Posting) -> str:
    badge = '<i class="tag">from anywhere</i>' if posting.remote else ""
    return f"""<article class="tile" id="{posting.id}">
<a class="tile-name" href="/board/jobs/{posting.id}">{html.escape(posting.title)}</a>
<b class="firm">{html.escape(posting.company)}</b>
<i class="town">{html.escape(posting.location)}</i>
<b class="pay">{posting.salary}</b> {badge} <i class="since">{day_first(posting.posted_on)}</i>
</article>"""
