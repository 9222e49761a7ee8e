"""Chains of redirects, hop by hop: each waits its turn, and cookies go along."""

from curtsy.politeness.policy import Policy
from support.engine import Engine, settings
from support.hostile import Script, Servers, page, status

QUICK = settings(Policy(min_delay=0, max_retries=1, retry_base=20, retry_cap=40))


def _sent(servers: Servers, name: str, path: str) -> list[str | None]:
    """The cookies of each request for this path."""
    return [cookie for asked, cookie in servers.cookies[name] if asked == path]


async def test_a_site_that_wants_its_cookie_back_gets_it(curtsy: Engine) -> None:
    """Without it, such a site sends everybody around for ever."""
    door = status(b"302 Found", b"Location: /", b"Set-Cookie: seen=yes; Path=/",
                  b"Set-Cookie: until=1; Expires=Thu, 01 Jan 2099 00:00:00 GMT")  # fmt: skip
    script = Script()
    script.answers["/"] = [door, page(b"welcome")]
    async with Servers({"host": script}) as servers, curtsy.worker(QUICK):
        job = await curtsy.submit(servers.url("host", "/"))
        assert (await curtsy.ended(job)).state == "succeeded"
    assert _sent(servers, "host", "/") == [None, "seen=yes; until=1"]


async def test_cookies_outlive_a_failed_hop_and_end_with_the_visit(curtsy: Engine) -> None:
    door = status(b"302 Found", b"Location: /in", b"Set-Cookie: seen=yes; Path=/")
    script = Script(door=[door], **{"in": [status(b"500 Oops"), page()]})
    async with Servers({"host": script}) as servers, curtsy.worker(QUICK):
        for _ in range(2):
            job = await curtsy.submit(servers.url("host", "/door"))
            assert (await curtsy.ended(job)).state == "succeeded"
    assert _sent(servers, "host", "/in") == ["seen=yes"] * 3
    assert _sent(servers, "host", "/door") == [None, None]


async def test_another_host_is_not_shown_them(curtsy: Engine) -> None:
    here, other = Script(), Script()
    async with Servers({"host": here, "other": other}) as servers, curtsy.worker(QUICK):
        there = servers.url("other", "/landed").encode()
        away = status(b"302 Found", b"Location: " + there, b"Set-Cookie: secret=1; Path=/")
        here.answers["/away"] = [away]
        job = await curtsy.submit(servers.url("host", "/away"))
        assert (await curtsy.ended(job)).state == "succeeded"
    assert _sent(servers, "other", "/landed") == [None]


async def test_a_host_that_redirects_to_its_own_spelling_is_followed_there(curtsy: Engine) -> None:
    """By our own spelling it would redirect for ever."""
    script = Script()
    script.answers["/~joe"] = [status(b"301 Moved", b"Location: /%7ejoe?b&a")]
    script.answers["/%7ejoe?b&a"] = [page(b"welcome")]
    async with Servers({"host": script}) as servers, curtsy.worker(QUICK):
        job = await curtsy.submit(servers.url("host", "/%7Ejoe"))
        assert (await curtsy.ended(job)).state == "succeeded"
    assert [path for path, _cookie in servers.cookies["host"] if path != "/robots.txt"] == [
        "/~joe", "/%7ejoe?b&a",
    ]  # fmt: skip
