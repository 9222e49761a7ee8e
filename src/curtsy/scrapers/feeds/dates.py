"""Reads the dates of feeds and sitemaps, in whatever form they come, as RFC 3339 in UTC."""

import re
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache

FIRST_YEAR, LAST_YEAR = 1970, 2100
"""Dates outside these years are mistakes. A date may lie in the future."""
_LONGEST = 100
_ZONES = {
    "z": 0, "ut": 0, "utc": 0, "gmt": 0, "est": -5, "edt": -4, "cst": -6, "cdt": -5, "mst": -7,
    "mdt": -6, "pst": -8, "pdt": -7, "wet": 0, "west": 1, "bst": 1, "cet": 1, "cest": 2, "mez": 1,
    "mesz": 2, "eet": 2, "eest": 3, "msk": 3, "ist": 5.5, "jst": 9, "kst": 9, "aest": 10,
    "aedt": 11, "nzst": 12, "nzdt": 13,
}  # fmt: skip
"""Hours ahead of UTC. A zone that is unknown counts as UTC."""
_MONTHS = {
    name: number for number, names in enumerate((
        "jan ene gen", "feb fev fév", "mar mär mrz maa", "apr abr avr", "may mai mag mei",
        "jun giu", "jul lug", "aug ago aoû aou", "sep set", "oct okt ott out", "nov",
        "dec dez dic déc",
    ), 1) for name in names.split()
}  # fmt: skip
_ISO = re.compile(
    r"(?P<year>\d{4})(?:[-/.]?(?P<month>\d\d)(?:[-/.]?(?P<day>\d\d))?)?"
    r"(?:(?:\s*[Tt]\s*|\s+)(?P<hour>\d\d?):?(?P<minute>\d\d)(?::?(?P<second>\d\d)(?:[.,]\d+)?)?)?"
    r"\s*(?P<zone>\S.*)?"
)
_RFC822 = re.compile(
    r"(?:\w{1,20}\.?,?\s*)??(?P<day>\d{1,2})(?:st|nd|rd|th|\.)?[\s-]+(?P<month>\w{3})\w*\.?,?[\s-]+"
    r"(?P<year>\d{4}|\d\d)(?:,?\s+(?:at\s+)?(?P<hour>\d\d?):(?P<minute>\d\d)"
    r"(?::(?P<second>\d\d)(?:[.,]\d+)?)?\s*(?P<half>[ap]\.?m\b\.?)?)?\s*(?P<zone>\S.*)?",
    re.IGNORECASE,
)
_AMERICAN = re.compile(
    r"(?:\w{1,20}\.?,?\s+)?(?P<month>[^\W\d]{3})\w*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+"
    r"(?P<year>\d{4})(?:,?\s+(?:at\s+)?(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?"
    r"\s*(?P<half>[ap]\.?m\b\.?)?)?\s*(?P<zone>\S.*)?",
    re.IGNORECASE,
)
_ASCTIME = re.compile(
    r"(?:\w{1,20},?\s+)?(?P<month>[^\W\d]{3})\w*\.?\s+(?P<day>\d{1,2})(?:st|nd|rd|th)?,?\s+"
    r"(?:(?P<hour>\d\d?):(?P<minute>\d\d)(?::(?P<second>\d\d))?\s+(?P<zone>[A-Za-z]{1,5}\s+)?)?"
    r"(?P<year>\d{4})",
    re.IGNORECASE,
)
_OFFSET = re.compile(r"(?:gmt|utc|ut)?\s*([+-−])(\d{1,2}):?(\d\d)?(?!\d)", re.IGNORECASE)


@lru_cache(maxsize=4_096)
def stamp_of(text: str) -> str | None:
    """Returns `2026-11-19T21:00:00Z`; None: the text is no date that can be understood. The
    result sorts as text. A date without a time is its midnight, without a zone it is in UTC."""
    text = text.strip()
    if not text or len(text) > _LONGEST:
        return None
    for form in (_ISO, _RFC822, _AMERICAN, _ASCTIME):
        if (found := form.fullmatch(text)) is not None:
            return _stamp(found.groupdict())
    return None


def _stamp(parts: dict[str, str | None]) -> str | None:
    try:
        moment = _moment(parts)
    except (ValueError, OverflowError, KeyError):
        return None
    if not FIRST_YEAR <= moment.year <= LAST_YEAR:
        return None
    return f"{moment:%Y-%m-%dT%H:%M:%S}Z"


def _moment(parts: dict[str, str | None]) -> datetime:
    year, month = int(parts["year"] or 0), parts["month"] or "1"
    if len(parts["year"] or "") == 2:  # as RFC 2822 says
        year += 2000 if year < 50 else 1900
    number = int(month) if month.isdecimal() else _MONTHS[month.lower()]
    day, hour = int(parts["day"] or 1), _hour(parts)
    late = timedelta(days=1) if hour == 24 else timedelta()
    second = min(59, int(parts["second"] or 0))  # 60 is a leap second
    minute, zone = int(parts["minute"] or 0), _zone(parts["zone"])
    local = datetime(year, number, day, hour if hour != 24 else 0, minute, second, tzinfo=zone)
    return local.astimezone(UTC) + late


def _hour(parts: dict[str, str | None]) -> int:
    hour, half = int(parts["hour"] or 0), (parts.get("half") or "").lower()
    if not half:
        return hour
    return hour % 12 + (12 if half.startswith("p") else 0)


def _zone(given: str | None) -> timezone:
    text = (given or "").strip()
    if (found := _OFFSET.match(text)) is not None:
        span = timedelta(hours=int(found[2]), minutes=int(found[3] or 0))
        return timezone(span if found[1] == "+" else -span)
    name = re.match(r"[a-z]*", text.lower())
    return timezone(timedelta(hours=_ZONES.get(name[0] if name else "", 0)))
