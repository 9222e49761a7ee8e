"""The request body of the runs door: a search on a declared site."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from curtsy.requests import examples

Mode = Literal["async", "sync"]

MOST_RESULTS = 1_000
MOST_RESULTS_IN_SYNC = 25


class ScrapeRequest(BaseModel):
    """A search on a declared site."""

    model_config = ConfigDict(
        extra="forbid",
        strict=True,
        json_schema_extra=examples.shown(examples.SCRAPE_ASYNC, examples.SCRAPE_SYNC),
    )

    site_name: str = Field(min_length=1, max_length=100)
    search_term: str | None = Field(None, min_length=1, max_length=300)
    location: str | None = Field(None, min_length=1, max_length=300)
    is_remote: bool | None = None
    results_wanted: int | None = Field(None, ge=1, le=MOST_RESULTS)
    """Defaults to the site's own number, or 15; with `mode=sync` at most 25, whatever the site
    declares."""
    country: str | None = Field(None, min_length=1, max_length=100, pattern=r"^[\w .'-]+$")
    """For a site with a `country_url`: fetch only the page of this country."""
    priority: int | None = Field(None, ge=1, le=10)
    webhook_url: str | None = Field(None, max_length=8_000)
    """Receives a signed request when the run ends."""

    def search(self) -> dict[str, Any]:
        """Returns the given search parameters and the webhook; the site's defaults fill in the
        rest."""
        return self.model_dump(exclude={"site_name", "priority"}, exclude_none=True)
