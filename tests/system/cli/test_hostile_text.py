"""Text from pages on a terminal: whatever a site sends, it cannot steer the terminal."""

import http.server
import json
import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli.conftest import QUICK, Curtsy
from cli.running import running
from cli.terminal import terminal
from curtsy.logs import logger

ESCAPES = "\x1b]0;owned\x07\x1b[2J\x9b31m\u202egnp.exe\u2066\u2069\u200f\x08\r"
EVIL = re.compile("[\x00-\x06\x08\x0e-\x1a\x80-\x9f\u202a-\u202e\u2066-\u2069\u200e\u200f]")
"""What nothing of ours prints; rich hides the cursor and clears its own line."""
OURS = re.compile(r"\x1b\[(\?25[lh]|[0-9;]*m|2K|1A)|\r")
WORDS = "Words of an article that is as long as an article has to be, to be one. " * 20
PAGE = (f"<html><head><title>Title{ESCAPES}end</title></head><body><article><h1>Title{ESCAPES}end"
        f"</h1><p>Body{ESCAPES}. {WORDS}</p><p>{WORDS}</p></article>"
        f"<a href='/x{ESCAPES}'>on</a></body></html>")  # fmt: skip


@pytest.fixture(scope="module")
def evil() -> Iterator[str]:
    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            gone = self.path != "/page"
            body = (ESCAPES if gone else PAGE).encode()
            self.send_response(404 if gone else 200, f"No{ESCAPES[:9]}" if gone else "OK")
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with http.server.ThreadingHTTPServer(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()


def steering(shown: str) -> list[str]:
    """What a terminal would obey, without what our own progress bar sends."""
    rest = OURS.sub("", shown)
    return EVIL.findall(rest) + re.findall(r"\x1b.{0,6}|\x07", rest)


def test_no_command_lets_a_page_steer_the_terminal(tmp_path: Path, evil: str) -> None:
    commands = [
        ("scrape", f"{evil}/page", f"{evil}/gone"),
        ("scrape", f"{evil}/page", "--format", "markdown", "--max-age", "0"),
        ("scrape", f"{evil}/page", "--json", "--max-age", "0"),
        ("try", f"{evil}/page", "--scraper", "article"),
        ("try", f"{evil}/page", "--scraper", "raw"),
        ("try", f"{evil}/gone", "--scraper", "raw"),
        ("submit", f"{evil}/page", "--name", f"a{ESCAPES}"),
        ("jobs",),
        ("jobs", "--json"),
        ("dead-letters",),
        ("status", f"job{ESCAPES}"),
        ("why", f"x{ESCAPES}"),
        ("scrape", f"http://{ESCAPES}/"),
        ("results", f"--{ESCAPES}"),
        ("schedules", "add", f"a{ESCAPES[1:4]}", "--every", "2h", "--fetch", f"{evil}/page"),
        ("schedules", "list"),
    ]
    for command in commands:
        with terminal(tmp_path, *command) as screen:
            screen.ended()
            shown = screen.shown
        assert not steering(shown), (command, steering(shown), shown)


def test_what_a_running_job_shows_is_clean_too(tmp_path: Path, curtsy: Curtsy, evil: str) -> None:
    with running(tmp_path, "up") as up:
        told = curtsy("submit", f"{evil}/page", f"{evil}/gone?{ESCAPES[14:20]}", "--json",
                      "--url", up.url, **QUICK)  # fmt: skip
        job = told.json["job_id"]
        for command in (("logs", "-f", job), ("results", job), ("status", job, "--wait"),
                        ("watch", job), ("why", job)):  # fmt: skip
            with terminal(tmp_path, *command, url=up.url) as screen:
                screen.ended()
                shown = screen.shown
            assert not steering(shown), (command, steering(shown), shown)
        assert up.stop() == 0


def test_log_lines_for_people_are_clean(curtsy: Curtsy, capsys: pytest.CaptureFixture[str]) -> None:
    """`curtsy` puts the configuration of the log back at the end."""
    assert curtsy("db", "upgrade", log_format="text").exit_code == 0
    wrong = ValueError(ESCAPES)
    logger("test").error("failed", reason=f"a{ESCAPES}\nb", number=3, exc_info=wrong)
    said = capsys.readouterr().err
    assert "reason='a" in said or "reason=a" in said
    assert "number=3" in said
    assert "ValueError" in said
    assert not steering(said), said


def test_files_and_pipes_keep_the_text_as_it_is(
    tmp_path: Path, quick: Curtsy, evil: str
) -> None:  # fmt: skip
    command = ("try", f"{evil}/page", "--scraper", "raw")
    assert f"Title{ESCAPES[:5]}" in quick(*command).out
    content = quick(*command, "--json").json["content"]
    assert EVIL.search(content)
    with terminal(tmp_path, *command, "--json") as screen:
        screen.ended()
        [line] = [line for line in screen.shown.splitlines() if '"content"' in line]
    found = json.loads(line[line.index("{") :])
    assert found["content"] == content, "escaped, and the same text"
