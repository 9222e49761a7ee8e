"""`curtsy keys`, and that nobody is let in by mistake."""

import json
import re
import sqlite3
import urllib.error
import urllib.request
from pathlib import Path

import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from cli.conftest import Curtsy, Told
from cli.running import running
from support.patience import PATIENCE

KEY = re.compile(r"curtsy_[0-9a-f]{12}_[0-9a-f]{64}")


def made(curtsy: Curtsy, *options: str) -> dict[str, str]:
    told = curtsy("keys", "add", "--json", *options)
    assert told.exit_code == 0, told.err
    found: dict[str, str] = told.json
    return found


def test_a_key_is_shown_once_and_never_again(curtsy: Curtsy) -> None:
    told = curtsy("keys", "add", "--user", "ann")
    assert told.exit_code == 0, told.err
    [key] = KEY.findall(told.out)
    assert "shown only this once" in told.out
    listed = curtsy("keys", "list")
    assert key.split("_")[1] in listed.out
    assert key.split("_")[2] not in listed.out + curtsy("keys", "list", "--json").out
    assert key.split("_")[2].encode() not in Path("curtsy.db").read_bytes()


def test_a_key_is_listed_with_all_that_it_may(curtsy: Curtsy) -> None:
    made(curtsy, "--user", "ann", "--role", "operate", "--name", "Her laptop", "--days", "30",
         "--pages-per-hour", "1000", "--open-jobs", "7")  # fmt: skip
    [key] = curtsy("keys", "list", "--json").json
    assert re.fullmatch("[0-9a-f]{12}", key.pop("id"))
    ends, began = key.pop("expires_at"), key.pop("created_at")
    assert ends > began
    assert key == {
        "user_id": "ann", "role": "operate", "name": "Her laptop", "state": "valid",
        "pages_per_hour": 1000, "open_jobs": 7, "revoked_at": None, "used_at": None,
    }  # fmt: skip
    assert "Her laptop" in curtsy("keys", "list").out


def test_a_key_is_rotated_and_revoked(curtsy: Curtsy) -> None:
    first = made(curtsy, "--user", "ann")
    rotated = curtsy("keys", "rotate", first["id"], "--grace", "1", "--json").json
    assert rotated["id"] == first["id"]
    assert rotated["key"] != first["key"]
    assert f"Key {first['id']} of ann is revoked." in curtsy("keys", "revoke", first["id"]).out
    assert curtsy("keys", "list", "--json").json[0]["state"] == "revoked"
    assert "is revoked" in curtsy("keys", "rotate", first["id"]).sentence()
    assert "There is no key 'x'" in curtsy("keys", "revoke", "x").sentence()


@pytest.mark.parametrize("arguments", [("--role", "king"), ("--open-jobs", "0"), ("--days", "0")])
def test_a_key_that_makes_no_sense_is_refused(curtsy: Curtsy, arguments: tuple[str, ...]) -> None:
    assert curtsy("keys", "add", "--user", "ann", *arguments).exit_code == 2
    assert "not a valid user name" in curtsy("keys", "add", "--user", "a b").sentence()


def test_a_list_makes_no_database(curtsy: Curtsy) -> None:
    assert "There is no database" in curtsy("keys", "list").sentence()
    curtsy("db", "upgrade")
    assert "There are no keys" in curtsy("keys", "list").out


@pytest.mark.parametrize("command", ["up", "api"])
@pytest.mark.parametrize("host", ["0.0.0.0", "::"])
def test_nothing_listens_for_others_without_keys(
    curtsy: Curtsy, tmp_path: Path, command: str, host: str
) -> None:
    curtsy("db", "upgrade")
    with running(tmp_path, command, api_host=host) as refused:
        assert refused.ended() == 1
        *_, sentence = refused.log.read_text().splitlines()
    assert f"listen on {host}" in sentence
    assert "curtsy keys add" in sentence
    assert "CURTSY_OPEN_ACCESS=on" in sentence


def status(url: str, **headers: str) -> int:
    request = urllib.request.Request(url, headers=headers)
    try:
        with urllib.request.urlopen(request, timeout=PATIENCE) as reply:
            return int(reply.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


@pytest.mark.parametrize("host", ["0.0.0.0", "127.0.0.1"])
def test_with_keys_it_listens_for_others_and_asks_who_is_there(
    curtsy: Curtsy, tmp_path: Path, host: str
) -> None:
    key = made(curtsy, "--user", "ann")["key"]
    with running(tmp_path, "api", api_host=host) as api:
        url = api.url.replace("0.0.0.0", "127.0.0.1")
        assert status(f"{url}/jobs") == 401
        assert status(f"{url}/jobs", Authorization=f"Bearer {key}") == 200
        assert status(f"{url}/health") == 200
        assert status(f"{url}/health", Host="evil.example") == 403
        assert api.stop() == 0


def test_open_access_lets_everyone_in_and_names_are_as_they_are_set(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    curtsy("db", "upgrade")
    settings = {"open_access": "on", "allowed_hosts": "one.example, Two.example"}
    with running(tmp_path, "api", api_host="0.0.0.0", **settings) as api:
        url = f"{api.url.replace('0.0.0.0', '127.0.0.1')}/jobs"
        assert status(url) == 200
        for host, expected in {
            "one.example": 200,
            "two.example:80": 200,
            "three.example": 403,
        }.items():
            assert status(url, Host=host) == expected


def test_commands_send_the_key_that_the_environment_holds(curtsy: Curtsy, tmp_path: Path) -> None:
    key = made(curtsy, "--user", "ann")["key"]
    with running(tmp_path, "api") as api:

        def jobs(**settings: str) -> Told:
            return curtsy("jobs", "--json", url=api.url, **settings)

        assert jobs(key=key).json["total"] == 0
        submitted = curtsy("submit", "http://example.com/", "--json", url=api.url, key=key)
        assert submitted.exit_code == 0, submitted.err
        assert jobs(key=key).json["total"] == 1
        assert "CURTSY_KEY" in jobs().sentence()
        assert "CURTSY_KEY" in jobs(key="wrong").sentence()
        assert jobs(key="é").exit_code == 2
        assert json.loads(curtsy("jobs", "--json").out)["total"] == 1, "on the file, all are seen"
    with sqlite3.connect("curtsy.db") as database:
        assert database.execute("SELECT user_id FROM jobs").fetchall() == [("ann",)]
    database.close()


def test_a_key_that_another_process_revokes_ends_its_idle_streams(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    key = made(curtsy, "--user", "ann")
    headers = {"Authorization": f"Bearer {key['key']}"}
    with (
        running(tmp_path, "api") as api,
        connect(api.url.replace("http", "ws") + "/ws", additional_headers=headers) as ear,
    ):
        ear.recv(timeout=PATIENCE)
        assert curtsy("keys", "revoke", key["id"]).exit_code == 0
        with pytest.raises(ConnectionClosed):
            ear.recv(timeout=PATIENCE)
        assert ear.protocol.close_code == 4401
        assert api.stop() == 0


def test_the_webhook_secret_of_a_user_is_shown_and_rotated(curtsy: Curtsy) -> None:
    assert "There is no database" in curtsy("keys", "webhook-secret").sentence()
    curtsy("db", "upgrade")
    first = curtsy("keys", "webhook-secret", "--user", "ann").out.strip()
    assert re.fullmatch("whsec_[0-9a-f]{64}", first)
    nobodys = curtsy("keys", "webhook-secret", "--json").json
    assert nobodys == {"user_id": None, "secret": nobodys["secret"], "old_secret_until": None}
    assert nobodys["secret"] != first
    rotated = curtsy("keys", "webhook-secret", "--user", "ann", "--rotate", "--json").json
    assert rotated["secret"] != first
    assert rotated["old_secret_until"].endswith("Z")
    shown = curtsy("keys", "webhook-secret", "--user", "ann").out
    assert rotated["secret"] in shown
    assert "The old secret signs, too, until" in shown
    again = curtsy("keys", "webhook-secret", "--user", "ann", "--rotate").sentence()
    assert "within the grace of its last rotation" in again
