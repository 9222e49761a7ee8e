"""The declaration of a site: its URLs, how its pages are parsed, and when it is scraped."""

from collections.abc import Mapping
from string import Formatter
from typing import Annotated, Any, Self
from urllib.parse import quote, quote_plus

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from curtsy.errors import BadRequest
from curtsy.model.options import checked_params
from curtsy.model.spans import Span
from curtsy.model.urls import BadUrl, canonical
from curtsy.scrapers.recipe import BadRecipe, parse_recipe
from curtsy.timetable import BadRule, Cron, Every, Rule, checked, checked_zone

MOST_PAGES = 1_000
SEARCH_FIELDS = ("search_term", "location", "is_remote", "results_wanted", "country")
"""Parameters of a run."""
FIELDS = (*SEARCH_FIELDS, "page", "offset")
"""Fields of a template; the last two count pages and results."""
OPTIONAL_FIELDS: Mapping[str, Any] = {
    "location": None, "is_remote": False, "page": 1, "offset": 0,
}  # fmt: skip
"""Fields of a template that need no value from a run or the defaults."""
INTERVAL_MINUTES = 60
"""Between two runs of a site that declares no interval and needs no parameters."""
_SAMPLES = tuple(dict.fromkeys(FIELDS, value) for value in ("1", "2"))
_STORED = object()


def fields_of(template: str) -> set[str]:
    """Returns the fields of a URL template. Raises ValueError with a sentence."""
    found = set()
    try:
        parts = list(Formatter().parse(template))
    except ValueError as wrong:
        raise ValueError(f"is not a valid template: {wrong}") from None
    for _text, name, spec, conversion in parts:
        if name is None:
            continue
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise ValueError(f"has an unknown field {{{name[:60]}}}: the fields are {known}")
        if spec or conversion:
            raise ValueError(f"has a field with a format: write {{{name}}}")
        found.add(name)
    return found


def fill(template: str, values: dict[str, Any]) -> str:
    """Fills a URL template with percent-encoded values. Raises `BadRequest` for a value that would
    change the path."""
    texts = {name: _as_text(value) for name, value in values.items()}
    path, mark, query = template.partition("?")
    quoted = {name: quote(text, safe="") for name, text in texts.items()}
    parts = [(part, part.format_map(quoted)) for part in path.split("/")]
    if changed := [part for part, now in parts if now in (".", "..") and part != now]:
        raise BadRequest([f"{changed[0]} cannot be '.' or '..': that would change the path."])
    filled_query = query.format_map({name: quote_plus(text) for name, text in texts.items()})
    return "/".join(now for _part, now in parts) + mark + filled_query


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _check_template(template: str) -> str:
    fields_of(template)
    try:
        hosts = {canonical(fill(template, sample)).host for sample in _SAMPLES}
    except BadUrl as wrong:
        raise ValueError(f"is not a URL once its fields are filled in: it {wrong}") from None
    if len(hosts) > 1:
        raise ValueError("has a field in its host, but a site has one host")
    return template


Template = Annotated[str, Field(min_length=1, max_length=4_000), AfterValidator(_check_template)]
Seconds = Annotated[Span, Field(ge=0, le=3_600)]


class Search(BaseModel):
    """Default parameters of runs."""

    model_config = ConfigDict(extra="forbid", strict=True)

    search_term: str | None = Field(None, max_length=300)
    location: str | None = Field(None, max_length=300)
    is_remote: bool | None = None
    results_wanted: int | None = Field(None, ge=1, le=MOST_PAGES)
    country: str | None = Field(None, min_length=1, max_length=100, pattern=r"^[\w .'-]+$")

    def given(self) -> dict[str, Any]:
        return {name: value for name, value in self.model_dump().items() if value is not None}


class SiteSpec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    search_url: Template
    """May contain `{search_term}`, `{location}`, `{is_remote}`, `{results_wanted}`, `{country}`,
    and `{page}` or `{offset}` if result pages are numbered."""
    country_url: Template | None = None
    """URL of the page of one country, which is parsed as an article."""
    scraper: str = Field("listing", min_length=1, max_length=60)
    """`listing`, or a custom scraper that returns records."""
    recipe: Annotated[dict[str, Any], AfterValidator(checked_params)] | None = None
    """For `listing`: how to parse a page; see the reference of scrapers."""
    args: Annotated[dict[str, Any], AfterValidator(checked_params)] = Field(
        default_factory=dict, max_length=100
    )
    """For a custom scraper: passed to it as its page's `params`."""
    results_per_page: int = Field(25, ge=1, le=1_000)
    max_pages: int = Field(10, ge=1, le=MOST_PAGES)
    min_pause_seconds: Seconds = 2
    max_pause_seconds: Seconds = 8
    max_retries: int = Field(3, ge=0, le=100)
    priority: int = Field(5, ge=1, le=10)
    interval_minutes: int | None = None
    """Defaults to 60 if the defaults fill the template; otherwise, and with 0, the site has no
    schedule."""
    cron: str | None = Field(None, max_length=200)
    """Instead of `interval_minutes`."""
    timezone: str = Field("UTC", max_length=100)
    defaults: Search = Field(default_factory=lambda: Search.model_validate({}))
    session: bool = False
    """Fetch in a session that lasts from run to run, after the login that the source declares."""
    enabled: bool = True

    @classmethod
    def stored(cls, declared: Any) -> Self:
        """Parses a stored declaration, whose time zone may not be known any more."""
        return cls.model_validate(declared, context=_STORED)

    @model_validator(mode="after")
    def _check_whole(self, info: ValidationInfo) -> Self:
        self._check_scraper()
        if self.max_pause_seconds < self.min_pause_seconds:
            raise ValueError("max_pause_seconds is less than min_pause_seconds")
        if self.interval_minutes is not None and self.cron is not None:
            raise ValueError("set interval_minutes or cron, not both")
        if info.context is not _STORED:
            self.rule()
        return self

    def _check_scraper(self) -> None:
        if self.scraper in ("raw", "article", "seo"):
            raise ValueError(f"the scraper {self.scraper} finds no records: a site needs listing "
                             "or a custom scraper")  # fmt: skip
        if self.scraper != "listing":
            if self.recipe is not None:
                raise ValueError("a recipe is for the scraper listing; a custom scraper takes args")
            return
        if self.args:
            raise ValueError("args are for a custom scraper; listing takes a recipe")
        try:
            parse_recipe(self.recipe or {})
        except BadRecipe as wrong:
            raise ValueError(" ".join(wrong.problems)) from None

    def scraper_params(self, search: dict[str, Any]) -> dict[str, Any]:
        """Parameters of the scraper for every page: the recipe, or for a custom scraper its args
        and the search."""
        if self.recipe is not None:
            return {"recipe": self.recipe}
        return self.args | {"search": search}

    def search_fields(self) -> tuple[str, ...]:
        """Parameters that a run of this site takes; a custom scraper gets all of them."""
        if self.scraper != "listing":
            return SEARCH_FIELDS
        used = fields_of(self.search_url) | fields_of(self.country_url or "") | {"results_wanted"}
        return tuple(name for name in SEARCH_FIELDS if name in used)

    def missing_fields(self, search: Mapping[str, Any]) -> list[str]:
        """Parameters that a run needs besides this search and the defaults."""
        given = self.defaults.given() | dict(search)
        country_url = self.country_url if given.get("country") else None
        known = given.keys() | OPTIONAL_FIELDS.keys() | {"results_wanted"}
        return sorted(fields_of(country_url or self.search_url) - known)

    @property
    def declares_rule(self) -> bool:
        return self.interval_minutes is not None or self.cron is not None

    def rule(self) -> Rule | None:
        """When the site is scraped; None: only on request."""
        try:
            if self.cron is not None:
                return checked(Cron(self.cron, self.timezone))
            checked_zone(self.timezone)
            minutes = self.interval_minutes
            if minutes is None:
                minutes = 0 if self.missing_fields({}) else INTERVAL_MINUTES
            return checked(Every(minutes)) if minutes else None
        except BadRule as wrong:
            raise ValueError(str(wrong)) from None
