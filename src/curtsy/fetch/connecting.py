"""From an origin to a connection: its name, its addresses in turn, TLS. The guard stands here."""

import asyncio
import socket
import ssl
from collections.abc import Awaitable

from aiohappyeyeballs import start_connection

from curtsy.fetch.connection import Connection
from curtsy.fetch.guard import AddressRefused, AddrInfo, Network, socket_factory
from curtsy.fetch.lookup import Lookup
from curtsy.fetch.request import Origin
from curtsy.fetch.trouble import NameUnknown, NoConnection, NotTrusted

NEXT_ADDRESS_AFTER_SECONDS = 0.25


class Connecting:
    def __init__(self, *, allow: tuple[Network, ...], seconds: float) -> None:
        self._seconds = seconds
        self._lookup = Lookup(allow=allow)
        self._guarded = socket_factory(allow)
        self._tls: asyncio.Future[ssl.SSLContext] | None = None

    async def connect(self, origin: Origin) -> Connection:
        try:
            async with asyncio.timeout(self._seconds):
                return await self._connect(origin)
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

    def close(self) -> None:
        self._lookup.close()

    async def _connect(self, origin: Origin) -> Connection:
        addresses = await self._lookup.addresses(origin.host)
        sock = await start_connection(
            [_addr_info(address, origin.port) for address in addresses],
            happy_eyeballs_delay=NEXT_ADDRESS_AFTER_SECONDS,
            interleave=1,
            socket_factory=self._guarded,
        )
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

    def _context(self) -> Awaitable[ssl.SSLContext]:
        """Made when first needed, and off the loop: reading the certificates takes its time."""
        if self._tls is None:
            self._tls = asyncio.ensure_future(asyncio.to_thread(ssl.create_default_context))
        return asyncio.shield(self._tls)


def _addr_info(address: str, port: int) -> AddrInfo:
    kind, protocol = socket.SOCK_STREAM, socket.IPPROTO_TCP
    if ":" in address:
        return socket.AF_INET6, kind, protocol, "", (address, port, 0, 0)
    return socket.AF_INET, kind, protocol, "", (address, port)
