"""Celery's priorities, where 9 is urgent, become ours, where 1 is the first."""

import pytest

from curtsy.model.job_states import Band, band_of
from curtsy.model.priorities import CELERY_PRIORITIES, from_celery

TABLE = {9: 1, 8: 2, 7: 3, 6: 4, 5: 5, 4: 6, 3: 7, 2: 8, 1: 9, 0: 10}


def test_every_priority_of_celery_has_one_of_ours() -> None:
    assert {given: from_celery(given) for given in CELERY_PRIORITIES} == TABLE


def test_the_documents_queues_stay_in_their_bands() -> None:
    """scraping_high_priority has 9, scraping 5."""
    assert band_of(from_celery(9)) is Band.HIGH
    assert band_of(from_celery(5)) is Band.MEDIUM
    assert band_of(from_celery(0)) is Band.LOW


@pytest.mark.parametrize("wrong", [-1, 10, True, "9", None, 8.5])
def test_what_celery_does_not_have_is_refused_with_a_sentence(wrong: object) -> None:
    with pytest.raises(ValueError, match=r"must be from 0 \(last\) to 9 \(most urgent\)"):
        from_celery(wrong)  # type: ignore[arg-type]
