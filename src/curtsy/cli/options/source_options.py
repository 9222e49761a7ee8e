"""The options of `curtsy sources set`, and their translation to the API's fields."""

import re
from typing import Annotated, Any, Literal

import typer

from curtsy.cli.console.error_output import WrongUsage
from curtsy.cli.console.text import finite, in_utf8

Hosts = Annotated[
    str | None,
    typer.Option(
        metavar="LIST", help="Hosts that share the budget, such as a.com,b.com; replaces the list."
    ),
]
PerHour = Annotated[
    int | None, typer.Option(metavar="N", help="Maximum of requests in any 60 minutes.")
]
Burst = Annotated[
    int | None,
    typer.Option(metavar="N", help="Requests in a row before the rest is spread over the hour."),
]
MinDelay = Annotated[
    float | None,
    typer.Option(
        callback=finite, metavar="SECONDS", help="Minimum time between the starts of two requests."
    ),
]
MaxDelay = Annotated[
    float | None,
    typer.Option(
        callback=finite,
        metavar="SECONDS",
        help="Each delay is random between --min-delay and this.",
    ),
]
Concurrency = Annotated[int | None, typer.Option(metavar="N", help="Maximum of open requests.")]
HoursOption = Annotated[
    str | None,
    typer.Option("--hours", metavar="FROM-TO", help="Respectful hours, such as 9-17 or 22:30-6."),
]
Timezone = Annotated[
    str | None,
    typer.Option(
        metavar="ZONE", help="Time zone of --hours, such as Europe/London; UTC by default."
    ),
]
Slowdown = Annotated[
    float | None,
    typer.Option(
        callback=finite, metavar="TIMES", help="Multiply every delay by this during --hours."
    ),
]
Closed = Annotated[bool, typer.Option("--closed", help="Send no requests during --hours.")]
Retries = Annotated[
    int | None, typer.Option("--max-retries", metavar="N", help="Retries of a failed page.")
]
Timeout = Annotated[
    float | None,
    typer.Option(callback=finite, metavar="SECONDS", help="Time limit of one attempt."),
]
Robots = Annotated[
    Literal["obey", "ignore"] | None,
    typer.Option(metavar="WORD", help="Whether to obey or ignore robots.txt."),
]
UserAgent = Annotated[
    str | None,
    typer.Option(metavar="TEXT", help="User agent for this source; say in it how to reach you."),
]
Header = Annotated[
    list[str] | None,
    typer.Option(
        metavar="LINE", help="Header to send, such as 'Accept-Language: de'; may be repeated."
    ),
]
ProxyOption = Annotated[
    list[str] | None,
    typer.Option(
        "--proxy", metavar="URL",
        help="Proxy, such as socks5://user:password@host:port; may be repeated to take turns.",
    ),
]  # fmt: skip
Enabled = Annotated[
    bool | None,
    typer.Option(
        "--enabled/--disabled",
        show_default=False,
        help="Whether to send requests to this source at all.",
    ),
]
Reset = Annotated[
    list[str] | None,
    typer.Option(
        metavar="OPTION",
        help="Option to set back to its default, such as min-delay; may be repeated.",
    ),
]

FIELDS = {
    "requests-per-hour": "requests_per_hour", "burst": "burst_limit",
    "min-delay": "min_delay_seconds", "max-delay": "max_delay_seconds",
    "concurrency": "concurrency", "hours": "respectful_hours", "max-retries": "max_retries",
    "timeout": "timeout", "robots": "robots", "user-agent": "user_agent", "header": "headers",
    "proxy": "proxy",
}  # fmt: skip
"""The API's field of each option that has a default."""
_HOURS = re.compile(r"([0-9:]+)\s*-\s*([0-9:]+)")


def patch_body(given: dict[str, Any], reset: list[str], proxies: dict[str, Any]) -> dict[str, Any]:
    """The body of a PATCH: the given values, and null for fields to set back to their default."""
    body = {name: value for name, value in given.items() if value is not None} | proxies
    if "proxy" in reset or "--proxy" in reset:
        body.setdefault("proxies", None)
    for word in reset:
        field = FIELDS.get(word.removeprefix("--"))
        if field is None:
            raise WrongUsage(f"--reset takes {', '.join(FIELDS)}; not {word!r}.")
        if field in body:
            raise WrongUsage(f"--{word} is both given and reset.")
        body[field] = None
    if not body:
        raise WrongUsage("Give at least one option to change: see `curtsy sources set --help`.")
    return body


def hours_from(
    hours: str | None, timezone: str | None, slowdown: float | None, *, closed: bool
) -> dict[str, Any] | None:
    if hours is None:
        if timezone or slowdown is not None or closed:
            raise WrongUsage("--timezone, --slowdown and --closed need --hours.")
        return None
    span = _HOURS.fullmatch(hours.strip())
    if span is None:
        raise WrongUsage(f"--hours is {hours!r}: give two times of day, such as 9-17 or 22:30-6.")
    if closed == (slowdown is not None):
        raise WrongUsage("--hours needs one of --slowdown and --closed.")
    effect = {"closed": True} if closed else {"slowdown": slowdown}
    start, end = (int(t) if t.isdecimal() else t for t in span.groups())
    return {"start": start, "end": end, "timezone": timezone or "UTC"} | effect


def headers_from(lines: list[str] | None) -> dict[str, str] | None:
    if not lines:
        return None
    pairs = [in_utf8(line).partition(":") for line in lines]
    if not all(colon for _name, colon, _value in pairs):
        raise WrongUsage("A --header is a name and a value, such as 'Accept-Language: de'.")
    return {name.strip(): value.strip() for name, _colon, value in pairs}


def proxies_from(urls: list[str] | None) -> dict[str, Any]:
    """One proxy is `proxy`, several are `proxies`; either replaces both."""
    if not urls:
        return {}
    given = [in_utf8(url) for url in urls]
    return (
        {"proxy": given[0], "proxies": None}
        if len(given) == 1
        else {"proxies": given, "proxy": None}
    )


def hosts_from(text: str | None) -> list[str] | None:
    if text is None:
        return None
    return [in_utf8(host) for host in re.split(r"[,\s]+", text) if host]
