"""The registered domain of a host, by the public suffix list."""

from functools import cache, lru_cache
from ipaddress import ip_address
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=10_000)
def domain_of(host: str) -> str:
    """The registered domain, without a port; an IP address or a single label is returned as it
    is."""
    name = host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]
    if _is_address(name):
        return name
    return _suffixes().privatesuffix(name) or name


@lru_cache(maxsize=10_000)
def is_public_suffix(name: str) -> bool:
    """Whether anybody may register names below this one (`com`, `co.uk`, `github.io`)."""
    return _suffixes().is_public(name)


def home_of(host: str) -> str:
    """The name of the source that a host belongs to by default: its registered domain, on the same
    port. All names of a domain share one budget, so that many names do not mean more requests."""
    if host.startswith("["):
        return host
    name, colon, port = host.partition(":")
    return domain_of(name) + colon + port


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


@cache
def _suffixes() -> "PublicSuffixList":
    from publicsuffixlist import PublicSuffixList  # here, for those who never ask

    return PublicSuffixList()
