"""Opens one listening socket per address, all on one port number."""

import errno
import socket

BACKLOG = 1_024
_TRIES = 50


class PortTaken(OSError):
    """No port number was free on all the addresses."""


def listen(addresses: list[str], port: int) -> list[socket.socket]:
    """Returns the sockets; port 0 picks a number that is free on every address."""
    for _ in range(_TRIES if port == 0 else 1):
        opened: list[socket.socket] = []
        try:
            for address in addresses:
                opened.append(_listening(address, opened[0].getsockname()[1] if opened else port))
        except OSError as error:
            for one in opened:
                one.close()
            if error.errno != errno.EADDRINUSE:
                raise
        else:
            return opened
    wanted = f"port {port} is" if port else "no port is"
    state = "taken" if port else "free"
    raise PortTaken(errno.EADDRINUSE, f"{wanted} {state} on {addresses[0]} … {addresses[-1]}")


def _listening(address: str, port: int) -> socket.socket:
    """Binds and listens in one step: two sockets may bind an address, but only one may listen."""
    one = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        one.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        one.setblocking(False)
        one.bind((address, port))
        one.listen(BACKLOG)
    except OSError:
        one.close()
        raise
    return one
