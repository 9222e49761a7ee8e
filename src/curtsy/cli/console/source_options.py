"""What `curtsy sources set` may say of a source, as options and as the API's words."""

import re
from typing import Annotated, Any, Literal

import typer

from curtsy.cli.console.errors import WrongUsage
from curtsy.cli.console.text import in_utf8

Hosts = Annotated[
    str | None,
    typer.Option(metavar="LIST", help="They share its budget, as a.com,b.com; others leave it."),
]
PerHour = Annotated[
    int | None, typer.Option(metavar="N", help="Requests in any hour, no more than this.")
]
Burst = Annotated[
    int | None,
    typer.Option(metavar="N", help="So many may follow each other before they are spread."),
]
MinDelay = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Between the starts of two requests.")
]
MaxDelay = Annotated[
    float | None, typer.Option(metavar="SECONDS", help="Each delay is random up to this.")
]
Concurrency = Annotated[int | None, typer.Option(metavar="N", help="Requests open at once.")]
HoursOption = Annotated[
    str | None,
    typer.Option("--hours", metavar="FROM-TO", help="Respectful hours, as 9-17 or 22:30-6."),
]
Timezone = Annotated[
    str | None, typer.Option(metavar="ZONE", help="Of these hours, as Europe/London; else UTC.")
]
Slowdown = Annotated[
    float | None,
    typer.Option(metavar="TIMES", help="In these hours every delay is so many times as long."),
]
Closed = Annotated[bool, typer.Option("--closed", help="In these hours nothing is asked.")]
Retries = Annotated[
    int | None, typer.Option("--max-retries", metavar="N", help="Further tries of a page.")
]
Timeout = Annotated[float | None, typer.Option(metavar="SECONDS", help="For a whole attempt.")]
Robots = Annotated[
    Literal["obey", "ignore"] | None,
    typer.Option(metavar="WORD", help="What robots.txt says: obey or ignore."),
]
UserAgent = Annotated[
    str | None, typer.Option(metavar="TEXT", help="Sent to this source; say how to reach you.")
]
Header = Annotated[
    list[str] | None,
    typer.Option(metavar="LINE", help="Sent to it, as 'Accept-Language: de'; may be repeated."),
]
ProxyOption = Annotated[
    str | None, typer.Option("--proxy", metavar="URL", help="As http://user:password@host:port.")
]
Enabled = Annotated[
    bool | None,
    typer.Option("--enabled/--disabled", show_default=False, help="Whether to ask it at all."),
]
Reset = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPTION", help="Back to the default, as min-delay or hours; may be repeated."
    ),
]

FIELDS = {
    "requests-per-hour": "requests_per_hour", "burst": "burst_limit",
    "min-delay": "min_delay_seconds", "max-delay": "max_delay_seconds",
    "concurrency": "concurrency", "hours": "respectful_hours", "max-retries": "max_retries",
    "timeout": "timeout", "robots": "robots", "user-agent": "user_agent", "header": "headers",
    "proxy": "proxy",
}  # fmt: skip
"""What each option is called in the API, of those that have a default to go back to."""
_HOURS = re.compile(r"([0-9:]+)\s*-\s*([0-9:]+)")


def patch_body(given: dict[str, Any], reset: list[str]) -> dict[str, Any]:
    """The body of a PATCH: what was given, and null for what goes back to its default."""
    said = {name: value for name, value in given.items() if value is not None}
    for word in reset:
        field = FIELDS.get(word.removeprefix("--"))
        if field is None:
            raise WrongUsage(f"--reset takes {', '.join(FIELDS)}; not {word!r}.")
        if field in said:
            raise WrongUsage(f"--{word} is both given and reset.")
        said[field] = None
    if not said:
        raise WrongUsage("Say what is to change: see `curtsy sources set --help`.")
    return said


def hours_from(
    hours: str | None, timezone: str | None, slowdown: float | None, *, closed: bool
) -> dict[str, Any] | None:
    if hours is None:
        if timezone or slowdown is not None or closed:
            raise WrongUsage("--timezone, --slowdown and --closed say more of --hours: give it.")
        return None
    span = _HOURS.fullmatch(hours.strip())
    if span is None:
        raise WrongUsage(f"--hours is {hours!r}: give two times of day, as 9-17 or 22:30-6.")
    if closed == (slowdown is not None):
        raise WrongUsage("--hours needs one of --slowdown and --closed.")
    how = {"closed": True} if closed else {"slowdown": slowdown}
    start, end = (int(t) if t.isdecimal() else t for t in span.groups())
    return {"start": start, "end": end, "timezone": timezone or "UTC"} | how


def headers_from(lines: list[str] | None) -> dict[str, str] | None:
    if not lines:
        return None
    pairs = [in_utf8(line).partition(":") for line in lines]
    if not all(colon for _name, colon, _value in pairs):
        raise WrongUsage("A --header is a name and a value, as 'Accept-Language: de'.")
    return {name.strip(): value.strip() for name, _colon, value in pairs}


def hosts_from(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [in_utf8(host) for host in re.split(r"[,\s]+", text) if host]
