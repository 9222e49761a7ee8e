"""The settings of a worker. Spans are milliseconds, except where a name says seconds."""

from dataclasses import dataclass, field

from curtsy.extract import ExtractLimits
from curtsy.fetch import Limits
from curtsy.fetch.guard import Network
from curtsy.fetch.proxy import AllowedProxies
from curtsy.model.worker_places import WorkerPlace
from curtsy.politeness.policy import Policy
from curtsy.scrapers.registry import OwnScrapers


@dataclass(frozen=True, slots=True)
class WorkerSettings:
    slots: int = 100
    lanes: int = 2_000
    """Sources leased at once: more than slots, since most of them wait for their delay."""
    lease_ttl: int = 15_000
    policy: Policy = field(default_factory=Policy)
    """The defaults, which sources may override."""
    limits: Limits = field(default_factory=Limits)
    extract: ExtractLimits = field(default_factory=ExtractLimits)
    memory_bytes: int | None = None
    """Above this, with its children, the worker reports that it needs a restart; None: never."""
    max_redirects: int = 10
    user_agent: str = "curtsy"
    allow: tuple[Network, ...] = ()
    allow_proxies: tuple[AllowedProxies, ...] = ()
    drain_seconds: float = 40.0
    place: WorkerPlace | None = None
    """Among the processes of one command; None: it is the only one."""
    own: OwnScrapers = field(default_factory=OwnScrapers)
