"""A job board on every host of the practice site: pages that change between two runs. Pure.

/board/                        the front page, with a form
/board/search                  the postings that match, ten a page; `?q=…&l=…&remote=…&page=…`
/board/{edition}/search        the same in another edition: `postings.py` says what is different
/board/broken/search           edition 0 after a redesign: nothing is called what it was
/board/half/search             edition 0, where most cards have a title without a link
/board/flaky/search            edition 0, whose page 2 is always answered 500
/board/jobs/{id}               a posting by itself, as it was when it first appeared

`remote=true` leaves out what is not remote; anything else leaves out nothing. What a query lacks,
or has in a form that makes no sense, is as if it had not been asked for.
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
_LONGEST_WORDS = 200
_MOST_DIGITS = 9
_FAR_BEHIND = 1_000_000_000


@dataclass(frozen=True, slots=True)
class Search:
    words: str = ""
    place: str = ""
    remote: bool = False
    page: int = 1


@dataclass(frozen=True, slots=True)
class Found:
    """One page of what was found."""

    path: str
    search: Search
    total: int
    shown: Sequence[Posting]


Look = Callable[[Found], str]


def plan(path: str, query: str) -> Plan | None:
    """None: there is no such page."""
    match path.removeprefix("/board/").split("/"):
        case [""]:
            return _whole("Lantern Jobs", f"<h1>Lantern Jobs</h1>\n{_form(Search())}")
        case ["jobs", id_]:
            posting = postings.by_id(id_)
            return None if posting is None else _whole(posting.title, _own_page(posting))
        case ["search"]:
            return _listing(path, query, 0, _usual)
        case ["broken", "search"]:
            return _listing(path, query, 0, _redesigned)
        case ["half", "search"]:
            return _listing(path, query, 0, _half)
        case ["flaky", "search"] if asked(query).page == 2:
            return Plan(plain(500))
        case ["flaky", "search"]:
            return _listing(path, query, 0, _usual)
        case [number, "search"] if (n := _number(number)) is not None and n <= LAST_EDITION:
            return _listing(path, query, n, _usual)
        case _:
            return None


def asked(query: str) -> Search:
    """Takes any text for a query; of parameters that are given twice it takes the last."""
    given = parse_qs(query, keep_blank_values=True, errors="replace")

    def last(name: str) -> str:
        return " ".join(given.get(name, [""])[-1].split())[:_LONGEST_WORDS]

    remote = last("remote").lower() in ("true", "1", "yes")
    return Search(last("q"), last("l"), remote, _page(last("page")))


def found(path: str, search: Search, n: int) -> Found:
    of_it = postings.matching(postings.edition(n), search.words, search.place, search.remote)
    before = (search.page - 1) * PER_PAGE
    return Found(path, search, len(of_it), of_it[before : before + PER_PAGE])


def _number(text: str) -> int | None:
    return int(text) if text.isdecimal() and len(text) <= _MOST_DIGITS else None


def _page(text: str) -> int:
    """The first where the text names none; a page too far to count is behind the end."""
    if text.isdecimal() and len(text) > _MOST_DIGITS:
        return _FAR_BEHIND
    return _number(text) or 1


def _listing(path: str, query: str, n: int, look: Look) -> Plan:
    listed = found(path, asked(query), n)
    return _whole(_in_words(listed.total), look(listed))


def _whole(title: str, body: str) -> Plan:
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


# The pages as they are meant to be.


def _usual(listed: Found) -> str:
    return _with_cards(listed, [_card(posting) for posting in listed.shown])


def _half(listed: Found) -> str:
    """Of three cards two lack the link, and of fewer all do: more than half on every page."""
    cards = [_card(p, linked=at % 3 == 2) for at, p in enumerate(listed.shown)]
    return _with_cards(listed, cards)


def _with_cards(listed: Found, cards: list[str]) -> str:
    inside = "<ol>\n" + "\n".join(cards) + "\n</ol>" if cards else _nothing(listed)
    return f"""{_form(listed.search)}
<p class="total">{_in_words(listed.total)}</p>
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


def _own_page(posting: Posting) -> str:
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
    """To the page before or behind, where that one has something to show."""
    page = listed.search.page + step
    if page < 1 or (page - 1) * PER_PAGE >= listed.total:
        return ""
    href = html.escape(_address(listed, page))
    return f'<a class="{name}" rel="{relation}" href="{href}">{name.title()} page</a>'


def _address(listed: Found, page: int) -> str:
    search = listed.search
    remote = "true" if search.remote else "false"
    asked_for = {"q": search.words, "l": search.place, "remote": remote, "page": page}
    return f"{listed.path}?{urlencode(asked_for, errors='replace')}"


def _in_words(total: int) -> str:
    match total:
        case 0:
            return "No jobs match"
        case 1:
            return "1 job matches"
        case _:
            return f"{total} jobs match"


# The redesign: no selector that was written for the pages above finds anything.


def _redesigned(listed: Found) -> str:
    tiles = "\n".join(_tile(posting) for posting in listed.shown)
    forward = _link(listed, 1, "onward", "next")
    return f"""<div class="summary">{_in_words(listed.total)}</div>
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
