"""From a name to the addresses that we may connect to."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from curtsy.fetch.guard import AddressRefused, Network, is_address, refusal

# Slow name servers must hold up only their own hosts: the loop's default has 4 to 32 threads
# for everything that the process does.
LOOKUPS_AT_ONCE = 64
ADDRESSES_KEPT_SECONDS = 60.0
HOSTS_KEPT = 10_000


class Found(NamedTuple):
    all: list[str]
    permitted: list[str]
    """At least one."""


_NOTHING = 0.0, Found([], [])


class Resolver:
    """Leaves refused addresses out, so that a host fails as refused only if all of its are."""

    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        self._allow = allow
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="lookup")
        self._known: dict[str, tuple[float, Found]] = {}
        self._asking: dict[str, asyncio.Task[Found]] = {}

    async def check_all(self, host: str) -> None:
        """For a proxy, which chooses among them itself: raises where only one is refused."""
        for address in (await self._found(host)).all:
            if means := refusal(address, self._allow):
                raise AddressRefused(address, means)

    async def addresses(self, host: str) -> list[str]:
        """At least one address; raises `AddressRefused` or `socket.gaierror` where there is none.

        Those who ask for the same name at the same time share one answer.
        """
        return (await self._found(host)).permitted

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for asking in self._asking.values():
            asking.cancel()

    async def _found(self, host: str) -> Found:
        if is_address(host):
            return Found([host], permitted([host], self._allow))
        loop = asyncio.get_running_loop()
        until, found = self._known.get(host, _NOTHING)
        if until > loop.time():
            return found
        if (asking := self._asking.get(host)) is None:
            asking = self._asking[host] = loop.create_task(self._ask(host))
            asking.add_done_callback(partial(self._asked, host))
        return await asyncio.shield(asking)

    def _asked(self, host: str, asking: asyncio.Task[Found]) -> None:
        self._asking.pop(host, None)
        if not asking.cancelled():
            asking.exception()  # somebody has to look at it, even where nobody waits any more

    async def _ask(self, host: str) -> Found:
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self._threads, addresses_of, host)
        found = Found(addresses, permitted(addresses, self._allow))
        if len(self._known) >= HOSTS_KEPT:
            self._known.pop(next(iter(self._known)))
        self._known[host] = loop.time() + ADDRESSES_KEPT_SECONDS, found
        return found


def addresses_of(host: str) -> list[str]:
    """Ask the system. Blocks.

    As bytes, because Python's own IDNA step raises for names that are merely not in the DNS.
    Without AI_ADDRCONFIG, because with it a machine that is offline is told "no such name",
    which would be final for the page.
    """
    found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
    return [_spelled(sockaddr) for _, _, _, _, sockaddr in found]


def _spelled(sockaddr: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> str:
    address = str(sockaddr[0])
    if len(sockaddr) == 4 and sockaddr[3] and "%" not in address:
        return f"{address}%{sockaddr[3]}"
    return address


def permitted(addresses: list[str], allow: tuple[Network, ...]) -> list[str]:
    """Those of a host's addresses that we may connect to; raises where there is none."""
    refused = {address: means for address in addresses if (means := refusal(address, allow))}
    if len(refused) == len(set(addresses)):
        raise AddressRefused(*next(iter(refused.items())))
    return [address for address in addresses if address not in refused]
