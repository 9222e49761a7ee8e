"""Reads XML as a stream: expat first, and where the XML is malformed, a parser that recovers.

Nothing is loaded or expanded: entity declarations are refused, external DTDs, XInclude and
stylesheets are never followed. Names come with the prefix that is usual for their namespace.
"""

import re
from collections.abc import Callable, Mapping
from html.entities import html5
from typing import Any, Protocol
from xml.parsers import expat

from lxml import etree

from curtsy.model.urls import BadUrl, joined
from curtsy.scrapers.feeds.body_text import Warn
from curtsy.scrapers.feeds.read_list import Enough

DEEPEST = 100
MOST_PREFIXES = 100
_NAMESPACES = {
    "www.w3.org/2005/atom": "atom", "purl.org/atom/ns": "atom",
    "purl.org/rss/1.0": "", "my.netscape.com/rdf/simple/0.9": "",
    "channel.netscape.com/rdf/simple/0.9": "", "www.w3.org/1999/02/22-rdf-syntax-ns": "rdf",
    "www.sitemaps.org/schemas/sitemap/0.9": "", "www.google.com/schemas/sitemap/0.84": "",
    "www.google.com/schemas/sitemap-news/0.9": "news",
    "www.google.com/schemas/sitemap-image/1.1": "image",
    "www.google.com/schemas/sitemap-video/1.1": "video",
    "www.w3.org/1999/xhtml": "xhtml", "purl.org/dc/elements/1.1": "dc",
    "purl.org/dc/elements/1.0": "dc", "purl.org/dc/terms": "dcterms",
    "purl.org/rss/1.0/modules/content": "content",
    "rssnamespace.org/feedburner/ext/1.0": "feedburner", "search.yahoo.com/mrss": "media",
    "www.itunes.com/dtds/podcast-1.0.dtd": "itunes", "www.w3.org/xml/1998/namespace": "xml",
}  # fmt: skip
"""The usual prefix of each namespace; empty: the names of RSS and of sitemaps have none."""
_DECLARATION = re.compile(r"<\?xml\b[^>]{0,500}>", re.IGNORECASE)
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")
_REFERENCE = re.compile(
    r"<!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z)|"
    r"&(?!(?:amp|lt|gt|quot|apos);)(?:(?P<name>[A-Za-z][A-Za-z0-9]{0,30});|"
    r"#(?:x(?P<hex>[0-9A-Fa-f]{1,7})|(?P<number>[0-9]{1,8}));)?",
    re.DOTALL,
)
_HTML = re.compile(
    r"(?P<kept><!\[CDATA\[.*?(?:\]\]>|\Z)|<!--.*?(?:-->|\Z))|"
    r"</?(?:p|br|b|i|u|s|em|strong|a|img|div|span|ul|ol|li|hr|h[1-6]|blockquote|font|center|table|"
    r"tbody|thead|tr|td|th|small|big|sup|sub|pre|code|iframe|script|style)(?=[\s/>])[^<>]*>",
    re.DOTALL | re.IGNORECASE,
)
"""Elements that no feed has: HTML that was not escaped, and often not closed."""
_ESCAPED = {"<": "&lt;", ">": "&gt;", "&": "&amp;", '"': "&quot;", "'": "&apos;"}
_BREAKS = frozenset({"p", "div", "br", "li", "h1", "h2", "h3", "tr", "td"})
_ENDS_EARLY = frozenset({3, 5, 6, 20})
"""Errors of expat: the text ends before the document does."""
_JUNK_AFTER = 9
_LOOKED_AT = 2_000


class Refused(ValueError):
    """The document declares entities; the text is a sentence."""


class Listener(Protocol):
    def start(self, name: str, attributes: Mapping[str, str]) -> bool:
        """Returns whether the element's text is wanted; then its children are part of the text."""

    def end(self, name: str, text: str | None) -> None:
        """`text` is None where it was not wanted."""


Choose = Callable[["Reader", str], Listener]
"""Returns who listens to a document with this root. Raises what ends the reading."""


def read_xml(text: str, url: str, choose: Choose, warn: Warn) -> None:
    """Reads as far as the text can be read. Raises `Refused`, and what `choose` raises."""
    text = _repaired(text, warn)
    try:
        _Expat(Reader(url, choose)).read(text)
    except Enough as enough:
        warn(str(enough))
    except expat.ExpatError as error:
        where = f"line {error.lineno}: {expat.ErrorString(error.code)}"
        if error.code in _ENDS_EARLY:
            warn("The XML ends too early; what came before was read.")
        elif error.code == _JUNK_AFTER:
            warn(f"More follows the end of the XML ({where}); it was left out.")
        elif "<!ENTITY" in text:
            raise Refused(f"The XML is malformed ({where}) and declares entities.") from None
        else:
            warn(f"The XML is malformed ({where}); what could be understood was read.")
            _recovered(text, Reader(url, choose), warn)


def begins_at(text: str) -> int:
    """Where the XML begins: some servers print warnings in front of it."""
    declared = _DECLARATION.search(text, 0, _LOOKED_AT)
    return declared.start() if declared is not None else max(0, text.find("<", 0, _LOOKED_AT))


def _repaired(text: str, warn: Warn) -> str:
    """Returns text that expat can read: from the root on, without characters that XML does not
    allow, and with references to HTML's entities replaced."""
    at = begins_at(text)
    if text[:at].strip("\ufeff \t\r\n"):
        warn("Other text stands before the XML; it was left out.")
    if (declared := _DECLARATION.match(text, at)) is not None:
        at = declared.end()
    text = text[at:] if at else text
    if _NOT_XML.search(text):
        text = _NOT_XML.sub("", text)
    return _REFERENCE.sub(_reference, text) if "&" in text else text


def _reference(found: re.Match[str]) -> str:
    if not found[0].startswith("&"):
        return found[0]
    if found["name"]:
        # what is no entity of HTML is declared in the document, which is refused, or nowhere
        meant = html5.get(f"{found['name']};")
        return "".join(_ESCAPED.get(c, c) for c in meant) if meant else f"&amp;{found['name']};"
    if not (found["hex"] or found["number"]):
        return "&amp;"
    number = int(found["hex"], 16) if found["hex"] else int(found["number"])
    if 0x80 <= number < 0xA0:  # meant are the characters of Windows, as in HTML
        return bytes([number]).decode("cp1252", errors="replace")
    is_allowed = number in (9, 10, 13) or 0x20 <= number < 0x110000
    return found[0] if is_allowed and not _NOT_XML.match(chr(number)) else ""


class Reader:
    """Follows the elements, whichever parser finds them."""

    def __init__(self, url: str, choose: Choose) -> None:
        self._choose, self._url = choose, url
        self._listener: Listener | None = None
        self._names: list[str] = []
        self._bases: list[tuple[int, str]] = [(0, url)]
        self.parts: list[str] = []
        self.wanted_at = 0
        """The depth of the element whose text is wanted; 0: there is none."""
        self.depth = 0
        """Of the innermost open element; that of the root is 1."""

    @property
    def base(self) -> str:
        """What links are relative to: `xml:base`, or the document's own URL."""
        return self._bases[-1][1]

    def open(self, name: str, attributes: Mapping[str, str]) -> None:
        self._names.append(name)
        self.depth += 1
        if self.depth > DEEPEST:
            raise Enough(f"The XML nests more than {DEEPEST} elements; it was read up to there.")
        if self.wanted_at:
            if name.rpartition(":")[2] in _BREAKS:
                self.parts.append(" ")
            return
        if attributes and "xml:base" in attributes:
            self._push_base(attributes["xml:base"])
        if self._listener is None:
            self._listener = self._choose(self, name)
        if self._listener.start(name, attributes):
            self.wanted_at = self.depth
            self.parts.clear()

    def close(self) -> None:
        listener = self._listener
        if listener is None or not self.depth:
            return
        name = self._names.pop()
        if not self.wanted_at:
            listener.end(name, None)
        elif self.wanted_at == self.depth:
            self.wanted_at = 0
            listener.end(name, "".join(self.parts))
        if self._bases[-1][0] == self.depth:
            self._bases.pop()
        self.depth -= 1

    def _push_base(self, given: str) -> None:
        try:
            self._bases.append((self.depth, joined(self.base, given)))
        except BadUrl:
            return


class _Expat:
    """Brings names into their usual form and hands them to the reader."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader
        self._prefixes: dict[str, str] = {}
        """The usual prefix of each declared one."""
        self._names: dict[str, str] = {}
        """The usual form of each name, as long as no namespace is declared."""
        self._outer: list[tuple[int, dict[str, str], dict[str, str]]] = []
        parser = self._parser = expat.ParserCreate("utf-8")
        parser.buffer_text = True
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.EntityDeclHandler = _refuse

    def read(self, text: str) -> None:
        self._parser.Parse(text, True)

    def _start(self, raw: str, attributes: dict[str, str]) -> None:
        reader = self._reader
        if attributes and any(name.startswith("xmlns") for name in attributes):
            self._declare(attributes)
        name = self._names.get(raw)
        if name is None:
            name = self._names[raw] = self._usual(raw)
        reader.open(name, attributes)
        if reader.wanted_at:
            self._parser.CharacterDataHandler = reader.parts.append

    def _end(self, _raw: str) -> None:
        reader = self._reader
        if reader.wanted_at == reader.depth:
            self._parser.CharacterDataHandler = None
        if self._outer and self._outer[-1][0] == reader.depth:
            _depth, self._prefixes, self._names = self._outer.pop()
        reader.close()

    def _declare(self, attributes: Mapping[str, str]) -> None:
        """The namespaces hold until the element ends."""
        self._outer.append((self._reader.depth + 1, self._prefixes, self._names))
        self._prefixes, self._names = dict(self._prefixes), {}
        for name, namespace in attributes.items():
            if name == "xmlns" or name.startswith("xmlns:"):
                prefix = name[6:]
                if len(self._prefixes) < MOST_PREFIXES:
                    self._prefixes[prefix] = _usual_prefix(namespace, prefix)

    def _usual(self, raw: str) -> str:
        prefix, _, local = raw.rpartition(":")
        return _joined(self._prefixes.get(prefix, prefix.lower()), local)


def _usual_prefix(namespace: str, given: str) -> str:
    """The usual prefix of the namespace; of an unknown one the given prefix."""
    key = namespace.strip().lower().removeprefix("https://").removeprefix("http://").rstrip("/#")
    return _NAMESPACES.get(key, given.lower())


def _joined(prefix: str, local: str) -> str:
    return f"{prefix}:{local.lower()}" if prefix else local.lower()


def _refuse(*_declaration: Any) -> None:
    raise Refused("The XML declares entities, which may stand for anything: it was not read.")


def _recovered(text: str, reader: Reader, warn: Warn) -> None:
    """Reads malformed XML with a parser that goes on after errors."""
    text = _HTML.sub(lambda found: found["kept"] or " ", text)
    parser = etree.XMLParser(
        target=_Target(reader), recover=True, resolve_entities=False, no_network=True,
        load_dtd=False, huge_tree=False, encoding="utf-8",
    )  # fmt: skip
    try:
        parser.feed(text.encode(errors="replace"))
        parser.close()
    except Enough as enough:
        warn(str(enough))
    except etree.XMLSyntaxError:
        return


class _Target:
    """What the recovering parser calls."""

    def __init__(self, reader: Reader) -> None:
        self._reader = reader

    def start(self, tag: str, attributes: Mapping[str, str]) -> None:
        self._reader.open(_usual_name(tag), {_attribute(k): v for k, v in attributes.items()})

    def end(self, _tag: str) -> None:
        self._reader.close()

    def data(self, text: str) -> None:
        if self._reader.wanted_at:
            self._reader.parts.append(text)

    def close(self) -> None: ...


def _usual_name(tag: str) -> str:
    if tag.startswith("{"):
        namespace, _, local = tag[1:].partition("}")
        return _joined(_usual_prefix(namespace, ""), local)
    prefix, _, local = tag.rpartition(":")
    return _joined(prefix.lower(), local)


def _attribute(name: str) -> str:
    if not name.startswith("{"):
        return name
    namespace, _, local = name[1:].partition("}")
    return f"{_usual_prefix(namespace, '')}:{local}"
