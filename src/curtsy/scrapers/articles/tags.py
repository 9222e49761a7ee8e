"""The parser's numbers of the HTML elements that the extraction treats in a way of their own."""

from selectolax.lexbor import LexborHTMLParser

_PARSER = LexborHTMLParser("<p>x")


def _number(name: str) -> int:
    found: int = _PARSER.create_node(name).tag_id
    return found


def _numbers(names: str) -> frozenset[int]:
    return frozenset(map(_number, names.split()))


def _text_number() -> int:
    paragraph = _PARSER.css_first("p")
    assert paragraph is not None
    text = paragraph.first_child
    assert text is not None
    return text.tag_id


TEXT = _text_number()
A, BR, HR, IMG = map(_number, ("a", "br", "hr", "img"))
P, PRE, LI, DD, BLOCKQUOTE = map(_number, ("p", "pre", "li", "dd", "blockquote"))
OL, UL = map(_number, ("ol", "ul"))
TABLE, TR, TD, TH, CAPTION = map(_number, ("table", "tr", "td", "th", "caption"))
ARTICLE, MAIN, HEADER, FIGURE = map(_number, ("article", "main", "header", "figure"))
FIGCAPTION, BODY, TIME, H1, DIV = map(_number, ("figcaption", "body", "time", "h1", "div"))
HEADINGS = {_number(f"h{level}"): level for level in range(1, 7)}
STRONG = _numbers("b strong")
EMPHASIS = _numbers("i em cite var dfn")
STRUCK = _numbers("del s strike")
CODE = _numbers("code kbd samp tt")
PARAGRAPHS = frozenset({P, PRE, BLOCKQUOTE, DD})
"""Elements that hold running text by their meaning."""
LINES = PARAGRAPHS | _numbers("dt summary")
"""Elements whose text is no label, however short."""
SENTENCES = PARAGRAPHS | {LI}
"""Elements whose inline elements are words of their text."""
CONTAINERS = _numbers("div article section main td body center form")
"""Elements that may hold the text of the article."""
NEVER_NOISE = _numbers("html body main article tbody tr")
SKIPPED = _numbers(
    "script style noscript svg template iframe select button textarea object embed video audio "
    "canvas map datalist nav footer aside dialog menu math head title link meta input frameset "
    "applet progress meter rp rt noframes"
)
"""Elements whose content is never part of an article."""
INLINE = _numbers(
    "a abbr acronym b bdi bdo big cite code data del dfn em font i ins kbd label mark nobr q ruby "
    "s samp small span strike strong sub sup time tt u var wbr"
)
"""Elements that do not end the line; every other one does."""
BREAKING = _numbers("nav footer aside dialog menu figcaption object video audio iframe")
"""Skipped elements that end the line nevertheless."""
LISTS = frozenset({OL, UL})
