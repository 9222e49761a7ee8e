"""Names options as the user typed them in what the API says about its fields."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

from curtsy.errors import CurtsyError

OPTIONS: Mapping[str, str] = {
    "articles": "URL", "start_urls": "URL", "url": "URL",
    "requests_per_hour": "--requests-per-hour",
    "burst_limit": "--burst", "min_delay_seconds": "--min-delay",
    "max_delay_seconds": "--max-delay", "concurrency": "--concurrency", "hosts": "--hosts",
    "respectful_hours": "--hours", "timezone": "--timezone", "slowdown": "--slowdown",
    "max_retries": "--max-retries", "timeout": "--timeout", "robots": "--robots",
    "user_agent": "--user-agent", "headers": "--header", "proxy": "--proxy",
    "proxies": "--proxy", "method": "--method", "form": "--form", "json": "--body-json",
    "name": "--name",
    "tags": "--tag", "tag": "--tag", "priority": "--priority", "max_age": "--max-age",
    "webhook_url": "--webhook", "finish_by": "--finish-by", "depth": "--depth", "scope": "--scope",
    "include": "--include", "exclude": "--exclude", "max_pages": "--max-pages",
    "spider": "--spider", "ignore_cache": "--ignore-cache", "cron": "--cron",
    "every_minutes": "--every", "at": "--at", "not_before": "--not-before",
    "overlap": "--overlap", "catch_up": "--catch-up", "catch_up_minutes": "--catch-up-within",
    "after_end": "--after-end", "jitter": "--jitter", "duty": "--duty", "payload": "--payload",
    "search_term": "--search-term", "location": "--location", "is_remote": "--remote",
    "results_wanted": "--results", "country": "--country", "source": "--source",
    "status_filter": "--status", "limit": "--limit", "days": "--days", "hours": "--hours",
    "kind": "--kind", "site_name": "NAME",
}  # fmt: skip
"""By field of the API: the option or argument that sets it."""
_FIELD = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_SHOULD = re.compile(r"^(?:Input|Value|String|List|Dictionary|Number) should (be|have|match)\b")


def as_typed(error: CurtsyError) -> str:
    """The error's sentence; the fields of a refused request get the names of their options."""
    if getattr(error, "status", None) != 422:
        return str(error)
    problems: Sequence[Mapping[str, Any]] = getattr(error, "errors", ())
    if not problems:
        return _FIELD.sub(lambda field: OPTIONS.get(field[0], field[0]), str(error))
    sentences = [_sentence(problem["loc"], str(problem["msg"])) for problem in problems]
    return " ".join(dict.fromkeys(sentences))


def _sentence(place: Sequence[str | int], problem: str) -> str:
    known = [OPTIONS[part] for part in place if isinstance(part, str) and part in OPTIONS]
    named = known[-1] if known else ".".join(str(part) for part in place[1:])
    text = _SHOULD.sub(r"it must \1", problem)
    return f"{named}: {text[:1].lower()}{text[1:]}." if named else f"{text}."
