"""Tells a request that comes straight from this machine from one that a proxy passed on."""

from ipaddress import ip_address

from starlette.types import Scope

_OF_PROXIES = frozenset({
    b"forwarded", b"via", b"x-real-ip", b"x-client-ip", b"x-cluster-client-ip", b"true-client-ip",
    b"cf-connecting-ip", b"fastly-client-ip", b"fly-client-ip", b"cdn-loop",
    b"x-original-forwarded-for", b"x-original-host", b"x-envoy-external-address",
})  # fmt: skip
"""Headers that proxies add, besides those of the prefix."""
_PREFIX = b"x-forwarded"


def is_direct(scope: Scope) -> bool:
    """Whether the client is on this machine and no proxy has marked the request."""
    if any(name in _OF_PROXIES or name.startswith(_PREFIX) for name, _ in scope["headers"]):
        return False
    client = scope.get("client")
    return client is not None and is_loopback(client[0])


def is_loopback(address: str) -> bool:
    try:
        found = ip_address(address.partition("%")[0])
    except ValueError:
        return False
    mapped = getattr(found, "ipv4_mapped", None)
    return (mapped or found).is_loopback
