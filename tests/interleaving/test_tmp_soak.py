import pytest
from interleaving.test_races import race, stores
from interleaving.holding import Repeats


@pytest.mark.timeout(500)
async def test_soak(stores, monkeypatch, repeats):
    bad = []
    for seed in range(1000, 1250):
        bad += await race(seed, stores, monkeypatch)
        if repeats.states:
            bad.append((seed, list(repeats.states)))
            repeats.states.clear()
    assert bad == []
