"""Files with secrets: for their owner alone; and files that only refer to secrets."""

import http.server
import json
import os
import sqlite3
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import Curtsy
from cli.running import ask, environment, running, wait_for

OWNER_ONLY = 0o600


@pytest.fixture
def careless() -> Iterator[None]:
    """A umask that lets everybody read and write what is created."""
    before = os.umask(0)
    yield
    os.umask(before)


def modes(folder: Path, pattern: str) -> dict[str, int]:
    return {path.name: stat.S_IMODE(path.stat().st_mode) for path in folder.glob(pattern)}


@pytest.mark.usefixtures("careless")
def test_database_and_logs_are_the_owners_alone_whatever_the_umask(tmp_path: Path) -> None:
    with running(tmp_path, "up", log_file=tmp_path / "own.jsonl") as up:
        log = tmp_path / "own.jsonl"
        wait_for(lambda: log.exists() and "api_started" in log.read_text(), up.log.read_text)
        found = modes(tmp_path, "curtsy.db*") | modes(tmp_path, "*.jsonl")
        assert found.keys() == {"curtsy.db", "curtsy.db-wal", "curtsy.db-shm", "curtsy.db.up",
                                "own.jsonl"}  # fmt: skip
        assert set(found.values()) == {OWNER_ONLY}, found
        log.rename(tmp_path / "moved.jsonl")  # as logrotate does
        assert up.stop() == 0
    assert modes(tmp_path, "own.jsonl") == {"own.jsonl": OWNER_ONLY}


@pytest.mark.usefixtures("careless")
def test_so_is_the_log_of_one_in_the_background(curtsy: Curtsy, tmp_path: Path) -> None:
    detach = [sys.executable, "-m", "curtsy", "up", "--detach"]
    told = subprocess.run(detach, cwd=tmp_path, env=environment(api_port=0), capture_output=True,
                          text=True, timeout=60)  # fmt: skip
    assert told.returncode == 0, told
    found = modes(tmp_path, "curtsy.*")
    assert curtsy("stop").exit_code == 0
    assert "curtsy.log" in found
    assert set(found.values()) == {OWNER_ONLY}, found


def test_a_database_that_others_could_read_is_closed_to_them(
    curtsy: Curtsy, tmp_path: Path
) -> None:
    """As an earlier version left it, with its log."""
    curtsy("db", "upgrade")
    with sqlite3.connect(tmp_path / "curtsy.db") as other:
        other.execute("SELECT count(*) FROM jobs").fetchone()
        for path in tmp_path.glob("curtsy.db*"):
            path.chmod(0o664)
        assert curtsy("jobs").exit_code == 0
        found = modes(tmp_path, "curtsy.db*")
    other.close()
    assert len(found) == 3
    assert set(found.values()) == {OWNER_ONLY}


FILES = {
    "curtsy.toml": 'database_url = "postgresql://me:hush@127.0.0.1:9/d"\n',
    "sources.toml": '["a.example"]\nheaders = {X-Any = "hush"}\n',
    "sites.toml": '[board]\nsearch_url = "https://a.example/?api_key=hush"\n'
                  'recipe = {record = "li", fields = {author = "a"}, key = ["author"]}\n',
    "schedules.toml": '[daily]\ncron = "@daily"\npayload = {fetch = {url = "https://a.example/", '
                      'webhook_url = "https://h.example/hush"}}\n',
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_a_file_with_secrets_that_others_may_read_is_warned_about(
    curtsy: Curtsy, tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_text(FILES[name])
    file.chmod(0o640)
    sentence = f"{name} contains secrets, and other users may read it: `chmod 600 {name}`"
    own = {"database_url": "sqlite:///curtsy.db"}
    assert sentence in curtsy("config", "check", **own).out
    curtsy("db", "upgrade", **own)
    assert sentence in curtsy("doctor", **own).out
    warnings = curtsy("doctor", "--json", **own).json["warnings"]
    assert [warning for warning in warnings if sentence in warning]
    with running(tmp_path, "up", **own) as up:
        assert sentence in up.said("secrets_exposed")["meaning"]
        assert up.url
        assert up.stop() == 0
    file.chmod(0o600)
    assert "contains secrets" not in curtsy("config", "check", **own).out
    warnings = curtsy("doctor", "--json", **own).json["warnings"]
    assert not [warning for warning in warnings if "contains secrets" in warning]


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("curtsy.toml", "worker_slots = 7\n"),
        ("curtsy.toml", 'database_url = "sqlite:///curtsy.db"\n'),
        ("sources.toml", '["a.example"]\nheaders = {Authorization = "env:HOME"}\n'),
        ("sources.toml", '["a.example"]\nmin_delay_seconds = 2\n'),
        ("sites.toml", FILES["sites.toml"].replace("api_key=hush", "q=1")),
    ],
)
def test_a_file_without_secrets_may_be_read_by_all(
    curtsy: Curtsy, tmp_path: Path, name: str, text: str
) -> None:
    (tmp_path / name).write_text(text)
    (tmp_path / name).chmod(0o644)
    assert "secrets" not in curtsy("config", "check").out


class Site:
    """Notes the paths and headers that come."""

    def __init__(self) -> None:
        self.asked: list[tuple[str, dict[str, str]]] = []
        self.url = ""

    def headers(self, path: str) -> dict[str, str] | None:
        return next((headers for asked, headers in self.asked if asked == path), None)


@pytest.fixture
def listening() -> Iterator[Site]:
    site = Site()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            site.asked.append((self.path, dict(self.headers)))
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            self.send_response(200 if self.path != "/robots.txt" else 404)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def do_POST(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        site.url = f"http://127.0.0.1:{server.server_port}"
        yield site
        server.shutdown()


def test_references_are_stored_and_shown_and_the_secret_is_sent(
    tmp_path: Path, listening: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "hook").write_text(f"{listening.url}/hook?token=hook-hush\n")
    (tmp_path / "token").write_text("file-hush\n")
    name = listening.url.removeprefix("http://")
    (tmp_path / "sources.toml").write_text(
        f'["{name}"]\nheaders = {{X-Env = "env:SHOP_TOKEN", X-File = "file:token"}}\n'
    )
    (tmp_path / "schedules.toml").write_text(
        '[daily]\ncron = "@yearly"\n[daily.payload.crawl]\nspider = "raw"\n'
        f'start_urls = ["{listening.url}/page"]\nwebhook_url = "file:hook"\n'
        'params = {headers = {X-Job = "env:JOB_TOKEN"}}\n'
    )
    monkeypatch.setenv("SHOP_TOKEN", "env-hush")
    monkeypatch.setenv("JOB_TOKEN", "job-hush")
    with running(tmp_path, "up", database_url="sqlite:///curtsy.db") as up:
        shown = ask("GET", f"{up.url}/sources/{name}").json
        assert shown["said"]["headers"] == {"X-Env": "env:SHOP_TOKEN", "X-File": "file:token"}
        daily = ask("GET", f"{up.url}/schedules/daily").json
        assert daily["payload"]["crawl"]["webhook_url"] == "file:hook"
        assert daily["payload"]["crawl"]["params"]["headers"] == {"X-Job": "env:JOB_TOKEN"}
        same = ask("PATCH", f"{up.url}/schedules/daily", {"payload": daily["payload"]})
        assert same.status == 200, same
        assert ask("POST", f"{up.url}/schedules/daily/run", {}).status == 202
        wait_for(lambda: listening.headers("/hook?token=hook-hush"), lambda: str(listening.asked))
        sent = listening.headers("/page") or {}
        assert (sent["X-Env"], sent["X-File"], sent["X-Job"]) == (
            "env-hush", "file-hush", "job-hush")  # fmt: skip
        assert up.stop() == 0
    with sqlite3.connect(tmp_path / "curtsy.db") as stored:
        [policy] = stored.execute("SELECT policy FROM sources WHERE described").fetchone()
        [payload] = stored.execute("SELECT payload FROM schedules").fetchone()
    stored.close()
    assert json.loads(policy)["headers"] == {"X-Env": {"env": "SHOP_TOKEN"},
                                             "X-File": {"file": "token"}}  # fmt: skip
    assert "hush" not in policy + payload
    assert "hush" not in up.log.read_text()


def test_a_caller_of_the_api_cannot_make_the_server_read_its_secrets(
    tmp_path: Path, listening: Site, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither by a text that looks like a reference nor by an object that is stored for one."""
    monkeypatch.setenv("SERVERS_OWN", "env-hush")
    (tmp_path / "token").write_text("file-hush")
    name = listening.url.removeprefix("http://")
    with running(tmp_path, "up") as up:
        for value in ("env:SERVERS_OWN", "file:token", "file:/etc/passwd", {"env": "SERVERS_OWN"}):
            for method in ("PUT", "PATCH"):
                for fields in ({"headers": {"X-Any": value}}, {"proxy": value}):
                    answer = ask(method, f"{up.url}/sources/{name}", fields)
                    assert answer.status in (404, 422), answer
                    assert "hush" not in str(answer)
            crawl = {"spider": "raw", "start_urls": [f"{listening.url}/s"],
                     "params": {"headers": {"X-Any": value}}}  # fmt: skip
            hook = {"url": f"{listening.url}/s", "webhook_url": value}
            for payload in ({"crawl": crawl}, {"fetch": hook}):
                body = {"cron": "@yearly", "payload": payload}
                assert ask("POST", f"{up.url}/schedules", body).status == 422, body
        job = {"articles": [{"url": f"{listening.url}/job"}],
               "headers": {"X-Any": "env:SERVERS_OWN"}}  # fmt: skip
        assert ask("POST", f"{up.url}/jobs/submit", job).status == 201
        wait_for(lambda: listening.headers("/job"), lambda: str(listening.asked))
        assert up.stop() == 0
    assert "hush" not in str(listening.asked), "a job's header is sent as it is"


def test_a_secret_that_is_missing_keeps_the_request_back(
    curtsy: Curtsy, tmp_path: Path, listening: Site
) -> None:
    name = listening.url.removeprefix("http://")
    (tmp_path / "sources.toml").write_text(
        f'["{name}"]\nheaders = {{Authorization = "env:NOT_SET_ANYWHERE"}}\n'
    )
    sentence = "In sources.toml: The secret env:NOT_SET_ANYWHERE is not set or empty."
    assert sentence in curtsy("config", "check").out
    with running(tmp_path, "up", retry_base=0.1, retry_cap=0.1, host_give_up_probes=1) as up:
        assert up.said("secret_missing")["meaning"] == sentence
        job = ask("POST", f"{up.url}/jobs", {"url": f"{listening.url}/p"}).json["id"]

        def over() -> object:
            found = ask("GET", f"{up.url}/jobs/{job}").json
            return found if found["status"] != "queued" else None

        ended = wait_for(over, lambda: up.log.read_text())
        assert "No request was sent: The secret env:NOT_SET_ANYWHERE" in ended["error"]
        assert up.stop() == 0
    assert listening.asked == []


def test_the_database_url_may_be_a_reference(
    curtsy: Curtsy, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "url").write_text("sqlite:///elsewhere.db\n")
    (tmp_path / "curtsy.toml").write_text('database_url = "file:url"\n')
    assert curtsy("db", "upgrade").exit_code == 0
    assert (tmp_path / "elsewhere.db").exists()
    monkeypatch.setenv("PG_URL", "postgresql://me:hush@db.example/d")
    told = curtsy("config", "check", database_url="env:PG_URL")
    assert "postgresql://me:***@db.example/d" in told.out
    assert "CURTSY_DATABASE_URL, as env:PG_URL" in told.out
    assert "hush" not in told.out + told.err
    monkeypatch.setenv("PG_URL", "mysql://me:hush@db.example/d")
    wrong = curtsy("config", "check", database_url="env:PG_URL")
    assert "hush" not in wrong.out + wrong.err
    none = curtsy("config", "check", database_url="env:NOT_SET_ANYWHERE").sentence()
    assert "CURTSY_DATABASE_URL is 'env:NOT_SET_ANYWHERE': it refers to a secret" in none
