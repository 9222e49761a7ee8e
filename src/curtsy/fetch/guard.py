"""The addresses that curtsy may connect to: public ones, and those that the operator allows.

The table is our own, because Python's `is_global` accepts translated and tunnelled addresses
(64:ff9b::/96, 2002::/16) and differs between versions of Python.
"""

import socket
from collections.abc import Callable
from ipaddress import (
    IPv4Address,
    IPv4Network,
    IPv6Address,
    IPv6Network,
    ip_address,
    ip_network,
)

from curtsy.errors import BadSetting

Network = IPv4Network | IPv6Network
AddrInfo = tuple[
    int | socket.AddressFamily,
    int | socket.SocketKind,
    int,
    str,
    tuple[str, int] | tuple[str, int, int, int],
]

_REFUSED: tuple[tuple[Network, str], ...] = tuple(
    (ip_network(network), reason)
    for network, reason in (
        ("0.0.0.0/8", "this machine"),
        ("10.0.0.0/8", "private"),
        ("100.64.0.0/10", "private to a provider"),
        ("127.0.0.0/8", "this machine"),
        ("168.63.129.16/32", "a cloud's own"),  # public by its number, but inside every machine
        ("169.254.0.0/16", "link-local"),
        ("172.16.0.0/12", "private"),
        ("192.0.0.0/24", "reserved for protocols"),
        ("192.0.2.0/24", "for documentation"),
        ("192.88.99.0/24", "a tunnel to another address"),
        ("192.168.0.0/16", "private"),
        ("198.18.0.0/15", "for benchmarks"),
        ("198.51.100.0/24", "for documentation"),
        ("203.0.113.0/24", "for documentation"),
        ("224.0.0.0/4", "multicast"),
        ("255.255.255.255/32", "broadcast"),
        ("240.0.0.0/4", "reserved"),
        ("::1/128", "this machine"),
        ("::/128", "this machine"),
        ("::/96", "an outdated form of an IPv4 address"),
        ("64:ff9b:1::/48", "translated into a private network"),
        ("fc00::/7", "private"),
        ("fe80::/10", "link-local"),
        ("fec0::/10", "private to a site"),
        ("ff00::/8", "multicast"),
        ("2001::/32", "a tunnel to another address"),
        ("2001::/23", "reserved for protocols"),
        ("2001:db8::/32", "for documentation"),
        ("2002::/16", "a tunnel to another address"),
        ("3fff::/20", "for documentation"),
    )
)
BLOCKED_PORTS = frozenset({
    0, 1, 7, 9, 11, 13, 15, 17, 19, 20, 21, 22, 23, 25, 37, 42, 43, 53, 69, 77, 79, 87, 95, 101,
    102, 103, 104, 109, 110, 111, 113, 115, 117, 119, 123, 135, 137, 139, 143, 161, 179, 389, 427,
    465, 512, 513, 514, 515, 526, 530, 531, 532, 540, 548, 554, 556, 563, 587, 601, 636, 989, 990,
    993, 995, 1719, 1720, 1723, 2049, 3659, 4045, 4190, 5060, 5061, 6000, 6566, 6665, 6666, 6667,
    6668, 6669, 6679, 6697, 10080,
})  # fmt: skip
"""The bad ports of the Fetch standard: services there may take a request for commands."""
_PUBLIC_IPV6 = IPv6Network("2000::/3")
_TRANSLATED = IPv6Network("64:ff9b::/96")  # NAT64: the last four bytes are an IPv4 address


class AddressRefused(OSError):
    """An `OSError`, so that the connection attempt goes on to the next address."""

    def __init__(self, address: str, reason: str) -> None:
        self.address, self.reason = address, reason
        super().__init__(f"{address} is {reason}")


def refusal(address: str, allow: tuple[Network, ...]) -> str | None:
    """Returns what the address is, when that is a reason not to connect to it."""
    try:
        ip = ip_address(address)
    except ValueError:
        return "not an IP address"
    if isinstance(ip, IPv6Address):
        if ip.scope_id is not None:
            return "bound to one network interface"
        ip = ip.ipv4_mapped or ip  # the kernel connects a mapped address over IPv4
    if any(ip in network for network in allow):
        return None
    if isinstance(ip, IPv6Address) and ip in _TRANSLATED:
        ip = IPv4Address(ip.packed[-4:])  # not checked with `allow`: NAT64 leads elsewhere
    for network, reason in _REFUSED:
        if ip in network:
            return reason
    if isinstance(ip, IPv6Address) and ip not in _PUBLIC_IPV6:
        return "not public"
    return None


def is_address(host: str) -> bool:
    try:
        ip_address(host)
    except ValueError:
        return False
    return True


def blocked_port(host: str) -> int | None:
    """Returns the port of a host if no request may go there."""
    port = host.rpartition("]")[2].rpartition(":")[2]
    return int(port) if port.isdecimal() and ":" in host and int(port) in BLOCKED_PORTS else None


def refusal_by_name(host: str, allow: tuple[Network, ...]) -> str | None:
    """Returns why a host (with an optional port) is refused, as far as its name alone shows."""
    if (port := blocked_port(host)) is not None:
        return f"on port {port}, which browsers block too"
    name = host[1 : host.index("]")] if host.startswith("[") else host.partition(":")[0]
    if name == "localhost" or name.endswith(".localhost"):
        name = "127.0.0.1"
    if ":" not in name and not name[-1:].isdigit():
        return None
    return refusal(name, allow)


def socket_factory(allow: tuple[Network, ...]) -> Callable[[AddrInfo], socket.socket]:
    """Returns the function that creates every socket, so that each address is checked when it is
    connected to, literal addresses included."""

    def guarded(addr_info: AddrInfo) -> socket.socket:
        family, kind, protocol, _, address = addr_info
        if reason := refusal(address[0], allow):
            raise AddressRefused(address[0], reason)
        return socket.socket(family, kind, protocol)

    return guarded


def parse_networks(text: str) -> tuple[Network, ...]:
    """Parses addresses and networks in CIDR form, separated by commas or spaces."""
    networks = []
    for part in text.replace(",", " ").split():
        try:
            networks.append(ip_network(part))
        except ValueError as error:
            raise BadSetting(f"{part!r} is not a network: {error}.") from None
    return tuple(networks)
