"""Formats sources: the list, and the page of one with its policy and state."""

from datetime import UTC, datetime
from typing import Any

from curtsy.cli.console.table import table
from curtsy.cli.console.text import counted, to_minute
from curtsy.model.roles import ANONYMOUS

Source = dict[str, Any]
SOON_SECONDS, LATER_SECONDS = 120, 7_200
HOSTS_IN_A_ROW = 2
WAITS = {
    "delay": "waits for its delay",
    "hourly_limit": "spreads its hourly limit",
    "closed_hours": "waits for the end of its closed hours",
    "rest": "waits after a change of its worker or hosts",
}
"""By the rule that the next request waits for, where nothing else says more."""


def listed(sources: list[Source]) -> list[str]:
    headings = ("source", "hosts", "limit/h", "delay", "waiting", "now")
    rows = [(s["name"], _hosts_in_short(s), limit(s), delay(s), waiting(s), state_text(s))
            for s in sources]  # fmt: skip
    return table(headings, rows, cut=("hosts", "now"))


def page(source: Source) -> str:
    """The page of one source; values that nobody set are marked as default."""
    described, policy = source["said"], source["policy"]
    facts = [
        ("Hosts", ", ".join(source["hosts"]) + ("" if source["hosts_are_all"] else ", …")),
        ("Now", state_text(source)),
        ("Waiting", counted(source["waiting"], "page", capped=source["waiting_is_capped"])),
        ("Limit", _limit_in_words(source)),
        ("Delay", _or_default(delay(source), "min_delay_seconds" in described)),
        ("Concurrency", _or_default(str(policy["concurrency"]), "concurrency" in described)),
        ("Respectful hours", _hours_in_words(policy["respectful_hours"])),
        ("Retries", _or_default(str(policy["max_retries"]), "max_retries" in described)),
        ("Timeout", _or_default(seconds(policy["timeout"]), "timeout" in described)),
        ("robots.txt", _or_default(policy["robots"], "robots" in described)),
        ("User agent", _or_default(policy["user_agent"] or "", "user_agent" in described)),
        ("Headers", ", ".join(f"{n}: {v}" for n, v in (policy["headers"] or {}).items())),
        ("Proxy", ", ".join(filter(None, [policy["proxy"], *(policy["proxies"] or ())]))),
        ("Today", _today(source["today"])),
    ]
    width = max(len(name) for name, _ in facts)
    title = source["name"] + ("" if source["described"] else " (not described)")
    return "\n".join([title, *(f"  {name:<{width}}  {text}" for name, text in facts if text)])


def state_text(source: Source) -> str:
    """Why no request starts, or `ready`."""
    if source["paused"]:
        by = source["paused_by"]
        if by == "policy":
            return "disabled by its policy"
        return f"paused by {by}" if by not in (None, ANONYMOUS) else "paused"
    resting = source["resting"]
    if resting is not None:
        over = resting["until"] is None
        return f"{'tries one page after' if over else 'resting'}: {resting['because']}"
    hours = source["policy"]["respectful_hours"]
    if source["in_respectful_hours"]:
        what = "closed" if hours["closed"] else "slow"
        return f"{what} until {hours['end']} {hours['timezone']}"
    if source["utilisation"] is not None and source["utilisation"] >= 1:
        return "the hour's limit is used up"
    return WAITS.get(source["waits_for"], "ready")


def limit(source: Source) -> str:
    per_hour = source["policy"]["requests_per_hour"]
    return "none" if per_hour is None else str(per_hour)


def delay_now(source: Source) -> str:
    """The delay at this hour, with the slowdown of respectful hours."""
    hours = source["policy"]["respectful_hours"]
    slowed = source["in_respectful_hours"] and not hours["closed"]
    return delay(source, hours["slowdown"] if slowed else 1)


def delay(source: Source, times: float = 1) -> str:
    """The delay between two requests: the policy's, or robots.txt's if that is longer."""
    policy, crawl_delay = source["policy"], source["crawl_delay_seconds"] or 0
    low = max(policy["min_delay_seconds"], crawl_delay)
    high = max(policy["max_delay_seconds"], low) * times
    low *= times
    return seconds(low) if low == high else f"{low:g}-{seconds(high)}"


def waiting(source: Source) -> str:
    return f"{source['waiting']}{'+' if source['waiting_is_capped'] else ''}"


def next_start(source: Source) -> str:
    if source["paused"]:
        return "when resumed"
    at = source["next_start_at"]
    if at is None:
        return "now"
    ahead = (datetime.fromisoformat(at) - datetime.now(UTC)).total_seconds()
    if ahead <= SOON_SECONDS:
        return f"in {max(1, round(ahead))} s"
    return f"in {round(ahead / 60)} min" if ahead <= LATER_SECONDS else to_minute(at)


def seconds(number: float | None) -> str:
    return "" if number is None else f"{number:g} s"


def _hosts_in_short(source: Source) -> str:
    hosts = source["hosts"]
    more = len(hosts) - HOSTS_IN_A_ROW
    unknown = "" if source["hosts_are_all"] else "+"
    rest = f" and {more}{unknown} more" if more > 0 else ""
    return ", ".join(hosts[:HOSTS_IN_A_ROW]) + rest


def _limit_in_words(source: Source) -> str:
    policy = source["policy"]
    if policy["requests_per_hour"] is None:
        return "none per hour"
    burst, used = policy["burst_limit"], source["used_this_hour"]
    in_a_row = f", {burst} in a row" if burst > 1 else ""
    part = f"{used} used in the last hour ({source['utilisation']:.0%})"
    return f"{policy['requests_per_hour']} per hour{in_a_row}; {part}"


def _hours_in_words(hours: dict[str, Any] | None) -> str:
    if hours is None:
        return ""
    what = "closed" if hours["closed"] else f"{hours['slowdown']:g} times slower"
    return f"{hours['start']}-{hours['end']} {hours['timezone']}, {what}"


def _today(today: dict[str, Any]) -> str:
    gap = today["smallest_gap_seconds"]
    apart = f", never closer than {gap:g} s" if gap is not None else ""
    return f"{counted(today['requests'], 'request')}{apart}"


def _or_default(text: str, is_set: bool) -> str:
    return text if is_set or not text else f"{text} (default)"
