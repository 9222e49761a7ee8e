"""A site as people write it: where it is searched, how its pages are read, when it is scraped."""

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
from curtsy.model.urls import BadUrl, canonical
from curtsy.scrapers.recipe import BadRecipe, parse_recipe
from curtsy.timetable import BadRule, Cron, Every, Rule, checked, checked_zone

MOST_PAGES = 1_000
SEARCHED_FOR = ("search_term", "location", "is_remote", "results_wanted", "country")
"""What a run may be told."""
FIELDS = (*SEARCHED_FOR, "page", "offset")
"""What a template may have; the last two count pages and results."""
UNSAID: Mapping[str, Any] = {"location": None, "is_remote": False, "page": 1, "offset": 0}
"""What a template may ask for and nobody need say."""
INTERVAL_MINUTES = 60
"""Between two runs of a site that says nothing of it, and can be searched without being told."""
_SAMPLES = tuple(dict.fromkeys(FIELDS, value) for value in ("1", "2"))
_STORED = object()


def fields_of(template: str) -> set[str]:
    """Raises ValueError with a sentence."""
    found = set()
    try:
        parts = list(Formatter().parse(template))
    except ValueError as wrong:
        raise ValueError(f"is no template: {wrong}") from None
    for _text, name, spec, conversion in parts:
        if name is None:
            continue
        if name not in FIELDS:
            known = ", ".join(FIELDS)
            raise ValueError(f"has an unknown field {{{name[:60]}}}: there are {known}")
        if spec or conversion:
            raise ValueError(f"has a field with a format: write {{{name}}}")
        found.add(name)
    return found


def filled(template: str, values: dict[str, Any]) -> str:
    """Each value as it stands in a URL. Raises `BadRequest` for one that would lead elsewhere."""
    texts = {name: _as_text(value) for name, value in values.items()}
    path, mark, query = template.partition("?")
    quoted = {name: quote(text, safe="") for name, text in texts.items()}
    parts = [(part, part.format_map(quoted)) for part in path.split("/")]
    if away := [part for part, now in parts if now in (".", "..") and part != now]:
        raise BadRequest([f"{away[0]} cannot be '.' or '..': that is another path."])
    asked = query.format_map({name: quote_plus(text) for name, text in texts.items()})
    return "/".join(now for _part, now in parts) + mark + asked


def _as_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    return "" if value is None else str(value)


def _a_template(template: str) -> str:
    fields_of(template)
    try:
        hosts = {canonical(filled(template, sample)).host for sample in _SAMPLES}
    except BadUrl as wrong:
        raise ValueError(f"is no URL when it is filled in: it {wrong}") from None
    if len(hosts) > 1:
        raise ValueError("has a field in its host: a site is one host")
    return template


Template = Annotated[str, Field(min_length=1, max_length=4_000), AfterValidator(_a_template)]
Seconds = Annotated[float, Field(ge=0, le=3_600)]


class Search(BaseModel):
    """What to look for, where nothing else is said."""

    model_config = ConfigDict(extra="forbid", strict=True)

    search_term: str | None = Field(None, max_length=300)
    location: str | None = Field(None, max_length=300)
    is_remote: bool | None = None
    results_wanted: int | None = Field(None, ge=1, le=MOST_PAGES)
    country: str | None = Field(None, min_length=1, max_length=100, pattern=r"^[\w .'-]+$")

    def told(self) -> dict[str, Any]:
        return {name: value for name, value in self.model_dump().items() if value is not None}


class SiteSpec(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)

    search_url: Template
    """With `{search_term}`, `{location}`, `{is_remote}`, `{results_wanted}`, `{country}`, and
    `{page}` or `{offset}` where its pages are counted."""
    country_url: Template | None = None
    """The page of one country, as an article."""
    scraper: str = Field("listing", min_length=1, max_length=60)
    """`listing`, or one of your own that returns records."""
    recipe: dict[str, Any] | None = None
    """Of `listing`: how a page is read; see the reference of scrapers."""
    args: dict[str, Any] = Field(default_factory=dict, max_length=100)
    """Of your own scraper: what it is told, as its page's `params`."""
    results_per_page: int = Field(25, ge=1, le=1_000)
    max_pages: int = Field(10, ge=1, le=MOST_PAGES)
    min_pause_seconds: Seconds = 2
    max_pause_seconds: Seconds = 8
    max_retries: int = Field(3, ge=0, le=100)
    priority: int = Field(5, ge=1, le=10)
    interval_minutes: int | None = None
    """60, if the template can be filled from the defaults; else, and with 0, only by hand."""
    cron: str | None = Field(None, max_length=200)
    """Instead of `interval_minutes`."""
    timezone: str = Field("UTC", max_length=100)
    defaults: Search = Field(default_factory=lambda: Search.model_validate({}))
    enabled: bool = True

    @classmethod
    def stored(cls, said: Any) -> Self:
        """As they were declared, perhaps with a zone that nobody knows any more."""
        return cls.model_validate(said, context=_STORED)

    @model_validator(mode="after")
    def _makes_sense(self, info: ValidationInfo) -> Self:
        self._check_scraper()
        if self.max_pause_seconds < self.min_pause_seconds:
            raise ValueError("max_pause_seconds is less than min_pause_seconds")
        if self.interval_minutes is not None and self.cron is not None:
            raise ValueError("say interval_minutes or cron, not both")
        if info.context is not _STORED:
            self.rule()
        return self

    def _check_scraper(self) -> None:
        if self.scraper in ("raw", "article", "seo"):
            raise ValueError(f"the scraper {self.scraper} finds no records: a site needs listing, "
                             "or one of your own")  # fmt: skip
        if self.scraper != "listing":
            if self.recipe is not None:
                raise ValueError("a recipe is for the scraper listing; your own gets args")
            return
        if self.args:
            raise ValueError("args are for a scraper of your own; listing gets a recipe")
        try:
            parse_recipe(self.recipe or {})
        except BadRecipe as wrong:
            raise ValueError(" ".join(wrong.problems)) from None

    def for_scraper(self, search: dict[str, Any]) -> dict[str, Any]:
        """What the scraper is told with every page: its recipe, or of your own what was searched
        for, too."""
        if self.recipe is not None:
            return {"recipe": self.recipe}
        return self.args | {"search": search}

    def searched_by(self) -> tuple[str, ...]:
        """What a run can be told; a scraper of your own is told all of it."""
        if self.scraper != "listing":
            return SEARCHED_FOR
        used = fields_of(self.search_url) | fields_of(self.country_url or "") | {"results_wanted"}
        return tuple(name for name in SEARCHED_FOR if name in used)

    def needs(self, search: Mapping[str, Any]) -> list[str]:
        """What a run has to be told beside this and the defaults."""
        said = self.defaults.told() | dict(search)
        of_country = self.country_url if said.get("country") else None
        known = said.keys() | UNSAID.keys() | {"results_wanted"}
        return sorted(fields_of(of_country or self.search_url) - known)

    @property
    def says_when(self) -> bool:
        return self.interval_minutes is not None or self.cron is not None

    def rule(self) -> Rule | None:
        """When it is scraped; None: only by hand."""
        try:
            if self.cron is not None:
                return checked(Cron(self.cron, self.timezone))
            checked_zone(self.timezone)
            minutes = self.interval_minutes
            if minutes is None:
                minutes = 0 if self.needs({}) else INTERVAL_MINUTES
            return checked(Every(minutes)) if minutes else None
        except BadRule as wrong:
            raise ValueError(str(wrong)) from None
