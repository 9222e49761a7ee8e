"""Timeouts of tests, long enough that a slow machine does not fail them."""

import pytest

PATIENCE = 60.0
"""Seconds; more than any working machine needs. A wait ends as soon as its fact holds."""

TRIES = 3
"""Tries for tests that measure time: a stutter of the machine may spoil one, not all."""


@pytest.fixture(autouse=True)
def the_api_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Raises the API's answer timeout. An API in the test's process would otherwise answer 503, as
    it should, whenever the machine stalls for a second. Tests of that timeout set their own."""
    from curtsy.api import backend
    from curtsy.api.auth import cache

    monkeypatch.setattr(backend, "ANSWER_WITHIN_SECONDS", PATIENCE)
    monkeypatch.setattr(cache, "ANSWER_WITHIN_SECONDS", PATIENCE)
