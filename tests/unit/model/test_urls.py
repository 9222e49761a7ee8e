"""One spelling for each page, and one key for each host."""

from contextlib import suppress
from urllib.parse import unquote_to_bytes

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.urls import BadUrl, as_given, canonical, fingerprint, joined, spelled

SAME = [
    ("http://example.com", "http://example.com/"),
    ("HTTP://EXAMPLE.com/", "http://example.com/"),
    ("http://example.com:80/a", "http://example.com/a"),
    ("https://example.com:443/a", "https://example.com/a"),
    ("http://example.com/a/../b", "http://example.com/b"),
    ("http://example.com/./a", "http://example.com/a"),
    ("http://example.com/a#part", "http://example.com/a"),
    ("http://example.com/a#", "http://example.com/a"),
    ("http://example.com/a?", "http://example.com/a"),
    ("http://example.com/a?b=2&a=1", "http://example.com/a?a=1&b=2"),
    ("http://münchen.de/", "http://xn--mnchen-3ya.de/"),
    ("http://example.com/ä", "http://example.com/%C3%A4"),
    ("http://0x7f.1/", "http://127.0.0.1/"),
    ("http://017700000001/", "http://127.0.0.1/"),
    ("http://[::1]:80/", "http://[::1]/"),
    ("  http://example.com/  ", "http://example.com/"),
    ("http://example.com/%7euser", "http://example.com/~user"),
    ("http://example.com/%7Euser", "http://example.com/~user"),
    ("http://example.com/p/%73ame", "http://example.com/p/same"),
    ("http://example.com/%c3%a9", "http://example.com/%C3%A9"),
    ("http://example.com/%c3%a9", "http://example.com/é"),
    ("http://example.com/a%2db%2Ec%5fd", "http://example.com/a-b.c_d"),
    ("http://example.com/a/%2e%2E/b", "http://example.com/b"),
    ("http://example.com/a/.%2e/b/%2e/c", "http://example.com/b/c"),
    ("http://example.com/a%2fb", "http://example.com/a%2Fb"),
    ("http://example.com/?q=%7e%c3%a9", "http://example.com/?q=~é"),
    ("http://example.com/?%62=1&a=2", "http://example.com/?a=2&b=1"),
    ("http://example.com/a|b?{c}^`", "http://example.com/a%7cb?%7Bc%7d%5E%60"),
    ("http://example.com/%7e#%7e", "http://example.com/~"),
    ("http://ex%41mple.com/", "http://example.com/"),
    ("http://example.com/%ff%fe", "http://example.com/%FF%FE"),
]
DIFFERENT = [
    ("http://example.com/a", "https://example.com/a"),
    ("http://example.com/a", "http://example.com/A"),
    ("http://example.com/a", "http://example.com/a/"),
    ("http://example.com/?a=1", "http://example.com/?a=2"),
    ("http://example.com/", "http://www.example.com/"),
    ("http://example.com:8080/", "http://example.com/"),
    ("http://example.com/a%2Fb", "http://example.com/a/b"),
    ("http://example.com/a%3Fb", "http://example.com/a?b"),
    ("http://example.com/a%23b", "http://example.com/a"),
    ("http://example.com/?q=a%2Bb", "http://example.com/?q=a+b"),
    ("http://example.com/?q=a%20b", "http://example.com/?q=a+b"),
    ("http://example.com/?a=1%26b=2", "http://example.com/?a=1&b=2"),
    ("http://example.com/?a%3D1", "http://example.com/?a=1"),
    ("http://example.com/%257e", "http://example.com/~"),
    ("http://example.com/%257e", "http://example.com/%7e"),
    ("http://example.com/%%37e", "http://example.com/%7e"),
    ("http://example.com/%2525", "http://example.com/%25"),
    ("http://example.com/%3a", "http://example.com/:"),
]
BAD = ["", "nonsense", "ftp://example.com/", "javascript:alert(1)", "file:///etc/passwd",
       "http://", "http://user:secret@example.com/", "http://user@example.com/",
       "http://exa\nmple.com/", "http://example.com/\r\nX: y", "http://a b/", "http://[::1/",
       "http://example.com/\0", "http://1.2.3.4.5/", "http://example.com:99999/",
       "http://example.com/" + "a" * 9000,
       "http://a.example/\ud800",
]  # fmt: skip


@pytest.mark.parametrize(("one", "other"), SAME)
def test_spellings_of_one_page_are_one(one: str, other: str) -> None:
    assert canonical(one) == canonical(other)


@pytest.mark.parametrize(("one", "other"), DIFFERENT)
def test_different_pages_stay_different(one: str, other: str) -> None:
    assert canonical(one).text != canonical(other).text


@pytest.mark.parametrize("url", BAD)
def test_what_cannot_be_fetched_is_refused_with_a_reason(url: str) -> None:
    with pytest.raises(BadUrl, match=r"\w"):
        canonical(url)


def test_a_host_is_its_name_without_www_and_its_unusual_port() -> None:
    assert canonical("http://www.example.com/").host == "example.com"
    assert canonical("http://example.com.:8080/").host == "example.com:8080"
    assert canonical("https://example.com:443/").host == "example.com"


@given(st.text(max_size=60), st.sampled_from(["http://", "https://", "", "//"]))
def test_any_text_is_a_url_or_refused_and_canonical_is_a_fixed_point(
    text: str, scheme: str
) -> None:
    try:
        url = canonical(scheme + text)
    except BadUrl:
        return
    assert canonical(url.text) == url
    url.text.encode()
    url.host.encode()


@pytest.mark.parametrize("text", ["%zz", "%", "%4", "%%", "%%37e", "%4%41", "%%41", "a%", "%g1"])
def test_malformed_escapes_stay_as_they_are(text: str) -> None:
    for url in (f"http://example.com/{text}", f"http://example.com/?{text}"):
        assert canonical(url).text == url


_PIECES = st.sampled_from([
    "%", "%7e", "%7E", "%2", "%2f", "%2E", "%c3%a9", "%ff", "%25", "%37", "%65", "a", "e", "7", "~",
    ".", "..", "/", "?", "&", "=", "+", "#", "|", "{", "\\", "é", " ", "%41", "%zz",
])  # fmt: skip


@given(st.lists(_PIECES, max_size=12).map("".join))
def test_one_spelling_is_a_fixed_point_and_means_the_same(text: str) -> None:
    once = spelled(text)
    assert spelled(once) == once
    assert unquote_to_bytes(once) == unquote_to_bytes(text)
    url = canonical(f"http://example.com/{text}")
    assert canonical(url.text) == url
    assert as_given(url.text) == url


def test_a_url_that_is_too_long_once_encoded_is_refused() -> None:
    with pytest.raises(BadUrl, match="percent-encoded"):
        canonical("http://example.com/" + "é" * 4_000)


JOINED = [
    ("\\x", "http://a.example/x"), ("\\\\b.example\\x", "http://b.example/x"),
    ("///test", "http://test/"), ("////test//x", "http://test//x"), ("/\\test", "http://test/"),
    ("a\tb\nc\rd", "http://a.example/x/abcd"), ("/a\n/b", "http://a.example/a/b"),
    ("ht\ntp://b.example/", "http://b.example/"), (" \x00\x1fy\x1f ", "http://a.example/x/y"),
    ("//b.example", "http://b.example/"), ("?q", "http://a.example/x/y?q"),
    ("?", "http://a.example/x/y?"), ("#f", "http://a.example/x/y?z=1#f"),
    ("", "http://a.example/x/y?z=1"), ("  ", "http://a.example/x/y?z=1"),
    ("http:foo", "http://a.example/x/foo"), ("http:/foo", "http://a.example/foo"),
    ("http:?q", "http://a.example/x/y?q"), ("https:foo", "https://foo/"),
    (".", "http://a.example/x/"), ("..", "http://a.example/"), ("%2e%2e/b", "http://a.example/b"),
    ("../../../b", "http://a.example/b"), ("/b;c=d", "http://a.example/b;c=d"),
    ("b:c", "b:c"), ("./b:c", "http://a.example/x/b:c"), ("mailto:x@y", "mailto:x@y"),
    ("//b.example:80/x", "http://b.example/x"), ("http://B.EXAMPLE", "http://b.example/"),
    ("\u00a0b", "http://a.example/x/%C2%A0b"), ("http://[::1]:81", "http://[::1]:81/"),
]  # fmt: skip


@pytest.mark.parametrize(("href", "url"), JOINED)
def test_a_link_is_joined_as_browsers_do(href: str, url: str) -> None:
    assert joined("http://a.example/x/y?z=1", href) == url


@pytest.mark.parametrize("href", ["//", "http://", "http://[", "//a:99999", "\ud800", "x" * 9_000])
def test_a_link_that_browsers_cannot_parse_is_refused(href: str) -> None:
    with pytest.raises(BadUrl):
        joined("http://a.example/", href)


@given(st.text(max_size=40))
def test_any_link_is_joined_or_refused(href: str) -> None:
    with suppress(BadUrl):
        joined("http://a.example/x", href).encode()


def test_a_fingerprint_depends_on_everything_that_changes_the_request() -> None:
    made = {
        fingerprint("http://a/", "raw"), fingerprint("http://b/", "raw"),
        fingerprint("http://a/", "article"), fingerprint("http://a/", "raw", "x"),
    }  # fmt: skip
    assert len(made) == 4
