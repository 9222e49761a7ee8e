"""Where a page leads: its links, canonical, each once, in the order of the page."""

from itertools import islice

from selectolax.lexbor import LexborHTMLParser

from curtsy.model.outcome import Reply
from curtsy.scrapers.charset import text_of
from curtsy.scrapers.hrefs import absolute, base_of

MOST_LINKS = 1_000
MOST_LOOKED_AT = 20_000
PAGES = ("text/html", "application/xhtml+xml", "")


def links(reply: Reply) -> tuple[str, ...]:
    content_type = reply.headers.get("content-type", "")
    if content_type.partition(";")[0].strip().lower() not in PAGES:
        return ()
    text, _charset = text_of(reply.body, content_type)
    tree = LexborHTMLParser(text)
    found: dict[str, None] = {}
    base = base_of(tree, reply.url)
    for node in islice(tree.css("a[href], area[href]"), MOST_LOOKED_AT):
        if (url := absolute(base, node.attributes.get("href"))) is not None:
            found[url] = None
            if len(found) == MOST_LINKS:
                break
    return tuple(found)
