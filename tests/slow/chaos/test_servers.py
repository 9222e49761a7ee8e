"""Several servers in the URL: the primary is found, and one that was replaced is refused."""

import asyncio
import os
import socket
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from chaos.conftest import upgraded
from chaos.replicas import Pair, pair
from chaos.server import Server
from chaos.test_lost_answers import of_a_submit
from curtsy.clock import Clock
from curtsy.errors import StoreAway
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.store import Store, postgres_servers
from curtsy.store.postgres_servers import NoPrimary, Servers, servers_of
from curtsy.store.wakeups import Wakeups
from support.engine import LOOPBACK, until
from support.patience import PATIENCE
from support.postgres import free_port
from support.proxy import First, Proxy
from support.sql import run, text

BACKEND = "SELECT pg_backend_pid()"
WAL_FILE = "SELECT pg_walfile_name(pg_current_wal_lsn())"
"""Its name begins with the timeline, in eight digits."""


@pytest.fixture(scope="module")
def following() -> Iterator[Pair]:
    with pair("curtsy") as made:
        upgraded(made.url("curtsy"))
        yield made


@pytest.fixture
def own_pair() -> Iterator[Pair]:
    """One whose servers the test may kill and promote."""
    with pair("curtsy") as made:
        upgraded(made.url("curtsy"))
        yield made


async def ask(store: Store, sql: str = BACKEND) -> Any:
    return await store.read(lambda c: run(c, text(sql)).scalar())


@asynccontextmanager
async def mute() -> AsyncIterator[str]:
    """A server that accepts connections and never says a word."""
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        listening.listen(100)
        yield f"127.0.0.1:{listening.getsockname()[1]}"


def url_of(*addresses: str, database: str = "curtsy") -> str:
    return f"postgresql://postgres@{','.join(addresses)}/{database}"


# Finding the primary


async def test_the_primary_is_found_wherever_it_stands_in_the_list(following: Pair) -> None:
    primary, standby = following.primary.address, following.standby.address
    dead = f"127.0.0.1:{free_port()}"
    for addresses in ([primary, standby], [standby, primary], [dead, standby, primary]):
        session = await Servers(url_of(*addresses)).connect()
        assert str(session.server) == primary
        session.terminate()


async def test_a_mute_server_at_the_front_delays_one_connection_and_no_later_one(
    following: Pair,
) -> None:
    """Were servers asked one after the other, every connection would wait for the first."""
    async with mute() as silent:
        servers = Servers(url_of(silent, following.primary.address))
        began = time.monotonic()
        for _ in range(20):
            (await servers.connect()).terminate()
        assert time.monotonic() - began < 20 * postgres_servers.CONNECT_SECONDS


async def test_a_last_primary_that_fell_mute_is_left_for_the_one_that_answers(
    following: Pair,
) -> None:
    async with mute() as silent:
        patient = f"{url_of(silent, following.primary.address)}?connect_timeout=3600"
        servers = Servers(patient)
        servers._last = servers._servers[0]
        session = await asyncio.wait_for(servers.connect(), PATIENCE)
        assert str(session.server) == following.primary.address
        session.terminate()


async def test_names_addresses_and_sockets_may_stand_in_one_list(following: Pair) -> None:
    port = following.primary.port
    url = url_of(f"nowhere.invalid:{port}", f"[::1]:{port}", "%2Fnowhere:1", f"localhost:{port}")
    session = await Servers(url).connect()
    assert str(session.server) == f"localhost:{port}"
    session.terminate()


async def test_hosts_may_be_options_and_a_password_may_hold_what_separates(
    following: Pair,
) -> None:
    primary, standby = following.primary.port, following.standby.port
    url = ("postgresql://postgres:a%40b,c@/curtsy"
           f"?host=127.0.0.1,127.0.0.1&port={standby},{primary}")  # fmt: skip
    async with Store(url) as store:
        assert await ask(store)


async def test_each_server_that_cannot_be_used_is_named_with_its_reason(following: Pair) -> None:
    dead = f"127.0.0.1:{free_port()}"
    async with Store(url_of(dead, following.standby.address, "nowhere.invalid:1")) as store:
        with pytest.raises(StoreAway) as away:
            await ask(store)
    for reason in (
        "has no server that can be written",
        f"{dead} refuses connections",
        f"{following.standby.address} is read-only, as a standby is",
        "nowhere.invalid:1 has no known address",
        "start the primary or promote a standby",
    ):
        assert reason in str(away.value)


async def test_a_lone_standby_is_refused_with_a_sentence(following: Pair) -> None:
    async with Store(following.standby.url("curtsy")) as store:
        with pytest.raises(StoreAway, match="is read-only, as a standby is"):
            await ask(store)


async def test_a_wrong_database_is_told_rather_than_a_server_that_is_away(
    following: Pair,
) -> None:
    dead = f"127.0.0.1:{free_port()}"
    url = url_of(dead, following.primary.address, database="nothing")
    async with Store(url) as store:
        with pytest.raises(StoreAway, match="create it with `createdb`"):
            await ask(store)


async def test_a_server_of_another_cluster_is_a_mistake_in_the_list(
    following: Pair, postgres: Server
) -> None:
    """Its database may even have the same name and the same tables."""
    other = f"127.0.0.1:{postgres.port}"
    url = url_of(following.primary.address, other, database="postgres")
    with pytest.raises(NoPrimary, match="are not copies of one database"):
        await Servers(url).connect()


async def test_what_another_thread_has_seen_meanwhile_counts(following: Pair) -> None:
    """The heartbeat's thread may see the promotion while this one still connects."""
    servers = Servers(following.url("curtsy"))
    session = await servers._open(servers._servers[0])
    assert session.identity is not None
    newer = servers._seen = session.identity._replace(timeline=session.identity.timeline + 1)
    with pytest.raises(NoPrimary, match="was left behind"):
        servers._adopt(session)
    assert session.is_closed()
    assert servers._seen == newer


# A server that is no primary any more


async def test_a_connection_to_a_server_that_became_read_only_is_not_lent_again(
    postgres_url: str, postgres: Server
) -> None:
    async with Store(postgres_url, pool_size=1) as store:
        before = await ask(store)

        def write(connection: Any) -> None:
            run(connection, text("SET default_transaction_read_only = on"))
            run(connection, text("SELECT set_config('transaction_read_only', 'on', false)"))
            run(connection, text("DELETE FROM job_tags"))

        with pytest.raises(StoreAway, match="read-only"):
            await store.write(write)
        assert await ask(store) != before


@pytest.mark.timeout(120)
async def test_after_a_promotion_no_process_that_saw_it_uses_the_old_primary_again(
    own_pair: Pair,
) -> None:
    primary, standby = own_pair.primary, own_pair.standby
    url = own_pair.url("curtsy")
    async with Store(url) as store:
        old = await ask(store)
        primary.die()
        await asyncio.to_thread(standby.promote)
        assert await ask(store) != old
        await primary.start_again()  # nobody has told it: it believes to be the primary
        seen = servers_of(url)
        for _ in range(3):
            seen.forget()
            session = await seen.connect()
            assert str(session.server) == standby.address
            session.terminate()
        newcomer = await Servers(url).connect()  # one that has seen nothing asks both
        assert str(newcomer.server) == standby.address
        newcomer.terminate()
        standby.die()
        with pytest.raises(StoreAway, match="was left behind on timeline 1, the primary is on 2"):
            await ask(store)
        await standby.start_again()
        primary.die()
        await primary.follow(standby)
        session = await seen.connect()
        assert str(session.server) == standby.address
        session.terminate()


@pytest.mark.timeout(120)
async def test_connections_to_an_old_primary_that_lives_on_are_left_when_the_new_one_is_seen(
    own_pair: Pair,
) -> None:
    """Nothing tells them: their server answers as before."""
    url = own_pair.url("curtsy")
    async with Store(url, pool_size=1) as store, Store(url, pool_size=1) as other:
        mine = await ask(store)
        await asyncio.to_thread(own_pair.standby.promote)
        assert await ask(store) == mine, "the old primary is still there"
        servers_of(url).forget()
        assert await ask(other, WAL_FILE) > "00000002"
        assert await ask(store, WAL_FILE) > "00000002"


async def test_a_process_that_only_reads_notices_that_its_old_primary_was_replaced(
    own_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("curtsy.store.wakeups.ASK_SERVERS_EVERY_SECONDS", 0.1)
    url = own_pair.url("curtsy")
    async with Store(url) as store, Wakeups(url, lambda: None):
        await asyncio.to_thread(own_pair.standby.promote)

        async def moved() -> bool:
            return bool(await ask(store, WAL_FILE) > "00000002")

        await until(moved, PATIENCE, lambda: "it still reads from the old primary")


async def test_a_statement_on_a_server_that_stands_still_is_given_up_for_the_new_primary(
    own_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its kernel acknowledges what is sent, so only the time tells."""
    monkeypatch.setattr(postgres_servers, "COMMAND_SECONDS", 1)
    monkeypatch.setattr("curtsy.store.postgres_pool.COMMIT_CHECK_SECONDS", 0.2)
    async with Store(f"{own_pair.url('curtsy')}&application_name=hasty") as store:
        await ask(store)
        with own_pair.primary.frozen():
            await asyncio.to_thread(own_pair.standby.promote)
            told = await asyncio.wait_for(submitter(store).submit(request("still")), PATIENCE)
            async with Store(own_pair.standby.url("curtsy")) as new:
                assert await ask(new, "SELECT public_id FROM jobs") == told.job


def test_a_server_whose_machine_vanished_is_given_up_without_a_word_from_it() -> None:
    """In a network of its own, which is switched off: no packet arrives, and none comes back."""
    program = [sys.executable, str(Path(__file__).with_name("vanishing.py"))]
    if subprocess.run(["unshare", "--net", "true"], capture_output=True).returncode != 0:
        pytest.skip("NOT TESTED: a network of its own needs the right to make one")
    ended = subprocess.run(
        ["unshare", "--net", *program], capture_output=True, text=True, timeout=PATIENCE,
        env=os.environ | {"PYTHONPATH": str(Path(__file__).parents[2])},
    )  # fmt: skip
    assert ended.stdout.splitlines() == ["who waits is told", "who sends is told"], ended.stderr


# A commit waits for the standby


def submitter(store: Store) -> Submitter:
    return Submitter(store=store, clock=Clock(), limits=SubmitLimits(allow=LOOPBACK), delay_ms=100)


def request(key: str) -> JobRequest:
    page = PageRequest(f"http://127.0.0.1/{key}")
    return JobRequest(door="fetch", pages=[page], idempotency_key=key)


async def count(store: Store) -> int:
    return int(await ask(store, "SELECT count(*) FROM jobs"))


async def test_a_submit_is_not_acknowledged_before_the_standby_has_it_however_often_it_is_repeated(
    following: Pair,
) -> None:
    """The first is given up, as by an API after its deadline. It must not end the server's wait:
    then the second would find the job and be told of it, and the standby would not have it."""
    async with Store(following.url("curtsy")) as store, Store(following.url("curtsy")) as reader:
        before = await count(store)
        jobs = submitter(store)
        with following.standby.frozen():
            for _ in range(2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(jobs.submit(request("waits")), 1)
            assert await count(reader) == before, "nobody sees what the standby does not have"
        told = await asyncio.wait_for(jobs.submit(request("waits")), PATIENCE)
        assert told.repeated
        assert await count(store) == before + 1


async def test_a_submit_that_finds_its_own_job_waits_for_the_standby_too(
    following: Pair,
) -> None:
    """Its commit got no answer, and an operator ended the wait of the server: the job is visible,
    and only the primary has it."""
    end = "SELECT count(pg_cancel_backend(pid)) FROM pg_stat_activity WHERE wait_event = 'SyncRep'"
    async with (
        Proxy(following.primary.url("curtsy")) as proxy,
        Store(proxy.url) as store,
        Store(following.url("curtsy")) as other,
    ):
        before = await count(other)
        proxy.lose_answers(First(1, of_a_submit))
        with following.standby.frozen():
            submitting = asyncio.create_task(submitter(store).submit(request("own")))

            async def ended() -> bool:
                return bool(await ask(other, end))

            async def visible() -> bool:
                return await count(other) > before

            await until(ended, PATIENCE, lambda: "no commit waits")
            await until(visible, PATIENCE, lambda: "nothing was committed")
            await asyncio.wait([submitting], timeout=1)
            assert not submitting.done(), "it was told of a job that the standby does not have"
        await asyncio.wait_for(submitting, PATIENCE)
        assert await count(other) == before + 1


async def test_commits_that_nobody_waits_for_keep_their_places_in_the_pool(
    following: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else each repeated request would leave one more session waiting in the server."""
    monkeypatch.setattr("curtsy.store.postgres_pool.POOL_WAIT_SECONDS", 0.2)
    async with Store(following.url("curtsy"), pool_size=2) as store:
        jobs = submitter(store)
        with following.standby.frozen():
            for number in range(2):
                with pytest.raises(TimeoutError):
                    await asyncio.wait_for(jobs.submit(request(f"kept-{number}")), 1)
            with pytest.raises(StoreAway, match="2 wait for a commit, as for a standby"):
                await jobs.submit(request("kept-2"))
        told = await asyncio.wait_for(jobs.submit(request("kept-0")), PATIENCE)
        assert told.repeated


@pytest.mark.timeout(120)
async def test_a_commit_on_an_old_primary_that_lost_its_standby_is_given_up_for_the_new_one(
    own_pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The standby was promoted, and nobody ended the old primary: it waits for ever."""
    monkeypatch.setattr("curtsy.store.postgres_pool.COMMIT_CHECK_SECONDS", 0.2)
    async with Store(own_pair.url("curtsy")) as store:
        await ask(store)
        await asyncio.to_thread(own_pair.standby.promote)
        told = await asyncio.wait_for(submitter(store).submit(request("moves")), PATIENCE)
        async with Store(own_pair.standby.url("curtsy")) as new:
            assert await ask(new, "SELECT public_id FROM jobs") == told.job
