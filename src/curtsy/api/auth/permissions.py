"""The role that each request needs, as one table of methods and paths."""

from collections import defaultdict

from curtsy.model.roles import Role

EVERYONE = None
ANY = "*"

TABLE: tuple[tuple[str, str, Role | None], ...] = (
    ("GET", "/health", EVERYONE),
    ("GET", "/health/live", EVERYONE),
    ("GET", "/health/ready", EVERYONE),
    ("GET", "/version", EVERYONE),
    ("GET", "/openapi.json", EVERYONE),
    ("GET", "/docs", EVERYONE),
    ("GET", "/docs/*", EVERYONE),
    ("POST", "/session", EVERYONE),
    ("DELETE", "/session", Role.READ),
    ("GET", "/dead-letters", Role.READ),
    ("GET", "/dead-letters/*", Role.READ),
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
    (ANY, "/reports", Role.OPERATE),
    (ANY, "/reports/*", Role.OPERATE),
    (ANY, "/alerts", Role.OPERATE),
    (ANY, "/alerts/*", Role.OPERATE),
    ("POST", "/scheduler/run", Role.OPERATE),
    ("GET", "/cleanup", Role.OPERATE),
    (ANY, "/cleanup", Role.ADMIN),
    (ANY, "/webhooks/*", Role.SUBMIT),
    (ANY, "/keys", Role.ADMIN),
    (ANY, "/keys/*", Role.ADMIN),
)
"""The first matching row decides. `*` matches any text, including slashes. Without a matching row,
GET needs `read` and any other method `submit`. `ownership` checks owners separately."""


def role_needed(method: str, path: str) -> Role | None:
    """Returns None where everyone may pass, also without a key."""
    method = "GET" if method == "HEAD" else method
    for row_method, pattern, role in _ROWS.get(_first_segment(path), ()):
        if row_method in (method, ANY) and _matches(path, pattern):
            return role
    return Role.READ if method == "GET" else Role.SUBMIT


def _matches(path: str, pattern: str) -> bool:
    before, star, after = pattern.partition("*")
    return path.startswith(before) and path.endswith(after) if star else path == pattern


def _first_segment(path: str) -> str:
    return path[1:].partition("/")[0]


def _rows_by_first_segment() -> dict[str, list[tuple[str, str, Role | None]]]:
    rows: defaultdict[str, list[tuple[str, str, Role | None]]] = defaultdict(list)
    for row in TABLE:
        rows[_first_segment(row[1])].append(row)
    return dict(rows)


_ROWS = _rows_by_first_segment()
