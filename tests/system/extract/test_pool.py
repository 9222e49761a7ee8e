"""Whatever a page does to its child process costs only that page."""

import asyncio
import os
import platform
import signal
import socket
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from curtsy.extract import ExtractLimits, Pool, fair_slots
from curtsy.extract.fork_server_client import ForkServerGone
from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link
from curtsy.model.outcome import Failed, Record, Reply
from support.patience import PATIENCE

A_FEW_SECONDS = 3.0
"""More than a page needs during which everything stands still for two."""


def new_pool(**limits: float) -> Pool:
    return Pool(
        ExtractLimits(**({"processes": 2, "seconds": 30} | limits)), fork_server="evil_fork_server"
    )


async def told(pool: Pool, order: str) -> Record | Failed:
    body = order.encode()
    reply = Reply(200, "http://a.example/", {"content-type": "text/html"}, body, len(body))
    return await pool.extract("evil_scraper", reply)


async def ok(pool: Pool) -> int:
    """A normal page; returns which process read it."""
    record = await told(pool, "fine")
    assert isinstance(record, Record), record
    return int(record.content.split()[0])


def kind_of(outcome: Record | Failed) -> Kind:
    assert isinstance(outcome, Failed), outcome
    assert outcome.error.endswith("."), outcome.error
    return outcome.kind


async def until_gone(number: int) -> None:
    async with asyncio.timeout(PATIENCE):
        while psutil.pid_exists(number):
            await asyncio.sleep(0.01)


async def test_a_fork_server_that_was_started_ahead_serves_the_first_page() -> None:
    before = {child.pid for child in psutil.Process().children()}
    async with new_pool() as pool:
        pool.start("nobody knows this one")
        assert {child.pid for child in psutil.Process().children()} == before
        for _ in range(2):
            pool.start("article")
            [server] = {child.pid for child in psutil.Process().children()} - before
        assert psutil.Process(await ok(pool)).ppid() == server


async def test_a_fork_server_that_ended_is_not_started_ahead_again() -> None:
    async with new_pool() as pool:
        pool.start("article")
        client = pool._built_in_group.client
        assert client is not None
        client.kill()
        async with asyncio.timeout(PATIENCE):
            while not client.gone:
                await asyncio.sleep(0.01)
        pool.start("article")
        assert pool._built_in_group.client is client
        await ok(pool)


async def test_pages_are_read_one_after_the_other_by_the_same_process() -> None:
    async with new_pool() as pool:
        first = await ok(pool)
        assert first != os.getpid()
        assert [await ok(pool) for _ in range(5)] == [first] * 5


async def test_pages_are_read_side_by_side_by_no_more_processes_than_allowed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "SLOW_AFTER_SECONDS", PATIENCE)
    async with new_pool(processes=3) as pool:
        await ok(pool)
        records = await asyncio.gather(*(told(pool, "span 0.3") for _ in range(9)))
    spans = [record.content.split() for record in records if isinstance(record, Record)]
    assert len(spans) == 9
    assert len({process for process, _began, _ended in spans}) == 3
    moments = [float(began) for _process, began, _ended in spans]
    open_then = [sum(float(b) <= at < float(e) for _, b, e in spans) for at in moments]
    assert max(open_then) == 3, "three at a time, and not one"


HARM = {
    "eat 100": Kind.EXTRACT_MEMORY,
    "kill": Kind.EXTRACT_FAILED,
    "crash": Kind.EXTRACT_FAILED,
    "exit 3": Kind.EXTRACT_FAILED,
    "exit 0": Kind.EXTRACT_FAILED,
    "raise nonsense": Kind.EXTRACT_FAILED,
    "say 70000000": Kind.TOO_LARGE,
    "recurse": Kind.EXTRACT_FAILED,
}


async def test_a_page_that_harms_its_child_process_fails_alone() -> None:
    async with new_pool(memory_bytes=256 * 2**20) as pool:
        await ok(pool)
        for order, kind in HARM.items():
            outcomes = await asyncio.gather(
                told(pool, order), *(told(pool, "fine") for _ in range(20))
            )
            assert kind_of(outcomes[0]) is kind, order
            assert all(isinstance(outcome, Record) for outcome in outcomes[1:]), order
            await ok(pool)


async def test_a_child_that_the_kernel_kills_had_too_little_memory() -> None:
    async with new_pool() as pool:
        number = await ok(pool)
        hanging = asyncio.ensure_future(told(pool, "hang"))
        await asyncio.sleep(0.1)
        os.kill(number, signal.SIGKILL)
        assert kind_of(await hanging) is Kind.EXTRACT_MEMORY


async def test_so_does_one_that_takes_longer_than_it_may() -> None:
    async with new_pool(seconds=A_FEW_SECONDS) as pool:
        await ok(pool)
        orders = ("hang", "sleep 60", *["fine"] * 20)
        hung, slept, *others = await asyncio.gather(*(told(pool, order) for order in orders))
        assert kind_of(hung) is kind_of(slept) is Kind.EXTRACT_TIMEOUT
        assert all(isinstance(outcome, Record) for outcome in others)
        await ok(pool)


async def test_the_time_limit_does_not_count_the_wait_for_a_child_process() -> None:
    async with new_pool(processes=1, seconds=A_FEW_SECONDS) as pool:
        await ok(pool)
        outcomes = await asyncio.gather(*(told(pool, "sleep 0.7") for _ in range(5)))
    assert all(isinstance(outcome, Record) for outcome in outcomes)


async def test_pages_that_take_long_do_not_hold_up_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "SLOW_AFTER_SECONDS", 0.1)
    async with new_pool(processes=2, seconds=PATIENCE) as pool:
        await ok(pool)
        slow = [asyncio.ensure_future(told(pool, "hang")) for _ in range(2)]
        await asyncio.sleep(0.05)
        await asyncio.gather(*(ok(pool) for _ in range(50)))
        assert not any(one.done() for one in slow)
        for one in slow:
            one.cancel()
        await asyncio.gather(*slow, return_exceptions=True)


async def test_however_many_take_long_each_has_its_end_and_releases_its_slot(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "SLOW_AFTER_SECONDS", 0.1)
    async with new_pool(processes=2, seconds=1) as pool:
        outcomes = await asyncio.gather(*(told(pool, "hang") for _ in range(11)))
        assert {kind_of(one) for one in outcomes} == {Kind.EXTRACT_TIMEOUT}
        free = pool._slots[pool._built_in_group]
        assert free._extra == 2
        assert not free._free.locked()


async def test_there_are_never_more_than_twice_as_many_children(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(fair_slots, "SLOW_AFTER_SECONDS", 0.05)
    async with new_pool(processes=2, seconds=PATIENCE) as pool:
        await ok(pool)
        hanging = [asyncio.ensure_future(told(pool, "hang")) for _ in range(10)]
        client = pool._built_in_group.client
        assert client is not None
        async with asyncio.timeout(PATIENCE):
            while len(client._children) < 4:
                await asyncio.sleep(0.01)
        for _ in range(50):  # time in which there would be more
            assert len(client._children) == 4
            await asyncio.sleep(0.01)
        for one in hanging:
            one.cancel()
        await asyncio.gather(*hanging, return_exceptions=True)


async def test_what_was_raised_is_told_with_its_traceback() -> None:
    async with new_pool() as pool:
        outcome = await told(pool, "raise nonsense")
        assert isinstance(outcome, Failed)
        assert outcome.error == "The scraper failed: ValueError: nonsense."
        assert outcome.traceback is not None
        assert "evil_scraper" in outcome.traceback


async def test_params_go_with_the_page_and_chosen_links_come_back_when_wanted() -> None:
    recipe = {"record": "li", "next": "a", "fields": {"name": "b"}}
    body = b"<li><b>x</b><a href=/2>next</a><a href=/3>other</a>"
    reply = Reply(200, "http://a.example/", {"content-type": "text/html"}, body, len(body))
    async with new_pool() as pool:
        record = await pool.extract("listing", reply, params={"recipe": recipe}, links=True)
        unasked = await pool.extract("listing", reply, params={"recipe": recipe})
        without = await pool.extract("listing", reply)
    assert isinstance(record, Record)
    assert b'"fields":{"name":"x"}' in record.content
    assert record.links == (Link("http://a.example/2"),)
    assert isinstance(unasked, Record)
    assert unasked.links is None
    assert kind_of(without) is Kind.NOT_SUPPORTED


async def test_memory_that_is_allowed_may_be_used() -> None:
    async with new_pool(memory_bytes=512 * 2**20) as pool:
        assert isinstance(await told(pool, "eat 20"), Record)


async def test_a_child_is_replaced_after_so_many_pages_or_so_much_memory() -> None:
    async with new_pool(processes=1, pages_per_process=3) as pool:
        numbers = [await ok(pool) for _ in range(7)]
        assert len(set(numbers)) == 3
        await until_gone(numbers[0])
    async with new_pool(processes=1, keep_below_bytes=150 * 2**20) as pool:
        first = await ok(pool)
        assert await ok(pool) == first
        assert isinstance(await told(pool, "eat 20"), Record)
        assert await ok(pool) != first
        await until_gone(first)


async def test_a_child_that_is_too_old_is_replaced_before_its_next_page(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    async with new_pool(processes=1, seconds_per_process=60) as pool:
        now = 1000.0
        monkeypatch.setattr(pool._built_in_group, "_now", lambda: now)
        first = await ok(pool)
        now += 59
        assert await ok(pool) == first
        now += 1
        assert await ok(pool) != first
        await until_gone(first)


async def test_a_child_has_no_network_neither_in_python_nor_in_c() -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.settimeout(0.2)
        host, port = canary.getsockname()
        async with new_pool() as pool:
            outcome = await told(pool, f"connect {host}:{port}")
            assert kind_of(outcome) is Kind.EXTRACT_FAILED
            assert "may not use the network" in outcome.error
            in_c = await told(pool, "connect-in-c")
        with pytest.raises(TimeoutError):
            canary.accept()
    assert isinstance(in_c, Record)
    assert in_c.content == b"-1 1", "the kernel refuses: not permitted"


@pytest.mark.skipif(platform.machine() != "x86_64", reason="only x86-64 has them")
async def test_a_child_has_none_by_the_other_numbers_of_calls_either() -> None:
    async with new_pool() as pool:
        by_number = await told(pool, "connect-by-another-number")
    assert isinstance(by_number, Record)
    assert by_number.content == b"-1 1", "not permitted, whether the kernel knows it or not"


async def test_a_child_cannot_fill_the_disk(tmp_path: Path) -> None:
    async with new_pool() as pool:
        outcome = await told(pool, f"write {tmp_path / 'x'}")
        assert kind_of(outcome) is Kind.EXTRACT_FAILED
        await ok(pool)
    assert not (tmp_path / "x").exists() or (tmp_path / "x").stat().st_size == 0


async def test_a_cancelled_page_ends_its_child_process_and_frees_the_slot() -> None:
    async with new_pool(processes=1) as pool:
        number = await ok(pool)
        reading = asyncio.ensure_future(told(pool, "hang"))
        await asyncio.sleep(0.1)
        reading.cancel()
        with pytest.raises(asyncio.CancelledError):
            await reading
        await until_gone(number)
        await ok(pool)


async def test_when_the_fork_server_dies_its_children_do_and_the_next_page_has_another() -> None:
    async with new_pool(processes=2) as pool:
        number = await ok(pool)
        reading = asyncio.ensure_future(told(pool, "hang"))
        await asyncio.sleep(0.1)
        assert pool._built_in_group.client is not None
        os.kill(pool._built_in_group.client._process.pid, signal.SIGKILL)
        assert kind_of(await reading) is Kind.INTERNAL
        assert await ok(pool) != number
        await until_gone(number)


async def test_a_fork_server_whose_death_is_not_yet_known_is_gone_all_the_same() -> None:
    async with new_pool(processes=1) as pool:
        await ok(pool)
        client, child = await pool._built_in_group.acquire()
        os.kill(client._process.pid, signal.SIGKILL)
        client._process.wait(PATIENCE)  # meanwhile nothing is heard of it
        assert not client.gone
        client.kill_child(child)
        with pytest.raises(ForkServerGone):
            await client.fork()


async def test_a_fork_server_that_died_has_one_successor_however_many_pages_wait() -> None:
    before = len(psutil.Process().children())
    async with new_pool(processes=4) as pool:
        await ok(pool)
        assert pool._built_in_group.client is not None
        os.kill(pool._built_in_group.client._process.pid, signal.SIGKILL)
        async with asyncio.timeout(PATIENCE):
            while not pool._built_in_group.client.gone:
                await asyncio.sleep(0.01)
        await asyncio.gather(*(ok(pool) for _ in range(4)))
        assert len(psutil.Process().children()) == before + 1


async def test_a_process_with_a_thousand_open_files_has_child_processes_too() -> None:
    many = [os.open(os.devnull, os.O_RDONLY) for _ in range(1_100)]
    try:
        async with new_pool() as pool:
            await asyncio.wait_for(ok(pool), PATIENCE)
    finally:
        for file in many:
            os.close(file)


async def test_nothing_is_left_behind() -> None:
    before = {child.pid for child in psutil.Process().children(recursive=True)}
    async with new_pool() as pool:
        await asyncio.gather(ok(pool), ok(pool))
        hanging = asyncio.ensure_future(told(pool, "hang"))
        await asyncio.sleep(0.1)
        hanging.cancel()
    async with asyncio.timeout(PATIENCE):
        while {c.pid for c in psutil.Process().children(recursive=True)} - before:
            await asyncio.sleep(0.01)


async def test_without_a_page_nothing_is_started() -> None:
    before = len(psutil.Process().children())
    async with new_pool():
        assert len(psutil.Process().children()) == before


_WORKER = """
import asyncio
from curtsy.extract import ExtractLimits, Pool
from curtsy.model.link import Link
from curtsy.model.outcome import Reply

async def main():
    async with Pool(ExtractLimits(processes=1), fork_server="evil_fork_server") as pool:
        record = await pool.extract("evil_scraper", Reply(200, "http://a/", {}, b"fine", 4))
        print(record.content.split()[0].decode(), flush=True)
        await pool.extract("evil_scraper", Reply(200, "http://a/", {}, b"hang", 4))

asyncio.run(main())
"""


def test_the_child_processes_of_a_killed_worker_end_with_it() -> None:
    worker = subprocess.Popen([sys.executable, "-c", _WORKER], stdout=subprocess.PIPE)
    assert worker.stdout is not None
    with worker.stdout:
        number = int(worker.stdout.readline())
    worker.kill()
    worker.wait()
    asyncio.run(until_gone(number))
