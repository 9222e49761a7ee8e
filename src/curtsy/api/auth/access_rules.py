"""Who may reach the API, and when a key is required."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessRules:
    hosts: frozenset[str] = frozenset()
    """Allowed host names in lower case, besides IP addresses and localhost."""
    origins: tuple[str, ...] = ()
    """Origins whose pages may send cross-origin requests."""
    is_private: bool = True
    """Only this machine reaches the API: requests that no proxy passed on need no key while no key
    exists."""
    open_access: bool = False
    """Requests never need a key."""
    streams_per_key: int = 100
    """WebSockets and server-sent events that one key may have open in this process; without a key,
    one address."""
