"""Several proxies of one source: they take turns, dead ones rest, and the pace stays as it is."""

import asyncio
from itertools import pairwise
from typing import Any

import pytest

from curtsy.fetch import proxy_rotation
from curtsy.frontier.source_policy import Description, PolicyContext, describe
from curtsy.jobs import JobRequest, PageRequest
from curtsy.model.page_body import Method, PageBody
from curtsy.politeness.policy import Policy
from support.engine import Engine, settings, until
from support.patience import PATIENCE
from support.posts import PostSite
from support.relay_proxies import ESCAPED, LOGIN, RelayProxy, closed_port

DELAY = 60
QUICK = Policy(min_delay=DELAY, retry_base=50, retry_cap=100, max_retries=0, give_up_probes=1)
HOST = "127.0.0.1"


async def described(curtsy: Engine, site: PostSite, proxies: list[str], **policy: Any) -> None:
    context = PolicyContext(QUICK, 3_000, curtsy.clock.now())
    name = f"{HOST}:{site.port}"
    wanted = Description(name, {"proxies": proxies, **policy}, [name])
    await curtsy.store.write(lambda c: describe(c, wanted, context))


async def test_pages_come_through_those_that_work_and_pay_for_none_of_the_others(
    curtsy: Engine, capfd: pytest.CaptureFixture[str]
) -> None:
    """The page allows no retry and the host no failure: neither is charged for a proxy."""
    async with (
        PostSite() as site, RelayProxy(login=True) as socks, RelayProxy("http") as plain,
        RelayProxy("http", login=True) as wants_login,
    ):  # fmt: skip
        dead = [f"socks5://{ESCAPED}@{HOST}:{closed_port()}", f"https://{HOST}:{closed_port()}"]
        refused = wants_login.url.replace("hush", "hash")
        await described(curtsy, site, [dead[0], refused, socks.url, dead[1], plain.url])
        async with curtsy.worker(settings(QUICK)):
            job = await curtsy.submit(*[site.url(f"/{n}") for n in range(8)])
            assert (await curtsy.ended(job)).state == "succeeded"
    assert len(site.heard) == 8
    assert socks.asked
    assert plain.asked
    assert wants_login.connections == 1
    failures = await curtsy.query("SELECT error FROM attempts WHERE outcome = 'failed'")
    assert all("proxy" in failure.error for failure in failures)
    shown = str(await curtsy.query("SELECT * FROM attempts")) + "".join(capfd.readouterr())
    shown += str(await curtsy.query("SELECT * FROM events"))
    for secret in (*LOGIN, ESCAPED, "hash"):
        assert secret not in shown


async def test_the_pace_is_the_source_s_however_many_proxies_there_are(curtsy: Engine) -> None:
    async with PostSite() as site, RelayProxy() as one, RelayProxy("http") as other:
        await described(curtsy, site, [one.url, other.url])
        async with curtsy.worker(settings(QUICK)):
            job = await curtsy.submit(*[site.url(f"/{n}") for n in range(10)])
            assert (await curtsy.ended(job)).state == "succeeded"
        [row] = await curtsy.query("SELECT id FROM jobs WHERE public_id = :job", job=job)
        assert row
        starts = sorted(a.started_at for a in await curtsy.query("SELECT started_at FROM attempts"))
        gaps = [later - earlier for earlier, later in pairwise(starts)]
        assert len(gaps) == 9
        assert min(gaps) >= DELAY - 20  # an attempt begins before its connection stands


async def test_while_all_rest_the_source_waits_and_says_why_and_then_goes_on(
    curtsy: Engine, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(proxy_rotation, "FIRST_REST", 1.0)
    port = closed_port()
    async with PostSite() as site:
        await described(curtsy, site, [f"socks5://{HOST}:{port}", f"http://{HOST}:{closed_port()}"])
        async with curtsy.worker(settings(QUICK)):
            job = await curtsy.submit(site.url("/"))

            async def rests() -> bool:
                kept = await curtsy.query("SELECT pace FROM sources WHERE pace LIKE '%proxies%'")
                return bool(kept)

            await until(rests, PATIENCE, lambda: "it does not rest")
            [source] = await curtsy.query("SELECT pace FROM sources WHERE pace LIKE '%proxies%'")
            assert "all proxies rest, the first for 1 s" in source.pace
            assert site.heard == []
            back = RelayProxy()
            back._server = await asyncio.start_server(back._serve, HOST, port)
            back.port = port
            assert (await curtsy.ended(job)).state == "succeeded", "no host was given up"
            await back.__aexit__(None, None, None)
    assert len(site.heard) == 1


async def test_a_post_goes_through_the_next_proxy_only_if_it_never_left(curtsy: Engine) -> None:
    async with PostSite() as site, RelayProxy("http", login=True) as wrong, RelayProxy() as works:
        dead = f"socks5://{HOST}:{closed_port()}"
        await described(curtsy, site, [dead, wrong.url.replace("hush", "hash"), works.url])
        async with curtsy.worker(settings(QUICK)):
            pages = [PageRequest(site.url("/"), body=PageBody(Method.POST, "q=1", "text/plain"))]
            request = JobRequest(door="fetch", pages=pages)
            job = (await curtsy.submitter.submit(request)).job
            assert (await curtsy.ended(job)).state == "succeeded"
    assert [one.body for one in site.heard] == [b"q=1"]
