"""The runs door's request body: what to search for on a declared site."""

from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from curtsy.requests import examples

Mode = Literal["async", "sync"]

MOST_RESULTS = 1_000
MOST_RESULTS_IN_SYNC = 25


class ScrapeRequest(BaseModel):
    """What to look for on a site that was declared."""

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
    """15, where the site says nothing else; with `mode=sync` at most 25, whatever the site says."""
    country: str | None = Field(None, min_length=1, max_length=100, pattern=r"^[\w .'-]+$")
    """Of a site of countries: that one's page alone."""
    priority: int | None = Field(None, ge=1, le=10)
    webhook_url: str | None = Field(None, max_length=8_000)
    """Is told of the run's end, with a signature."""

    def search(self) -> dict[str, Any]:
        """What is said of the search, and who is told of its end; the rest is as the site has
        it."""
        return self.model_dump(exclude={"site_name", "priority"}, exclude_none=True)
