"""Connections left open, half closed, unread or too many, to a real process that is in a hurry."""

import re
import resource
import select
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing, contextmanager, suppress
from pathlib import Path
from statistics import median

import pytest

from cli.running import Running, ask, environment, wait_for
from curtsy.api.middleware.request_limits import MAX_HEAD_BYTES, PIECE_BYTES
from support.patience import PATIENCE

IN_A_HURRY = """
from curtsy.api.middleware import request_limits
from curtsy.cli import main
from curtsy.processes import http_server

http_server.HEAD_SECONDS = http_server.STALL_SECONDS = {seconds}
request_limits.PIECE_SECONDS = {seconds}
main()
"""
SECONDS, UNHURRIED = 4.0, 60.0
"""For which it waits: a little more than everything may stand still; and so long that whoever was
let go sooner was not waited for."""
SOON = 20.0
"""The machine may be busy; but this is sooner than any client here has said all it has to say."""
GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
POST = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
JOB = b'Content-Length: 30\r\n\r\n{"url": "http://example.com/"}'
KIB_FOR_A_CONNECTION = 8
ESTABLISHED, CLOSE_WAIT = "01", "08"


def own_address() -> str | None:
    """By which other machines reach this one; nothing is sent to find it."""
    with socket.socket(type=socket.SOCK_DGRAM) as asked, suppress(OSError):
        asked.connect(("192.0.2.1", 9))
        found: str = asked.getsockname()[0]
        return None if found.startswith("127.") else found
    return None


@contextmanager
def serving(
    folder: Path, database: Path, *, seconds: float, files: int = 0, **settings: str
) -> Iterator[Running]:
    """`curtsy api` that waits no longer than this for anyone, and may open so many files."""

    def limit_files() -> None:
        if files:
            resource.setrlimit(resource.RLIMIT_NOFILE, (files, files))

    shutil.copy(database, folder / "curtsy.db")
    log = folder / "api.log"
    with log.open("wb") as to:
        process = subprocess.Popen(
            [sys.executable, "-c", IN_A_HURRY.format(seconds=seconds), "api"], cwd=folder,
            env=environment(api_port=0, log_format="json", **settings), stdout=to, stderr=to,
            preexec_fn=limit_files,
        )  # fmt: skip
    try:
        server = Running(process, log)
        assert ask("GET", f"{server.url}/health").status == 200
        yield server
        with connected(server) as client:
            client.sendall(POST + b"Expect: 100-continue\r\n" + JOB[:-1])
            assert status(client.recv(65_536)) == 100
            began = time.monotonic()
            assert server.stop() == 0
            assert time.monotonic() - began < SOON, "half a request does not hold up the end"
    finally:
        process.kill()
        process.wait()
    assert "Traceback" not in log.read_text()


@pytest.fixture(scope="module")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("api"), sqlite_template, seconds=SECONDS) as server:
        yield server


@pytest.fixture(scope="module")
def unhurried(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    with serving(tmp_path_factory.mktemp("api"), sqlite_template, seconds=UNHURRIED) as server:
        yield server


def drip(client: socket.socket, data: bytes) -> None:
    """A byte at a time, for as long as nobody says anything."""
    for n in range(len(data)):
        if select.select([client], [], [], 0.1)[0]:
            return
        client.sendall(data[n : n + 1])


def nothing(_client: socket.socket) -> None:
    pass


def empty_lines(client: socket.socket) -> None:
    drip(client, b"\r\n" * 200)


def half_a_head(client: socket.socket) -> None:
    client.sendall(GET[:20])


def a_slow_head(client: socket.socket) -> None:
    drip(client, GET[:-4] + b"x" * 400)


def half_a_body(client: socket.socket) -> None:
    client.sendall(POST + JOB[:-1])


def a_slow_body(client: socket.socket) -> None:
    client.sendall(POST + b"Content-Length: 1000\r\n\r\n")
    drip(client, b" " * 400)


def slow_chunks(client: socket.socket) -> None:
    client.sendall(POST + b"Transfer-Encoding: chunked\r\n\r\n")
    drip(client, b"1\r\n \r\n" * 80)


def a_slow_second_head(client: socket.socket) -> None:
    client.sendall(GET)
    assert status(first_answer(client)) == 200
    drip(client, GET[:-4] + b"x" * 400)


def a_slow_body_that_no_door_reads(client: socket.socket) -> None:
    client.sendall(GET[:-2] + b"Content-Length: 1000\r\n\r\n")
    assert status(first_answer(client)) == 200
    drip(client, b" " * 400)


UNFINISHED: dict[Callable[[socket.socket], None], int | None] = {
    nothing: None,
    empty_lines: 408,
    half_a_head: 408,
    a_slow_head: 408,
    half_a_body: 408,
    a_slow_body: 408,
    slow_chunks: 408,
    a_slow_second_head: 408,
    a_slow_body_that_no_door_reads: None,
}
"""What is sent, and the status of what is said to it before the connection is closed."""


def test_whatever_is_left_unfinished_is_closed_in_time(api: Running) -> None:
    def closed(send: Callable[[socket.socket], None]) -> tuple[int | None, float]:
        with connected(api) as client:
            began = time.monotonic()
            send(client)
            said = everything(client)
            return (status(said) if said else None), time.monotonic() - began

    with ThreadPoolExecutor(len(UNFINISHED)) as clients:
        ends = list(clients.map(closed, UNFINISHED))
        assert ask("GET", f"{api.url}/health").seconds < SOON
    assert [said for said, _ in ends] == list(UNFINISHED.values())
    assert max(seconds for _, seconds in ends) < SOON


def test_who_collects_nothing_of_the_answers_is_cut_off(api: Running) -> None:
    with socket.socket() as client:
        client.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        client.connect(address(api))
        client.sendall(b"GET /docs/swagger-ui-bundle.js HTTP/1.1\r\nHost: localhost\r\n\r\n" * 20)
        began = time.monotonic()
        wait_for(lambda: not held(api), lambda: "still connected")
        assert time.monotonic() - began < SOON
        assert everything(client).count(b"HTTP/1.1 200") < 20


@pytest.mark.parametrize("request_", [GET, POST + JOB, GET * 2], ids=["get", "post", "two"])
def test_who_has_said_all_and_closes_its_side_is_still_answered(
    unhurried: Running, request_: bytes
) -> None:
    with connected(unhurried) as client:
        client.sendall(request_)
        client.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        statuses = re.findall(rb"HTTP/1.1 (\d+)", everything(client))
        assert time.monotonic() - began < SOON, "then there is nothing to wait for"
    assert statuses == [b"201"] if request_.startswith(POST) else [b"200"] * request_.count(GET)


@pytest.mark.parametrize("half", [b"", GET[:20], POST + JOB[:-1]], ids=["nothing", "head", "body"])
def test_who_leaves_in_the_middle_is_let_go_at_once(unhurried: Running, half: bytes) -> None:
    with connected(unhurried) as client:
        client.sendall(half)
        client.shutdown(socket.SHUT_WR)
        began = time.monotonic()
        assert everything(client) == b""
        assert time.monotonic() - began < SOON


def test_who_asks_ahead_and_goes_away_leaves_no_trace(api: Running) -> None:
    """The log is looked at when the server ends."""
    for _ in range(50):
        with connected(api) as client:
            client.sendall(GET * 5)
    wait_for(lambda: not held(api), lambda: "still connected")


def test_who_behaves_is_not_cut_off_however_long_it_stays(api: Running) -> None:
    """Not by the time a stream or a long body takes, nor by the bytes of all requests together."""
    piece = b" " * 2 * PIECE_BYTES
    with connected(api) as listening, connected(api) as asking, connected(api) as sending:
        listening.sendall(GET.replace(b"/health", b"/events"))
        sending.sendall(POST + b"Content-Length: %d\r\n\r\n" % (3 * len(piece) + 30))
        for _ in range(2 * MAX_HEAD_BYTES // len(GET)):
            asking.sendall(GET)
            assert status(first_answer(asking)) == 200
        for _ in range(3):
            sending.sendall(piece)
            time.sleep(SECONDS / 2)
        sending.sendall(JOB[-30:])
        assert status(first_answer(sending)) == 201
        time.sleep(1.5)  # in which the server looks for who is late
        sending.sendall(GET)
        assert status(first_answer(sending)) == 200, "the time for a head begins with the answer"
        assert b"200 OK" in listening.recv(65_536)
        assert not has_answer(listening), "the stream has ended"


def test_ten_thousand_connections_cost_little_and_are_closed_in_time(
    sqlite_template: Path, tmp_path: Path
) -> None:
    """Or as many as this machine allows and connects in time, if those are fewer."""
    most = min(10_000, allow_many_files() - 2_000)
    with serving(tmp_path, sqlite_template, seconds=10) as api:
        kib = resident_kib(api)
        with many_connected(api, most, within=4) as clients:
            number = len(clients)
            assert number >= 1_000
            assert held(api) >= number
            assert (resident_kib(api) - kib) / number < KIB_FOR_A_CONNECTION
            assert median(ask("GET", f"{api.url}/health").seconds for _ in range(20)) < 0.5
            wait_for(lambda: not held(api), lambda: f"{held(api)} are still open")
            assert {client.recv(1) for client in clients} == {b""}


def test_a_server_of_few_files_keeps_some_and_turns_the_rest_of_the_clients_away(
    sqlite_template: Path, tmp_path: Path
) -> None:
    with serving(tmp_path, sqlite_template, seconds=30, files=64) as api:
        with many_connected(api, 200) as (first, *others):
            wait_for(
                lambda: sum(map(has_answer, others)) == 200 - 32,
                lambda: f"{sum(map(has_answer, others))} were turned away",
            )
            told = {status(everything(client)) for client in others if has_answer(client)}
            assert told == {503}
            first.sendall(POST + JOB)
            assert status(first_answer(first)) == 201, "there are files left for the store"
        wait_for(lambda: ask("GET", f"{api.url}/health").status == 200, lambda: "it is still full")


@pytest.mark.skipif(own_address() is None, reason="this machine has no address but its own")
def test_one_address_leaves_half_of_the_connections_to_others(
    sqlite_template: Path, tmp_path: Path
) -> None:
    place = {"api_host": "0.0.0.0", "open_access": "on"}
    with serving(tmp_path, sqlite_template, seconds=30, files=64, **place) as api:
        there = (own_address(), address(api)[1])
        with ExitStack() as stack:
            many = [stack.enter_context(closing(socket.create_connection(there, timeout=PATIENCE)))
                    for _ in range(40)]  # fmt: skip
            wait_for(
                lambda: sum(map(has_answer, many)) == 40 - 16,
                lambda: f"{sum(map(has_answer, many))} were turned away",
            )
            told = {status(everything(client)) for client in many if has_answer(client)}
            assert told == {429}
            for _ in range(10):
                client = stack.enter_context(connected(api))
                client.sendall(GET)
                assert status(first_answer(client)) == 200, "others come in"


def address(api: Running) -> tuple[str, int]:
    host, _, port = api.url.removeprefix("http://").rpartition(":")
    return host, int(port)


def connected(api: Running) -> socket.socket:
    return socket.create_connection(address(api), timeout=PATIENCE)


@contextmanager
def many_connected(
    api: Running, most: int, *, within: float = PATIENCE
) -> Iterator[list[socket.socket]]:
    clients: list[socket.socket] = []
    ends = time.monotonic() + within
    try:
        for n in range(most):
            if time.monotonic() > ends:
                break
            clients.append(connected(api))
            if n % 1_000 == 999:  # more than wait to be accepted would have to knock again
                assert ask("GET", f"{api.url}/health").status == 200
        yield clients
    finally:
        for client in clients:
            client.close()


def first_answer(client: socket.socket) -> bytes:
    got = b""
    while b"}" not in got:
        got += client.recv(65_536)
    return got


def everything(client: socket.socket) -> bytes:
    """What comes until the connection is closed."""
    got = b""
    with suppress(ConnectionError):
        while more := client.recv(65_536):
            got += more
    return got


def status(said: bytes) -> int:
    return int(said.split()[1])


def has_answer(client: socket.socket) -> bool:
    return bool(select.select([client], [], [], 0)[0])


def held(api: Running) -> int:
    """Connections that the server has not closed, whatever the clients did."""
    _, port = address(api)
    rows = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    here = [state for _, local, _, state, *_ in rows if local.endswith(f":{port:04X}")]
    return sum(state in (ESTABLISHED, CLOSE_WAIT) for state in here)


def resident_kib(api: Running) -> int:
    lines = Path(f"/proc/{api.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def allow_many_files() -> int:
    """As the server does; tests that follow do not mind."""
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard
