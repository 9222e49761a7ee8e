"""Bodies that are too long, too many or too slow, sent to a real process."""

import json
import select
import shutil
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest

from cli.running import Running, ask, running, wait_for
from support.patience import PATIENCE

MIB = 2**20
PIECE = b" " * MIB
HEAD = b"POST /jobs HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
MANY = 900_000
FIELDS = b", ".join(b'"%d": 1' % n for n in range(MANY))
MARGIN = 32
"""Mebibytes for what else a server does meanwhile."""


@pytest.fixture(scope="module")
def api(sqlite_template: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Running]:
    folder = tmp_path_factory.mktemp("api")
    shutil.copy(sqlite_template, folder / "curtsy.db")
    with running(folder, "api") as server:
        assert ask("GET", f"{server.url}/health").status == 200
        yield server
        assert server.stop() == 0
    assert "Traceback" not in server.log.read_text()


def test_a_body_announced_too_long_is_refused_before_it_comes(api: Running) -> None:
    announced = HEAD + b"Content-Length: %d\r\n" % (200 * MIB)
    with connected(api) as client, connected(api) as asking_first:
        client.sendall(announced + b"\r\n")
        asking_first.sendall(announced + b"Expect: 100-continue\r\n\r\n")
        for one in (client, asking_first):
            assert answer(one) == (413, "too_large")
            assert one.recv(1) == b"", "nobody waits for the rest"


def stated(client: socket.socket) -> None:
    client.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (200 * MIB))
    for _ in range(200):
        client.sendall(PIECE)


def in_chunks(client: socket.socket) -> None:
    client.sendall(HEAD + b"Transfer-Encoding: chunked\r\n\r\n")
    for _ in range(200):
        client.sendall(b"%x\r\n%b\r\n" % (MIB, PIECE))
    client.sendall(b"0\r\n\r\n")


@pytest.mark.parametrize(("send", "held"), [(stated, 0), (in_chunks, 64)])
def test_who_sends_200_mebibytes_before_listening_still_hears_why_not(
    api: Running, send: Callable[[socket.socket], None], held: int
) -> None:
    with unharmed(api, mebibytes=held + MARGIN), connected(api) as client:
        send(client)
        assert answer(client) == (413, "too_large")
        assert client.recv(1) == b""


def test_a_body_longer_than_it_said_is_not_read_on(api: Running) -> None:
    with unharmed(api, mebibytes=MARGIN), connected(api) as client:
        client.sendall(HEAD + b"Content-Length: 10\r\n\r\n")
        with pytest.raises(ConnectionError):
            client.sendall(PIECE * 200)


def test_large_bodies_of_many_clients_are_not_all_held_at_once(api: Running) -> None:
    """Each alone is within the limit; none of them ends."""
    clients = [connected(api, f"127.0.0.{n}") for n in range(1, 9)]
    with unharmed(api, mebibytes=256 + 2 * MARGIN):
        refused = refused_of(clients, at_least=4)
        assert {answer(client) for client in refused} == {(503, "busy")}
        assert 4 <= len(refused) < 8
    for client in clients:
        client.close()


def test_large_bodies_of_one_client_leave_room_for_those_of_others(api: Running) -> None:
    clients = [connected(api) for _ in range(6)]
    with unharmed(api, mebibytes=256 + 2 * MARGIN):
        refused = refused_of(clients, at_least=4)
        assert {answer(client) for client in refused} == {(429, "over_limit")}
        with connected(api, "127.0.0.2") as other:
            assert refused_of([other], at_least=0) == [], "there is room for it"
            other.sendall(b" ")
            assert first_status(other) == 422, "it was read to its end"
    for client in clients:
        client.close()


def refused_of(clients: list[socket.socket], *, at_least: int) -> list[socket.socket]:
    """Who is refused of these, when each sends all but the end of a large body."""
    size = 60

    def send(client: socket.socket) -> None:
        client.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % (size * MIB + 1))
        for _ in range(size):
            client.sendall(PIECE)

    with ThreadPoolExecutor(len(clients)) as threads:
        list(threads.map(send, clients))
    wait_for(lambda: sum(map(has_answer, clients)) >= at_least, lambda: "too few are refused")
    time.sleep(0.5)  # time in which the others would be, too
    return [client for client in clients if has_answer(client)]


def first_status(client: socket.socket) -> int:
    return int(client.recv(65_536).split()[1])


def test_a_body_of_more_values_than_any_job_has_is_not_parsed(api: Running) -> None:
    body = b'{"articles": [' + b"{}," * 20_000_000 + b"{}]}"
    with unharmed(api, mebibytes=64 + MARGIN), connected(api) as client:
        client.sendall(HEAD + b"Content-Length: %d\r\n\r\n" % len(body) + body)
        assert answer(client) == (413, "too_large")


WRONG_BY_THE_MILLION = {
    "no articles": b'{"articles": [' + b"1," * MANY + b"1]}",
    "empty articles": b'{"articles": [' + b"{}," * 100_000 + b"{}]}",
    "too many articles": b'{"articles": [' + b'{"url":""},' * MANY + b'{"url":""}]}',
    "unknown fields": b'{"articles": [], ' + FIELDS + b"}",
    "unknown fields of an article": b'{"articles": [{' + FIELDS + b"}]}",
    "headers": b'{"articles": [], "headers": {' + FIELDS + b"}}",
    "tags": b'{"articles": [], "tags": [' + b"1," * MANY + b"1]}",
}


@pytest.mark.parametrize("name", WRONG_BY_THE_MILLION)
def test_of_a_million_mistakes_a_few_are_told(api: Running, name: str) -> None:
    body = WRONG_BY_THE_MILLION[name]
    with unharmed(api, mebibytes=256), connected(api) as client:
        client.sendall(HEAD.replace(b"/jobs", b"/jobs/submit"))
        client.sendall(b"Connection: close\r\nContent-Length: %d\r\n\r\n" % len(body) + body)
        assert answer(client) == (422, "bad_request")


def connected(api: Running, address: str = "127.0.0.1") -> socket.socket:
    host, _, port = api.url.removeprefix("http://").rpartition(":")
    return socket.create_connection((host, int(port)), PATIENCE, (address, 0))


def answer(client: socket.socket) -> tuple[int, str]:
    """Status and code of the problem document that comes."""
    got = b""
    while not got.endswith(b"}"):
        more = client.recv(65_536)
        assert more, f"closed after {got!r}"
        got += more
        assert len(got) < 64_000
    head, _, body = got.partition(b"\r\n\r\n")
    assert b"content-type: application/problem+json" in head
    assert b"connection: close" in head
    return int(head.split()[1]), json.loads(body)["code"]


def has_answer(client: socket.socket) -> bool:
    return bool(select.select([client], [], [], 0)[0])


@contextmanager
def unharmed(api: Running, *, mebibytes: int) -> Iterator[None]:
    """All the while others are answered soon, and memory grows by no more than this.

    Soon is what the server does before it comes to them: less than a second's work. How long that
    takes says more of the machine.
    """
    seconds: list[float] = []
    over = threading.Event()
    server = psutil.Process(api.process.pid)

    def worked() -> float:
        times = server.cpu_times()
        return float(times.user + times.system)

    def keep_asking() -> None:
        while not over.is_set() or not seconds:
            before = worked()
            assert ask("GET", f"{api.url}/health").status == 200
            seconds.append(worked() - before)

    asking = threading.Thread(target=keep_asking)
    Path(f"/proc/{api.process.pid}/clear_refs").write_text("5")  # the highest mark begins anew
    before = memory(api, "VmRSS")
    asking.start()
    try:
        yield
    finally:
        over.set()
        asking.join()
    assert seconds, "nobody was answered"
    assert max(seconds) < 1
    assert memory(api, "VmHWM") - before < mebibytes


def memory(api: Running, name: str) -> int:
    """In mebibytes."""
    lines = Path(f"/proc/{api.process.pid}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith(f"{name}:")) // 1024
