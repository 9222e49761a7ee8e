"""What a request needs: the one table from methods and paths to roles."""

from collections import defaultdict

from curtsy.model.roles import Role

EVERYONE = None
ANY = "*"

TABLE: tuple[tuple[str, str, Role | None], ...] = (
    ("GET", "/health", EVERYONE),
    ("GET", "/version", EVERYONE),
    ("GET", "/openapi.json", EVERYONE),
    ("GET", "/docs", EVERYONE),
    ("GET", "/docs/*", EVERYONE),
    ("POST", "/session", EVERYONE),
    ("DELETE", "/session", Role.READ),
    (ANY, "/dead-letters", Role.OPERATE),
    (ANY, "/dead-letters/*", Role.OPERATE),
    ("GET", "/sources/*/why", Role.OPERATE),
    ("GET", "/sources/*/receipt", Role.OPERATE),
    ("GET", "/sources", Role.READ),
    ("GET", "/sources/*", Role.READ),
    (ANY, "/sources/*", Role.OPERATE),
    ("GET", "/sites/*", Role.READ),
    (ANY, "/sites/*", Role.OPERATE),
    (ANY, "/workers", Role.OPERATE),
    (ANY, "/workers/*", Role.OPERATE),
    ("GET", "/metrics", Role.OPERATE),
    ("GET", "/stats", Role.OPERATE),
    ("GET", "/reports/*", Role.OPERATE),
    ("GET", "/alerts", Role.OPERATE),
    ("POST", "/scheduler/run", Role.OPERATE),
    (ANY, "/webhooks/*", Role.ADMIN),
    (ANY, "/keys", Role.ADMIN),
    (ANY, "/keys/*", Role.ADMIN),
)
"""The first that fits counts. `*` stands for all that lies beneath, or between. What is not here:
to look needs `read`, anything else `submit`; and whose job it is counts, too (`ownership`)."""


def _by_first_word() -> dict[str, list[tuple[str, str, Role | None]]]:
    made: defaultdict[str, list[tuple[str, str, Role | None]]] = defaultdict(list)
    for row in TABLE:
        made[_first_word(row[1])].append(row)
    return dict(made)


def _first_word(path: str) -> str:
    return path[1:].partition("/")[0]


_BY_FIRST_WORD = _by_first_word()


def role_needed(method: str, path: str) -> Role | None:
    method = "GET" if method == "HEAD" else method
    for known, pattern, role in _BY_FIRST_WORD.get(_first_word(path), ()):
        if known in (method, ANY) and _fits(path, pattern):
            return role
    return Role.READ if method == "GET" else Role.SUBMIT


def _fits(path: str, pattern: str) -> bool:
    before, star, behind = pattern.partition("*")
    return path.startswith(before) and path.endswith(behind) if star else path == pattern
