"""What a name resolves to in our network is told to nobody who asks for its pages."""

import pytest

from curtsy.fetch import resolver
from curtsy.store.schema import metadata
from support.engine import QUICK, Engine, settings

PRIVATE = "10.11.12.13"


@pytest.mark.parametrize("obeys_robots", [False, True])
async def test_a_private_address_is_stored_in_no_row(
    curtsy: Engine, monkeypatch: pytest.MonkeyPatch, obeys_robots: bool
) -> None:
    monkeypatch.setattr(resolver, "addresses_of", lambda _host: [PRIVATE])
    async with curtsy.worker(settings(QUICK, obeys_robots=obeys_robots, allow=())):
        job = await curtsy.submit("http://intra.example/")
        await curtsy.ended(job)
    [item] = await curtsy.items(job)
    assert item.kind == "address_refused"
    assert item.error == "We may not connect to intra.example: its address is not public."
    for table in metadata.tables:
        assert PRIVATE not in str(await curtsy.query(f"SELECT * FROM {table}"))
