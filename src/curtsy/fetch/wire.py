"""The connections: guarded addresses, and bodies that never wait for what cannot come."""

from functools import partial

from aiohttp import ClientPayloadError, TCPConnector
from aiohttp.client_proto import ResponseHandler

from curtsy.fetch.guard import Network, socket_factory
from curtsy.fetch.lookup import Lookup

# Shorter than the 5 seconds after which many servers close an idle connection. A request that
# meets the closing on its way is lost: it has started, so it may not simply be sent again.
KEPT_ALIVE_SECONDS = 4
ADDRESSES_KEPT_SECONDS = 60
HOSTS_KEPT = 10_000


class Wire(ResponseHandler):
    """aiohttp tells the request of an error, and not always the body that is being read.

    Without this a broken chunk leaves its reader waiting until the time is over, and a body
    without a length that ends in a reset passes for complete.
    """

    def set_exception(self, exc: BaseException, *cause: BaseException) -> None:
        self._end_body(exc)
        super().set_exception(exc, *cause)

    def connection_lost(self, exc: BaseException | None) -> None:
        if exc is not None:
            self._end_body(exc)
        super().connection_lost(exc)

    def _end_body(self, exc: BaseException) -> None:
        body = self._payload
        if body is not None and not body.is_eof() and body.exception() is None:
            body.set_exception(ClientPayloadError(str(exc)), exc)


class Connector(TCPConnector):
    def __init__(self, *, allow: tuple[Network, ...]) -> None:
        super().__init__(
            limit=0,  # the worker's slots are the limit
            keepalive_timeout=KEPT_ALIVE_SECONDS,
            ttl_dns_cache=ADDRESSES_KEPT_SECONDS,
            dns_cache_max_size=HOSTS_KEPT,
            resolver=Lookup(allow=allow),
            socket_factory=socket_factory(allow),
        )
        self._resolver_owner = True  # so that closing the connector closes it
        handler: type[ResponseHandler] = Wire
        self._factory = partial(handler, loop=self._loop)
