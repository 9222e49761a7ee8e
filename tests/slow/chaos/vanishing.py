"""A program for a network of its own: switches the network off while statements are under way, and
says who was told that the server is gone."""

import asyncio
import fcntl
import socket
import struct

from curtsy.store import postgres_servers
from curtsy.store.postgres_servers import UNREACHABLE, Servers, Session
from support.postgres import Postgres

GET_FLAGS, SET_FLAGS, IS_UP = 0x8913, 0x8914, 1
LONG = "SELECT pg_sleep(20)"
TOLD_WITHIN = 15.0


def switch(*, on: bool) -> None:
    with socket.socket() as any_socket:
        asked = fcntl.ioctl(any_socket, GET_FLAGS, struct.pack("16sH14x", b"lo", 0))
        flags = struct.unpack("16sH14x", asked)[1]
        flags = flags | IS_UP if on else flags & ~IS_UP
        fcntl.ioctl(any_socket, SET_FLAGS, struct.pack("16sH14x", b"lo", flags))


async def is_told(session: Session, *, waits: bool) -> bool:
    if waits:
        statement = asyncio.create_task(session.execute(LONG))
        await asyncio.sleep(0.5)  # the server has it, and has acknowledged it
        switch(on=False)
    else:
        switch(on=False)
        statement = asyncio.create_task(session.execute(LONG))
    try:
        await asyncio.wait_for(statement, TOLD_WITHIN)
    except TimeoutError:
        return False
    except UNREACHABLE:
        return True
    finally:
        session.terminate()
        switch(on=True)
    return False


async def main(url: str) -> None:
    servers = Servers(url)
    for name, waits in (("who waits", True), ("who sends", False)):
        if await is_told(await servers.connect(), waits=waits):
            print(f"{name} is told")


if __name__ == "__main__":
    postgres_servers.SILENT_SECONDS = 3
    postgres_servers.PROBE_AFTER_SECONDS = postgres_servers.PROBE_EVERY_SECONDS = 1
    switch(on=True)
    with Postgres() as server:
        asyncio.run(main(server.url("postgres")))
