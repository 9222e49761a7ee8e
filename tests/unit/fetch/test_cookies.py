"""Cookies within a chain: who is shown what."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.fetch import cookies
from curtsy.fetch.request import Request, encode
from curtsy.model.outcome import Reply

NOW = 1_800_000_000_000
HERE = "https://www.a.example/dir/page"


def jar(*lines: str, at: str = HERE, before: tuple[cookies.Cookie, ...] = ()) -> tuple[
    cookies.Cookie, ...
]:  # fmt: skip
    reply = Reply(302, at, {"set-cookie": "\n".join(lines)}, b"", 0)
    return cookies.updated(before, reply, NOW)


@pytest.mark.parametrize(
    ("line", "url", "shown"),
    [
        ("a=1", HERE, "a=1"),
        ("a=1", "https://www.a.example/dir/other", "a=1"),
        ("a=1", "https://www.a.example/elsewhere", None),
        ("a=1; Path=/", "https://www.a.example/elsewhere", "a=1"),
        ("a=1; path=/di", HERE, None),
        ("a=1; Path=relative", HERE, "a=1"),
        ("a=1; Path=/", "https://a.example/", None),
        ("a=1; Path=/", "https://b.example/", None),
        ("a=1; Path=/; Domain=a.example", "https://x.a.example/", "a=1"),
        ("a=1; Path=/; Domain=.A.example", "https://a.example/", "a=1"),
        ("a=1; Path=/; Domain=a.example", "https://nota.example/", None),
        ("a=1; Path=/; Domain=example", "https://b.example/", None),
        ("a=1; Path=/; Domain=b.example", "https://b.example/", None),
        ("a=1; Path=/; Secure", "https://www.a.example/", "a=1"),
        ("a=1; Path=/; Secure", "http://www.a.example/", None),
        ("a=1; HttpOnly; SameSite=Lax", HERE, "a=1"),
        ("a=1; Max-Age=0", HERE, None),
        ("a=1; Max-Age=-5", HERE, None),
        ("a=1; Max-Age=60; Expires=Thu, 01 Jan 1970 00:00:00 GMT", HERE, "a=1"),
        ("a=1; Expires=Thu, 01-Jan-1970 00:00:00 GMT", HERE, None),
        ("a=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT", HERE, "a=1"),
        ("a=1; Expires=whenever", HERE, "a=1"),
        ('a="x y"', HERE, 'a="x y"'),
        ("a=b=c", HERE, "a=b=c"),
        ("a=", HERE, "a="),
        ("a", HERE, None),
        ("=1", HERE, None),
        ("a=1\x00; Path=/", HERE, None),
        ("a=\xe9", HERE, None),
        ("a=1\r; Path=/", HERE, "a=1"),
        (f"a={'x' * 5_000}", HERE, None),
    ],
)
def test_a_cookie_is_shown_where_it_belongs(line: str, url: str, shown: str | None) -> None:
    assert cookies.header(jar(line), url) == shown


def test_a_secure_cookie_cannot_be_set_in_the_clear() -> None:
    assert jar("a=1; Secure", at="http://www.a.example/dir/page") == ()


def test_an_address_has_no_domain_above_it() -> None:
    assert jar("a=1; Domain=0.0.1", at="http://127.0.0.1/") == ()


def test_a_later_one_takes_the_place_of_an_earlier() -> None:
    first = jar("a=1", "b=2")
    assert cookies.header(jar("a=3", before=first), HERE) == "b=2; a=3"
    assert cookies.header(jar("a=; Max-Age=0", before=first), HERE) == "b=2"


def test_the_longest_path_comes_first() -> None:
    assert cookies.header(jar("a=1; Path=/", "b=2; Path=/dir"), HERE) == "b=2; a=1"


def test_they_survive_being_carried() -> None:
    made = jar("a=1; Path=/; Domain=a.example; Secure", "b=é ü".encode().decode("latin-1"), "c=3")
    assert cookies.load(cookies.dump(made)) == made
    assert cookies.load(None) == ()


def test_their_number_and_size_are_bounded() -> None:
    many = jar(*(f"n{n}=1" for n in range(500)))
    assert len(many) == cookies.MOST_COOKIES
    large = jar(*(f"n{n}={'x' * 4_000}" for n in range(50)))
    text = cookies.header(large, HERE)
    assert text is not None
    assert len(text) <= cookies.LARGEST_HEADER


@given(lines=st.lists(st.text(st.characters(codec="utf-8", exclude_characters="\n")), max_size=5))
def test_whatever_is_set_can_be_sent(lines: list[str]) -> None:
    made = cookies.load(cookies.dump(jar(*lines)))
    shown = cookies.header(made, HERE)
    encode(Request(HERE, (("Cookie", shown or ""),)), "")


@pytest.mark.parametrize(
    ("domain", "host", "elsewhere"),
    [
        ("co.uk", "shop.co.uk", "other.co.uk"),
        ("github.io", "ann.github.io", "bob.github.io"),
        ("com", "a.com", "b.com"),
        (".co.uk", "www.shop.co.uk", "shop.co.uk"),
        ("kawasaki.jp", "a.kawasaki.jp", "b.kawasaki.jp"),
    ],
)
def test_a_cookie_for_a_public_suffix_is_refused(domain: str, host: str, elsewhere: str) -> None:
    set_there = jar(f"a=1; Path=/; Domain={domain}", at=f"https://{host}/")
    assert set_there == ()
    assert cookies.header(set_there, f"https://{elsewhere}/") is None


def test_a_site_at_a_public_suffix_sets_cookies_for_itself_alone() -> None:
    own = jar("a=1; Path=/; Domain=github.io", at="https://github.io/")
    assert cookies.header(own, "https://github.io/") == "a=1"
    assert cookies.header(own, "https://ann.github.io/") is None


@pytest.mark.parametrize("line", ["a=2; Path=/", "a=2; Path=/; Domain=a.example",
                                  "a=2; Path=/; Max-Age=0", "a=2; Path=/dir"])  # fmt: skip
def test_a_page_without_encryption_does_not_replace_a_secure_cookie(line: str) -> None:
    secure = jar("a=1; Path=/; Secure")
    after = jar(line, at="http://www.a.example/dir/page", before=secure)
    assert after == secure
    beside = jar("b=2; Path=/", at="http://www.a.example/", before=secure)
    assert cookies.header(beside, HERE) == "a=1; b=2"


@pytest.mark.parametrize(
    ("line", "shown"),
    [
        ("__Host-a=1; Secure; Path=/", True),
        ("__Host-a=1; Secure; Path=/; Domain=a.example", False),
        ("__Host-a=1; Secure; Path=/dir", False),
        ("__Host-a=1; Path=/", False),
        ("__Secure-a=1; Path=/", False),
        ("__secure-a=1; Path=/; Secure", True),
    ],
)
def test_a_cookie_keeps_the_promise_of_its_prefix(line: str, shown: bool) -> None:
    assert bool(cookies.header(jar(line), HERE)) is shown
