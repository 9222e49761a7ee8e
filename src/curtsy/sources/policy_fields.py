"""A source's policy as users write and read it: in the sources file, in requests and responses."""

import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal, Self

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    ValidationInfo,
    model_validator,
)

from curtsy.clock import SECOND
from curtsy.fetch import parse_proxy
from curtsy.model.masks import MASK, masked_headers
from curtsy.model.options import checked_headers
from curtsy.model.spans import Span
from curtsy.model.urls import BadUrl, canonical
from curtsy.politeness.hours import Hours
from curtsy.politeness.policy import Policy
from curtsy.references import (
    ONLY_IN_FILES,
    Reference,
    Secret,
    as_stored,
    from_stored,
    reference_in,
)
from curtsy.sources import login_fields
from curtsy.sources.login_fields import OWN_FILE, LoginFields

__all__ = ["OWN_FILE", "PolicyChanges", "PolicyFields", "fields_in_force", "fields_of", "host_key",
           "with_references"]  # fmt: skip

MOST_HOSTS = 1_000
MOST_PROXIES = 50
SHORTEST_TIMEOUT = 0.1
DAY_MINUTES = 24 * 60
_CLOCK = re.compile(r"([0-9]{1,2}):([0-5][0-9])")
_LINE = re.compile(r"[ -~]{1,500}")
_CREDENTIALS = re.compile(r"//([^/@]*)@")


def host_key(text: str) -> str:
    """The canonical spelling of a host. A leading `*.` is ignored: names below a host are included
    anyway."""
    try:
        url = canonical(f"http://{text.removeprefix('*.')}/")
    except BadUrl as problem:
        raise ValueError(f"{text[:100]!r} is not a host: it {problem}") from None
    if url.text.rstrip("/").count("/") != 2:
        raise ValueError(f"{text[:100]!r} is not a host")
    return url.host


def _time_of_day(given: Any) -> str:
    """Accepts an hour (9) or a time ('9:30') and returns it as HH:MM."""
    if isinstance(given, int) and not isinstance(given, bool):
        minutes = given * 60
    elif isinstance(given, str) and (found := _CLOCK.fullmatch(given)):
        minutes = int(found[1]) * 60 + int(found[2])
    else:
        raise ValueError("must be an hour (9) or a time of day ('09:30')")
    if not 0 <= minutes <= DAY_MINUTES:
        raise ValueError("must be from 0 to 24 hours")
    return f"{minutes // 60:02}:{minutes % 60:02}"


def _checked_proxy(text: str, info: ValidationInfo) -> str:
    if reference_in(text) is not None:
        _require_own_file(info, "proxy")
        return text
    parse_proxy(text)
    if (found := _CREDENTIALS.search(text)) and MASK in found[1]:
        raise ValueError(f"the proxy's password is {MASK}, which only masks it: write the real one")
    return text


def _checked_headers(given: dict[str, str], info: ValidationInfo) -> dict[str, str]:
    for name, value in given.items():
        if reference_in(value) is not None:
            _require_own_file(info, name[:100])
    if MASK in given.values():
        raise ValueError(f"a header is {MASK}, which only masks its value: write the real value")
    return checked_headers(given)


def _require_own_file(info: ValidationInfo, what: str) -> None:
    if info.context is not OWN_FILE:
        raise ValueError(f"{what} {ONLY_IN_FILES}")


def _one_line(text: str) -> str:
    if not _LINE.fullmatch(text):
        raise ValueError("must be one line of plain characters, at most 500")
    return text


TimeOfDay = Annotated[
    str, BeforeValidator(_time_of_day, json_schema_input_type=int | str), Field(examples=["09:00"])
]
Seconds = Annotated[Span, Field(ge=0, le=86_400)]


SLOWDOWN_OF_PAIR = 2.0


class RespectfulHours(BaseModel):
    """Hours of the day with fewer requests (`slowdown`) or none (`closed`). A pair of hours,
    `[9, 17]`, is short for those hours in UTC with a slowdown of 2."""

    model_config = ConfigDict(extra="forbid", strict=True)

    start: TimeOfDay
    end: TimeOfDay
    """If before `start`, the hours last past midnight."""
    timezone: str = Field("UTC", max_length=100)
    slowdown: float | None = Field(None, gt=1, le=1_000, allow_inf_nan=False)
    """The factor by which delays grow and the hourly limit shrinks."""
    closed: bool = False

    @model_validator(mode="before")
    @classmethod
    def _of_pair(cls, given: Any) -> Any:
        if isinstance(given, list | tuple) and len(given) == 2:
            return {"start": given[0], "end": given[1], "slowdown": SLOWDOWN_OF_PAIR}
        return given

    @model_validator(mode="after")
    def _check(self) -> Self:
        if self.closed == (self.slowdown is not None):
            raise ValueError("needs either a slowdown or closed")
        try:
            Hours(**self.stored())
        except ValueError as problem:
            raise ValueError(str(problem)) from None
        except (KeyError, OSError):  # zoneinfo raises these for unknown names
            raise ValueError(f"there is no time zone {self.timezone!r}") from None
        return self

    def stored(self) -> dict[str, Any]:
        return {
            "start": _minutes(self.start) % DAY_MINUTES,
            "end": _minutes(self.end) % DAY_MINUTES,
            "timezone": self.timezone,
            "slowdown": self.slowdown or 1.0,
            "closed": self.closed,
        }


def _minutes(time_of_day: str) -> int:
    hours, _colon, minutes = time_of_day.partition(":")
    return int(hours) * 60 + int(minutes)


class PolicyFields(BaseModel):
    """The policy of a source. Fields that are left out follow the settings."""

    model_config = ConfigDict(extra="forbid", strict=True)

    hosts: Annotated[
        list[Annotated[str, AfterValidator(host_key)]] | None,
        Field(min_length=1, max_length=MOST_HOSTS),
    ] = None
    """Hosts that share one budget. So do the names below them, unless another source has them."""
    requests_per_hour: int | None = Field(None, ge=1, le=1_000_000)
    burst_limit: int | None = Field(None, ge=1, le=1_000_000)
    min_delay_seconds: Seconds | None = None
    max_delay_seconds: Seconds | None = None
    """If above `min_delay_seconds`, each delay is random between the two."""
    concurrency: int | None = Field(None, ge=1, le=1_000)
    lanes: Literal[1] | None = None
    """Only one worker at a time sends requests to a source."""
    respectful_hours: RespectfulHours | None = None
    max_retries: int | None = Field(None, ge=0, le=100)
    timeout: Span | None = Field(None, ge=SHORTEST_TIMEOUT, le=3_600)
    """Seconds, for a whole attempt."""
    robots: Literal["obey", "ignore"] | None = None
    crawl_delay_cap_seconds: Seconds | None = None
    headers: Annotated[dict[str, str], AfterValidator(_checked_headers)] | None = None
    user_agent: Annotated[str, AfterValidator(_one_line)] | None = None
    """Should name a contact: site owners are less likely to block a client that they can reach."""
    proxy: Annotated[str, AfterValidator(_checked_proxy)] | None = None
    """http://, https:// or socks5://, then user:password@ if it has them, then host:port."""
    proxies: Annotated[
        list[Annotated[str, AfterValidator(_checked_proxy)]] | None,
        Field(min_length=1, max_length=MOST_PROXIES),
    ] = None
    """Several: each request goes through the next one, and a proxy that fails rests for a while.
    `proxy` is one of them, too."""
    login: LoginFields | None = None
    """For jobs with a session: sent before their first page, and again when the session is lost."""
    enabled: bool | None = None

    @model_validator(mode="after")
    def _check(self) -> Self:
        low, high = self.min_delay_seconds, self.max_delay_seconds
        if low is not None and high is not None and high < low:
            raise ValueError("max_delay_seconds is below min_delay_seconds")
        if self.burst_limit is not None and (self.requests_per_hour or 0) < self.burst_limit:
            raise ValueError("burst_limit needs a requests_per_hour that is at least as large")
        return self

    def overrides(self) -> dict[str, Any]:
        """The fields that differ from the defaults, as they are stored."""
        hours = self.respectful_hours
        stored: dict[str, Any] = {
            "requests_per_hour": self.requests_per_hour,
            "burst_limit": self.burst_limit,
            "min_delay": _milliseconds(self.min_delay_seconds),
            "max_delay": _milliseconds(self.max_delay_seconds),
            "concurrency": self.concurrency,
            "hours": hours.stored() if hours is not None else None,
            "max_retries": self.max_retries,
            "timeout": _milliseconds(self.timeout),
            "robots": None if self.robots is None else self.robots == "obey",
            "crawl_delay_cap": _milliseconds(self.crawl_delay_cap_seconds),
            "headers": self.headers,
            "user_agent": self.user_agent,
            "proxy": self.proxy,
            "login": None if self.login is None else self.login.stored(),
            "proxies": self.proxies,
        }
        return {name: value for name, value in stored.items() if value is not None}


def with_references(overrides: Mapping[str, Any]) -> dict[str, Any]:
    """The overrides of a section of the sources file as they are stored: references are objects, as
    no text that comes through the API can be."""
    stored = dict(overrides)
    if "headers" in stored:
        stored["headers"] = {name: as_stored(value) for name, value in stored["headers"].items()}
    if "proxy" in stored:
        stored["proxy"] = as_stored(stored["proxy"])
    if "login" in stored:
        stored["login"] = login_fields.with_references(stored["login"])
    if "proxies" in stored:
        stored["proxies"] = [as_stored(proxy) for proxy in stored["proxies"]]
    return stored


class PolicyChanges(PolicyFields):
    """Changes to a policy. Fields that are left out stay; null resets a field to the settings."""

    @model_validator(mode="after")
    def _check(self) -> Self:
        """Checks nothing: changes make sense only together with the stored policy."""
        return self


def fields_of(overrides: Mapping[str, Any]) -> PolicyFields:
    """The stored overrides as policy fields. The values of all headers are masked: whether one is a
    secret does not show in its name."""
    hours, headers, proxy = (overrides.get(name) for name in ("hours", "headers", "proxy"))
    proxies = [_masked_proxy(from_stored(one)) for one in overrides.get("proxies") or ()]
    return PolicyFields.model_construct(
        requests_per_hour=overrides.get("requests_per_hour"),
        burst_limit=overrides.get("burst_limit"),
        min_delay_seconds=_seconds(overrides.get("min_delay")),
        max_delay_seconds=_seconds(overrides.get("max_delay")),
        concurrency=overrides.get("concurrency"),
        respectful_hours=_hours(hours) if hours is not None else None,
        max_retries=overrides.get("max_retries"),
        timeout=_seconds(overrides.get("timeout")),
        robots={True: "obey", False: "ignore", None: None}[overrides.get("robots")],
        crawl_delay_cap_seconds=_seconds(overrides.get("crawl_delay_cap")),
        headers=masked_headers(headers) if headers is not None else None,
        user_agent=overrides.get("user_agent"),
        proxy=_masked_proxy(from_stored(proxy)) if proxy is not None else None,
        proxies=proxies or None,
        login=login_fields.masked_login(overrides.get("login")),
    )


def fields_in_force(policy: Policy) -> PolicyFields:
    """The whole policy as policy fields, defaults included; None where there is no such limit."""
    hours = policy.hours
    limit = policy.requests_per_hour or None
    fields = fields_of({
        "requests_per_hour": limit, "burst_limit": policy.burst_limit if limit else None,
        "min_delay": policy.min_delay, "max_delay": max(policy.min_delay, policy.max_delay),
        "concurrency": policy.concurrency, "max_retries": policy.max_retries,
        "timeout": policy.timeout, "robots": policy.robots, "headers": dict(policy.headers),
        "crawl_delay_cap": policy.crawl_delay_cap, "user_agent": policy.user_agent,
        "proxy": policy.proxy, "proxies": policy.proxies,
        "login": None if policy.login is None else policy.login.stored(),
        "hours": None if hours is None else {
            "start": hours.start, "end": hours.end, "timezone": hours.timezone,
            "slowdown": hours.slowdown, "closed": hours.closed,
        },
    })  # fmt: skip
    return fields.model_copy(update={"lanes": 1})


def _masked_proxy(proxy: Secret) -> str:
    """Masks the password; a user name without a password may be a token, so it is masked too."""
    if isinstance(proxy, Reference):
        return str(proxy)

    def masked(found: re.Match[str]) -> str:
        user, colon, _password = found[1].partition(":")
        return f"//{user}:{MASK}@" if colon else f"//{MASK}@"

    return _CREDENTIALS.sub(masked, proxy)


def _hours(stored: dict[str, Any]) -> RespectfulHours:
    return RespectfulHours.model_construct(
        start=f"{stored['start'] // 60:02}:{stored['start'] % 60:02}",
        end=f"{stored['end'] // 60:02}:{stored['end'] % 60:02}",
        timezone=stored["timezone"],
        slowdown=None if stored["closed"] else stored["slowdown"],
        closed=stored["closed"],
    )


def _milliseconds(seconds: float | None) -> int | None:
    return None if seconds is None else round(seconds * SECOND)


def _seconds(span: int | None) -> float | None:
    return None if span is None else span / SECOND
