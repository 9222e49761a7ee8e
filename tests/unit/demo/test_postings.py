"""The invented jobs: how they come and go between editions, and which a search finds."""

import pytest

from curtsy.demo.postings import (
    AT_FIRST,
    LAST_EDITION,
    Posting,
    by_id,
    difference,
    edition,
    matching,
)

EDITIONS = [*range(60), LAST_EDITION - 1, LAST_EDITION]


@pytest.mark.parametrize("n", EDITIONS)
def test_an_edition_has_each_posting_once_and_the_newest_first(n: int) -> None:
    listed = edition(n)
    assert len({posting.id for posting in listed}) == len(listed)
    assert 120 < len(listed) < 160
    days = [posting.posted_on for posting in listed]
    assert days == sorted(days, reverse=True)


def test_the_first_edition_has_the_number_that_it_says() -> None:
    assert len(edition(0)) == AT_FIRST


@pytest.mark.parametrize("n", range(1, 60))
def test_from_one_edition_to_the_next_a_few_come_go_and_change_and_the_rest_stays(n: int) -> None:
    seen = difference(n - 1, n)
    assert len(seen.new) == 5
    assert 4 <= len(seen.removed) <= 10
    assert 2 <= len(seen.changed) <= 10
    before = {posting.id: posting for posting in edition(n - 1)}
    after = {posting.id: posting for posting in edition(n)}
    assert after.keys() == before.keys() - seen.removed | seen.new
    for id_ in before.keys() & after.keys():
        same = before[id_] == after[id_]
        assert same == (id_ not in seen.changed)
        assert same == (before[id_].salary == after[id_].salary), "only salaries change"


def test_what_is_gone_does_not_come_back() -> None:
    gone: set[str] = set()
    for n in range(1, 60):
        gone |= difference(n - 1, n).removed
        assert not gone & {posting.id for posting in edition(n)}


def test_an_edition_is_the_same_as_itself_and_the_way_back_is_the_reverse() -> None:
    assert not any((difference(7, 7).new, difference(7, 7).changed, difference(7, 7).removed))
    there, back = difference(3, 9), difference(9, 3)
    assert (there.new, there.changed, there.removed) == (back.removed, back.changed, back.new)


def test_an_id_finds_its_posting_in_whichever_edition_it_first_appeared() -> None:
    for posting in edition(0):
        assert by_id(posting.id) == posting
    for id_ in difference(40, 41).new:
        found = by_id(id_)
        assert found is not None
        assert found in edition(41)


@pytest.mark.parametrize("id_", ["", "ln", "ln999", "ln01000", "LN1000", "ln999999", "ln١٠٠٠"])
def test_an_id_that_never_was_finds_nothing(id_: str) -> None:
    assert by_id(id_) is None


def found(words: str = "", place: str = "", *, remote: bool = False) -> list[Posting]:
    return matching(edition(0), words, place, remote)


def test_a_search_for_nothing_finds_everything() -> None:
    assert found() == list(edition(0))


def test_a_search_finds_exactly_what_has_all_its_words() -> None:
    listed = found("python developer")
    assert len(listed) > 20, "several pages of the example"
    for posting in edition(0):
        title = posting.title.lower()
        assert (posting in listed) == ("python" in title and "developer" in title)


def test_a_search_knows_no_case_and_no_way_of_writing_an_accent() -> None:
    assert found("PYTHON developer") == found("Developer python") != []
    assert found(place="ZÜRICH") == found(place="Zu\u0308rich") != []
    assert {posting.location for posting in found(place="zürich")} == {"Zürich, Switzerland"}


def test_companies_are_searched_too() -> None:
    assert {posting.company for posting in found("nightferry")} == {"Nightferry"}


def test_remote_leaves_out_the_others_and_is_a_place_as_well() -> None:
    remote = [posting for posting in edition(0) if posting.remote]
    assert found(remote=True) == found(place="remote") == remote
    assert 20 < len(remote) < 100


def test_all_that_is_asked_for_must_be_true_together() -> None:
    listed = found("developer", "portugal", remote=True)
    assert listed
    for posting in edition(0):
        fits = posting.remote and "Portugal" in posting.location and "Developer" in posting.title
        assert (posting in listed) == fits
    assert found("developer of unicorns") == []
