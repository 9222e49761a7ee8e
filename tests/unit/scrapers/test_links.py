"""The links of a page, as a browser would follow them."""

import time

import pytest

from curtsy.model.outcome import Reply
from curtsy.model.scope import scope_around
from curtsy.scrapers.links import MOST_LINKS, links


def found(html: str, charset: str = "utf-8", url: str = "http://a.example/x/y?z=1") -> list[str]:
    body = html.encode(charset)
    headers = {"content-type": f"text/html; charset={charset}"}
    return list(links(Reply(200, url, headers, body, len(body))))


@pytest.mark.parametrize(
    ("href", "url"),
    [
        (r"\x", "http://a.example/x"),
        (r"\\b.example\x", "http://b.example/x"),
        ("///test", "http://test/"),
        ("/a\tb\nc", "http://a.example/abc"),
        ("/p/%73ame", "http://a.example/p/same"),
        ("/%7euser", "http://a.example/~user"),
        ("//b.example", "http://b.example/"),
        ("?b=2&a=1", "http://a.example/x/y?a=1&b=2"),
        ("#f", "http://a.example/x/y?z=1"),
        ("", "http://a.example/x/y?z=1"),
        ("http:foo", "http://a.example/x/foo"),
        (" &#10; /y &#9;", "http://a.example/y"),
    ],
)
def test_an_href_is_read_as_browsers_do(href: str, url: str) -> None:
    assert found(f'<a href="{href}">x</a>') == [url]


@pytest.mark.parametrize(
    "href", ["mailto:x@y", "javascript:0", "data:,x", "//", "http://", "http://u:p@b.example/"]
)
def test_a_link_that_cannot_be_fetched_is_left_out(href: str) -> None:
    assert found(f"<a href='{href}'>x</a><a>y</a>") == []


@pytest.mark.parametrize(
    ("base", "url"),
    [
        ("http://b.example/c/", "http://b.example/c/l"),
        (r"\c/", "http://a.example/c/l"),
        ("c/", "http://a.example/x/c/l"),
        ("//b.example", "http://b.example/l"),
        ("data:,x", "http://a.example/x/l"),
        ("javascript:0", "http://a.example/x/l"),
        ("http://[", "http://a.example/x/l"),
        ("", "http://a.example/x/l"),
        ("/c\nd/", "http://a.example/cd/l"),
    ],
)
def test_links_are_joined_to_the_base_of_the_page(base: str, url: str) -> None:
    assert found(f"<base href='{base}'><base href='/second/'><a href=l>x</a>") == [url]


def test_a_base_without_an_address_is_passed_over() -> None:
    assert found("<base target=_top><base href=/b/><a href=l>x</a>") == ["http://a.example/b/l"]


def test_spellings_of_one_page_are_one_link() -> None:
    html = "".join(f"<a href='{h}'>x</a>" for h in ("/~u", "/%7eu", "/%7Eu", "/x/../~u", "/~u#a"))
    assert found(html) == ["http://a.example/~u"]


def test_a_query_is_encoded_in_the_charset_of_the_page_and_the_path_in_utf8() -> None:
    html = "<a href='/п?q=п&amp;r=1#п'>x</a>"
    assert found(html, "windows-1251") == ["http://a.example/%D0%BF?q=%EF&r=1"]
    assert found(html) == ["http://a.example/%D0%BF?q=%D0%BF&r=1"]
    assert found("<a href='?q=&#26085;п'>x</a>", "windows-1251") == [
        "http://a.example/x/y?q=%26%2326085%3B%EF"
    ]


def test_a_page_has_at_most_so_many_links() -> None:
    html = "".join(f"<a href=/{n}>x</a>" for n in range(MOST_LINKS + 10))
    assert len(found(html)) == MOST_LINKS


def test_the_patterns_of_a_crawl_match_every_spelling() -> None:
    start = [("http://a.example/", "a.example")]
    scope = scope_around(start, "host", include=["*/%7euser/*", "*/é|*"], exclude=["*%2fx"])
    assert scope.holds("http://a.example/~user/y", "a.example")
    assert scope.holds("http://a.example/%C3%A9%7Cz", "a.example")
    assert not scope.holds("http://a.example/~user/%2Fx", "a.example")
    assert type(scope).from_json(scope.to_json()) == scope


def test_a_deep_page_is_read_up_to_the_depth() -> None:
    """The parser's time is elements times depth: all of this page would take many seconds."""
    began = time.process_time()
    html = "<a href=/early>x</a>" + "<div><ul><li>" * 40_000 + "<a href=/late>y</a>"
    assert found(html) == ["http://a.example/early"]
    assert time.process_time() - began < 1
