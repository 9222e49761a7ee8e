import os
import socket
import sqlite3
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from curtsy import __version__
from curtsy.cli.views.confinement import confinement_lines
from curtsy.extract.confinement_check import Confinement, MachineConfinement
from curtsy.extract.landlock import landlock_version
from curtsy.store.version import newest
from support.postgres import Postgres


def test_the_version_is_told(curtsy: Curtsy) -> None:
    assert curtsy("--version").out == f"curtsy {__version__}\n"


def test_a_new_database_is_made_and_found_current(curtsy: Curtsy) -> None:
    assert "There is no database" in curtsy("db", "check").sentence()
    Path("curtsy.db").touch()
    assert newest() in curtsy("db", "check").sentence()
    assert "upgraded from an empty database" in curtsy("db", "upgrade").out
    assert "it was current" in curtsy("db", "upgrade").out
    checked = curtsy("db", "check")
    assert (checked.exit_code, checked.out) == (0, f"Schema {newest()}: current.\n"), checked.err


def test_a_current_postgresql_is_found_current(curtsy: Curtsy, postgres_url: str) -> None:
    checked = curtsy("db", "check", database_url=postgres_url)
    assert checked.exit_code == 0, checked.err


def test_a_schema_that_someone_changed_is_found_different(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    with sqlite3.connect("curtsy.db") as database:
        database.execute("ALTER TABLE jobs ADD COLUMN colour TEXT")
    database.close()
    assert "colour" in curtsy("db", "check").sentence()


@pytest.mark.parametrize("command", ["up", "api", "worker", "doctor"])
def test_nothing_runs_on_a_schema_of_a_newer_program(curtsy: Curtsy, command: str) -> None:
    curtsy("db", "upgrade")
    with sqlite3.connect("curtsy.db") as database:
        database.execute("UPDATE alembic_version SET version_num = '9999'")
    database.close()
    sentence = curtsy(command, api_port=0).sentence(code=6)
    assert sentence == (
        "curtsy: The database has schema 9999, which works only with programs of schema 9999 or "
        f"newer, and this program (curtsy {__version__}) has schema {newest()}. Install the curtsy "
        "that upgraded the database, or restore the backup that was made before the upgrade."
    )


@pytest.mark.parametrize("command", ["api", "worker", "doctor", "db check"])
def test_a_database_without_tables_is_told_how_to_get_them(curtsy: Curtsy, command: str) -> None:
    Path("curtsy.db").touch()
    assert "curtsy db upgrade" in curtsy(*command.split(), api_port=0).sentence()


def test_a_wrong_setting_is_refused_in_a_sentence(curtsy: Curtsy) -> None:
    sentence = curtsy("up", worker_slots="many").sentence()
    assert sentence == (
        "curtsy: CURTSY_WORKER_SLOTS is 'many': it must be a whole number from 1 to 10000."
    )
    assert "--port is '70000'" in curtsy("up", "--port", "70000").sentence()


def test_a_port_in_use_is_told_in_a_sentence(curtsy: Curtsy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        sentence = curtsy("up", api_port=port).sentence()
    assert f"127.0.0.1 port {port}" in sentence
    assert "CURTSY_API_PORT" in sentence
    assert not Path("curtsy.db").exists(), "nothing is made before it is sure to be used"


def test_an_address_that_is_not_ours_is_told_in_a_sentence(curtsy: Curtsy) -> None:
    assert "192.0.2.1" in curtsy("up", api_host="192.0.2.1", api_port=0).sentence()


def test_a_database_that_is_away_is_told_in_a_sentence(curtsy: Curtsy) -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    url = f"postgresql://postgres@127.0.0.1:{port}/none"
    for command in ("api", "worker", "doctor"):
        sentence = curtsy(command, database_url=url, api_port=0).sentence()
        assert "does not answer" in sentence


def test_a_place_that_cannot_hold_the_database_is_told_in_a_sentence(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    missing = curtsy("up", api_port=0, database_url=f"sqlite:///{tmp_path}/none/curtsy.db")
    assert f"{tmp_path}/none does not exist" in missing.sentence()
    assert "is a folder" in curtsy("up", api_port=0, database_url="sqlite:///.").sentence()
    assert curtsy("up", api_port=0, database_url="sqlite:////proc/curtsy.db").sentence()
    Path("curtsy.db").write_text("This is no database, and long enough to be sure of it." * 100)
    assert "curtsy.db" in curtsy("up", api_port=0).sentence()


@pytest.mark.skipif(os.getuid() != 0, reason="NOT TESTED: only root can become someone else")
def test_a_folder_of_someone_else_is_told_in_a_sentence(curtsy: Curtsy, tmp_path: Path) -> None:
    assert curtsy("up", api_port=0, database_url="sqlite:///none/curtsy.db").exit_code == 1
    for folder in [tmp_path, *tmp_path.parents]:
        if "pytest-of-" in str(folder):  # made by pytest, for root alone
            folder.chmod(0o755)
    os.seteuid(65534)
    try:
        sentence = curtsy("up", api_port=0).sentence()
    finally:
        os.seteuid(0)
    assert sentence == (
        f"curtsy: DATABASE_URL names {tmp_path}/curtsy.db: {tmp_path} is not writable for "
        "UID 65534, as which this process runs; its owner is UID 0. Change the owner: "
        f"`chown 65534:0 {tmp_path}`, for a container on the folder mounted there."
    )


def test_the_doctor_tells_what_there_is(curtsy: Curtsy, database_url: str) -> None:
    found = curtsy("doctor", "--json", database_url=database_url).json
    assert found["schema"] == newest()
    assert found["engine"] == database_url.partition(":")[0]
    assert (found["workers"], found["sources"]) == ([], [])
    assert found["pending_visits"] == {"number": 0, "capped": False}
    page = curtsy("doctor", database_url=database_url).out
    assert "Workers (0)" in page


def test_the_doctor_tells_what_holds_scrapers_on_this_machine(curtsy: Curtsy) -> None:
    curtsy("db", "upgrade")
    found = curtsy("doctor", "--json").json["confinement"]
    assert (found["landlock"], found["root"]) == (landlock_version(), os.geteuid() == 0)
    refused = found["refused"]
    assert refused.pop("reading") is bool(found["landlock"])
    assert all(refused.values()), refused
    page = curtsy("doctor").out
    assert "A scraper's process cannot signal other processes." in page
    assert ("Warning: This is root" in page) is found["root"]


def test_the_doctor_says_what_a_machine_without_landlock_lacks() -> None:
    refused = Confinement(network=True)
    lines = "\n".join(confinement_lines(MachineConfinement(refused, landlock=0, root=False)))
    assert "Landlock: not there" in lines
    assert "cannot use the network." in lines
    assert "CAN read files other than code." in lines


def test_a_database_that_does_not_exist_is_told_in_a_sentence(
    curtsy: Curtsy, postgres: Postgres
) -> None:
    assert "does not exist" in curtsy("doctor", database_url=postgres.url("nowhere")).sentence()
