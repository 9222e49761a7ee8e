"""Resolves host names to the addresses that curtsy may connect to."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import NamedTuple

from curtsy.fetch.guard import AddressRefused, Network, is_address, refusal

# A pool of its own, so that slow name servers delay only their own hosts: the loop's default pool
# has 4 to 32 threads for everything that the process does.
LOOKUPS_AT_ONCE = 64
CACHE_SECONDS = 60.0
CACHED_HOSTS = 10_000


class Addresses(NamedTuple):
    all: list[str]
    permitted: list[str]
    """Has at least one address."""


_NOT_CACHED = 0.0, Addresses([], [])


class Resolver:
    """Omits refused addresses, so that a host is refused only if all its addresses are."""

    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        self._allow = allow
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="lookup")
        self._cache: dict[str, tuple[float, Addresses]] = {}
        self._lookups: dict[str, asyncio.Task[Addresses]] = {}

    async def check_all(self, host: str) -> None:
        """Raises `AddressRefused` if any address is refused: a proxy may choose any of them."""
        for address in (await self._addresses(host)).all:
            if reason := refusal(address, self._allow):
                raise AddressRefused(address, reason)

    async def addresses(self, host: str) -> list[str]:
        """Returns at least one address; raises `AddressRefused` or `socket.gaierror` otherwise.

        Concurrent calls for the same name share one lookup.
        """
        return (await self._addresses(host)).permitted

    def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)
        for lookup in self._lookups.values():
            lookup.cancel()

    async def _addresses(self, host: str) -> Addresses:
        if is_address(host):
            return Addresses([host], permitted([host], self._allow))
        loop = asyncio.get_running_loop()
        until, found = self._cache.get(host, _NOT_CACHED)
        if until > loop.time():
            return found
        if (lookup := self._lookups.get(host)) is None:
            lookup = self._lookups[host] = loop.create_task(self._look_up(host))
            lookup.add_done_callback(partial(self._lookup_done, host))
        return await asyncio.shield(lookup)

    def _lookup_done(self, host: str, lookup: asyncio.Task[Addresses]) -> None:
        self._lookups.pop(host, None)
        if not lookup.cancelled():
            lookup.exception()  # marks the error as retrieved, even if all callers have gone

    async def _look_up(self, host: str) -> Addresses:
        loop = asyncio.get_running_loop()
        addresses = await loop.run_in_executor(self._threads, addresses_of, host)
        found = Addresses(addresses, permitted(addresses, self._allow))
        if len(self._cache) >= CACHED_HOSTS:
            self._cache.pop(next(iter(self._cache)))
        self._cache[host] = loop.time() + CACHE_SECONDS, found
        return found


def addresses_of(host: str) -> list[str]:
    """Resolves the name with the system's resolver. Blocks.

    Passes bytes, because Python's own IDNA step raises for names that are merely not in the DNS.
    Does not set AI_ADDRCONFIG: with it a machine that is offline gets "no such name", which would
    be final for the page.
    """
    found = socket.getaddrinfo(host.encode(), None, type=socket.SOCK_STREAM)
    return [_address_text(sockaddr) for _, _, _, _, sockaddr in found]


def _address_text(sockaddr: tuple[str, int] | tuple[str, int, int, int] | tuple[int, bytes]) -> str:
    address = str(sockaddr[0])
    if len(sockaddr) == 4 and sockaddr[3] and "%" not in address:
        return f"{address}%{sockaddr[3]}"
    return address


def permitted(addresses: list[str], allow: tuple[Network, ...]) -> list[str]:
    """Returns the addresses that may be connected to; raises `AddressRefused` if there is none."""
    refused = {address: reason for address in addresses if (reason := refusal(address, allow))}
    if len(refused) == len(set(addresses)):
        raise AddressRefused(*next(iter(refused.items())))
    return [address for address in addresses if address not in refused]
