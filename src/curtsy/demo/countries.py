"""Invented travel advice of three invented offices about real countries. Pure."""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from enum import StrEnum
from functools import cache
from zlib import crc32

LATEST = date(2026, 11, 14)
_SPREAD_DAYS = 240


class Office(StrEnum):
    US = "us"
    UK = "uk"
    CA = "ca"


@dataclass(frozen=True, slots=True)
class Country:
    name: str
    region: str

    @property
    def slug(self) -> str:
        """The name in ASCII, with hyphens between the words."""
        plain = unicodedata.normalize("NFKD", self.name).encode("ascii", "ignore").decode()
        return re.sub(r"[^a-z]+", "-", plain.lower()).strip("-")


@dataclass(frozen=True, slots=True)
class Advisory:
    country: Country
    level: int
    """From 1 (safe) to 4 (do not travel)."""
    words: str
    """The office's text for the level."""
    updated_on: date
    text: tuple[str, ...]


_BY_REGION = {
    "Africa": "Botswana, Côte d'Ivoire, Egypt, Ghana, Kenya, Morocco, Namibia, Senegal, Tanzania",
    "Americas": "Argentina, Brazil, Chile, Colombia, Costa Rica, Ecuador, Mexico, Peru, Uruguay",
    "Asia": "Cambodia, India, Indonesia, Japan, Jordan, Nepal, South Korea, Thailand, Vietnam",
    "Europe": "Austria, Croatia, Denmark, Estonia, France, Germany, Greece, Iceland, Italy, "
    "Portugal, Türkiye",
    "Oceania": "Australia, Fiji, New Zealand, Samoa",
}
REGIONS = tuple(_BY_REGION)
COUNTRIES = tuple(
    sorted(
        (Country(name, region) for region, names in _BY_REGION.items()
         for name in names.split(", ")),
        key=lambda country: country.slug,
    )
)  # fmt: skip
BY_SLUG = {country.slug: country for country in COUNTRIES}

_LEVELS = {
    Office.US: ("Travel as usual", "Keep your eyes open", "Think twice first", "Stay at home"),
    Office.UK: ("Nothing in particular", "Difficult in places", "Only if you must", "Not now"),
    Office.CA: ("Ordinary care", "A little more care", "Put it off if you can", "Leave it be"),
}
_OPENINGS = (
    "Visitors have little to fear here beyond the price of ice cream.",
    "Most visits pass off well, and a few end at a counter for lost suitcases.",
    "Several roads are closed, and those that are open are argued about.",
    "The ferries do not sail, and whoever is there already should write home.",
)
_REMARKS = (
    "Bags are best worn in front where trams are full.",
    "Trains are punctual in the mornings and philosophical in the evenings.",
    "Mountain weather turns within the hour; tell somebody which path you took.",
    "Tap water is fine in the towns, and everyone will tell you otherwise.",
    "Copies of papers weigh nothing: carry two, in different pockets.",
    "Banks close for lunch, and lunch is not short.",
    "Drivers sound the horn as a greeting; it is not always meant as one.",
    "The sea is calmer than it looks on the eastern side and rougher on the other.",
    "Markets expect you to haggle once, politely, and then to stop.",
)


@cache
def advisory(office: Office, country: Country) -> Advisory:
    mixed = crc32(f"{office}/{country.slug}".encode())
    level = (1, 1, 1, 2, 2, 2, 2, 3, 3, 4)[mixed % 10]
    remarks = [_REMARKS[(mixed >> 4 * turn) % len(_REMARKS)] for turn in range(1, 5)]
    return Advisory(
        country=country,
        level=level,
        words=_LEVELS[office][level - 1],
        updated_on=LATEST - timedelta(days=(mixed >> 8) % _SPREAD_DAYS),
        text=(_OPENINGS[level - 1], *dict.fromkeys(remarks)),
    )


def advisories(office: Office) -> list[Advisory]:
    """An office's advice on all countries, by name."""
    return [advisory(office, country) for country in COUNTRIES]
