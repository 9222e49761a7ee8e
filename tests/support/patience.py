"""How long tests wait for what must come: a machine that stutters is no finding."""

import pytest

PATIENCE = 60.0
"""Seconds, and more than any machine needs that runs at all. Nothing is judged by it: a fact that
is there after a moment ends the wait."""

TRIES = 3
"""Where a time itself is promised: a machine that stutters can spoil one try, not all of them."""


@pytest.fixture(autouse=True)
def the_api_has_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """An API within the test's own process would otherwise answer 503, as it should, whenever the
    processor is away for a second. Tests of just that set a limit of their own."""
    from curtsy.api import backend
    from curtsy.api.auth import cache

    monkeypatch.setattr(backend, "ANSWER_WITHIN_SECONDS", PATIENCE)
    monkeypatch.setattr(cache, "ANSWER_WITHIN_SECONDS", PATIENCE)
