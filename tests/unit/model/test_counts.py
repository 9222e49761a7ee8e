"""Counts in sentences, and a guard over every sentence that has one."""

import re
from pathlib import Path

import pytest

from curtsy.model.counts import are, counted

SOURCE = Path(__file__).parents[3] / "src/curtsy"
FROM_A_NAME = re.compile(
    r"\{(?:[a-z_]+|len\([^{}]*\)|[a-z_]+\['[a-z_]+'\]|[a-z.]+data\['[a-z_]+'\])\} "
    r"(?:failed |waiting |pending |more )?"
    r"(?:pages|tasks|jobs|records|links|letters|visits|problems)\b"
)
"""A number straight before a plural, in an f-string."""
ALWAYS_SEVERAL = {
    "explain/blockers.py": "pages are more than one there",
    "jobs/backlog.py": "limits of millions",
    "scrapers/record_keys.py": "of several records",
    "cli/commands/demo.py": "a known number",
    "scrapers/custom.py": "more than a cap",
    "scrapers/chosen_links.py": "of several links",
    "cli/commands/processes.py": "the program's name before a command",
    "demo/board.py": "the practice site's own page",
}


@pytest.mark.parametrize(
    ("number", "text"), [(0, "0 pages are"), (1, "1 page is"), (2, "2 pages are")]
)
def test_one_is_one(number: int, text: str) -> None:
    assert f"{counted(number, 'page')} {are(number)}" == text


def test_a_capped_count_is_more_than_one() -> None:
    assert counted(1, "page", capped=True) == "1+ pages"


def test_no_sentence_says_1_pages() -> None:
    """Every count before a plural goes through `counted`."""
    found = [
        f"{path.relative_to(SOURCE)}: {line.strip()}"
        for path in SOURCE.rglob("*.py")
        if str(path.relative_to(SOURCE)) not in ALWAYS_SEVERAL
        for line in path.read_text().splitlines()
        if FROM_A_NAME.search(line)
    ]
    assert found == []
