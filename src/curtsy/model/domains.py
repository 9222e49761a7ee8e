"""Whose host it is: the domain that somebody registered."""

from functools import cache, lru_cache
from ipaddress import ip_address

from publicsuffixlist import PublicSuffixList


@lru_cache(maxsize=10_000)
def domain_of(host: str) -> str:
    """The registered domain, without a port; an address or a single word is its own."""
    name = host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]
    if _is_address(name):
        return name
    return _suffixes().privatesuffix(name) or name


def home_of(host: str) -> str:
    """What a host shares its budget with as long as nobody says otherwise: its whole domain, on
    the same port. A site has as many names as it likes, and is asked no more often for it."""
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
def _suffixes() -> PublicSuffixList:
    return PublicSuffixList()
