"""`python -m curtsy.demo`: runs the practice site in its own process.

Prints one line of JSON with `port`, `hosts` and `pid` once it listens; SIGTERM or SIGINT ends it.
"""

import argparse
import asyncio
import json
import os
import resource
import signal
import sys
from pathlib import Path

import uvloop

from curtsy.demo.addresses import MOST_HOSTS
from curtsy.demo.practice_site import IDLE_SECONDS, PracticeSite


def options(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m curtsy.demo", description="Runs a practice site."
    )
    parser.add_argument("--hosts", type=int, default=20, help=f"number of hosts, 1 to {MOST_HOSTS}")
    parser.add_argument("--port", type=int, default=0, help="port of all hosts; 0 picks a free one")
    parser.add_argument(
        "--log", type=Path, help="file for the access log; without it there is no log"
    )
    parser.add_argument(
        "--idle-seconds", type=float, default=IDLE_SECONDS, help="close idle connections after this"
    )
    parser.add_argument(
        "--until-stdin-closes", action="store_true", help="end with the program that started it"
    )
    return parser.parse_args(arguments)


async def serve(chosen: argparse.Namespace) -> None:
    stopped = asyncio.Event()
    loop = asyncio.get_running_loop()
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, stopped.set)
    if chosen.until_stdin_closes:
        loop.add_reader(0, watch_stdin, stopped)
    site = PracticeSite(
        hosts=chosen.hosts,
        port=chosen.port,
        log=chosen.log or Path(os.devnull),
        idle_seconds=chosen.idle_seconds,
    )
    async with site:
        ready = {"port": site.port, "hosts": site.hosts, "pid": os.getpid()}
        print(json.dumps(ready), flush=True)
        await stopped.wait()


def watch_stdin(stopped: asyncio.Event) -> None:
    if not os.read(0, 4_096):
        stopped.set()
        asyncio.get_running_loop().remove_reader(0)


def allow_many_connections() -> None:
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))


if __name__ == "__main__":
    allow_many_connections()
    uvloop.run(serve(options(sys.argv[1:])))
