"""From whatever went wrong to one failure with one kind: the only place that names exceptions."""

import errno
import socket
import traceback
from collections.abc import Iterator

from aiohttp import (
    ClientConnectionError,
    ClientConnectorDNSError,
    ClientConnectorError,
    ClientPayloadError,
    ClientResponseError,
    ClientSSLError,
    ConnectionTimeoutError,
)
from aiohttp.http_exceptions import LineTooLong

from curtsy.fetch.encodings import BadEncoding, TooLarge
from curtsy.fetch.guard import AddressRefused
from curtsy.model.kinds import Kind
from curtsy.model.outcome import Failed

# The first row that fits counts. {host}: whom we asked. {reason}: what the exception says.
_TABLE: tuple[tuple[type[Exception], Kind, str], ...] = (
    (TooLarge, Kind.TOO_LARGE, "The answer of {host} is too large: {reason}."),
    (BadEncoding, Kind.BAD_ENCODING, "The body from {host} cannot be read: {reason}."),
    (ClientSSLError, Kind.TLS, "No trusted connection to {host}: {reason}."),
    (ClientConnectorDNSError, Kind.DNS, "The name {host} could not be looked up: {reason}."),
    (ClientConnectorError, Kind.CONNECT, "No connection to {host}: {reason}."),
    (ConnectionTimeoutError, Kind.CONNECT, "No connection to {host} in time."),
    (TimeoutError, Kind.TIMEOUT, "No complete answer from {host} in time."),
    (ClientPayloadError, Kind.TRUNCATED, "The body from {host} ended before it was complete."),
    (ClientConnectionError, Kind.RESET, "{host} broke the connection off: {reason}."),
    (ClientResponseError, Kind.SERVER_ERROR, "What {host} sent is not HTTP: {reason}."),
)

# We ran out of something. The host must not rest for that.
_OUR_OWN = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}


def failure(error: Exception, host: str) -> Failed:
    causes = tuple(_causes(error))
    return _told_by_cause(causes, host) or _told_by_type(error, host) or _internal(error)


def _told_by_cause(causes: tuple[BaseException, ...], host: str) -> Failed | None:
    """What aiohttp wraps into something more general."""
    for cause in causes:
        match cause:
            case AddressRefused():
                sentence = f"We may not connect to {host}: {cause.address} is {cause.means}."
                return Failed(Kind.ADDRESS_REFUSED, sentence)
            case socket.gaierror(errno=socket.EAI_NONAME):
                return Failed(Kind.DNS, f"There is no host named {host}.", final=True)
            case LineTooLong():
                return Failed(Kind.TOO_LARGE, f"A header from {host} is too large.")
            case ClientResponseError(message="Too many headers received"):
                return Failed(Kind.TOO_LARGE, f"{host} sent too many headers.")
            case ClientResponseError() if "chunk" in cause.message:
                return Failed(Kind.TRUNCATED, f"The body from {host} is badly chunked.")
            case OSError() if cause.errno in _OUR_OWN:
                return _internal(cause)
    return None


def _told_by_type(error: Exception, host: str) -> Failed | None:
    for kind_of_error, kind, sentence in _TABLE:
        if isinstance(error, kind_of_error):
            return Failed(kind, sentence.format(host=host, reason=_reason(error)))
    return None


def _reason(error: Exception) -> str:
    """The most telling words, on one line and of bearable length."""
    words = str(error)
    if isinstance(error, ClientConnectorError):
        words = error.os_error.strerror or str(error.os_error)
    elif isinstance(error, ClientResponseError):
        words = error.message
    line = " ".join(words.split()) or type(error).__name__
    return line.rstrip(".:")[:200]


def _internal(error: BaseException) -> Failed:
    return Failed(
        Kind.INTERNAL,
        f"An error of our own: {type(error).__name__}: {error}"[:300],
        traceback="".join(traceback.format_exception(error)),
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__
