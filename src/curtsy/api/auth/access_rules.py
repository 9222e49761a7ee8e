"""How the API is reached, and whether without a key."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class AccessRules:
    hosts: frozenset[str] = frozenset()
    """What the API is called, in lower case, besides by its addresses and as localhost."""
    origins: tuple[str, ...] = ()
    """Whose pages may ask from elsewhere."""
    is_private: bool = True
    """Only this machine reaches it: nobody is asked for a key while there is none."""
    open_access: bool = False
    """Nobody is asked for a key, ever."""
