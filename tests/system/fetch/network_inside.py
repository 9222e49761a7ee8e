"""Run in a network of its own: a made-up internet on one interface, with names, sites and canaries.

Prints one JSON line: the outcome of each attempt, alone and through a proxy that stands at a
private address, which hosts the proxy was asked for, and which canaries were rung. With the word
`unguarded` as argument the guard lets everything through, and the canaries must ring.
"""

import asyncio
import json
import socket
import struct
import subprocess
import sys
import tempfile
from typing import Any
from urllib.parse import urlsplit

from curtsy.clock import Clock
from curtsy.fetch import Fetcher, Limits, Request, guard, parse_allowed_proxies, resolver
from curtsy.frontier.clock_sync import synchronise
from curtsy.jobs import JobRequest, PageRequest, SubmitLimits, Submitter
from curtsy.model.outcome import Failed
from curtsy.model.urls import BadUrl, canonical
from curtsy.politeness.policy import Policy
from curtsy.store import Statement, Store
from curtsy.store.upgrade import upgrade
from curtsy.worker import Worker, WorkerSettings

WAITING = Statement("SELECT count(*) FROM items WHERE state = 0")
KINDS = Statement("SELECT kind FROM items ORDER BY position")
PUBLIC, PUBLIC_6 = "93.184.216.34", "2606:2800:220:1::1"
PROXY = "10.0.0.9"
PROXIES = parse_allowed_proxies(f"{PROXY}:3128")
CANARIES = {
    "this machine": "127.0.0.1",
    "a neighbour": "10.0.0.1",
    "the router": "192.168.1.1",
    "the cloud's secrets": "169.254.169.254",
    "a provider's own": "100.64.0.1",
    "this machine, version 6": "::1",
    "a neighbour, version 6": "fd00::1",
}
NAMES: dict[str, list[list[str]]] = {
    # what each question for the name is answered with, the last for ever
    "public.example": [[PUBLIC]],
    "both.example": [[PUBLIC, PUBLIC_6]],
    "inside.example": [["10.0.0.1"]],
    "here.example": [["127.0.0.1"]],
    "inside6.example": [["fd00::1"]],
    "mixed.example": [["10.0.0.1", PUBLIC]],
    "rebinding.example": [[PUBLIC], ["10.0.0.1"]],
    "xn--bcher-kva.example": [[PUBLIC]],
    "robots.example": [[PUBLIC]],
}
ATTEMPTS = {
    "a public name": "http://public.example/",
    "a name with two addresses": "http://both.example/",
    "a name in Unicode": "http://bücher.example/",
    "a name with a dot behind": "http://public.example./",
    "a public address": f"http://{PUBLIC}/",
    "a name with one good address": "http://mixed.example/",
    "a name for a neighbour": "http://inside.example/",
    "a name for this machine": "http://here.example/",
    "a name for a neighbour, version 6": "http://inside6.example/",
    "this machine": "http://127.0.0.1/",
    "this machine in octal": "http://0177.0.0.1/",
    "this machine in hex": "http://0x7f000001/",
    "this machine as a number": "http://2130706433/",
    "this machine, short": "http://127.1/",
    "this machine, mapped": "http://[::ffff:127.0.0.1]/",
    "this machine, version 6": "http://[::1]/",
    "this machine, in wide digits": "http://１２７.0.0.1/",
    "any address": "http://0.0.0.0/",
    "a neighbour": "http://10.0.0.1/",
    "a neighbour, translated": "http://[64:ff9b::a00:1]/",
    "a neighbour, tunnelled": "http://[2002:a00:1::]/",
    "the router": "http://192.168.1.1/",
    "the cloud's secrets": "http://169.254.169.254/",
    "a provider's own": "http://100.64.0.1/",
    "a redirect to the cloud's secrets": "http://public.example/to/http://169.254.169.254/",
    "a redirect to a name for a neighbour": "http://public.example/to/http://inside.example/",
    "a redirect to a public name": "http://public.example/to/http://both.example/",
}


THROUGH_THE_WORKER = {
    "a page behind its robots.txt": "http://public.example/page",
    "a robots.txt of a neighbour": "http://inside.example/page",
    "a robots.txt of this machine": "http://here.example/page",
    "a robots.txt that leads to the cloud's secrets": "http://robots.example/page",
}


class Dns(asyncio.DatagramProtocol):
    def __init__(self) -> None:
        self.asked: dict[tuple[str, int], int] = {}

    def connection_made(self, transport: Any) -> None:
        self._transport = transport

    def datagram_received(self, data: bytes, address: Any) -> None:
        name, at = "", 12
        while data[at]:
            name += data[at + 1 : at + 1 + data[at]].decode() + "."
            at += 1 + data[at]
        kind = struct.unpack_from("!H", data, at + 1)[0]
        question = data[12 : at + 5]
        answers = NAMES.get(name.rstrip(".").lower())
        turn = self.asked.get((name, kind), 0)
        self.asked[name, kind] = turn + 1
        found = [] if answers is None else answers[min(turn, len(answers) - 1)]
        family = {1: socket.AF_INET, 28: socket.AF_INET6}.get(kind)
        packed = [socket.inet_pton(family, a) for a in found
                  if family and (":" in a) == (kind == 28)]  # fmt: skip
        flags = 0x8180 if answers is not None else 0x8183
        head = data[:2] + struct.pack("!HHHHH", flags, 1, len(packed), 0, 0)
        records = b"".join(
            b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(p)) + p for p in packed
        )
        self._transport.sendto(head + question + records, address)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    head = (await reader.readuntil(b"\r\n\r\n")).decode()
    path = head.split(" ")[1]
    if path == "/robots.txt" and "Host: robots.example" in head:
        path = "/to/http://169.254.169.254/robots.txt"
    if path.startswith("/to/"):
        said = f"HTTP/1.1 302 Found\r\nLocation: {path[4:]}\r\nContent-Length: 0\r\n\r\n"
    else:
        said = "HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\npublic"
    writer.write(said.encode())
    await writer.drain()
    writer.close()


def proxying(asked_for: set[str]) -> Any:
    """Whom it is asked for it looks up itself, and it refuses nobody."""

    async def pass_on(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        head = await reader.readuntil(b"\r\n\r\n")
        url = urlsplit(head.split(b" ")[1].decode())
        asked_for.add(url.hostname or "")
        try:
            there = await asyncio.open_connection(url.hostname, 80)
            there[1].write(head.replace(f"http://{url.netloc}".encode(), b"", 1))
            writer.write(await there[0].read())
            there[1].close()
        except OSError:
            writer.write(b"HTTP/1.1 502 Bad Gateway\r\nContent-Length: 0\r\n\r\n")
        writer.close()

    return pass_on


def build_the_internet() -> None:
    addresses = [PROXY, PUBLIC, PUBLIC_6, *CANARIES.values()]
    for words in (
        "link set lo up",
        *(f"addr add {a}/{128 if ':' in a else 32} dev lo nodad" for a in addresses
          if a not in ("127.0.0.1", "::1")),
    ):  # fmt: skip
        if ":" not in words:
            words = words.removesuffix(" nodad")
        subprocess.run(["ip", *words.split()], check=True)


async def attempt(fetcher: Fetcher, url: str, proxy: str | None = None) -> str:
    try:
        for _ in range(3):
            request = Request(canonical(url).text, proxy=proxy)
            reply = await fetcher.fetch(request, lambda: True)
            if isinstance(reply, Failed):
                return str(reply.kind)
            if reply.status != 302:
                return reply.body.decode()
            url = reply.headers["location"]
    except BadUrl:
        return "refused at submit"
    return "lost"


async def through_the_worker(folder: str) -> dict[str, str]:
    """Robots.txt included: the outcome of each page as it is stored."""
    async with Store(f"sqlite:///{folder}/curtsy.db") as store:
        await upgrade(store)
        clock = Clock()
        await synchronise(store, clock)
        worker = Worker(store=store, clock=clock, settings=WorkerSettings(
            policy=Policy(min_delay=0, max_retries=0, retry_base=10, give_up_probes=1)
        ))  # fmt: skip
        door = Submitter(store=store, clock=clock, limits=SubmitLimits(), delay_ms=0,
                         on_submitted=worker.wake)  # fmt: skip
        running = asyncio.create_task(worker.run())
        pages = [PageRequest(url) for url in THROUGH_THE_WORKER.values()]
        await door.submit(JobRequest(door="fetch", pages=pages))
        while waiting := await store.read(lambda c: WAITING(c).scalar_one()):
            await asyncio.sleep(0.05 * bool(waiting))
        kinds = await store.read(lambda c: [row.kind for row in KINDS(c)])
        await worker.stop()
        await running
    return {name: kind or "public" for name, kind in zip(THROUGH_THE_WORKER, kinds, strict=True)}


async def main() -> None:
    build_the_internet()
    if "unguarded" in sys.argv:
        guard.refusal = resolver.refusal = lambda _address, _allow: None  # type: ignore[assignment]
    loop = asyncio.get_running_loop()
    await loop.create_datagram_endpoint(Dns, local_addr=("127.0.0.53", 53))
    rung: set[str] = set()
    asked_for: set[str] = set()

    def canary(name: str) -> Any:
        async def ring(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            rung.add(name)
            await reader.read(65_536)
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Length: 6\r\n\r\nsecret")
            writer.close()

        return ring

    for address in (PUBLIC, PUBLIC_6):
        await asyncio.start_server(serve, address, 80)
    for name, address in CANARIES.items():
        await asyncio.start_server(canary(name), address, 80)
    await asyncio.start_server(proxying(asked_for), PROXY, 3128)
    limits = Limits(connect_seconds=3, total_seconds=5)
    outcomes = {}
    for name, url in ATTEMPTS.items():
        async with Fetcher(
            limits=limits, user_agent="test", allow=(), allow_proxies=PROXIES
        ) as fetcher:
            outcomes[name] = await attempt(fetcher, url)
            proxied = await attempt(fetcher, url, f"http://{PROXY}:3128")
            outcomes[f"{name}, through a proxy"] = proxied
    async with Fetcher(
        limits=limits, user_agent="test", allow=(), allow_proxies=PROXIES
    ) as fetcher:
        outcomes["a name before it rebinds"] = await attempt(fetcher, "http://rebinding.example/")
    async with Fetcher(
        limits=limits, user_agent="test", allow=(), allow_proxies=PROXIES
    ) as fetcher:
        outcomes["a name that rebinds"] = await attempt(fetcher, "http://rebinding.example/")
    with tempfile.TemporaryDirectory() as folder:
        outcomes |= await through_the_worker(folder)
    print(json.dumps({"outcomes": outcomes, "rung": sorted(rung), "asked_for": sorted(asked_for)}))


asyncio.run(main())
