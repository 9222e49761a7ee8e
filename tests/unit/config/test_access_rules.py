"""By whom and by what name the API may be reached, as it is set."""

import socket
from pathlib import Path

import pytest

from curtsy.config import load
from curtsy.errors import BadSetting
from curtsy.processes.api_access import access_rules_for, is_private
from curtsy.processes.http_server import listen
from curtsy.store import Store


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.mark.parametrize(
    ("host", "private"),
    [("127.0.0.1", True), ("127.0.0.2", True), ("localhost", True), ("::1", True),
     ("0.0.0.0", False), ("::", False)],
)  # fmt: skip
def test_what_only_this_machine_reaches_is_private(host: str, private: bool) -> None:
    with listen(load(api_host=host, api_port=0)) as listening:
        assert is_private(listening) == private


async def test_without_a_word_the_names_are_the_machines(sqlite_url: str) -> None:
    settings = load(api_port=0)
    async with Store(sqlite_url) as store:
        with listen(settings) as listening:
            made = await access_rules_for(settings, listening, store)
    machine = socket.gethostname().lower()
    assert made.hosts == {"127.0.0.1", machine, machine.partition(".")[0]}
    assert (made.origins, made.is_private, made.open_access) == ((), True, False)


async def test_names_and_origins_are_lists(sqlite_url: str) -> None:
    settings = load(api_port=0, allowed_hosts="A.example, b", open_access="on",
                    cors_origins="https://One.example,http://two.example:8080 ")  # fmt: skip
    async with Store(sqlite_url) as store:
        with listen(settings) as listening:
            made = await access_rules_for(settings, listening, store)
    assert made.hosts == {"a.example", "b"}
    assert made.origins == ("https://one.example", "http://two.example:8080")
    assert made.open_access


@pytest.mark.parametrize(
    ("name", "value", "allowed"),
    [
        ("open_access", "yes", "one of off, on"),
        ("allowed_hosts", "*", "names such as"),
        ("allowed_hosts", "a.example:80", "names such as"),
        ("allowed_hosts", "http://a.example", "names such as"),
        ("cors_origins", "*", "origins such as"),
        ("cors_origins", "a.example", "origins such as"),
        ("cors_origins", "https://a.example/", "origins such as"),
        ("cors_origins", "https://a.example, null", "origins such as"),
    ],
)
def test_what_makes_no_sense_is_refused(name: str, value: str, allowed: str) -> None:
    with pytest.raises(BadSetting, match=allowed):
        load(**{name: value})
