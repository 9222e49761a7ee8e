"""Secrets of every kind are planted in a real service, everything is done with them, failures too;
then all that it stored, logged and answered is searched for them."""

import http.server
import json
import os
import re
import sqlite3
import stat
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from cli.running import Running, environment, running, wait_for
from support.postgres import Postgres

PLANTED = {
    "job header": "planted-job-header-1f", "crawl header": "planted-crawl-header-2f",
    "schedule header": "planted-schedule-header-3f", "source header": "planted-source-header-4f",
    "file header": "planted-file-header-5f", "webhook query": "planted-webhook-query-6f",
    "webhook path": "planted-webhook-path-7f", "webhook userinfo": "planted-webhook-user-8f",
    "proxy": "planted-proxy-9f", "site cookie": "planted-site-cookie-af",
    "login word": "planted-login-word-1a", "file login word": "planted-file-login-word-2a",
    "member cookie": "planted-member-cookie-3a", "browser cookie": "planted-browser-cookie-4a",
    "scheduled cookie": "planted-scheduled-cookie-5a", "referred word": "planted-referred-6a",
    "database": "planted-database-bf", "wrong key": "planted-wrong-key-cf",
}  # fmt: skip
STORED = {
    "job header": {"pages.options"},
    "crawl header": {"pages.options", "crawls.scope"},
    "schedule header": {"pages.options", "crawls.scope", "schedules.payload"},
    "source header": {"sources.policy"},
    "file header": {"sources.policy"},
    "webhook query": {"jobs.webhook_url", "webhook_deliveries.url", "schedules.payload"},
    "webhook path": {"jobs.webhook_url", "webhook_deliveries.url", "schedules.payload"},
    "proxy": {"sources.policy"},
    "site cookie": {"visits.progress"},
    "login word": {"sources.policy"},
    "file login word": {"sources.policy"},
    "member cookie": {"cookie_jars.cookies"},
    "browser cookie": {"cookie_jars.cookies"},
    "scheduled cookie": {"cookie_jars.cookies", "schedules.payload"},
    "webhook secret": {"secrets.value"},
}
"""Where a secret must be stored, because it will be sent from there; all others nowhere."""
ARTICLE = "<html><title>A title</title><article><h1>A title</h1>" + (
    "<p>Words of an article, as many as an article has to have to be one.</p>" * 20
) + "<a href='/linked'>on</a></article></html>"  # fmt: skip


class Site(http.server.BaseHTTPRequestHandler):
    """A site, a proxy and a receiver of webhooks, by path."""

    def do_GET(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        path = re.sub(r"^http://[^/]+", "", self.path)
        status = next((int(found) for found in re.findall(r"/status-(\d+)", path)), 200)
        self.send_response(404 if path == "/robots.txt" else status)
        if path.startswith("/login"):
            self.send_header("Set-Cookie", f"member={PLANTED['member cookie']}; Path=/")
        if status == 302:
            self.send_header("Location", "/status-503/after-login")
            self.send_header("Set-Cookie", f"session={PLANTED['site cookie']}; Path=/")
        body = ARTICLE.encode()
        self.send_header("Content-Type", "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self) -> None:
        self.do_GET()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def sites() -> Iterator[list[str]]:
    """Three sites: one for jobs, one that is asked through itself as a proxy, one of the file."""
    servers = [http.server.ThreadingHTTPServer(("127.0.0.1", 0), Site) for _ in range(3)]
    for server in servers:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    yield [f"127.0.0.1:{server.server_port}" for server in servers]
    for server in servers:
        server.shutdown()
        server.server_close()


@dataclass
class Service:
    """The API of a real service; all its answers are kept."""

    up: Running
    folder: Path
    settings: dict[str, Any]
    answers: list[tuple[str, str]] = field(default_factory=list)
    printed: list[tuple[str, str]] = field(default_factory=list)

    def ask(self, key: str | None, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        headers = {"Content-Type": "application/json"} if body is not None else {}
        headers |= {"Authorization": f"Bearer {key}"} if key else {}
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.up.url + path, data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=30) as reply:
                status, text = reply.status, self._text(reply)
        except urllib.error.HTTPError as error:
            with error:
                status, text = error.code, error.read().decode()
        self.answers.append((f"{method} {path}", text))
        return status, json.loads(text) if text[:1] in ("{", "[") else text

    def _text(self, reply: Any) -> str:
        if reply.headers["Content-Type"].startswith("text/event-stream"):
            return str(reply.read1(65_536).decode(errors="replace"))  # it does not end
        return str(reply.read().decode(errors="replace"))

    def command(self, *arguments: str) -> str:
        told = subprocess.run(
            [sys.executable, "-m", "curtsy", *arguments], cwd=self.folder, capture_output=True,
            text=True, env=environment(**self.settings), timeout=60,
        )  # fmt: skip
        self.printed.append((" ".join(arguments[:2]), told.stdout + told.stderr))
        return told.stdout


def cookies(value: str) -> str:
    return f"127.0.0.1\tFALSE\t/\tFALSE\t0\tfrom-browser\t{value}\n"


def plant(service: Service, key: str, sites: list[str]) -> list[str]:
    """Does everything that takes a secret; returns the ids of jobs."""
    site, proxied, _of_file = (f"http://{one}" for one in sites)
    hook = f"{site}/{PLANTED['webhook path']}?token={PLANTED['webhook query']}"
    failing = hook.replace("?", "/status-500?")
    dead = hook.replace(sites[0], "127.0.0.1:99")
    status, made = service.ask(key, "PUT", f"/sources/{sites[1]}", {
        "headers": {"X-Any": PLANTED["source header"]},
        "proxy": f"http://me:{PLANTED['proxy']}@{sites[1]}",
    })  # fmt: skip
    assert status == 201, made
    status, made = service.ask(key, "PUT", f"/sources/{sites[0]}", {
        "login": {"url": f"{site}/login", "form": {"word": PLANTED["login word"]},
                  "success": {"cookie": "member"}, "lost": {"status": 403}}})  # fmt: skip
    assert status == 201, made
    bodies: list[tuple[str, Any]] = [
        ("/jobs/submit", {"articles": [{"url": f"{site}/a"}, {"url": f"{site}/status-404"},
                                       {"url": "http://127.0.0.1:99/closed"},
                                       {"url": f"{site}/status-302/login"}],
                          "headers": {"Authorization": PLANTED["job header"]},
                          "webhook_url": hook}),
        ("/crawl", {"spider": "article", "start_urls": [f"{site}/crawl"], "depth": 1,
                    "params": {"headers": {"X-Crawl": PLANTED["crawl header"]}, "max_pages": 3},
                    "webhook_url": failing}),
        ("/jobs", {"url": f"{proxied}/through-the-proxy", "webhook_url": dead}),
        ("/jobs", {"url": f"http://{sites[2]}/of-file"}),
        ("/jobs", {"url": f"http://{sites[2]}/of-members", "session": True}),
        ("/jobs/submit", {"articles": [{"url": f"{site}/members"}], "session": True,
                          "cookies": cookies(PLANTED["browser cookie"])}),
        ("/jobs/submit", {"articles": [{"url": f"{site}/status-403/never"}], "session": True}),
    ]  # fmt: skip
    jobs = []
    for path, body in bodies:
        status, made = service.ask(key, "POST", path, body)
        assert status in (200, 201), made
        jobs.append(made.get("job_id") or made["id"])
    schedule = {"name": "planted", "cron": "@yearly", "payload": {"crawl": {
        "spider": "raw", "start_urls": [f"{site}/scheduled"], "webhook_url": hook,
        "params": {"headers": {"X-Any": PLANTED["schedule header"]},
                   "cookies": cookies(PLANTED["scheduled cookie"])}}}}  # fmt: skip
    assert service.ask(key, "POST", "/schedules", schedule)[0] == 201
    status, ran = service.ask(key, "POST", "/schedules/planted/run", {})
    assert status == 202, ran
    jobs.append(ran["job_id"])
    return jobs


def fail(service: Service, key: str, sites: list[str]) -> None:
    """Sends the secrets in requests that are refused."""
    bad_hook = f"http://u:{PLANTED['webhook userinfo']}@{sites[0]}/{PLANTED['webhook path']}"
    header = {"Bad Name": PLANTED["job header"]}
    refused = [
        ("POST", "/jobs", {"url": f"http://{sites[0]}/", "webhook_url": bad_hook}),
        ("POST", "/jobs/submit", {"articles": [{"url": f"http://{sites[0]}/"}], "headers": header}),
        ("POST", "/jobs/submit", {"articles": 3, "headers": {"A": PLANTED["job header"]}}),
        ("PUT", f"/sources/{sites[1]}", {"headers": header}),
        ("PUT", f"/sources/{sites[1]}", {"login": {"form": {"word": PLANTED["login word"]}}}),
        ("PUT", f"/sources/{sites[1]}", {"login": {
            "url": "http://else.example/", "form": {"word": PLANTED["login word"]},
            "success": {"status": 200}}}),
        ("POST", "/jobs", {"url": f"http://{sites[0]}/", "cookies": PLANTED["browser cookie"]}),
        ("POST", "/jobs", {"url": "http://else.example/",
                           "cookies": cookies(PLANTED["browser cookie"])}),
        ("PUT", f"/sources/{sites[1]}", {"proxy": f"ftp://me:{PLANTED['proxy']}@a:1"}),
        ("PATCH", "/schedules/planted", {"payload": {"fetch": {"webhook_url": bad_hook}}}),
        ("PATCH", "/schedules/planted", {"payload": {"fetch": {
            "url": f"http://{sites[0]}/", "webhook_url": bad_hook}}}),
        ("POST", "/session", {"key": PLANTED["wrong key"]}),
    ]  # fmt: skip
    for method, path, body in refused:
        status, said = service.ask(key, method, path, body)
        assert 400 <= status < 500, (path, status, said)
    assert service.ask(f"curtsy_{PLANTED['wrong key']}", "GET", "/jobs")[0] == 401


def read_everything(service: Service, keys: dict[str, str], jobs: list[str], site: str) -> None:
    """All GET routes of the OpenAPI document as every role, and without a key."""
    routes = service.ask(None, "GET", "/openapi.json")[1]["paths"]
    admin = keys["ann admin"]
    letters = service.ask(admin, "GET", "/dead-letters")[1]["letters"]
    assert letters, "there are failures to look at"
    pages = re.findall(r'"(art_[0-9a-f]+)"', json.dumps([text for _, text in service.answers]))
    made = service.ask(admin, "POST", "/reports?hours=1")[1]["id"]
    values = {"source_name": [site], "site_name": ["none"], "schedule_id": ["planted"],
              "letter_id": [str(one["id"]) for one in letters[:2]], "job_id": jobs,
              "run_id": jobs[:1], "page_id": pages[:2] or ["art_1"], "rule": ["limit_use"],
              "report_id": [made]}  # fmt: skip
    for path, methods in routes.items():
        if "get" not in methods:
            continue
        names = re.findall(r"{(\w+)}", path)
        for value in values[names[0]] if names else [""]:
            filled = re.sub(r"{\w+}", value, path)
            for key in (*keys.values(), None):
                service.ask(key, "GET", filled)


def stored_places(database: Path, secrets: dict[str, str]) -> dict[str, set[str]]:
    """The columns in which each secret is found."""
    found: dict[str, set[str]] = {}
    with sqlite3.connect(database) as opened:
        tables = [row[0] for row in opened.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table'")]  # fmt: skip
        for table in tables:
            rows = opened.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in rows.description]
            for row in rows:
                for column, value in zip(columns, row, strict=True):
                    text = value.decode(errors="replace") if isinstance(value, bytes) else value
                    for name, secret in secrets.items():
                        if secret in str(text):
                            found.setdefault(name, set()).add(f"{table}.{column}")
    opened.close()
    return found


def new_key(service: Service, user: str, role: str) -> str:
    key: str = json.loads(service.command("keys", "add", "--user", user, "--role", role, "--json"))[
        "key"
    ]
    service.printed.pop()  # the only place that shows it
    return key


def exercise(service: Service, sites: list[str]) -> dict[str, str]:
    """Returns the secrets that must be in none of the answers: those planted, and its own."""
    admin = new_key(service, "ann", "admin")
    keys = {"ann admin": admin} | {
        f"{user} {role}": new_key(service, user, role)
        for user, role in (("ann", "read"), ("bob", "operate"), ("eve", "submit"))
    }
    secret = service.ask(admin, "GET", "/webhooks/secret")[1]["secret"]
    request = urllib.request.Request(
        f"{service.up.url}/session", json.dumps({"key": admin}).encode(),
        {"Content-Type": "application/json"}, method="POST",
    )  # fmt: skip
    with urllib.request.urlopen(request) as reply:
        cookie = reply.headers["Set-Cookie"].partition("=")[2].partition(";")[0]
    jobs = plant(service, admin, sites)
    fail(service, admin, sites)

    def over() -> bool:
        states = [service.ask(admin, "GET", f"/jobs/{job}")[1]["status"] for job in jobs]
        waiting = [one for one in states if one in ("queued", "running")]
        hooks = service.ask(admin, "GET", f"/jobs/{jobs[1]}/webhooks")[1]["deliveries"]
        return not waiting and any(one["error"] for one in hooks)

    wait_for(over, lambda: service.up.log.read_text())
    read_everything(service, keys, jobs, sites[1])
    service.settings |= {"url": service.up.url, "key": admin}
    for command in (("jobs", "--json"), ("status", jobs[0], "--json"), ("results", jobs[0]),
                    ("logs", jobs[0]), ("why", jobs[0]), ("dead-letters", "--json"),
                    ("schedules", "show", "planted", "--json"), ("schedules", "show", "planted"),
                    ("sources", "show", sites[1], "--json"), ("sources", "show", sites[1]),
                    ("config", "check", "--json"), ("config", "check"), ("health",)):  # fmt: skip
        service.command(*command)
    own = {"webhook secret": secret, "session cookie": cookie}
    own |= {f"key of {who}": key.rpartition("_")[2] for who, key in keys.items()}
    return PLANTED | own


def assert_silent(service: Service, secrets: dict[str, str]) -> None:
    assert len(service.answers) > 150
    told = [(name, where) for where, text in service.answers for name, secret in secrets.items()
            if secret in text
            and not (name == "webhook secret" and where.endswith("/secret"))]  # fmt: skip
    assert told == []
    printed = [(name, where) for where, text in service.printed for name, secret in secrets.items()
               if secret in text]  # fmt: skip
    assert printed == []
    log = service.up.log.read_text()
    assert "webhook_sent" in log
    assert [name for name, secret in secrets.items() if secret in log] == []


SETTINGS = {"retry_base": 0.1, "retry_cap": 0.2, "max_retry_attempts": 1, "host_give_up_probes": 2,
            "allow_proxies": "127.0.0.0/8", "log_level": "DEBUG"}  # fmt: skip


def test_secrets_are_found_only_where_they_must_be_stored(tmp_path: Path, sites: list[str]) -> None:
    file = tmp_path / "sources.toml"
    word = tmp_path / "word"
    word.write_text(PLANTED["referred word"])
    file.write_text(f'''
        ["{sites[2]}"]
        headers = {{X-Any = "{PLANTED["file header"]}"}}
        ["{sites[2]}".login]
        url = "http://{sites[2]}/login"
        form = {{one = "{PLANTED["file login word"]}", two = "file:{word}"}}
        success = {{cookie = "member"}}
    ''')
    file.chmod(0o600)
    before = os.umask(0)
    try:
        with running(tmp_path, "up", **SETTINGS) as up:
            service = Service(up, tmp_path, {"allow_addresses": "127.0.0.0/8"})
            secrets = exercise(service, sites)
            raw = {path.name: path.read_bytes() for path in tmp_path.glob("curtsy.db*")}
            modes = {path.name: stat.S_IMODE(path.stat().st_mode)
                     for path in tmp_path.glob("curtsy.db*")}  # fmt: skip
            places = stored_places(tmp_path / "curtsy.db", secrets)
            assert up.stop() == 0
    finally:
        os.umask(before)
    assert_silent(service, secrets)
    assert {"curtsy.db", "curtsy.db-wal", "curtsy.db-shm"} <= modes.keys()
    assert set(modes.values()) == {0o600}
    elsewhere = {name: found - STORED.get(name, set()) for name, found in places.items()}
    assert not {name: found for name, found in elsewhere.items() if found}
    assert {"job header", "source header", "file header", "proxy", "webhook query",
            "schedule header", "webhook secret", "login word", "file login word",
            "member cookie", "browser cookie", "scheduled cookie"} <= places.keys()  # fmt: skip
    never = [name for name in secrets if name not in STORED]
    assert {"session cookie", "key of ann admin", "wrong key", "database"} <= set(never)
    assert [(name, file) for name in never for file, content in raw.items()
            if secrets[name].encode() in content] == []  # fmt: skip


def test_no_answer_and_no_log_line_shows_them_on_postgresql_either(
    tmp_path: Path, sites: list[str], postgres: Postgres, postgres_url: str
) -> None:
    """With a password in the URL of the database, that the server does not ask for."""
    url = re.sub(r"//([^@:/]+)(:[^@]*)?@", rf"//\1:{PLANTED['database']}@", postgres_url)
    assert PLANTED["database"] in url
    with running(tmp_path, "up", database_url=url, **SETTINGS) as up:
        shared = {"allow_addresses": "127.0.0.0/8", "database_url": url}
        service = Service(up, tmp_path, shared)
        secrets = exercise(service, sites)
        assert up.stop() == 0
    assert_silent(service, secrets)
