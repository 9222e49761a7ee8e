"""Connects to an origin: resolves its name, tries its addresses, starts TLS. The guard checks
every address here."""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from typing import TypeVar

from aiohappyeyeballs import start_connection

from curtsy.fetch.connection import Connection
from curtsy.fetch.fetch_errors import FetchError, NameUnknown, NoConnection, NotTrusted, ProxyFailed
from curtsy.fetch.guard import AddressRefused, AddrInfo, Network, parse_networks, socket_factory
from curtsy.fetch.proxy import Proxy
from curtsy.fetch.request import Origin
from curtsy.fetch.resolver import Resolver
from curtsy.fetch.tunnel import open_tunnel

NEXT_ADDRESS_AFTER_SECONDS = 0.25


ANYWHERE = parse_networks("0.0.0.0/0 ::/0")
T = TypeVar("T")


class Connector:
    """Every `until` is a time of the loop's clock."""

    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        self._resolver = Resolver(allow=allow)
        self._guarded = socket_factory(allow)
        self._proxy_resolver = Resolver(
            allow=ANYWHERE
        )  # separate: its cached addresses are unchecked
        self._unguarded = socket_factory(ANYWHERE)
        self._tls: asyncio.Future[ssl.SSLContext] | None = None

    async def check(self, origin: Origin, until: float) -> None:
        """Checks the origin's addresses before each request through a proxy, because the socket
        guard sees only the proxy's address."""
        await _translating_errors(self._resolver.check_all(origin.host), until)

    async def connect(self, origin: Origin, until: float) -> Connection:
        try:
            return await _translating_errors(self._connect(origin), until)
        except FetchError as error:
            error.through = origin.proxy
            raise

    def close(self) -> None:
        self._resolver.close()
        self._proxy_resolver.close()

    async def _connect(self, origin: Origin) -> Connection:
        if origin.proxy is None:
            addresses = await self._resolver.addresses(origin.host)
            sock = await _connect_any(addresses, origin.port, self._guarded)
        else:
            sock = await self._connect_proxy(origin.proxy)
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

    async def _connect_proxy(self, proxy: Proxy) -> socket.socket:
        try:
            addresses = await self._proxy_resolver.addresses(proxy.host)
            return await _connect_any(addresses, proxy.port, self._unguarded)
        except (socket.gaierror, AddressRefused) as error:  # the proxy's, not the page's
            raise ProxyFailed(f"cannot be reached ({error.strerror or error})") from None
        except OSError as error:
            raise ProxyFailed(f"cannot be reached ({error.strerror or error})") from error

    def _context(self) -> Awaitable[ssl.SSLContext]:
        """Creates the TLS context on first use, in a thread: reading the certificates is slow."""
        if self._tls is None:
            self._tls = asyncio.ensure_future(asyncio.to_thread(ssl.create_default_context))
        return asyncio.shield(self._tls)


async def _translating_errors(work: Awaitable[T], until: float) -> T:
    """Awaits `work` until a deadline and turns its errors into `FetchError`s."""
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
        raise NoConnection(_plain(error)) from error


def _plain(error: OSError) -> str:
    """Returns the system's words for the error: its own text has the address that was tried, which
    may be a secret of this network."""
    return os.strerror(error.errno) if error.errno else "none of its addresses can be reached"


async def _connect_any(
    addresses: list[str], port: int, create_socket: Callable[[AddrInfo], socket.socket]
) -> socket.socket:
    return await start_connection(
        [_addr_info(address, port) for address in addresses],
        happy_eyeballs_delay=NEXT_ADDRESS_AFTER_SECONDS,
        interleave=1,
        socket_factory=create_socket,
    )


def _addr_info(address: str, port: int) -> AddrInfo:
    kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
    if ":" in address:
        return socket.AF_INET6, kind, protocol, "", (address, port, 0, 0)
    return socket.AF_INET, kind, protocol, "", (address, port)
