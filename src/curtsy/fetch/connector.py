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
from curtsy.fetch.fetch_errors import (
    FetchError,
    NameUnknown,
    NoConnection,
    NotTrusted,
    ProxyFailed,
    TunnelRefused,
)
from curtsy.fetch.guard import (
    BLOCKED_PORTS,
    AddressRefused,
    AddrInfo,
    Network,
    is_address,
    parse_networks,
    socket_factory,
)
from curtsy.fetch.proxy import AllowedProxies, Proxy, networks_for
from curtsy.fetch.request import Origin
from curtsy.fetch.resolver import Resolver, permitted
from curtsy.fetch.tunnel import PROXY_AUTH_REQUIRED, open_tunnel
from curtsy.logs import logger

log = logger("fetch")

NEXT_ADDRESS_AFTER_SECONDS = 0.25
MOST_TUNNELS = 3
"""Addresses of one host that a proxy is asked to connect to, one after another."""
REFUSES_ADDRESSES = frozenset(range(400, 500)) - {PROXY_AUTH_REQUIRED, 408, 429}
"""A proxy that answers so may take names only. A host cannot cause it, as it can cause a 502."""
PROXY_REFUSED = "may not be used: its address is not public, and ALLOW_PROXIES does not name it"

ANYWHERE = parse_networks("0.0.0.0/0 ::/0")
T = TypeVar("T")


class Connector:
    """Every `until` is a time of the loop's clock."""

    def __init__(
        self, *, allow: tuple[Network, ...], allow_proxies: tuple[AllowedProxies, ...] = ()
    ) -> None:
        self._resolver = Resolver(allow=allow)
        self._guarded = socket_factory(allow)
        # Separate: its cached addresses are unchecked, since the proxy's port decides too.
        self._proxy_resolver = Resolver(allow=ANYWHERE)
        self._allow_proxies = allow_proxies
        self._tls: asyncio.Future[ssl.SSLContext] | None = None

    async def check(self, origin: Origin, until: float) -> None:
        """Checks the origin's addresses before each plain request through a proxy: the proxy looks
        up the name again for each, and the socket guard sees only the proxy's address."""
        await _translating_errors(self._resolver.check_all(origin.host), until)

    async def connect(self, origin: Origin, until: float) -> Connection:
        try:
            return await _translating_errors(self._connect(origin), until)
        except FetchError as error:
            error.through = origin.proxy
            raise

    async def open_socket(self, host: str, port: int, until: float) -> socket.socket:
        """Connects to a permitted address of the host, for a protocol other than HTTP."""

        async def opened() -> socket.socket:
            return await _connect_any(await self._resolver.addresses(host), port, self._guarded)

        return await _translating_errors(opened(), until)

    def close(self) -> None:
        self._resolver.close()
        self._proxy_resolver.close()

    async def _connect(self, origin: Origin) -> Connection:
        if origin.proxy is None:
            addresses = await self._resolver.addresses(origin.host)
            sock = await _connect_any(addresses, origin.port, self._guarded)
        elif origin.secure:
            sock = await self._tunnel(origin.proxy, origin.host, origin.port)
        else:
            sock = await self._connect_proxy(origin.proxy)
        try:
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

    async def _tunnel(self, proxy: Proxy, host: str, port: int) -> socket.socket:
        """Opens a tunnel to a checked address, so that the proxy does not look up the name again.
        A proxy that refuses addresses gets the name, if all its addresses may be connected to."""
        addresses = sorted(await self._resolver.addresses(host), key=lambda a: ":" in a)
        for address in (tried := addresses[:MOST_TUNNELS]):
            try:
                return await self._opened(proxy, address, port)
            except TunnelRefused as refused:
                if refused.status in REFUSES_ADDRESSES and not is_address(host):
                    break
                if address == tried[-1]:
                    raise
        await self._resolver.check_all(host)
        return await self._opened(proxy, host, port)

    async def _opened(self, proxy: Proxy, host: str, port: int) -> socket.socket:
        sock = await self._connect_proxy(proxy)
        try:
            await open_tunnel(sock, proxy, host, port)
        except BaseException:
            sock.close()
            raise
        return sock

    async def _connect_proxy(self, proxy: Proxy) -> socket.socket:
        """Its errors are the proxy's, not the page's."""
        if proxy.port in BLOCKED_PORTS:
            raise ProxyFailed("may not be used: browsers block its port too")
        allow = networks_for(proxy, self._allow_proxies)
        try:
            addresses = permitted(await self._proxy_resolver.addresses(proxy.host), allow)
            return await _connect_any(addresses, proxy.port, socket_factory(allow))
        except AddressRefused as error:
            log.info("proxy_refused", proxy=str(proxy), address=error.address, reason=error.reason)
            raise ProxyFailed(PROXY_REFUSED) from None
        except socket.gaierror as error:
            raise ProxyFailed(f"cannot be reached ({error.strerror})") from None
        except OSError as error:
            raise ProxyFailed(f"cannot be reached ({_plain(error)})") from error

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
