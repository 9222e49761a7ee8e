"""Formats days in English, whatever the machine's locale. Pure."""

from datetime import date

_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


def day_first(day: date) -> str:
    return f"{day.day} {_MONTHS[day.month - 1]} {day.year}"


def month_first(day: date) -> str:
    return f"{_MONTHS[day.month - 1]} {day.day}, {day.year}"
