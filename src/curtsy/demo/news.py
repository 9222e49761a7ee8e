"""A small newspaper on every host of the practice site, for `curtsy demo`. Pure.

/news/                         the front page: sections, and the newest stories
/news/{section}/               a section's stories
/news/{section}/{slug}         a story; some are slow, missing, flaky, limited or oddly encoded
/news/private/{slug}           a page that robots.txt forbids
/news/app/, /news/plus/, /news/members/  a page that scripts fill, one to pay for, and one that
                               redirects to the login at /news/login; nothing links to them
/news/sitemap.xml, /news/feed.xml
"""

import html
import re
from dataclasses import dataclass, replace
from functools import cache

from curtsy.demo import prose
from curtsy.demo.answers import HTML, Answer, answer, plain, tagged
from curtsy.demo.plans import Place, Plan

SECTIONS = ("harbour", "kitchen", "weather", "letters")
ROBOTS = b"User-agent: *\nDisallow: /news/private/\nSitemap: /news/sitemap.xml\n"
_XML = "application/xml; charset=utf-8"
_TITLES = (
    "The Ferry Leaves a Little Earlier This Winter",
    "Seven Eggs Will Do, Says the Cook",
    "Snow Closes the Upper Road Again",
    "A Reader Asks About the Station Clock",
    "Blue Doors, and the Baker Who Would Not",
    "Pears That Ripen in November",
    "Forty Kinds of Moss on One Wall",
    "Whose Umbrella Is It, After All?",
    "The Lighthouse Keeper Counts His Steps",
    "Bread Without an Oven, an Experiment",
    "Fog for a Third Week, and No Complaint",
    "In Defence of Slow Letters",
    "A Bridge for Carts and Cyclists Only",
    "The Last Jar of Quince",
    "Wind From the North, Goats on the Terrace",
    "Why the Orchestra Plays in a Tram Shed",
    "New Well Tastes Faintly of Iron",
    "Soup for the Night Shift",
    "The Storm That Stopped the Clock",
    "A Map Sold Twice",
)


@dataclass(frozen=True, slots=True)
class Story:
    number: int
    section: str
    slug: str
    title: str

    @property
    def path(self) -> str:
        return f"/news/{self.section}/{self.slug}"


def _story(number: int, title: str) -> Story:
    slug = re.sub(r"[^a-z]+", "-", title.lower()).strip("-")
    return Story(number, SECTIONS[number % len(SECTIONS)], slug, title)


STORIES = tuple(_story(number, title) for number, title in enumerate(_TITLES))
BY_PATH = {story.path: story for story in STORIES}
PRIVATE = "/news/private/editors-notes"
GONE = "/news/harbour/a-story-that-was-withdrawn"
SHELL, PAID, MEMBERS, LOGIN = "/news/app/", "/news/plus/", "/news/members/", "/news/login"


def article_paths() -> list[str]:
    """The pages that `curtsy demo` submits: every story, and two that must fail."""
    return [*BY_PATH, GONE, PRIVATE]


def plan(place: Place, path: str) -> Plan | None:
    """Returns the plan of a page; None if there is no such page."""
    if (story := BY_PATH.get(path)) is not None:
        return _ODD.get(story.number, _usual)(place, story)
    if path == PRIVATE:
        return Plan(answer(200, b"<p>You should not have come here.</p>"))
    if path == "/news/":
        return Plan(answer(200, _index("The Harbour Post", STORIES)))
    if path == "/news/sitemap.xml":
        return Plan(answer(200, _sitemap(place), _XML))
    if path == "/news/feed.xml":
        return Plan(answer(200, _feed(place), _XML))
    if path.partition("?")[0] in _WALLS:
        return Plan(_WALLS[path.partition("?")[0]])
    section = path.removeprefix("/news/").removesuffix("/")
    if section in SECTIONS and path.endswith("/"):
        stories = [story for story in STORIES if story.section == section]
        return Plan(answer(200, _index(section.title(), stories)))
    return None


# Stories, in one of four layouts.

_HEAD = """<!doctype html><html lang=en>
<head><meta charset=utf-8><title>{title} | The Harbour Post</title>"""
_NAV = (
    "<nav><ul>" + "".join(f"<li><a href=/news/{s}/>{s}</a></li>" for s in SECTIONS) + "</ul></nav>"
)
_FOOT = "<footer>© The Harbour Post. Imprint. Privacy.</footer>"
_LAYOUTS = (
    """<meta name=author content='Ida Lund'></head><body>{nav}<article><h1>{title}</h1>
    <time datetime={day}>{day}</time>{text}</article>{foot}""",
    """</head><body><div id=top>{nav}</div><div id=content><h1>{title}</h1>
    <div class=byline>By Tom Reed</div><div class=body>{text}</div></div>
    <div id=more><h3>Read next</h3>{nav}</div>{foot}""",
    """</head><body><table><tr><td>{nav}</td><td><h2>{title}</h2>{text}</td></tr></table>{foot}""",
    """<script type=application/ld+json>
    {{"@type": "NewsArticle", "headline": "{title}", "datePublished": "{day}"}}</script></head>
    <body>{nav}<main><section><h1>{title}</h1>{text}</section></main>{foot}""",
)


@cache
def _body(host: str, number: int) -> str:
    text = "".join(f"<p>{p}</p>" for p in prose.paragraphs(host, number, 5))
    return (_HEAD + _LAYOUTS[number % len(_LAYOUTS)]).format(
        title=html.escape(STORIES[number].title), day=f"2026-11-{number % 14 + 1:02}", nav=_NAV,
        text=text, foot=_FOOT,
    )  # fmt: skip


def _page(place: Place, story: Story) -> Answer:
    body = _body(place.host, story.number).encode()
    return tagged(body, prose.etag(body), prose.last_modified(story.number))


def _usual(place: Place, story: Story) -> Plan:
    return Plan(_page(place, story))


def _slow(place: Place, story: Story) -> Plan:
    return Plan(replace(_page(place, story), wait_ms=800))


def _flaky(place: Place, story: Story) -> Plan:
    return Plan(_page(place, story), 1, plain(500))


def _limited(place: Place, story: Story) -> Plan:
    return Plan(_page(place, story), 1, plain(429, ("Retry-After", "1")))


def _windows(place: Place, story: Story) -> Plan:
    """A page in Windows-1252 that declares no charset."""
    text = _body(place.host, story.number).replace("<meta charset=utf-8>", "")
    text = text.replace("<p>", "<p>Café Zoë – naïve façade. ", 1)
    return Plan(answer(200, text.encode("cp1252", "replace"), "text/html"))


def _japanese(place: Place, story: Story) -> Plan:
    text = _body(place.host, story.number).replace("charset=utf-8", "charset=shift_jis")
    text = text.replace("<p>", "<p>港の新聞です。きょうの天気は晴れ。", 1).replace("©", "(c)")
    return Plan(answer(200, text.encode("shift_jis", "replace"), "text/html"))


def _wall(_place: Place, _story: Story) -> Plan:
    body = (b"<title>The Harbour Post</title><article><p>We value your privacy. We and our 812 "
            b"partners store cookies on your device. Accept all cookies or manage your cookie "
            b"settings to go on reading with us today.</p></article>")  # fmt: skip
    return Plan(answer(200, body))


def _soft_404(_place: Place, _story: Story) -> Plan:
    return Plan(answer(200, b"<title>Page not found</title><p>Sorry, we looked everywhere.</p>"))


_ODD = {4: _slow, 6: _flaky, 9: _limited, 11: _windows, 13: _japanese, 16: _wall, 18: _soft_404}


_WALLS = {
    SHELL: answer(200, b"<title>The Harbour Post</title><noscript>Please enable JavaScript."
                  b"</noscript><div id=root></div><script src=/news/app.js></script>"),
    PAID: answer(200, b"<title>The Ledger of the Harbour</title><article><h1>The Ledger of the "
                 b"Harbour</h1><p>Nobody had opened the book since the old harbour master locked "
                 b"it away, and when the clerk found the key at last, she read the first page "
                 b"twice\xe2\x80\xa6</p></article><div class=paywall>Subscribe to continue reading."
                 b"</div>"),
    MEMBERS: answer(302, b"", HTML, ("Location", f"{LOGIN}?next={MEMBERS}")),
    LOGIN: answer(200, b"<title>Log in | The Harbour Post</title><h1>Log in</h1><form method=post>"
                  b"<input name=user><input type=password name=password></form>"),
}  # fmt: skip
"""What stands in front of some stories."""


# Lists of stories.


def _index(title: str, stories: tuple[Story, ...] | list[Story]) -> bytes:
    rows = "".join(f"<li><a href={s.path}>{html.escape(s.title)}</a></li>" for s in stories)
    menu = " ".join(f"<a href=/news/{s}/>{s}</a>" for s in SECTIONS)
    return f"<!doctype html><title>{title}</title><h1>{title}</h1>{menu}<ul>{rows}</ul>".encode()


def _sitemap(place: Place) -> bytes:
    rows = "".join(f"<url><loc>{_full(place, s)}</loc></url>" for s in STORIES)
    return f"<urlset xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>{rows}</urlset>".encode()


def _feed(place: Place) -> bytes:
    rows = "".join(
        f"<item><title>{html.escape(s.title)}</title><link>{_full(place, s)}</link></item>"
        for s in STORIES
    )
    title = "<title>The Harbour Post</title>"
    return f"<rss version='2.0'><channel>{title}{rows}</channel></rss>".encode()


def _full(place: Place, story: Story) -> str:
    return f"http://{place.host}:{place.port}{story.path}"
