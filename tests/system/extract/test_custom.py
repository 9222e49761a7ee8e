"""Scrapers of your own run in the pool: whatever one does costs only its page."""

import asyncio
import socket
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import orjson
import psutil
import pytest

from curtsy.extract import ExtractLimits, Pool
from curtsy.extract import pool as pool_module
from curtsy.extract.frames import frame
from curtsy.model.failure_kinds import Kind
from curtsy.model.link import Link
from curtsy.model.outcome import Failed, Record, Reply
from curtsy.scrapers.registry import OwnScrapers
from support.patience import PATIENCE

EVIL = Path(__file__).parent / "own_evil.py"
NAMES = ("own_fine", "own_listing", "own_evil")


def new_pool(*files: Path, **limits: float) -> Pool:
    own = OwnScrapers(tuple(map(str, files or (EVIL,))), dict.fromkeys(NAMES, ""))
    return Pool(ExtractLimits(**({"processes": 2, "seconds": 30} | limits)), own=own)


async def told(
    pool: Pool, order: str, scraper: str = "own_evil", params: Mapping[str, Any] | None = None
) -> Record | Failed:
    body = order.encode()
    reply = Reply(200, "http://a.example/", {"content-type": "text/html"}, body, len(body))
    return await pool.extract(scraper, reply, params=params, links=True)


async def ok(pool: Pool) -> int:
    """A normal page; returns which process read it."""
    record = await told(pool, "fine", "own_fine", {"a": [1]})
    assert isinstance(record, Record), record
    found = orjson.loads(record.content)
    assert (found["body"], found["params"]) == ("fine", {"a": [1]})
    return int(found["process"])


def failed(outcome: Record | Failed) -> Failed:
    assert isinstance(outcome, Failed), outcome
    return outcome


def fork_server_of(pool: Pool) -> int:
    assert pool._own_group.client is not None
    return pool._own_group.client._process.pid


async def until_alone(number: int) -> None:
    """No child is left of this process."""
    async with asyncio.timeout(PATIENCE):
        while psutil.Process(number).children(recursive=True):
            await asyncio.sleep(0.01)


ANSWER = {"content_type": "application/json", "charset": "utf-8", "peak": 1, "links": None,
          "lines": [], "digest": None}  # fmt: skip
ODD_DIGEST = frame(ANSWER | {"digest": "\0" * 22})
ODD_LINKS = [frame(ANSWER | {"links": links})
             for links in ([[None]], [["http://a.example/", 5, [1]]])]  # fmt: skip
HARM = {
    "raise nonsense": (Kind.EXTRACT_FAILED, "ValueError: nonsense"),
    "broken No prices.": (Kind.EXTRACT_FAILED, "No prices."),
    "eat 100": (Kind.EXTRACT_MEMORY, "memory"),
    "exit 3": (Kind.EXTRACT_FAILED, "SystemExit: 3"),
    "os-exit 0": (Kind.EXTRACT_FAILED, "status 0"),
    "interrupt": (Kind.EXTRACT_FAILED, "KeyboardInterrupt"),
    "fork": (Kind.EXTRACT_FAILED, "PermissionError"),
    "run": (Kind.EXTRACT_FAILED, "PermissionError"),
    "close": (Kind.EXTRACT_FAILED, "crashed"),
    "kill-parent": (Kind.EXTRACT_FAILED, "PermissionError"),
    "signal-all": (Kind.EXTRACT_FAILED, "PermissionError"),
    "signal-group": (Kind.EXTRACT_FAILED, "PermissionError"),
    "own": (Kind.EXTRACT_FAILED, "PermissionError"),
    "own-socket": (Kind.EXTRACT_FAILED, "PermissionError"),
    "limit-parent": (Kind.EXTRACT_FAILED, "PermissionError"),
    "slow": (Kind.EXTRACT_FAILED, "PermissionError"),
    "bind": (Kind.EXTRACT_FAILED, "PermissionError"),
    "schedule": (Kind.EXTRACT_FAILED, "PermissionError"),
    "schedule-anew": (Kind.EXTRACT_FAILED, "PermissionError"),
    "slow-reading": (Kind.EXTRACT_FAILED, "PermissionError"),
    "share-memory": (Kind.EXTRACT_FAILED, "PermissionError"),
    "queue-messages": (Kind.EXTRACT_FAILED, "PermissionError"),
    "abort": (Kind.EXTRACT_FAILED, "crashed"),
    "real-time": (Kind.EXTRACT_FAILED, "PermissionError"),
    "recurse": (Kind.EXTRACT_FAILED, "RecursionError"),
    "patch orjson": (Kind.EXTRACT_FAILED, "crashed"),
    "patch builtins": (Kind.EXTRACT_FAILED, "disturbed"),
    "unknown": (Kind.EXTRACT_FAILED, "KeyError"),
    "write-everywhere ffffffffffffffff": (Kind.EXTRACT_FAILED, "disturbed"),
    "write-everywhere 0000000200000000787b": (Kind.EXTRACT_FAILED, "disturbed"),
    "write-everywhere 00000002000000007b7d": (Kind.EXTRACT_FAILED, "disturbed"),
    "write-everywhere 00000002000000005b5d": (Kind.EXTRACT_FAILED, "disturbed"),
    **{f"write-everywhere {odd.hex()}": (Kind.EXTRACT_FAILED, "disturbed")
       for odd in (ODD_DIGEST, *ODD_LINKS)},
}  # fmt: skip


async def test_a_scraper_that_misbehaves_harms_only_its_page() -> None:
    async with new_pool(memory_bytes=256 * 2**20) as pool:
        await ok(pool)
        fork_server = fork_server_of(pool)
        for order, (kind, word) in HARM.items():
            outcome, *others = await asyncio.gather(
                told(pool, order), *(told(pool, "fine", "own_fine") for _ in range(5))
            )
            assert failed(outcome).kind is kind, (order, outcome)
            assert word in outcome.error, order
            assert all(isinstance(other, Record) for other in others), order
            await ok(pool)
            assert fork_server_of(pool) == fork_server, "the fork server is the same"
            await until_alone(fork_server)


async def test_one_that_takes_longer_than_it_may_harms_only_its_page() -> None:
    async with new_pool(seconds=3.0) as pool:
        await ok(pool)
        hung, silent, *others = await asyncio.gather(
            told(pool, "hang"), told(pool, "patch socket"),
            *(told(pool, "fine", "own_fine") for _ in range(5)),
        )  # fmt: skip
        for outcome in (hung, silent):
            assert failed(outcome).kind is Kind.EXTRACT_TIMEOUT
            assert "not done" in outcome.error
        assert all(isinstance(other, Record) for other in others)
        await until_alone(fork_server_of(pool))


async def test_scrapers_that_hang_hold_up_no_page_of_others() -> None:
    async with new_pool(processes=1) as pool:
        await ok(pool)
        hanging = [asyncio.ensure_future(told(pool, "hang")) for _ in range(5)]
        try:
            async with asyncio.timeout(PATIENCE):
                while len(psutil.Process(fork_server_of(pool)).children()) < 2:
                    await asyncio.sleep(0.01)  # the second reads since the first stepped aside
            assert isinstance(await told(pool, "x", "raw"), Record)
            assert not any(one.done() for one in hanging)
        finally:
            for one in hanging:
                one.cancel()
            await asyncio.gather(*hanging, return_exceptions=True)


@pytest.mark.parametrize("order", ["write", "patch exit", "thread", "secrets", "limit-itself"])
async def test_what_does_no_harm_is_no_failure(order: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CURTSY_KEY", "secret")
    monkeypatch.setenv("DATABASE_URL", "postgresql://u:secret@h/d")
    async with new_pool() as pool:
        outcome = await told(pool, order)
        assert isinstance(outcome, Record), outcome
        await until_alone(fork_server_of(pool))


async def test_every_page_has_a_process_of_its_own() -> None:
    async with new_pool(processes=1) as pool:
        assert len({await ok(pool) for _ in range(5)}) == 5
        assert isinstance(await told(pool, "patch"), Record)
        assert isinstance(await told(pool, "is-patched"), Record)


async def test_what_is_printed_goes_to_the_log_and_has_an_end() -> None:
    async with new_pool() as pool:
        few = await told(pool, "print 2")
        many = await told(pool, "print 20000")
    assert isinstance(few, Record)
    assert [(level, text[:9]) for level, text in few.lines] == [
        ("INFO", "line 0 xx"), ("INFO", "line 1 xx"), ("WARNING", "to stderr"),
    ]  # fmt: skip
    assert isinstance(many, Record)
    assert len(many.lines) == 50
    assert many.lines[-1] == ("WARNING", "19952 more lines were dropped.")


async def test_the_traceback_names_the_file_and_the_line_and_nothing_of_ours() -> None:
    async with new_pool() as pool:
        for order in ("raise nonsense", "broken No prices."):
            trace = failed(await told(pool, order)).traceback or ""
            line = EVIL.read_text().splitlines().index("    deeds[order](rest)") + 1
            assert f'File "{EVIL}", line {line}, in own_evil' in trace
            assert "extract" not in trace.replace(str(EVIL.parent), "")
            assert "scrapers/custom.py" not in trace


@pytest.mark.parametrize("order", ["odd broken", "odd error"])
async def test_a_sentence_with_odd_characters_is_told_without_them(order: str) -> None:
    async with new_pool() as pool:
        outcome = failed(await told(pool, order))
    assert "No prices ?." in outcome.error
    assert "No prices ?." in (outcome.traceback or "")
    assert outcome.lines == (("INFO", "said ?"),)


async def test_records_have_the_form_of_a_listing_with_keys_and_chosen_links() -> None:
    async with new_pool() as pool:
        record = await told(pool, "x", "own_listing")
    assert isinstance(record, Record)
    found = orjson.loads(record.content)
    assert [one["fields"]["id"] for one in found["records"]] == [1, 2]
    assert all(len(one["key"]) == 22 for one in found["records"])
    assert (found["next"], found["empty"]) == ("http://a.example/2", False)
    assert record.links == (Link("http://a.example/next"), Link("http://a.example/2"))
    said = " ".join(text for _level, text in record.lines)
    assert "1 of 2 links lead nowhere" in said
    assert "1 of 3 records have the key of an earlier one" in said


async def test_there_is_no_network_neither_for_a_page_nor_at_import(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as canary:
        canary.settimeout(0.2)
        host, port = canary.getsockname()
        early = tmp_path / "early.py"
        early.write_text(
            "import socket\nfrom curtsy.scrapers import scraper\n"
            f"try:\n    socket.create_connection(({host!r}, {port}), 1)\n"
            "except PermissionError:\n    refused = True\n"
            "@scraper\ndef own_fine(page):\n    return {'refused': refused}\n"
        )
        async with new_pool() as pool, new_pool(early) as others:
            assert (
                "may not use the network"
                in failed(await told(pool, f"connect {host}:{port}")).error
            )
            at_import = await told(others, "x", "own_fine")
        with pytest.raises(TimeoutError):
            canary.accept()
    assert isinstance(at_import, Record), at_import
    assert at_import.content == b'{"refused":true}'
    assert not (tmp_path / "__pycache__").exists(), "nothing is left beside the file"


async def test_a_file_that_no_longer_imports_fails_pages_and_says_why(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text("import nowhere_to_be_found")
    async with new_pool(file) as pool:
        error = failed(await told(pool, "x", "own_fine"))
        assert error.kind is Kind.EXTRACT_FAILED
        assert "cannot be imported (ModuleNotFoundError)" in error.error
        assert isinstance(await told(pool, "<li><b>x</b>" * 2, "raw"), Record), "others go on"


async def test_a_file_that_hangs_when_it_is_imported_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pool_module, "FORK_SECONDS", 2.0)
    file = tmp_path / "mine.py"
    file.write_text("while True: pass")
    async with new_pool(file) as pool:
        error = failed(await told(pool, "x", "own_fine"))
        assert error.kind is Kind.EXTRACT_TIMEOUT
        file.write_text(EVIL.read_text())
        monkeypatch.setattr(pool_module, "FORK_SECONDS", PATIENCE)
        await ok(pool)


async def test_processes_that_an_import_starts_end_with_the_pool(tmp_path: Path) -> None:
    file = tmp_path / "mine.py"
    file.write_text(
        "import os, time\nfrom curtsy.scrapers import scraper\n"
        "child = os.fork()\nif not child:\n    time.sleep(300)\n    os._exit(0)\n"
        "@scraper\ndef own_fine(page):\n    return {'child': child}\n"
    )
    async with new_pool(file) as pool:
        record = await told(pool, "x", "own_fine")
        assert isinstance(record, Record), record
        child = orjson.loads(record.content)["child"]
        assert psutil.pid_exists(child)
    async with asyncio.timeout(PATIENCE):
        while psutil.pid_exists(child):
            await asyncio.sleep(0.01)


FALSE_REPORTS = [
    "forked 1",
    "forked VICTIM",
    "forked x",
    "forked 99999999999",
    "\xff",
    "exited 1 x",
]


@pytest.fixture
def victim() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "300"]) as started:
        yield started
        started.kill()


@pytest.mark.parametrize("report", FALSE_REPORTS)
async def test_a_file_that_speaks_for_the_fork_server_has_nobody_killed(
    tmp_path: Path, report: str, victim: "subprocess.Popen[bytes]"
) -> None:
    """What is imported can change the fork server, so its reports are not believed."""
    said = report.replace("VICTIM", str(victim.pid)).encode("latin-1")
    file = tmp_path / "mine.py"
    file.write_text(
        "import os, sys, __main__\nfrom curtsy.scrapers import scraper\n"
        f"report = lambda self, message: os.write(int(sys.argv[1]), {said!r})\n"
        "if hasattr(__main__, '_ForkServer'):\n    __main__._ForkServer._report = report\n"
        "@scraper\ndef own_fine(page):\n    while True: pass\n"
    )
    async with new_pool(file, seconds=1) as pool:
        assert isinstance(await told(pool, "x", "own_fine"), Failed)
        assert isinstance(await told(pool, "<li><b>x</b>" * 2, "raw"), Record), "others go on"
    assert victim.poll() is None


async def test_a_child_made_ready_reads_the_first_page() -> None:
    async with new_pool() as pool:
        await pool.prepare("own_fine")
        [ready] = psutil.Process(fork_server_of(pool)).children()
        assert await ok(pool) == ready.pid


def test_the_pool_knows_what_it_was_told_of() -> None:
    pool = new_pool()
    assert pool.knows("own_fine")
    assert pool.knows("article")
    assert not pool.knows("magic")
