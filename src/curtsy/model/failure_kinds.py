"""The kinds of failure of a visit: a closed list, with the rule for each.

`docs/reference/failure-kinds.md` is checked against this table.
"""

from dataclasses import dataclass
from enum import StrEnum


class Kind(StrEnum):
    DNS = "dns"
    CONNECT = "connect"
    TLS = "tls"
    TIMEOUT = "timeout"
    RESET = "reset"
    TRUNCATED = "truncated"
    UNKNOWN_OUTCOME = "unknown_outcome"
    TOO_LARGE = "too_large"
    BAD_ENCODING = "bad_encoding"
    REDIRECT_LOOP = "redirect_loop"
    ROBOTS_DENIED = "robots_denied"
    ADDRESS_REFUSED = "address_refused"
    UNAUTHORIZED = "unauthorized"
    LOGIN_FAILED = "login_failed"
    FORBIDDEN = "forbidden"
    GONE = "gone"
    CLIENT_ERROR = "client_error"
    RATE_LIMITED = "rate_limited"
    SERVER_ERROR = "server_error"
    NOT_SUPPORTED = "not_supported"
    LOGIN_REQUIRED = "login_required"
    PAYWALL = "paywall"
    NEEDS_JAVASCRIPT = "needs_javascript"
    EXTRACT_FAILED = "extract_failed"
    EXTRACT_TIMEOUT = "extract_timeout"
    EXTRACT_MEMORY = "extract_memory"
    SPIDER_FAILED = "spider_failed"
    BUDGET_SPENT = "budget_spent"
    CANCELLED = "cancelled"
    INTERNAL = "internal"


class Family(StrEnum):
    NETWORK = "network"
    PARSING = "parsing"
    DATABASE = "database"
    RATE_LIMITING = "rate limiting"
    RESOURCE = "resource"


@dataclass(frozen=True, slots=True)
class Rule:
    family: Family
    retried: bool
    hosts_fault: bool
    """The whole source rests, and the failure does not count as an attempt of the page."""
    means: str


_N, _P, _L, _R = Family.NETWORK, Family.PARSING, Family.RATE_LIMITING, Family.RESOURCE

RULES: dict[Kind, Rule] = {
    Kind.DNS: Rule(_N, True, True, "the host's name could not be looked up"),
    Kind.CONNECT: Rule(_N, True, True, "no connection to the host"),
    Kind.TLS: Rule(_N, False, False, "the host's certificate or TLS could not be trusted"),
    Kind.TIMEOUT: Rule(_N, True, False, "no complete answer in time"),
    Kind.RESET: Rule(_N, True, False, "the host broke the connection off"),
    Kind.TRUNCATED: Rule(_N, True, False, "the answer ended before it was complete"),
    Kind.UNKNOWN_OUTCOME: Rule(
        _N, False, False, "a POST was sent, and no whole answer came; it was not sent again"
    ),
    Kind.TOO_LARGE: Rule(_R, False, False, "the answer is larger than the limit"),
    Kind.BAD_ENCODING: Rule(_P, False, False, "the answer could not be decompressed or decoded"),
    Kind.REDIRECT_LOOP: Rule(_N, False, False, "the page redirects too often or in a circle"),
    Kind.ROBOTS_DENIED: Rule(_L, False, False, "robots.txt does not allow this page"),
    Kind.ADDRESS_REFUSED: Rule(_N, False, False, "the address is not one we may connect to"),
    Kind.UNAUTHORIZED: Rule(_N, False, False, "the page wants a login"),
    Kind.LOGIN_FAILED: Rule(_N, False, False, "the login of its source failed, or did not last"),
    Kind.FORBIDDEN: Rule(_N, False, False, "the host forbids this page"),
    Kind.GONE: Rule(_N, False, False, "the page does not exist"),
    Kind.CLIENT_ERROR: Rule(_N, False, False, "the host refused the request"),
    Kind.RATE_LIMITED: Rule(_L, True, True, "the host asked us to slow down"),
    Kind.SERVER_ERROR: Rule(_N, True, False, "the host failed to answer"),
    Kind.NOT_SUPPORTED: Rule(_P, False, False, "the scraper cannot read this kind of content"),
    Kind.LOGIN_REQUIRED: Rule(_P, False, False, "the site shows a login in place of the page"),
    Kind.PAYWALL: Rule(_P, False, False, "the page must be paid for and shows no text of it"),
    Kind.NEEDS_JAVASCRIPT: Rule(_P, False, False, "the page is empty until its scripts have run"),
    Kind.EXTRACT_FAILED: Rule(_P, False, False, "the scraper found nothing usable on the page"),
    Kind.EXTRACT_TIMEOUT: Rule(_R, False, False, "the scraper took too long over the page"),
    Kind.EXTRACT_MEMORY: Rule(_R, False, False, "the scraper needed too much memory"),
    Kind.SPIDER_FAILED: Rule(_P, False, False, "the spider's run ended in an error"),
    Kind.BUDGET_SPENT: Rule(_R, False, False, "the job's own limit was reached"),
    Kind.CANCELLED: Rule(_R, False, False, "the job was cancelled"),
    Kind.INTERNAL: Rule(_R, True, False, "an error of our own; the traceback is with the attempt"),
}
