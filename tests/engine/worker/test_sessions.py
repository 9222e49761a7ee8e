"""Sessions: pages after a login, and what happens when it fails or is lost."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import orjson
import pytest

from curtsy.fetch import proxy_rotation
from curtsy.fetch.cookies import Cookie
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.jobs import JobRequest, PageRequest
from curtsy.jobs.job_request import JobSession
from curtsy.jobs.purge import purge_some
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed
from curtsy.model.page_body import Method, PageBody
from curtsy.politeness.login import REST
from curtsy.politeness.policy import Policy
from curtsy.reports.findings.sources import of_logins
from curtsy.reports.resting_logins import resting_logins
from curtsy.worker.sessions.site_login import _unreachable
from support.engine import QUICK, Engine, settings, until
from support.members_site import PASSWORD, MembersSite
from support.patience import PATIENCE
from support.relay_proxies import RelayProxy, closed_port

SESSION = JobSession("job_of_the_test")
PAGES = [f"/page/{n}" for n in range(6)]


@pytest.fixture
def members() -> Iterator[MembersSite]:
    with MembersSite() as site:
        yield site


async def declare(curtsy: Engine, site: MembersSite, **changes: Any) -> None:
    around = PolicyContext(QUICK, 20, curtsy.clock.now())
    wanted = Description(site.host, {"login": site.login(**changes)})
    await curtsy.store.write(partial(describe, wanted=wanted, context=around))


async def fetched(
    curtsy: Engine, site: MembersSite, *paths: str, session: JobSession | None = SESSION,
    **policy: Any,
) -> Any:  # fmt: skip
    of = settings(Policy(**({"min_delay": 5, "retry_base": 50, "retry_cap": 100} | policy)))
    async with curtsy.worker(of):
        job = await curtsy.submit(*map(site.url, paths), session=session)
        return await curtsy.ended(job)


async def errors(curtsy: Engine, job: Any) -> set[str]:
    return {item.error for item in await curtsy.items(job.public_id)}


async def test_pages_of_a_session_are_fetched_after_one_login(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    job = await fetched(curtsy, members, *PAGES)
    assert (job.state, job.done) == ("succeeded", 6)
    assert members.requests[:3] == [("GET", "/login"), ("POST", "/login"), ("GET", "/home")]
    assert sorted(members.seen[1:]) == PAGES
    assert members.logins == 1


async def test_a_job_without_a_session_neither_logs_in_nor_has_its_cookies(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    await fetched(curtsy, members, "/page/1")
    await fetched(curtsy, members, "/page/1", session=None)
    assert members.logins == 1
    assert members.seen == ["/home", "/page/1"], "its page is not that of the session either"


async def test_each_request_of_a_login_is_a_start_of_its_own_and_on_the_receipt(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    await fetched(curtsy, members, *PAGES[:2])
    [receipt] = await curtsy.query("SELECT requests, smallest_gap_ms AS gap FROM receipts")
    assert receipt.requests == 5
    assert receipt.gap >= 4


async def test_the_next_owner_goes_on_with_the_session(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    for path in PAGES[:3]:
        await fetched(curtsy, members, path)
    assert members.logins == 1


async def test_a_lost_session_is_renewed_and_no_page_fails(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    for path in PAGES[:3]:
        job = await fetched(curtsy, members, path)
        members.end_sessions()
        assert job.state == "succeeded"
    assert members.logins == 3
    [attempts] = await curtsy.query("SELECT count(*) AS n FROM attempts WHERE outcome = 'failed'")
    assert attempts.n == 0, "a lost session is no failure of the site"


@pytest.mark.parametrize(
    ("lost", "odd"),
    [({"text": "in, ann"}, None), ({"selector": "p.gone"}, None), ({"status": [403]}, 403),
     ({"url": "http://127.0.4.1:*/login*"}, None)],
)  # fmt: skip
async def test_a_page_that_always_looks_lost_costs_one_login_and_fails(
    curtsy: Engine, members: MembersSite, lost: dict[str, Any], odd: int | None
) -> None:
    path = "/page/in, ann" if "text" in lost else "/page/odd"
    if odd is not None:
        members.statuses[path] = odd
    elif "url" in lost:
        members.loses.add(path)
    await declare(curtsy, members, lost=lost)
    job = await fetched(curtsy, members, path.replace(" ", "%20"), "/page/1")
    if lost in ({"text": "in, ann"}, {"selector": "p.gone"}):
        assert job.state == "succeeded", "neither shows on these pages"
        assert members.logins == 1
        return
    assert (job.done, job.failed, members.logins) == (1, 1, 2)
    assert "right after a new login too" in str(await errors(curtsy, job))


async def test_a_text_or_a_selector_shows_the_loss(curtsy: Engine, members: MembersSite) -> None:
    for lost in ({"text": "Hello ann"}, {"selector": "a[href='/logout']"}):
        before = members.logins
        await declare(curtsy, members, lost=lost)
        session = JobSession(f"job_{before}")
        job = await fetched(curtsy, members, "/page/1", session=session)
        assert (job.failed, members.logins - before) == (1, 2)


async def test_a_login_that_never_succeeds_is_tried_twice_and_every_page_fails_with_the_reason(
    curtsy: Engine, members: MembersSite
) -> None:
    members.refuses_logins = True
    await declare(curtsy, members)
    job = await fetched(curtsy, members, *PAGES, *(f"/more/{n}" for n in range(30)))
    assert (job.state, job.failed) == ("failed", 36)
    assert members.logins == 2
    assert not members.seen
    [error] = await errors(curtsy, job)
    assert error.startswith("The login failed: the cookie member was not set (status 200).")
    assert "The next login is tried from 20" in error
    now = curtsy.clock.now()
    [resting] = await curtsy.store.read(lambda c: resting_logins(c, now=now))
    [finding] = of_logins([resting])
    assert finding.text.startswith(f"The login of {members.host} rests until 20")
    assert "the cookie member was not set" in finding.text
    assert await curtsy.store.read(lambda c: resting_logins(c, now=now + REST)) == []
    again = await fetched(curtsy, members, "/page/later")
    assert (again.failed, members.logins) == (1, 2), "it rests, with another owner too"
    kinds = await curtsy.query("SELECT DISTINCT kind FROM dead_letters")
    assert [row.kind for row in kinds] == ["login_failed"]


async def test_a_change_of_the_policy_ends_the_rest_of_a_login(
    curtsy: Engine, members: MembersSite
) -> None:
    members.refuses_logins = True
    await declare(curtsy, members)
    await fetched(curtsy, members, "/page/1")
    members.refuses_logins = False
    await declare(curtsy, members, send_as="json")
    job = await fetched(curtsy, members, "/page/2")
    assert (job.state, members.logins) == ("succeeded", 3)


async def test_a_cookie_that_was_there_before_the_form_is_no_sign_of_success(
    curtsy: Engine, members: MembersSite
) -> None:
    """The page with the form gives one to every visitor."""
    members.refuses_logins = True
    await declare(curtsy, members, success={"cookie": "visitor"})
    job = await fetched(curtsy, members, "/page/1")
    assert (job.failed, members.logins) == (1, 2)
    assert "the cookie visitor was not set" in str(await errors(curtsy, job))
    assert "/page/1" not in members.paths()


@pytest.mark.parametrize("sign", [{"status": [303]}, {"url": "*/home"}, {"selector": "a"},
                                  {"text": "Hello ann"}])  # fmt: skip
async def test_any_sign_may_show_success(
    curtsy: Engine, members: MembersSite, sign: dict[str, Any]
) -> None:
    await declare(curtsy, members, success=sign)
    job = await fetched(curtsy, members, "/page/1")
    assert (job.state, members.logins) == ("succeeded", 1)


async def test_pages_that_were_open_when_the_session_was_lost_are_fetched_again(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    for n in range(3):
        paths = [f"/many/{n}/{m}" for m in range(12)]
        job = await fetched(curtsy, members, *paths, min_delay=0, concurrency=6)
        assert job.done == 12, await errors(curtsy, job)
        members.end_sessions()
    assert members.logins == 3, "one login for all pages that show the loss"


async def test_the_form_goes_nowhere_but_to_its_own_url(
    curtsy: Engine, members: MembersSite
) -> None:
    for status, location in ((307, "/elsewhere"), (302, "http://127.0.4.9:1/elsewhere")):
        members.redirects_forms = status, location
        before = members.logins
        await declare(curtsy, members, lost={"status": [status]})
        job = await fetched(curtsy, members, f"/page/{status}")
        assert (job.failed, members.logins - before) == (1, 2)
        says = "redirected with its form" if status == 307 else "redirected to another host"
        assert says in str(await errors(curtsy, job))
    assert "/elsewhere" not in [path for _method, path in members.requests]


@pytest.mark.parametrize(
    ("lost", "state", "posts"),
    [(None, "succeeded", 2), ({"text": "Hello ann"}, "failed", 1)],
)  # fmt: skip
async def test_a_post_is_repeated_after_a_new_login_only_where_it_was_declined(
    curtsy: Engine, members: MembersSite, lost: dict[str, Any] | None, state: str, posts: int
) -> None:
    await declare(curtsy, members, **({"lost": lost} if lost is not None else {}))
    if lost is None:
        await fetched(curtsy, members, "/page/1")
        members.end_sessions()
    body = PageBody(Method.POST, "a=1", "text/plain")
    pages = [PageRequest(members.url("/order"), body=body)]
    async with curtsy.worker(settings(Policy(min_delay=5))):
        request = JobRequest(door="fetch", pages=pages, session=SESSION)
        job = await curtsy.ended((await curtsy.submitter.submit(request)).job)
    assert job.state == state, await errors(curtsy, job)
    assert members.paths("POST").count("/order") == posts
    if state == "failed":
        assert "The POST was not sent again" in str(await errors(curtsy, job))


async def test_a_login_page_that_loops_ends(curtsy: Engine, members: MembersSite) -> None:
    members.loops = True
    await declare(curtsy, members)
    job = await fetched(curtsy, members, "/page/1")
    assert members.paths().count("/round") == 2 * 5
    assert "more than 5 redirects" in str(await errors(curtsy, job))


async def test_a_session_that_no_login_brings_back_rests(
    curtsy: Engine, members: MembersSite
) -> None:
    members.loses |= {*PAGES}
    await declare(curtsy, members)
    job = await fetched(curtsy, members, *PAGES)
    assert job.failed == 6
    assert members.logins == 3
    assert "after 2 new logins too" in str(await errors(curtsy, job))


async def test_a_secret_that_is_missing_is_named_and_nothing_is_sent(
    curtsy: Engine, members: MembersSite
) -> None:
    word = {"env": "CURTSY_NO_SUCH_WORD"}
    await declare(curtsy, members, form={"user": "ann", "word": word}, form_from=None)
    job = await fetched(curtsy, members, "/page/1")
    assert members.requests == []
    [error] = await errors(curtsy, job)
    assert error.startswith("The login was not sent: The secret env:CURTSY_NO_SUCH_WORD is not set")


async def test_robots_txt_decides_about_pages_as_ever_and_not_about_the_declared_login(
    curtsy: Engine, members: MembersSite
) -> None:
    members.robots = "User-agent: *\nDisallow: /login\nDisallow: /page/2\n"
    await declare(curtsy, members)
    of = settings(Policy(min_delay=5), obeys_robots=True)
    async with curtsy.worker(of):
        job = await curtsy.submit(members.url("/page/1"), members.url("/page/2"), session=SESSION)
        ended = await curtsy.ended(job)
    assert (ended.done, ended.failed, members.logins) == (1, 1, 1)
    assert members.requests[0] == ("GET", "/robots.txt")
    assert "/page/2" not in members.paths()


async def test_a_login_that_cannot_be_reached_rests_the_source(
    curtsy: Engine, members: MembersSite
) -> None:
    members.statuses["/hello"] = 503
    await declare(curtsy, members, form_from=members.url("/hello"))
    job = await fetched(curtsy, members, "/page/1", give_up_probes=2)
    assert job.failed == 1
    [error] = await errors(curtsy, job)
    assert "The login could not be sent" in error or "given up" in error
    assert len(members.requests) <= 4


async def test_a_login_that_no_proxy_passes_on_is_not_the_host_s_failure(
    curtsy: Engine, members: MembersSite, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The host is allowed no failure; while its proxies rest, so does the source."""
    monkeypatch.setattr(proxy_rotation, "FIRST_REST", 1.0)
    port = closed_port()
    around = PolicyContext(QUICK, 20, curtsy.clock.now())
    proxies = [f"socks5://127.0.0.1:{port}", f"http://127.0.0.1:{closed_port()}"]
    wanted = Description(members.host, {"login": members.login(), "proxies": proxies})
    await curtsy.store.write(partial(describe, wanted=wanted, context=around))
    once = Policy(min_delay=5, retry_base=50, retry_cap=100, max_retries=0, give_up_probes=1)
    async with curtsy.worker(settings(once)):
        job = await curtsy.submit(members.url("/page/1"), session=SESSION)

        async def rests() -> bool:
            return bool(await curtsy.query("SELECT id FROM sources WHERE pace LIKE '%proxies%'"))

        await until(rests, PATIENCE, lambda: "it does not rest")
        async with RelayProxy(port=port):
            assert (await curtsy.ended(job)).state == "succeeded"
    assert members.logins == 1


@pytest.mark.parametrize("kind", [Kind.TLS, Kind.ADDRESS_REFUSED, Kind.INTERNAL])
def test_what_the_page_would_meet_too_rests_no_host(kind: Kind) -> None:
    failed = _unreachable(Failed(kind, "It did not work."))
    assert not failed.whole_host
    assert failed.error.startswith("The login could not be sent")


async def test_cookies_of_a_browser_begin_the_session(curtsy: Engine, members: MembersSite) -> None:
    members.open.add("known")
    cookie = Cookie("member", "known", "127.0.4.1", False, "/", False)
    job = await fetched(curtsy, members, "/page/1", session=JobSession("a", (cookie,)))
    assert (job.state, members.seen) == ("succeeded", ["/page/1"])
    [jar] = await curtsy.query("SELECT cookies, source_id FROM cookie_jars WHERE source_id > 0")
    assert "known" in jar.cookies


async def test_the_jar_ends_with_its_job_and_holds_no_password(
    curtsy: Engine, members: MembersSite
) -> None:
    await declare(curtsy, members)
    job = await fetched(curtsy, members, "/page/1")
    rows = await curtsy.query("SELECT * FROM cookie_jars")
    assert len(rows) == 2
    assert PASSWORD not in str([tuple(row) for row in rows])
    [jar] = [row for row in rows if row.source_id]
    assert orjson.loads(jar.login)["is_in"] is True
    while not (await curtsy.store.write(lambda c: purge_some(c, job.public_id))).is_done:
        pass
    assert await curtsy.query("SELECT * FROM cookie_jars") == []
