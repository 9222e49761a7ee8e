"""The postings of the practice job board, and how they change. Pure, and without a clock.

The board has editions 0, 1, 2, …: from one to the next a few postings vanish, a few are new, a few
pay more, and the rest stay as they are. `difference` returns which. They are called postings
because a job is something else in this project.
"""

import re
import unicodedata
from dataclasses import dataclass
from datetime import date, timedelta
from functools import lru_cache
from zlib import crc32

AT_FIRST = 137
"""How many postings edition 0 has."""
LAST_EDITION = 9_999
FIRST_DAY = date(2026, 11, 1)
"""The day of edition 0; each edition appears a day after the one before."""

_NEW_PER_EDITION = 5
_GONE_PER_EDITION = 4  # of those of edition 0
_STRIDE = 61  # removes them in no visible order: 137 is prime
_SHORTEST_LIFE = 15
_LIVES = 25
_RAISED_EVERY = 29
_ID = re.compile(r"ln([1-9][0-9]{3,5})")
_FIRST_ID = 1_000

_TITLES = (
    "Python Developer", "Senior Python Developer", "Python Developer, Tide Tables",
    "Backend Developer (Python)", "Junior Developer, Python and Patience", "Go Developer",
    "Frontend Developer", "Data Engineer, Python", "Keeper of Databases", "Test Engineer",
    "Lighthouse Operations Engineer", "Ferry Timetable Analyst", "Product Designer",
    "Technical Writer", "Map Librarian", "Cheese Logistics Planner", "Rust & C++ Developer",
    "Site Reliability Engineer",
)  # fmt: skip
_COMPANIES = (
    "Heron & Pike", "Blue Door Software", "Quince Analytics", "Nightferry", "Seven Eggs Ltd",
    "Moss Survey Group", "Tram Shed Studios", "Otter Freight", "Umbrella Returns",
    "Pear November", "Café Zoë Systems", "The Slow Letter Co.", "Iron Well Water", "Sledgepost",
)  # fmt: skip
_LOCATIONS = (
    "Lisbon, Portugal", "Zürich, Switzerland", "Kraków, Poland", "Malmö, Sweden", "Ghent, Belgium",
    "Porto, Portugal", "Berlin, Germany", "Tartu, Estonia", "Galway, Ireland", "Århus, Denmark",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Posting:
    number: int
    title: str
    company: str
    location: str
    remote: bool
    lowest: int
    """Euros a year, and so is `highest`."""
    highest: int
    posted_on: date

    @property
    def id(self) -> str:
        return f"ln{_FIRST_ID + self.number}"

    @property
    def salary(self) -> str:
        return f"€ {self.lowest:,} – {self.highest:,}"


@dataclass(frozen=True, slots=True)
class Difference:
    """Ids of the postings that differ between two editions."""

    new: frozenset[str]
    changed: frozenset[str]
    removed: frozenset[str]


@lru_cache(maxsize=64)
def edition(n: int) -> tuple[Posting, ...]:
    """The postings of an edition, newest first."""
    by_now = AT_FIRST + n * _NEW_PER_EDITION
    of_late = by_now - (_SHORTEST_LIFE + _LIVES) * _NEW_PER_EDITION
    earliest = of_late if of_late > AT_FIRST else 0  # those of edition 0 are gone long before
    numbers = reversed(range(earliest, by_now))
    return tuple(_posting(number, n) for number in numbers if n < _gone(number))


def difference(earlier: int, later: int) -> Difference:
    """New, changed and removed postings of edition `later` compared with `earlier`."""
    before = {posting.id: posting for posting in edition(earlier)}
    after = {posting.id: posting for posting in edition(later)}
    return Difference(
        new=frozenset(after.keys() - before.keys()),
        changed=frozenset(id_ for id_ in before.keys() & after.keys() if before[id_] != after[id_]),
        removed=frozenset(before.keys() - after.keys()),
    )


def by_id(id_: str) -> Posting | None:
    """The posting as of the first edition that has it; None if there is none."""
    found = _ID.fullmatch(id_)
    if found is None:
        return None
    number = int(found[1]) - _FIRST_ID
    born = _born(number)
    return _posting(number, born) if born <= LAST_EDITION else None


def matching(postings: tuple[Posting, ...], words: str, place: str, remote: bool) -> list[Posting]:
    """Postings that contain every word, in any case; with `remote` only remote ones."""
    wanted, where = _folded(words).split(), _folded(place).split()
    return [
        posting
        for posting in postings
        if (posting.remote or not remote)
        and all(word in _folded(f"{posting.title} {posting.company}") for word in wanted)
        and all(word in _folded(_whereabouts(posting)) for word in where)
    ]


def _whereabouts(posting: Posting) -> str:
    return f"{posting.location} remote" if posting.remote else posting.location


@lru_cache(maxsize=4_096)
def _folded(text: str) -> str:
    return unicodedata.normalize("NFKC", text).casefold()


def _born(number: int) -> int:
    """The first edition that has it."""
    return 0 if number < AT_FIRST else (number - AT_FIRST) // _NEW_PER_EDITION + 1


def _gone(number: int) -> int:
    """The first edition that no longer has it."""
    if number < AT_FIRST:
        return 1 + number * _STRIDE % AT_FIRST // _GONE_PER_EDITION
    return _born(number) + _SHORTEST_LIFE + number * 7 % _LIVES


def _raises(number: int, n: int) -> int:
    """How often its salary had been raised by that edition."""
    return (n + number) // _RAISED_EVERY - (_born(number) + number) // _RAISED_EVERY


def _posting(number: int, n: int) -> Posting:
    lowest = 32_000 + 1_000 * (_mixed(number, "pay") % 45 + _raises(number, n))
    if number < AT_FIRST:
        posted_on = FIRST_DAY - timedelta(days=(AT_FIRST - 1 - number) // _NEW_PER_EDITION)
    else:
        posted_on = FIRST_DAY + timedelta(days=_born(number))
    return Posting(
        number=number,
        title=_TITLES[_mixed(number, "title") % len(_TITLES)],
        company=_COMPANIES[_mixed(number, "company") % len(_COMPANIES)],
        location=_LOCATIONS[_mixed(number, "place") % len(_LOCATIONS)],
        remote=_mixed(number, "remote") % 3 == 0,
        lowest=lowest,
        highest=lowest + 4_000 + 1_000 * (_mixed(number, "range") % 14),
        posted_on=posted_on,
    )


def _mixed(number: int, what: str) -> int:
    return crc32(f"{number}/{what}".encode())
