"""One spelling for each page, and one key for each host."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.model.urls import BadUrl, canonical, fingerprint

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
]
DIFFERENT = [
    ("http://example.com/a", "https://example.com/a"),
    ("http://example.com/a", "http://example.com/A"),
    ("http://example.com/a", "http://example.com/a/"),
    ("http://example.com/?a=1", "http://example.com/?a=2"),
    ("http://example.com/", "http://www.example.com/"),
    ("http://example.com:8080/", "http://example.com/"),
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


def test_a_fingerprint_depends_on_everything_that_changes_the_request() -> None:
    made = {
        fingerprint("http://a/", "raw"), fingerprint("http://b/", "raw"),
        fingerprint("http://a/", "article"), fingerprint("http://a/", "raw", "x"),
    }  # fmt: skip
    assert len(made) == 4
