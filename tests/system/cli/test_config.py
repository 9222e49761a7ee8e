"""`curtsy config check`, variables that mean nothing any more, and where log lines go."""

import json
import time
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import running
from curtsy.cli.console.runner import settings_for
from curtsy.config import load
from curtsy.logs import logger
from curtsy.processes.lock_file import hold_lock


def test_every_value_is_shown_with_where_it_came_from(
    curtsy: Curtsy, monkeypatch: pytest.MonkeyPatch
) -> None:
    Path("curtsy.toml").write_text("worker_slots = 7\n")
    monkeypatch.setenv("API_PORT", "8123")
    said = curtsy("config", "check", "--json", min_delay_seconds=2).json
    found = {row["name"]: (row["value"], row["from"]) for row in said}
    assert found["WORKER_SLOTS"] == (7, "curtsy.toml")
    assert found["API_PORT"] == (8123, "API_PORT")
    assert found["MIN_DELAY_SECONDS"] == (2, "CURTSY_MIN_DELAY_SECONDS")
    assert found["ROBOTS"] == ("obey", "default")
    assert "WORKER_SLOTS" in curtsy("config", "check").out


def test_a_wrong_one_is_told(curtsy: Curtsy) -> None:
    assert "CURTSY_WORKER_SLOTS is 'x'" in curtsy("config", "check", worker_slots="x").sentence()


@pytest.mark.parametrize(
    ("url", "shown"),
    [
        ("postgresql://me:secret@db.example/curtsy", "postgresql://me:***@db.example/curtsy"),
        ("postgresql://me:secret:secret@db.example/c", "postgresql://me:***@db.example/c"),
        ("postgresql://me:secret@secret@db.example/c", "postgresql://me:***@db.example/c"),
        ("postgresql://db.example/c?password=secret", "postgresql://db.example/c?password=***"),
    ],
)
def test_a_password_is_not_shown(curtsy: Curtsy, url: str, shown: str) -> None:
    for flags in ([], ["--json"]):
        told = curtsy("config", "check", *flags, database_url=url)
        assert "secret" not in told.out + told.err
        assert shown in told.out


@pytest.mark.parametrize("password", ["secret", "se:secret", "se%40secret", "se@secret"])
def test_a_second_one_says_where_without_the_password(
    curtsy: Curtsy, tmp_path: Path, password: str
) -> None:
    """The lock is in the working folder, so no PostgreSQL is needed to meet it."""
    url = f"postgresql://me:{password}@127.0.0.1:9/d"
    with hold_lock(load(database_url=url)):
        told = curtsy("up", database_url=url)
    assert "is up already on postgresql://me:***@127.0.0.1:9/d (process" in told.sentence()
    assert "secret" not in told.out + told.err


def test_an_away_database_is_told_without_its_password(curtsy: Curtsy) -> None:
    """An @ in it that is not encoded makes a host of its rest, which a driver would name."""
    for url in (
        "postgresql://me:se@secret@127.0.0.1:9/d",
        "postgresql://127.0.0.1:9/d?password=secret",
    ):
        for command in (["doctor"], ["jobs"], ["db", "check"], ["up"]):
            told = curtsy(*command, database_url=url, log_level="DEBUG")
            assert told.exit_code == 1
            assert "secret" not in told.out + told.err


def test_no_log_line_has_the_password_whoever_quotes_it(
    curtsy: Curtsy, capsys: pytest.CaptureFixture[str]
) -> None:
    curtsy("stop", database_url="postgresql://me:secret@127.0.0.1:9/d")
    for form in ("text", "json"):
        with pytest.MonkeyPatch.context() as set_:
            set_.setenv("CURTSY_DATABASE_URL", "postgresql://me:secret@127.0.0.1:9/d")
            set_.setenv("CURTSY_LOG_FORMAT", form)
            settings_for()
        wrong = ValueError("postgresql://me:secret@127.0.0.1:9/d")
        logger("test").error("failed", reason="no login with secret", exc_info=wrong)
        said = capsys.readouterr().err
        assert "ValueError" in said
        assert "secret" not in said


def test_what_means_nothing_is_named(curtsy: Curtsy, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONGO_URL", "mongodb://x")
    monkeypatch.setenv("CELERY_BROKER_URL", "x")
    out = curtsy("config", "check", colour="blue").out
    assert "CURTSY_COLOUR is set, but there is no such setting" in out
    assert "MONGO_URL is set, but curtsy ignores it. Its replacement: CURTSY_DATABASE_URL." in out
    assert "CELERY_BROKER_URL is set" in out


def test_it_is_named_once_at_the_start(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MONGO_URL", "mongodb://x")
    with running(tmp_path, "up") as up:
        assert up.url
        [line] = [line for line in up.lines() if line["event"] == "obsolete_settings"]
        assert line["names"] == {"MONGO_URL": "CURTSY_DATABASE_URL"}
        assert up.stop() == 0


def test_log_lines_go_to_a_file_that_may_be_moved_away(tmp_path: Path) -> None:
    log = tmp_path / "curtsy.jsonl"
    with running(tmp_path, "up", log_file=log) as up:
        while not (log.exists() and "api_started" in log.read_text()):
            assert up.process.poll() is None, up.log.read_text()
            time.sleep(0.02)
        log.rename(tmp_path / "old.jsonl")
        assert up.stop() == 0
    events = [json.loads(line)["event"] for line in log.read_text().splitlines()]
    assert "worker_stopped" in events
    assert "api_started" in (tmp_path / "old.jsonl").read_text()


def test_a_log_file_that_cannot_be_written_is_told(curtsy: Curtsy) -> None:
    sentence = curtsy("doctor", log_file="/nowhere/at/all.log").sentence()
    assert "LOG_FILE /nowhere/at/all.log cannot be written (No such file or directory)" in sentence
