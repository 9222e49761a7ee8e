"""Without keys the API is open to this machine alone, not to whom a proxy on it speaks for."""

from pathlib import Path
from typing import Any

import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from api.front import Front, assert_problem, front
from api.visitors import MovableClock, visitor
from cli.running import running
from cli.test_keys import status
from curtsy.api.auth.access_rules import AccessRules
from curtsy.api.auth.direct_request import is_direct
from curtsy.store import Store
from support.engine import engine

OF_PROXIES = {
    "Forwarded": "for=192.0.2.7;proto=https",
    "X-Forwarded-For": "192.0.2.7",
    "x-forwarded-for": "127.0.0.1",
    "X-Forwarded-Proto": "https",
    "X-Forwarded-Host": "curtsy.example",
    "X-Forwarded-Anything": "",
    "X-Real-IP": "127.0.0.1",
    "Via": "1.1 front",
    "CF-Connecting-IP": "192.0.2.7",
}
"""Whatever they say: also that the client is here."""


@pytest.mark.parametrize("name", OF_PROXIES)
async def test_whom_a_proxy_speaks_for_needs_a_key_although_none_exists(
    plain_door: Front, name: str
) -> None:
    headers = {name: OF_PROXIES[name]}
    for method, path in (("GET", "/jobs"), ("POST", "/jobs"), ("GET", "/webhooks/secret"),
                         ("GET", "/events"), ("DELETE", "/jobs/job_x")):  # fmt: skip
        refused = await plain_door.ask(method, path, headers=headers)
        assert_problem(refused, 401, "key_needed")
    assert await socket_status(plain_door, "/ws", headers) == 401
    assert await socket_status(plain_door, "/ws/jobs/job_x", headers) == 401
    assert (await plain_door.ask("GET", "/health", headers=headers)).status == 200
    assert (await plain_door.get("/jobs")).status == 200, "this machine needs none"


async def socket_status(door: Front, path: str, headers: dict[str, str]) -> int:
    url = door.url.replace("http://", "ws://") + path
    try:
        async with connect(url, additional_headers=headers, open_timeout=30):
            return 101
    except InvalidStatus as refused:
        return int(refused.response.status_code)


async def test_with_a_key_a_proxy_speaks_for_its_user(guarded: Front) -> None:
    ann = await visitor(guarded)
    for name, value in OF_PROXIES.items():
        assert (await ann.ask("GET", "/jobs", headers={name: value})).status == 200


async def test_open_access_is_the_operators_word_for_proxies_too(
    store: Store, movable: MovableClock
) -> None:
    everyone = AccessRules(open_access=True)
    async with front(store, engine(store, movable), access_rules=everyone) as door:
        for name, value in OF_PROXIES.items():
            assert (await door.ask("GET", "/jobs", headers={name: value})).status == 200
            assert await socket_status(door, "/ws", {name: value}) == 101


@pytest.mark.parametrize(
    ("client", "direct"),
    [(("127.0.0.1", 5), True), (("127.8.8.8", 5), True), (("::1", 5), True),
     (("::ffff:127.0.0.1", 5), True), (("::ffff:192.0.2.7", 5), False), (("192.0.2.7", 5), False),
     (("10.0.0.1", 5), False), (("fe80::1%eth0", 5), False), (("", 0), False),
     (("unix", 0), False), (None, False)],
)  # fmt: skip
def test_only_a_client_of_this_machine_needs_no_key(client: Any, direct: bool) -> None:
    assert is_direct({"headers": [(b"host", b"localhost")], "client": client}) == direct


def test_the_operator_is_told_once_that_a_key_is_missing(
    tmp_path: Path, sqlite_template: Path
) -> None:
    (tmp_path / "curtsy.db").write_bytes(sqlite_template.read_bytes())
    with running(tmp_path, "api") as api:
        for _ in range(3):
            assert status(f"{api.url}/jobs", Via="1.1 x") == 401
        assert "curtsy keys add" in api.said("key_missing")["meaning"]
        assert [line["event"] for line in api.lines()].count("key_missing") == 1
        assert api.stop() == 0


def test_open_access_is_warned_about_at_the_start(tmp_path: Path, sqlite_template: Path) -> None:
    (tmp_path / "curtsy.db").write_bytes(sqlite_template.read_bytes())
    with running(tmp_path, "api", open_access="on") as api:
        said = api.said("open_access")
        assert (said["level"], "OPEN_ACCESS" in said["meaning"]) == ("warning", True)
        assert api.stop() == 0
