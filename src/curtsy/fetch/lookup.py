"""From a name to the addresses that we may connect to."""

import asyncio
import socket
from concurrent.futures import ThreadPoolExecutor

from aiohttp.abc import AbstractResolver, ResolveResult

from curtsy.fetch.guard import AddressRefused, Network, refusal

# Slow name servers must hold up only their own hosts: the loop's default has 4 to 32 threads
# for everything that the process does.
LOOKUPS_AT_ONCE = 64


class Lookup(AbstractResolver):
    """Leaves refused addresses out, so that a host fails as refused only if all of its are."""

    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        self._allow = allow
        self._threads = ThreadPoolExecutor(LOOKUPS_AT_ONCE, thread_name_prefix="lookup")

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        loop = asyncio.get_running_loop()
        found = await loop.run_in_executor(self._threads, addresses_of, host, family)
        return [
            ResolveResult(
                hostname=host,
                host=address,
                port=port,
                family=socket.AF_INET6 if ":" in address else socket.AF_INET,
                proto=socket.IPPROTO_TCP,
                flags=socket.AI_NUMERICHOST | socket.AI_NUMERICSERV,
            )
            for address in permitted(found, self._allow)
        ]

    async def close(self) -> None:
        self._threads.shutdown(wait=False, cancel_futures=True)


def addresses_of(host: str, family: socket.AddressFamily) -> list[str]:
    """Ask the system. Blocks.

    As bytes, because Python's own IDNA step raises for names that are merely not in the DNS.
    Without AI_ADDRCONFIG, because with it a machine that is offline is told "no such name",
    which would be final for the page.
    """
    found = socket.getaddrinfo(host.encode(), None, family=family, type=socket.SOCK_STREAM)
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
