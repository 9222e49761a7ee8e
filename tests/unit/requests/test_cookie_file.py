"""Cookies of browsers: the files that browsers and their extensions write, and odd ones."""

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from curtsy.fetch import cookies
from curtsy.requests.cookie_file import LARGEST_FILE, BadCookies, cookies_for, parse_cookies

HEAD = "# Netscape HTTP Cookie File\n# https://curl.se/docs/http-cookies.html\n\n"
NOW = 1_800_000_000_000


def line(
    host: str = "shop.example", name: str = "sid", value: str = "1", *, sub: str = "FALSE",
    path: str = "/", secure: str = "FALSE", expires: str = "0",
) -> str:  # fmt: skip
    return "\t".join([host, sub, path, secure, expires, name, value])


def shown(text: str, url: str = "https://shop.example/cart") -> str | None:
    return cookies.header(cookies.unexpired(parse_cookies(text), NOW), url)


@pytest.mark.parametrize(
    ("text", "url", "expected"),
    [
        (HEAD + line(), "https://shop.example/", "sid=1"),
        (line().replace("\n", "") + "\r\n" + line(name="b", value="2") + "\r\n",
         "https://shop.example/", "sid=1; b=2"),
        ("\ufeff" + HEAD + line(), "https://shop.example/", "sid=1"),
        ("#HttpOnly_" + line(), "https://shop.example/", "sid=1"),
        ("#HttpOnly_" + line(".shop.example", sub="TRUE"), "https://a.shop.example/", "sid=1"),
        (line(".shop.example"), "https://a.shop.example/", "sid=1"),
        (line(), "https://a.shop.example/", None),
        (line(), "https://other.example/", None),
        (line(secure="TRUE"), "http://shop.example/", None),
        (line(secure="TRUE"), "https://shop.example/", "sid=1"),
        (line(path="/cart"), "https://shop.example/", None),
        (line(expires="1"), "https://shop.example/", None),
        (line(expires="1900000000"), "https://shop.example/", "sid=1"),
        (line(expires="1900000000.25"), "https://shop.example/", "sid=1"),
        (line(expires="13350000000000000"), "https://shop.example/", "sid=1"),
        (line(expires="-1"), "https://shop.example/", "sid=1"),
        (line(value=""), "https://shop.example/", "sid="),
        (line(value="")[:-1], "https://shop.example/", "sid="),
        (line(value="a=b&c"), "https://shop.example/", "sid=a=b&c"),
        (line().replace("\t", "   "), "https://shop.example/", "sid=1"),
        (line(host="com", sub="TRUE"), "https://shop.com/", None),
        (line(host="SHOP.example"), "https://shop.example/", "sid=1"),
        (line(host="127.0.0.1"), "http://127.0.0.1:8080/", "sid=1"),
        (line(value="v\x01"), "https://shop.example/", None),
        *((line(value=f"a{odd}b") + "\r" + line(name="b"), "https://shop.example/", "b=1")
          for odd in "\x0b\x0c\x1c\x85\u2028\u2029"),
        (line(name="__Host-a", secure="TRUE"), "https://shop.example/", "__Host-a=1"),
        (line(name="__Host-a"), "https://shop.example/", None),
    ],
)  # fmt: skip
def test_a_netscape_file_is_read(text: str, url: str, expected: str | None) -> None:
    assert shown(text, url) == expected


OBJECT: dict[str, Any] = {"domain": ".shop.example", "name": "sid", "value": "1", "path": "/"}


@pytest.mark.parametrize(
    ("rows", "url", "expected"),
    [
        ([OBJECT], "https://a.shop.example/", "sid=1"),
        ([OBJECT | {"hostOnly": True, "domain": "shop.example"}], "https://a.shop.example/", None),
        ([OBJECT | {"expirationDate": 1.5}], "https://shop.example/", None),
        ([OBJECT | {"expirationDate": 1_900_000_000.5}], "https://shop.example/", "sid=1"),
        ({"cookies": [OBJECT | {"expires": -1, "httpOnly": True}], "origins": []},
         "https://shop.example/", "sid=1"),
        ([OBJECT | {"secure": True}], "http://shop.example/", None),
        ([], "https://shop.example/", None),
    ],
)  # fmt: skip
def test_the_json_of_extensions_is_read(rows: Any, url: str, expected: str | None) -> None:
    assert shown(json.dumps(rows, indent=2), url) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("sid=secret; b=2", "is a Cookie header"),
        ("Cookie: sid=secret", "is a Cookie header"),
        ("a\tb\tc", "Line 1 of the cookies has 3 columns, not 7"),
        (line() + "\n" + line() + "\tmore", "Line 2 of the cookies has 8 columns"),
        ("sid\tsecret\tshop.example\t/\t0\tFALSE\tFALSE", "Line 1 of the cookies has its columns"),
        ("<html>secret</html>\n<p>", "Line 1 of the cookies has 1 columns"),
        ("[{", "begins like JSON but is not a file of cookies"),
        ('{"a": 1}', "is no list of cookies"),
        ('[{"name": "secret"}]', "Cookie 1 of the JSON lacks"),
        ('[["secret"]]', "is no list of cookies"),
        ("***", "only masks them"),
        (line() + "\n" * LARGEST_FILE, "more than 64 KiB"),
    ],
)
def test_other_text_gets_a_sentence_without_what_it_says(text: str, says: str) -> None:
    with pytest.raises(BadCookies, match=says) as raised:
        parse_cookies(text)
    assert "secret" not in str(raised.value)
    assert str(raised.value).endswith(".")


def test_only_cookies_for_the_domains_of_the_job_are_taken() -> None:
    text = "\n".join([line(), line(".www.shop.example", "w"), line("bank.example", "gold")])
    found = cookies_for(text, ["https://www.shop.example/1", "not a url"])
    assert [cookie.name for cookie in found] == ["sid", "w"]
    with pytest.raises(BadCookies, match="None of the 3 cookies is for a host of this job"):
        cookies_for(text, ["https://else.example/"])


def read_or_refused(text: str) -> list[cookies.Cookie]:
    said = "."
    try:
        return parse_cookies(text)
    except BadCookies as bad:
        said = str(bad)
    assert said.endswith(".")
    return []


@given(st.text(max_size=300))
def test_any_text_is_read_or_refused_with_a_sentence(text: str) -> None:
    for cookie in read_or_refused(text):
        value = cookies.header([cookie], f"https://{cookie.host}{cookie.path}")
        assert value is None or value.isprintable()


@given(st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(
        st.sampled_from(["name", "value", "domain", "expires", "path", "cookies", "x"]), inner),
    max_leaves=12))  # fmt: skip
def test_any_json_is_read_or_refused_with_a_sentence(value: Any) -> None:
    assert read_or_refused(json.dumps(value)) is not None
