import pytest

from curtsy.fetch import Request, parse_proxy
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from fetch.proxies import LOGIN, SECRETS
from fetch.sites import get


@pytest.mark.parametrize(
    ("text", "told", "authorization"),
    [
        ("http://proxy.example:3128", "proxy.example:3128", None),
        ("HTTP://Proxy.Example:3128/", "proxy.example:3128", None),
        ("http://10.0.0.1:1", "10.0.0.1:1", None),
        ("http://[FD00::1]:65535", "[fd00::1]:65535", None),
        ("http://a:b@p:80", "p:80", "Basic YTpi"),
        ("https://a:b@p:80", "p:80", "Basic YTpi"),
        ("SOCKS5://p:80", "p:80", None),
        ("socks5h://p:80/", "p:80", None),
        ("http://token@p:80", "p:80", "Basic dG9rZW46"),
        ("http://a:@p:80", "p:80", "Basic YTo="),
        (f"http://{LOGIN}@p:80", "p:80", f"Basic {SECRETS[-1]}"),
    ],
)
def test_a_proxys_url_is_read(text: str, told: str, authorization: str | None) -> None:
    proxy = parse_proxy(text)
    assert (str(proxy), proxy.authorization) == (told, authorization)
    assert authorization is None or authorization not in repr(proxy)


def test_a_login_for_socks_is_read_and_not_shown() -> None:
    proxy = parse_proxy(f"socks5h://{LOGIN}@p:80")
    assert (proxy.kind, proxy.login) == ("socks5", ("usér".encode(), b"p@ss:word"))
    assert proxy.authorization is None
    assert not any(secret in repr(proxy) for secret in SECRETS)
    with pytest.raises(ValueError, match="at most 255 bytes"):
        parse_proxy(f"socks5://{'u' * 256}:p@p:80")


@pytest.mark.parametrize(
    "text",
    [
        "", "proxy.example:3128", "http://proxy.example", "http://:3128", "http://p:", "http://p:x",
        "socks4://p:1", "ftp://p:1", "http://p:0", "http://p:65536", "http://p:999999",
        "http://p:1/path", "http://p:1?q", "http://p:1#f", "http://p:1\n", "http://p:1\r\nX: y",
        "http://p:1 ", " http://p:1", "http://p:1\0", "http://p\n:1", "http://b\u00fccher.example:1",
        "http://[::1:1", "http://[::]]:1", "http://[1.2.3.4.5]:1", "http://[::1%25eth0]:1",
        "http://a:secret@p:99999", "http://a:secret@@p:1", "http://a/secret@p:1",
        "http://:secret@p:1", "http://a%3Ab:secret@p:1", "http://a:sec ret@p:1",
        "http://\u00fc:secret@p:1", "http://\udc80:secret@p:1", "http://a:secret@[::1:1]:1:1",
    ],
)  # fmt: skip
def test_what_is_no_proxys_url_is_told_without_its_password(text: str) -> None:
    with pytest.raises(ValueError, match=r"^[A-Z].* proxy.*\.$") as told:
        parse_proxy(text)
    assert "secret" not in str(told.value)
    assert told.value.__context__ is None


async def test_a_request_shows_its_proxys_password_to_nobody() -> None:
    request = Request("http://127.0.0.1/", proxy="http://user:p%40ss@p:99999")
    assert "p%40ss" not in repr(request)
    outcome = await get(request)
    assert isinstance(outcome, Failed)
    assert outcome.kind is Kind.INTERNAL
    assert "p%40ss" not in f"{outcome.error}{outcome.traceback}"
