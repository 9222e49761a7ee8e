"""Access to the API: straight from this machine without keys, from elsewhere only with keys."""

import socket
from ipaddress import ip_address

from curtsy.access.keys import keys_exist
from curtsy.api.auth.access_rules import AccessRules
from curtsy.config import Settings
from curtsy.errors import BadSetting
from curtsy.logs import logger
from curtsy.store import Store

log = logger("app")

EVERYONE_IS_ADMIN = (
    "CURTSY_OPEN_ACCESS is on: whoever reaches the API may do everything, without a key"
)


class UnprotectedAddress(BadSetting):
    code = "nobody_is_asked"

    def __init__(self, host: str) -> None:
        super().__init__(
            f"The API would listen on {host}, where other machines reach it, without asking for a "
            "key: create one with `curtsy keys add --user NAME --role admin`, or allow everyone "
            "with CURTSY_OPEN_ACCESS=on."
        )


async def access_rules_for(
    settings: Settings, listening: socket.socket, store: Store
) -> AccessRules:
    """Raises `UnprotectedAddress` if other machines could use the API without a key, unless
    OPEN_ACCESS allows that."""
    access_rules = AccessRules(
        hosts=frozenset(_list(settings.allowed_hosts)) or _names(settings),
        origins=tuple(_list(settings.cors_origins)),
        is_private=is_private(listening),
        open_access=settings.open_access == "on",
        streams_per_key=settings.streams_per_key,
    )
    if access_rules.open_access:
        log.warning("open_access", meaning=EVERYONE_IS_ADMIN)
    open_to_others = not (access_rules.is_private or access_rules.open_access)
    if open_to_others and not await store.read(keys_exist):
        raise UnprotectedAddress(settings.api_host)
    return access_rules


def is_private(listening: socket.socket) -> bool:
    """Whether only this machine can connect."""
    return ip_address(listening.getsockname()[0].partition("%")[0]).is_loopback


def _list(setting: str) -> list[str]:
    return setting.split(",") if setting else []


def _names(settings: Settings) -> frozenset[str]:
    """Returns the host names of this machine, with and without its domain."""
    machine = socket.gethostname().lower()
    return frozenset({settings.api_host.lower(), machine, machine.partition(".")[0]})
