"""How the API is reached: alone, nobody but this machine; for others, only with keys."""

import socket
from ipaddress import ip_address

from curtsy.access.keys import keys_exist
from curtsy.api.auth.access_rules import AccessRules
from curtsy.config import Settings
from curtsy.errors import BadSetting
from curtsy.store import Store


class UnprotectedAddress(BadSetting):
    code = "nobody_is_asked"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"The API would listen on {host}, where others reach it, and nobody would be asked for "
            "a key: make one with `curtsy keys add --user NAME --role admin`, or let everyone in "
            "with CURTSY_OPEN_ACCESS=on."
        )


async def access_rules_for(
    settings: Settings, listening: socket.socket, store: Store
) -> AccessRules:
    """Refuses to be open to others unless that was asked for."""
    access_rules = AccessRules(
        hosts=frozenset(_list(settings.allowed_hosts)) or _names(settings),
        origins=tuple(_list(settings.cors_origins)),
        is_private=is_private(listening),
        open_access=settings.open_access == "on",
    )
    open_to_others = not (access_rules.is_private or access_rules.open_access)
    if open_to_others and not await store.read(keys_exist):
        raise UnprotectedAddress(settings.api_host)
    return access_rules


def is_private(listening: socket.socket) -> bool:
    """Only this machine reaches it."""
    return ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def _list(setting: str) -> list[str]:
    return setting.split(",") if setting else []


def _names(settings: Settings) -> frozenset[str]:
    """What the machine is called, with and without its domain."""
    machine = socket.gethostname().lower()
    return frozenset({settings.api_host.lower(), machine, machine.partition(".")[0]})
