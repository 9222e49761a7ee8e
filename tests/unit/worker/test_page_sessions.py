"""What a lane knows of a session: its cookies, its login, and when that rests."""

from dataclasses import replace
from typing import Any

import pytest

from curtsy.clock import HOUR, MINUTE
from curtsy.fetch import cookies
from curtsy.fetch.cookies import Cookie
from curtsy.frontier.cookie_jars import JarPair, StoredJar
from curtsy.frontier.take import Visit
from curtsy.model.failure_kinds import Kind
from curtsy.model.options import options_for
from curtsy.model.outcome import Reply
from curtsy.politeness.login import MOST_PER_HOUR, REST, Login, Signs
from curtsy.politeness.policy import Policy
from curtsy.worker.pipeline import Pipeline
from curtsy.worker.sessions.page_sessions import (
    LARGEST_JAR,
    MOST_COOKIES,
    LaneSessions,
    PageSession,
)

NOW = 1_800_000_000_000
URL = "https://a.example/"
WITH_LOGIN = Policy(login=Login(URL, Signs(cookie="sid")))
EMPTY = JarPair("[]", None)
HOSTS = ("a.example", "b.test:8080")
COOKIE = Cookie("sid", "1", "a.example", False, "/", True)


def session(stored: JarPair = EMPTY, now: int = NOW) -> PageSession:
    return PageSession("one", 7, stored, now=now)


def again(before: PageSession, given: str = "[]", now: int = NOW) -> PageSession:
    """The session as its next owner reads it."""
    return session(JarPair(given, before.stored(), HOSTS), now)


def reply(*lines: str) -> Reply:
    return Reply(200, URL, {"set-cookie": "\n".join(lines)}, b"", 0)


def test_cookies_and_login_survive_a_change_of_owner() -> None:
    one = session()
    one.received(reply("sid=1; Secure; Max-Age=60", "b=2"), NOW)
    one.succeeded(NOW)
    two = again(one)
    assert two.header(URL, NOW) == (("Cookie", "sid=1; b=2"),)
    assert not two.needs_login(WITH_LOGIN, 1, NOW)
    assert two.header(URL, NOW + MINUTE) == (("Cookie", "b=2"),), "the other has expired"


def test_a_jar_is_bounded_in_number_and_bytes() -> None:
    one = session()
    for n in range(MOST_COOKIES + 20):
        one.received(reply(f"c{n}=x"), NOW)
    assert len(one.cookies) == MOST_COOKIES
    assert one.cookies[-1].name == f"c{MOST_COOKIES + 19}"
    for n in range(40):
        one.received(reply(f"large{n}={'x' * 4_000}"), NOW)
    assert len(one.stored().cookies) <= LARGEST_JAR
    assert one.cookies[-1].name == "large39"


@pytest.mark.parametrize("value", ["1", "x" * 4_000])
def test_the_first_reply_drops_cookies_of_other_hosts_before_those_of_its_own(value: str) -> None:
    host = [COOKIE, Cookie("all", "1", "a.example", True, "/x", True)]
    sister = Cookie("sister", "1", "sub.a.example", False, "/", True)
    others = [Cookie(f"c{n}", value, f"h{n}.b.test", False, "/", True) for n in range(400)]
    one = session(JarPair(cookies.dump([*host, sister, *others]), None, HOSTS))
    one.received(reply("new=1"), NOW)
    names = [cookie.name for cookie in one.cookies]
    assert names[:3] == ["sid", "all", "sister"]
    assert names[-2:] == ["c399", "new"]
    assert len(names) <= MOST_COOKIES
    assert len(one.stored().cookies) <= LARGEST_JAR


def test_cookies_of_a_browser_are_taken_once_and_a_newer_jar_stays() -> None:
    given = cookies.dump([COOKIE])
    one = session(JarPair(given, None, HOSTS))
    assert one.has_changed
    assert not one.needs_login(WITH_LOGIN, 1, NOW), "they may be those of a login"
    one.received(reply("sid=2; Path=/; Secure"), NOW)
    two = again(one, given)
    assert two.header(URL, NOW) == (("Cookie", "sid=2"),)
    assert not two.has_changed
    other = cookies.dump([replace_value(COOKIE, "3")])
    assert again(one, other).header(URL, NOW) == (("Cookie", "sid=3"),)


def test_a_source_gets_only_the_given_cookies_of_its_domains() -> None:
    hosts = ("a.example", "sub.a.example", "b.test", "c.example", "d.example")
    given = cookies.dump([Cookie("n", "1", host, True, "/", False) for host in hosts])
    taken = session(JarPair(given, None, HOSTS))
    assert [cookie.host for cookie in taken.cookies] == ["a.example", "sub.a.example", "b.test"]
    none = session(JarPair(given, None, ("other.test",)))
    assert none.cookies == ()
    assert not none.has_changed
    assert none.needs_login(WITH_LOGIN, 1, NOW), "no browser was in there"


def replace_value(cookie: Cookie, value: str) -> Cookie:
    return cookie._replace(value=value)


def test_a_login_that_fails_twice_rests_for_a_while_with_the_next_owner_too() -> None:
    one = session()
    assert not one.failed("The login failed.", 1, NOW)
    assert one.needs_login(WITH_LOGIN, 1, NOW)
    assert one.failed("The login failed.", 1, NOW)
    for each in (one, again(one)):
        refused = each.refusal(WITH_LOGIN, 1, NOW + REST - 1)
        assert refused is not None
        assert refused.kind is Kind.LOGIN_FAILED
        assert refused.error.startswith("The login failed. The next login is tried from 2027-01-15")
        assert not each.needs_login(WITH_LOGIN, 1, NOW)
        assert each.refusal(WITH_LOGIN, 1, NOW + REST) is None
        assert each.needs_login(WITH_LOGIN, 2, NOW), "the policy has changed"
        assert each.refusal(Policy(), 1, NOW) is None, "without a login nothing rests"


def test_a_session_that_is_lost_again_and_again_rests() -> None:
    one = session()
    for _ in range(3):
        one.succeeded(NOW)
        assert not one.needs_login(WITH_LOGIN, 1, NOW)
        one.lost(1, NOW)
    assert one.refusal(WITH_LOGIN, 1, NOW) is not None
    two = session()
    for _ in range(5):
        two.succeeded(NOW)
        two.shown()
        two.lost(1, NOW)
    assert two.refusal(WITH_LOGIN, 1, NOW) is None, "pages between showed the session"


def test_one_session_logs_in_some_times_an_hour_at_most() -> None:
    one = session()
    for n in range(MOST_PER_HOUR - 1):
        one.succeeded(NOW + n)
        one.shown()
        one.lost(1, NOW + n)
    assert one.refusal(WITH_LOGIN, 1, NOW) is None
    one.succeeded(NOW)
    late = again(one)
    one.shown()
    one.lost(1, NOW)
    refused = one.refusal(WITH_LOGIN, 1, NOW)
    assert refused is not None
    assert "30 times within an hour" in refused.error
    late.shown()
    late.lost(1, NOW + HOUR + MINUTE)
    assert late.refusal(WITH_LOGIN, 1, NOW + HOUR + MINUTE) is None


async def test_what_has_changed_is_stored_once() -> None:
    async def read(_session: str, _source: int) -> JarPair:
        return EMPTY

    lane = LaneSessions(7, read=read, now=lambda: NOW)
    visit = Visit(1, 1, 7, 5, 0, None, 0, 0, URL, None, 0, 0, "raw",
                  options_for("a.example", session="one"), None, None)  # fmt: skip
    assert lane.comes_first(visit, Policy(), 1), "it has to be read"
    found = await lane.of(visit)
    assert found is not None
    assert not lane.comes_first(visit, Policy(), 1)
    assert lane.comes_first(visit, WITH_LOGIN, 1)
    assert lane.changed() == ()
    found.received(reply("sid=1"), NOW)
    [jar] = lane.changed()
    assert isinstance(jar, StoredJar)
    assert (jar.session, jar.source_id, jar.job_id) == ("one", 7, None)
    assert lane.changed() == ()
    assert await lane.of(visit._replace(options=None)) is None


@pytest.mark.parametrize("stored", ["{}", '{"is_in": true, "of_a_newer_program": 1}'])
def test_what_another_program_wrote_is_read(stored: str) -> None:
    jar = StoredJar("one", 7, '[["a", "1", "a.example", false, "/", false]]', stored)
    assert session(JarPair("[]", jar)).header(URL, NOW) == (("Cookie", "a=1"),)


def test_no_form_is_in_the_text_of_a_login() -> None:
    login = Login(URL, Signs(), form=(("word", "secret"),))
    assert "secret" not in repr(replace(WITH_LOGIN, login=login))


async def test_a_visit_sends_no_login_while_another_does() -> None:
    """It had started before the session was lost. Nothing here could send a request."""
    absent: Any = None
    pipeline = Pipeline(robots=absent, fetcher=absent, pool=absent, now=lambda: NOW,
                        max_redirects=5)  # fmt: skip
    one = session()
    one.is_sending = True
    done = await pipeline._login_first(one, WITH_LOGIN, 1, lambda: True)
    assert done is not None
    assert (done.outcome, done.asked_login) == (None, True)
