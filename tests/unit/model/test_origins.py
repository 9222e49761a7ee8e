"""Headers stay with the scheme, host and port that they were meant for."""

import pytest

from curtsy.model.options import headers_for, options_for
from curtsy.model.origins import is_downgrade, may_follow, origin_of

FROM = "http://a.example/", "https://a.example/x", "http://a.example:8080/", "https://[::1]:8443/"
ELSEWHERE = (
    "http://www.a.example/", "http://b.example/", "http://a.example./", "http://a.example:81/",
    "https://www.a.example/", "https://a.example:8443/", "http://[::1]:8443/", "https://[::1]/",
)  # fmt: skip


@pytest.mark.parametrize("from_url", FROM)
def test_headers_stay_within_their_origin(from_url: str) -> None:
    assert may_follow(f"{origin_of(from_url)}/other?x=http://a.example/", from_url=from_url)
    for url in ELSEWHERE:
        assert not may_follow(url, from_url=from_url)


def test_only_an_upgrade_to_https_keeps_headers() -> None:
    assert may_follow("https://a.example/", from_url="http://a.example/")
    assert may_follow("https://a.example:8080/", from_url="http://a.example:8080/")
    assert not may_follow("http://a.example/", from_url="https://a.example/")
    assert not may_follow("https://a.example:8080/", from_url="http://a.example/")


def test_a_page_that_moved_keeps_its_headers_only_there() -> None:
    told = options_for("a.example", headers=[("A", "1")])
    assert headers_for(told, "http://a.example/") == (("A", "1"),)
    for url, page_url, kept in [
        ("https://a.example/", "http://a.example/", True),
        ("http://a.example/", "https://a.example/", False),
        ("http://www.a.example/", "http://a.example/", False),
    ]:
        assert bool(headers_for(told, url, page_url=page_url)) is kept


def test_a_downgrade_is_from_https_to_http() -> None:
    assert is_downgrade("http://a.example/", from_url="https://a.example/")
    assert not is_downgrade("https://a.example/", from_url="http://a.example/")
    assert not is_downgrade("http://a.example/", from_url="http://a.example/")
