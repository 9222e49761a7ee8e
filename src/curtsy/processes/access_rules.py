"""How the API is reached: alone, nobody but this machine; for others, only with keys."""

import socket
from ipaddress import ip_address

from curtsy.access.keys import keys_exist
from curtsy.api.auth.access_rules import Entrance
from curtsy.config import Settings
from curtsy.errors import BadSetting
from curtsy.store import Store


class NobodyIsAsked(BadSetting):
    code = "nobody_is_asked"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"The API would listen on {host}, where others reach it, and nobody would be asked for "
            "a key: make one with `curtsy keys add --user NAME --role admin`, or let everyone in "
            "with CURTSY_OPEN_ACCESS=on."
        )


async def entrance_for(settings: Settings, listening: socket.socket, store: Store) -> Entrance:
    """Refuses to be open to others unless that was asked for."""
    entrance = Entrance(
        hosts=frozenset(_list(settings.allowed_hosts)) or _names(settings),
        origins=tuple(_list(settings.cors_origins)),
        is_private=is_private(listening),
        open_access=settings.open_access == "on",
    )
    open_to_others = not (entrance.is_private or entrance.open_access)
    if open_to_others and not await store.read(keys_exist):
        raise NobodyIsAsked(settings.api_host)
    return entrance


def is_private(listening: socket.socket) -> bool:
    """Only this machine reaches it."""
    return ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def _list(setting: str) -> list[str]:
    return setting.split(",") if setting else []


def _names(settings: Settings) -> frozenset[str]:
    """What the machine is called, with and without its domain."""
    machine = socket.gethostname().lower()
    return frozenset({settings.api_host.lower(), machine, machine.partition(".")[0]})
