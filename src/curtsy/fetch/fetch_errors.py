"""The errors of a fetch, each with its failure kind and its sentence."""

from collections.abc import Sequence
from math import ceil
from typing import ClassVar

from curtsy.fetch.proxy import Proxy
from curtsy.model.failure_kinds import Kind

PROXY_AUTH_REQUIRED = 407


class FetchError(Exception):
    """In `sentence`, {host} stands for the host and {reason} for the text of the exception."""

    kind: ClassVar[Kind]
    sentence: ClassVar[str]
    through: Proxy | None = None


class NameUnknown(FetchError):
    kind, sentence = Kind.DNS, "The name {host} could not be looked up: {reason}."


class PortRefused(FetchError):
    kind = Kind.ADDRESS_REFUSED
    sentence = "We may not connect to {host}: browsers block its port too."


class NoConnection(FetchError):
    kind, sentence = Kind.CONNECT, "No connection to {host}: {reason}."


class ProxyFailed(FetchError):
    """Always `connect`, whatever the proxy answers: the source rests, and no page fails because of
    a proxy."""

    kind, sentence = Kind.CONNECT, "No connection to {host}: the proxy {reason}."

    @property
    def may_be_the_host(self) -> bool:
        """The proxy was reached, and says that it could not connect to the host."""
        return False


class TunnelRefused(ProxyFailed):
    """The proxy answered with a status that opens no tunnel."""

    def __init__(self, reason: str, status: int) -> None:
        super().__init__(reason)
        self.status = status

    @property
    def may_be_the_host(self) -> bool:
        return self.status != PROXY_AUTH_REQUIRED


class SocksRefused(ProxyFailed):
    """The proxy could not, or would not, connect to one address."""

    @property
    def may_be_the_host(self) -> bool:
        return True


class ProxiesFailed(ProxyFailed):
    """All proxies of a source rest, or the last one that was tried failed and another is ready."""

    def __init__(self, reason: str, *, back_in: float) -> None:
        super().__init__(reason)
        self.back_in = back_in
        """Seconds until a proxy of the source is ready; 0: one is."""

    @classmethod
    def after(cls, failures: Sequence[FetchError], *, back_in: float) -> "ProxiesFailed":
        """The error after these failures of an attempt; after none, every proxy rests."""
        rest = f"; all proxies rest, the first for {ceil(back_in)} s" if back_in else ""
        if not failures:
            return cls(f"rests{rest}", back_in=back_in)
        error = cls(f"{failures[-1]}{rest}", back_in=back_in)
        error.through = failures[-1].through
        return error


def may_be_the_host(error: FetchError) -> bool:
    """Whether a failed connection through a proxy may be the fault of the host."""
    return not isinstance(error, ProxyFailed) or error.may_be_the_host


class NotTrusted(FetchError):
    kind, sentence = Kind.TLS, "No trusted connection to {host}: {reason}."


class Dropped(FetchError):
    """The host closed the connection before the headers of its answer were complete."""

    kind, sentence = Kind.RESET, "{host} closed the connection: {reason}."


class TimeUp(FetchError):
    kind, sentence = Kind.TIMEOUT, "No complete answer from {host} in time."


class DecodedTooLate(TimeUp):
    sentence = "The answer of {host} arrived, but was not decoded in time."


class NotHttp(FetchError):
    kind, sentence = Kind.SERVER_ERROR, "What {host} sent is not HTTP: {reason}."


class Truncated(FetchError):
    kind, sentence = Kind.TRUNCATED, "The body from {host} is not complete: {reason}."


class TooLarge(FetchError):
    kind, sentence = Kind.TOO_LARGE, "The answer of {host} is too large: {reason}."


class BadEncoding(FetchError):
    """The body does not match its Content-Encoding."""

    kind, sentence = Kind.BAD_ENCODING, "The body from {host} cannot be decoded: {reason}."
