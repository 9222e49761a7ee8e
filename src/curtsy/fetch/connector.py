"""From an origin to a connection: its name, its addresses in turn, TLS. The guard stands here."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohappyeyeballs import start_connection

from curtsy.fetch.connection import Connection
from curtsy.fetch.errors import FetchError, NameUnknown, NoConnection, NotTrusted, ProxyFailed
from curtsy.fetch.guard import AddressRefused, AddrInfo, Network, parse_networks, socket_factory
from curtsy.fetch.proxy import Proxy
from curtsy.fetch.request import Origin
from curtsy.fetch.resolver import Resolver
from curtsy.fetch.tunnel import open_tunnel

NEXT_ADDRESS_AFTER_SECONDS = 0.25


ANYWHERE = parse_networks("0.0.0.0/0 ::/0")
T = TypeVar("T")


class Connector:
    """Until when is said by the loop's clock, each time."""

    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        self._lookup = Resolver(allow=allow)
        self._guarded = socket_factory(allow)
        self._proxies = Resolver(allow=ANYWHERE)  # apart: what is known here was never judged
        self._unguarded = socket_factory(ANYWHERE)
        self._tls: asyncio.Future[ssl.SSLContext] | None = None

    async def check(self, origin: Origin, until: float) -> None:
        """Before each request that goes through a proxy: the guard will see only the proxy."""
        await _told(self._lookup.check_all(origin.host), until)

    async def connect(self, origin: Origin, until: float) -> Connection:
        try:
            return await _told(self._connect(origin), until)
        except FetchError as trouble:
            trouble.through = origin.proxy
            raise

    def close(self) -> None:
        self._lookup.close()
        self._proxies.close()

    async def _connect(self, origin: Origin) -> Connection:
        if origin.proxy is None:
            addresses = await self._lookup.addresses(origin.host)
            sock = await _reached(addresses, origin.port, self._guarded)
        else:
            sock = await self._reached_proxy(origin.proxy)
        try:
            if origin.proxy is not None and origin.secure:
                await open_tunnel(sock, origin.proxy, origin.host, origin.port)
            _, connection = await asyncio.get_running_loop().create_connection(
                lambda: Connection(origin),
                sock=sock,
                ssl=await self._context() if origin.secure else None,
                server_hostname=origin.host.rstrip(".") if origin.secure else None,
            )
        except BaseException:
            sock.close()
            raise
        return connection

    async def _reached_proxy(self, proxy: Proxy) -> socket.socket:
        try:
            addresses = await self._proxies.addresses(proxy.host)
            return await _reached(addresses, proxy.port, self._unguarded)
        except (socket.gaierror, AddressRefused) as error:  # not the page's name, not its address
            raise ProxyFailed(f"cannot be reached ({error.strerror or error})") from None
        except OSError as error:
            raise ProxyFailed(f"cannot be reached ({error.strerror or error})") from error

    def _context(self) -> Awaitable[ssl.SSLContext]:
        """Made when first needed, and off the loop: reading the certificates takes its time."""
        if self._tls is None:
            self._tls = asyncio.ensure_future(asyncio.to_thread(ssl.create_default_context))
        return asyncio.shield(self._tls)


async def _told(work: Awaitable[T], until: float) -> T:
    """Whatever goes wrong is told as trouble."""
    try:
        async with asyncio.timeout_at(until):
            return await work
    except TimeoutError:
        raise NoConnection("not in time") from None
    except AddressRefused:
        raise
    except socket.gaierror as error:
        raise NameUnknown(error.strerror) from error
    except ssl.SSLError as error:
        raise NotTrusted(str(error)) from error
    except OSError as error:
        raise NoConnection(error.strerror or str(error)) from error


async def _reached(
    addresses: list[str], port: int, make: Callable[[AddrInfo], socket.socket]
) -> socket.socket:
    return await start_connection(
        [_addr_info(address, port) for address in addresses],
        happy_eyeballs_delay=NEXT_ADDRESS_AFTER_SECONDS,
        interleave=1,
        socket_factory=make,
    )


def _addr_info(address: str, port: int) -> AddrInfo:
    kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
    if ":" in address:
        return socket.AF_INET6, kind, protocol, "", (address, port, 0, 0)
    return socket.AF_INET, kind, protocol, "", (address, port)
