"""Opens a connection through a SOCKS 5 proxy (RFC 1928), with a user name and a password if the
proxy has one (RFC 1929)."""

from ipaddress import IPv6Address, ip_address

from curtsy.fetch.fetch_errors import ProxyFailed, SocksRefused
from curtsy.fetch.proxy import Proxy
from curtsy.fetch.proxy_link import ProxyLink, exactly

_VERSION, _LOGIN_VERSION = 5, 1
_NO_LOGIN, _WITH_LOGIN = 0, 2
_CONNECT = 1
_IPV4, _IPV6 = 1, 4
_ADDRESS_BYTES = {_IPV4: 4, _IPV6: 16}
_REFUSALS = {
    1: "could not connect", 2: "does not allow this connection", 3: "cannot reach the network",
    4: "cannot reach the address", 5: "was refused the connection", 6: "was not answered in time",
    7: "does not know the command CONNECT", 8: "does not know this kind of address",
}  # fmt: skip
LOGIN_WANTED = "requires a user name and password, or other ones"


async def open_socks(link: ProxyLink, proxy: Proxy, address: str, port: int) -> None:
    """Turns a link to the proxy into a connection to the address. The proxy gets no name to look
    up: the address is one that the guard has checked."""
    await _log_in(link, proxy)
    await link.send(bytes([_VERSION, _CONNECT, 0]) + _packed(address) + port.to_bytes(2, "big"))
    version, reply, _reserved, kind = await exactly(link, 4)
    if version != _VERSION:
        raise ProxyFailed("sent what is not SOCKS 5")
    if reply:
        raise SocksRefused(_REFUSALS.get(reply, f"answered {reply}"))
    size = _ADDRESS_BYTES.get(kind) or (await exactly(link, 1))[0]
    await exactly(link, size + 2)


async def _log_in(link: ProxyLink, proxy: Proxy) -> None:
    ways = bytes([_NO_LOGIN] if proxy.login is None else [_NO_LOGIN, _WITH_LOGIN])
    await link.send(bytes([_VERSION, len(ways)]) + ways)
    version, way = await exactly(link, 2)
    if version != _VERSION:
        raise ProxyFailed("sent what is not SOCKS 5")
    if way not in ways:
        raise ProxyFailed(LOGIN_WANTED)
    if way == _NO_LOGIN or proxy.login is None:
        return
    user, password = proxy.login
    await link.send(bytes([_LOGIN_VERSION, len(user)]) + user + bytes([len(password)]) + password)
    _version, failed = await exactly(link, 2)
    if failed:
        raise ProxyFailed(LOGIN_WANTED)


def _packed(address: str) -> bytes:
    ip = ip_address(address)
    if isinstance(ip, IPv6Address):
        ip = ip.ipv4_mapped or ip
    return bytes([_IPV4 if ip.version == 4 else _IPV6]) + ip.packed
