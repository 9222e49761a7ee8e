"""Why there is no answer: each kind of trouble with its sentence, for a person and in one place."""

from typing import ClassVar

from curtsy.fetch.proxy import Proxy
from curtsy.model.failure_kinds import Kind


class FetchError(Exception):
    """The text says what exactly; in `sentence`, {host} is whom we asked and {reason} that text."""

    kind: ClassVar[Kind]
    sentence: ClassVar[str]
    through: Proxy | None = None


class NameUnknown(FetchError):
    kind, sentence = Kind.DNS, "The name {host} could not be looked up: {reason}."


class NoConnection(FetchError):
    kind, sentence = Kind.CONNECT, "No connection to {host}: {reason}."


class ProxyFailed(FetchError):
    """Of this kind whatever it answers: the source rests, and no page is lost over a proxy."""

    kind, sentence = Kind.CONNECT, "No connection to {host}: the proxy {reason}."


class NotTrusted(FetchError):
    kind, sentence = Kind.TLS, "No trusted connection to {host}: {reason}."


class Dropped(FetchError):
    """The host broke the connection off before its answer's headers were complete."""

    kind, sentence = Kind.RESET, "{host} broke the connection off: {reason}."


class TimeUp(FetchError):
    kind, sentence = Kind.TIMEOUT, "No complete answer from {host} in time."


class NotHttp(FetchError):
    kind, sentence = Kind.SERVER_ERROR, "What {host} sent is not HTTP: {reason}."


class Truncated(FetchError):
    kind, sentence = Kind.TRUNCATED, "The body from {host} is not complete: {reason}."


class TooLarge(FetchError):
    kind, sentence = Kind.TOO_LARGE, "The answer of {host} is too large: {reason}."


class BadEncoding(FetchError):
    """The body is not what its Content-Encoding says."""

    kind, sentence = Kind.BAD_ENCODING, "The body from {host} cannot be read: {reason}."
