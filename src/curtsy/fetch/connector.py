"""Connects to an origin: resolves its name, tries its addresses, starts TLS. The guard checks
every address here."""

import asyncio
import os
import socket
import ssl
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TypeVar

from aiohappyeyeballs import start_connection

from curtsy.fetch.connection import Connection
from curtsy.fetch.fetch_errors import (
    PROXY_AUTH_REQUIRED,
    FetchError,
    NameUnknown,
    NoConnection,
    NotTrusted,
    ProxyFailed,
    SocksRefused,
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
from curtsy.fetch.proxy_link import SocketLink, TlsLink
from curtsy.fetch.request import Origin
from curtsy.fetch.resolver import Resolver, permitted
from curtsy.fetch.socks import open_socks
from curtsy.fetch.tunnel import open_tunnel
from curtsy.logs import logger

log = logger("fetch")

NEXT_ADDRESS_AFTER_SECONDS = 0.25
PROXY_SECONDS = 5
"""For the connection to a proxy, so that there is time for another one."""
MOST_TUNNELS = 3
"""Addresses of one host that a proxy is asked to connect to, one after another."""
REFUSES_ADDRESSES = frozenset(range(400, 500)) - {PROXY_AUTH_REQUIRED, 408, 429}
"""A proxy that answers so may take names only. A host cannot cause it, as it can cause a 502."""
PROXY_REFUSED = "may not be used: its address is not public, and ALLOW_PROXIES does not name it"

ANYWHERE = parse_networks("0.0.0.0/0 ::/0")
T = TypeVar("T")
P = TypeVar("P", bound=asyncio.Protocol)


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
        proxy, name = origin.proxy, origin.host.rstrip(".") if origin.secure else None
        if proxy is None:
            addresses = await self._resolver.addresses(origin.host)
            sock = await _connect_any(addresses, origin.port, self._guarded)
            return await self._started(sock, partial(Connection, origin), name)
        if origin.forwarded:
            sock = await self._connect_proxy(proxy)
            if proxy.kind == "https":
                return await self._with_proxy_tls(sock, proxy, partial(Connection, origin))
            return await self._started(sock, partial(Connection, origin), name)
        link = await self._tunnel(proxy, origin.host, origin.port)
        if isinstance(link, TlsLink):
            return await self._within(link, Connection(origin), name)
        return await self._started(link.sock, partial(Connection, origin), name)

    async def _started(
        self, sock: socket.socket, protocol: Callable[[], P], secure_name: str | None
    ) -> P:
        """Starts a connection on a connected socket, with TLS if there is a name to verify."""
        try:
            _, started = await asyncio.get_running_loop().create_connection(
                protocol,
                sock=sock,
                ssl=await self._context() if secure_name is not None else None,
                server_hostname=secure_name,
            )
        except BaseException:
            sock.close()
            raise
        return started

    async def _with_proxy_tls(
        self, sock: socket.socket, proxy: Proxy, protocol: Callable[[], P]
    ) -> P:
        """Starts TLS with the proxy itself. Its errors are the proxy's, not the page's."""
        try:
            return await self._started(sock, protocol, proxy.host.rstrip("."))
        except ssl.SSLError as error:
            raise ProxyFailed(f"is not trusted ({error.reason or 'TLS'})") from None
        except OSError as error:
            raise ProxyFailed(f"broke off its TLS ({_plain(error)})") from error

    async def _within(
        self, link: TlsLink, connection: Connection, secure_name: str | None
    ) -> Connection:
        """Starts TLS with the host within TLS with the proxy."""
        try:
            transport = await asyncio.get_running_loop().start_tls(
                link.transport, connection, await self._context(), server_hostname=secure_name
            )
        except BaseException:
            link.transport.abort()
            raise
        if transport is None:  # the connection ended meanwhile
            raise ProxyFailed("closed the connection")
        connection.connection_made(transport)
        return connection

    async def _tunnel(self, proxy: Proxy, host: str, port: int) -> SocketLink | TlsLink:
        """Opens a tunnel to a checked address, so that the proxy does not look up the name again.
        A proxy that refuses addresses gets the name, if all its addresses may be connected to; one
        of SOCKS never does."""
        addresses = sorted(await self._resolver.addresses(host), key=lambda a: ":" in a)
        for address in (tried := addresses[:MOST_TUNNELS]):
            try:
                return await self._opened(proxy, address, port)
            except TunnelRefused as refused:
                if refused.status in REFUSES_ADDRESSES and not is_address(host):
                    break
                if address == tried[-1]:
                    raise
            except SocksRefused:
                if address == tried[-1]:
                    raise
        await self._resolver.check_all(host)
        return await self._opened(proxy, host, port)

    async def _opened(self, proxy: Proxy, host: str, port: int) -> SocketLink | TlsLink:
        sock = await self._connect_proxy(proxy)
        link: SocketLink | TlsLink = SocketLink(sock)
        if proxy.kind == "https":
            link = await self._with_proxy_tls(sock, proxy, TlsLink)
        try:
            if proxy.kind == "socks5":
                await open_socks(link, proxy, host, port)
            else:
                await open_tunnel(link, proxy, host, port)
        except BaseException:
            link.close()
            raise
        return link

    async def _connect_proxy(self, proxy: Proxy) -> socket.socket:
        """Its errors are the proxy's, not the page's."""
        if proxy.port in BLOCKED_PORTS:
            raise ProxyFailed("may not be used: browsers block its port too")
        allow = networks_for(proxy, self._allow_proxies)
        try:
            addresses = permitted(await self._proxy_resolver.addresses(proxy.host), allow)
            async with asyncio.timeout(PROXY_SECONDS):
                return await _connect_any(addresses, proxy.port, socket_factory(allow))
        except TimeoutError:
            raise ProxyFailed(f"did not answer within {PROXY_SECONDS} s") from None
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
