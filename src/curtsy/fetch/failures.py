"""Turns the exceptions of a fetch into failures."""

import errno
import socket
import traceback
from collections.abc import Iterator
from math import ceil

from curtsy.fetch.fetch_errors import FetchError, ProxiesFailed
from curtsy.fetch.guard import AddressRefused, is_address
from curtsy.logs import logger
from curtsy.model.failure_kinds import Kind
from curtsy.model.outcome import Failed

log = logger("fetch")

# This machine ran out of resources: the host must not rest for that.
_LOCAL_LIMITS = {errno.EMFILE, errno.ENFILE, errno.ENOMEM, errno.ENOBUFS}


def failure(error: Exception, host: str) -> Failed:
    for cause in _causes(error):
        match cause:
            case AddressRefused():
                return _refused(cause, host)
            case socket.gaierror(errno=socket.EAI_NONAME):
                return Failed(Kind.DNS, f"There is no host named {host}.", final=True)
            case OSError() if cause.errno in _LOCAL_LIMITS:
                return _internal(cause)
    if isinstance(error, FetchError):
        if error.through is not None:
            host = f"{host} (through the proxy {error.through})"
        sentence = error.sentence.format(host=host, reason=_reason(error))
        if isinstance(error, ProxiesFailed):
            return Failed(
                error.kind, sentence, whole_host=True, proxies_rest=ceil(error.back_in * 1000)
            )
        return Failed(error.kind, sentence)
    return _internal(error)


def _refused(error: AddressRefused, host: str) -> Failed:
    """Tells the address only if the URL spells it: what a name resolves to here may be a secret of
    this network, and the failure is for whoever asked for the page. The log is the operator's."""
    log.info("address_refused", host=host, address=error.address, reason=error.reason)
    is_spelt = is_address(host[1 : host.index("]")] if host[:1] == "[" else host.partition(":")[0])
    why = f"it is {error.reason}" if is_spelt else "its address is not public"
    return Failed(Kind.ADDRESS_REFUSED, f"We may not connect to {host}: {why}.")


def _reason(error: Exception) -> str:
    """Returns the error's text on one line, cut to 200 characters."""
    line = " ".join(str(error).split()) or type(error).__name__
    return line.rstrip(".:")[:200]


def _internal(error: BaseException) -> Failed:
    return Failed(
        Kind.INTERNAL,
        f"An internal error: {type(error).__name__}: {error}"[:300],
        traceback="".join(traceback.format_exception(error)),
    )


def _causes(error: BaseException) -> Iterator[BaseException]:
    seen: BaseException | None = error
    while seen is not None:
        yield seen
        seen = seen.__cause__
