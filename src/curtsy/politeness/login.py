"""How one logs in to a site: the request, and what shows that it succeeded or that it is lost."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Self

from curtsy.references import Secret, from_stored

Fields = tuple[tuple[str, Secret], ...]
REST = 10 * 60_000
"""Milliseconds after a login that failed for good: until then the pages of its session fail."""
MOST_TRIES = 2
"""Logins in a row that fail, until the login rests."""
MOST_RENEWALS = 2
"""Logins in a row without a page between that shows the session."""
MOST_PER_HOUR = 30
"""Logins of one session."""
MOST_HOPS = 5
"""Redirects that one login follows."""


@dataclass(frozen=True, slots=True)
class Signs:
    """What a response is recognised by."""

    status: tuple[int, ...] = ()
    url: str | None = None
    """A pattern of the URL, or of where a redirect leads to; `*` is any run of characters."""
    text: str | None = None
    selector: str | None = None
    cookie: str | None = None
    """A cookie that gets a new value after the form was sent."""

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any] | None) -> Self | None:
        if stored is None:
            return None
        return cls(**{**stored, "status": tuple(stored.get("status", ()))})

    def stored(self) -> dict[str, Any]:
        given = {name: value for name, value in asdict(self).items() if value}
        return given | ({"status": list(self.status)} if self.status else {})


@dataclass(frozen=True, slots=True)
class Login:
    url: str
    success: Signs
    """All of them must show."""
    method: str = "POST"
    form: Fields = field(default=(), repr=False)
    as_json: bool = False
    form_from: str | None = None
    """A page that is fetched first: the hidden fields of its form are sent along."""
    lost: Signs | None = None
    """Any of them shows that a page was fetched without the session. None: status 401, or a
    redirect to the login."""

    @classmethod
    def from_stored(cls, stored: Mapping[str, Any]) -> Self:
        return cls(
            url=stored["url"], method=stored.get("method", "POST"),
            form=tuple((name, from_stored(v)) for name, v in stored.get("form", {}).items()),
            as_json=stored.get("send_as") == "json",
            form_from=stored.get("form_from"),
            success=Signs.from_stored(stored["success"]) or Signs(),
            lost=Signs.from_stored(stored.get("lost")),
        )  # fmt: skip

    def stored(self) -> dict[str, Any]:
        """As the policy of the source stores it."""
        return {
            "url": self.url, "method": self.method, "form": dict(self.form),
            "send_as": "json" if self.as_json else "form", "success": self.success.stored(),
        } | ({"form_from": self.form_from} if self.form_from is not None else {}) | (
            {"lost": self.lost.stored()} if self.lost is not None else {})  # fmt: skip

    def is_page_of(self, url: str) -> bool:
        """Whether this is the login's own URL or that of its form, whatever the query."""
        pages = (self.url, self.form_from or self.url)
        return url.partition("?")[0] in {page.partition("?")[0] for page in pages}
