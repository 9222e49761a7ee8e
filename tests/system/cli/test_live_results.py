"""`curtsy scrape` into a pipe: results come as pages end, each once, and the reader may leave."""

import http.server
import json
import os
import pty
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
import typer

from cli.conftest import QUICK, Curtsy
from cli.running import DEADLINE_SECONDS, environment, running, wait_for
from curtsy.cli.console import live_results

SENTENCES = "<p>A story of several sentences, told at some length so that it is one.</p>" * 12
SLOW = {"robots": "ignore", "min_delay_seconds": 0.3}


@dataclass
class Papers:
    """Answers each page with an article. The page `/held` waits until it is let go."""

    url: str = ""
    requested: list[str] = field(default_factory=list)
    arrived: threading.Event = field(default_factory=threading.Event)
    let_go: threading.Event = field(default_factory=threading.Event)
    extra: str = ""

    def urls(self, *names: object) -> list[str]:
        return [f"{self.url}/{name}" for name in names]


def _article(papers: Papers, path: str) -> bytes:
    return (f"<html lang=en><title>Title {path}</title><article><h1>Title {path}</h1>"
            f"{SENTENCES}{papers.extra}</article></html>").encode()  # fmt: skip


@pytest.fixture
def papers() -> Iterator[Papers]:
    papers = Papers()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            papers.requested.append(self.path)
            if self.path == "/held":
                papers.arrived.set()
                papers.let_go.wait(DEADLINE_SECONDS)
            body = _article(papers, self.path)
            self.send_response(404 if self.path.startswith("/missing") else 200)
            self.send_header("Content-Type", "text/html")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that went away is part of the tests."""

    with Server(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        papers.url = f"http://127.0.0.1:{server.server_port}"
        yield papers
        papers.let_go.set()
        server.shutdown()


@contextmanager
def scraping(folder: Path, *command: str, **settings: Any) -> Iterator["subprocess.Popen[bytes]"]:
    """`curtsy scrape … --json` with its output in pipes."""
    process = subprocess.Popen(
        [sys.executable, "-m", "curtsy", "scrape", "--json", *command], cwd=folder,
        env=environment(**(QUICK | {"robots": "ignore"} | settings)),
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip  # bufsize: what one line is read with, communicate would not see
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


def _line(process: "subprocess.Popen[bytes]") -> Any:
    assert process.stdout is not None
    return json.loads(process.stdout.readline())


def _rest(process: "subprocess.Popen[bytes]") -> tuple[list[Any], str, int]:
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    return [json.loads(line) for line in out.splitlines()], err.decode(), process.returncode


def test_the_first_line_comes_before_the_last_page_is_requested(
    tmp_path: Path, papers: Papers
) -> None:
    urls = papers.urls("first", "held", *range(5), "missing", "last")
    with scraping(tmp_path, *urls) as process:
        assert _line(process)["title"] == "Title /first"
        assert "/last" not in papers.requested
        papers.let_go.set()
        rest, err, code = _rest(process)
    assert sorted(one["url"] for one in rest) == sorted(urls[1:]), "each once"
    assert [one["url"] for one in rest if "error" in one] == papers.urls("missing")
    assert code == 3
    assert err.splitlines()[-1] == "8 of 9 pages, 1 failed."
    assert Counter(papers.requested).most_common(1)[0][1] == 1


def test_text_streams_too_and_its_failures_are_told(tmp_path: Path, papers: Papers) -> None:
    command = [sys.executable, "-m", "curtsy", "scrape", *papers.urls("first", "missing", "held")]
    process = subprocess.Popen(
        command, cwd=tmp_path, env=environment(**QUICK, robots="ignore"),
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, bufsize=0,
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == b"Title /first\n"
    papers.let_go.set()
    out, err = process.communicate(timeout=DEADLINE_SECONDS)
    assert b"Title /held" in out
    assert f"{papers.url}/missing: The host answered 404 Not Found." in err.decode()
    assert process.returncode == 3


def test_stored_pages_come_first_and_in_order_all_come_at_the_end(
    tmp_path: Path, papers: Papers, quick: Curtsy
) -> None:
    stored = papers.urls("b", "a")
    quick("scrape", *stored, "-q", robots="ignore")
    with scraping(tmp_path, *papers.urls("held"), *stored) as process:
        assert [_line(process)["url"] for _ in stored] == stored
        papers.let_go.set()
        [held], err, _code = _rest(process)
    assert held["url"] == f"{papers.url}/held"
    assert "3 of 3 pages (2 from the store)." in err
    urls = papers.urls("c", "a", "missing", "b")
    ordered = quick("scrape", *urls, "--in-order", "--json", robots="ignore").lines_of_json
    assert [one["url"] for one in ordered] == papers.urls("c", "a", "b", "missing"), "as in results"


def test_a_reader_that_has_enough_ends_the_scrape_quietly(
    tmp_path: Path, papers: Papers, curtsy: Curtsy
) -> None:
    (tmp_path / "urls.txt").write_text("\n".join(papers.urls(*range(40))))
    line = (f'set -o pipefail; "{sys.executable}" -m curtsy scrape -f urls.txt --json | head -1 '
            "> first; echo ${PIPESTATUS[0]}")  # fmt: skip
    told = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(**(QUICK | SLOW)),
        capture_output=True, text=True, timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    assert (told.stdout, told.stderr) == ("141\n", "")
    assert json.loads((tmp_path / "first").read_text())["title"] == "Title /0"
    assert len(papers.requested) < 20, "the rest is not fetched for nobody"
    [job] = curtsy("jobs", "--json").json["jobs"]
    assert job["status"] == "CANCELLED"


def test_a_reader_that_left_is_noticed_before_the_next_result(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as out:
        monkeypatch.setattr(sys, "stdout", out)
        live_results.require_reader()
        os.close(reading)
        with pytest.raises(typer.Exit) as ended:
            live_results.require_reader()
    assert ended.value.exit_code == 141


def test_a_slow_reader_does_not_hold_up_the_scrape(tmp_path: Path, papers: Papers) -> None:
    papers.extra = (
        "<p>" + "Many words of a long page make a long line, as pages are. " * 400 + "</p>"
    )
    urls = papers.urls(*range(30))
    with scraping(tmp_path, *urls, "-q", lease_seconds=5) as process:
        wait_for(lambda: len(set(papers.requested)) == 30, lambda: str(papers.requested))
        rest, err, code = _rest(process)
    assert (len(rest), code, err) == (30, 0, "")
    assert sum(map(len, map(json.dumps, rest))) > 4 * 2**16, "more than a pipe holds"
    assert len(papers.requested) == 30, "none was fetched twice"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_keeps_whole_lines_and_the_next_run_goes_on(
    tmp_path: Path, papers: Papers, number: signal.Signals
) -> None:
    urls = papers.urls("first", "held", *range(30))
    with scraping(tmp_path, *urls, **SLOW) as process:
        first = _line(process)
        assert papers.arrived.wait(DEADLINE_SECONDS)
        process.send_signal(number)
        assert process.stderr is not None
        assert b"Stopping after the open requests" in process.stderr.readline()
        papers.let_go.set()
        rest, err, code = _rest(process)
    assert code == 130
    assert {one["url"] for one in (first, *rest)} == set(papers.urls("first", "held"))
    assert "Stopped after 2 of 32 pages. Run the same command again" in err
    before = len(papers.requested)
    with scraping(tmp_path, *urls, "-q") as process:
        again, _err, code = _rest(process)
    assert (code, sorted(one["url"] for one in again)) == (0, sorted(urls))
    assert len(papers.requested) == before + 30, "what was fetched came from the store"


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port


def test_a_service_that_restarts_in_the_middle_loses_and_repeats_nothing(
    tmp_path: Path, papers: Papers
) -> None:
    settings: dict[str, Any] = SLOW | {"api_port": _free_port()}
    urls = papers.urls("first", *range(12), "held", *range(20, 30))
    with running(tmp_path, "up", **settings) as up:
        url = up.url
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        with scraping(elsewhere, *urls, "--url", url) as process:
            lines = [_line(process)]
            up.process.kill()
            up.process.wait()
            with running(tmp_path, "up", **settings) as again:
                assert again.url == url
                assert papers.arrived.wait(DEADLINE_SECONDS)
                papers.let_go.set()
                rest, err, code = _rest(process)
    assert (code, sorted(one["url"] for one in lines + rest)) == (0, sorted(urls)), err


def test_a_program_on_the_same_terminal_gets_no_bar_between_its_lines(
    tmp_path: Path, papers: Papers
) -> None:
    master, slave = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "curtsy", "scrape", "--json", *papers.urls("a", "b")], cwd=tmp_path,
        env=environment(**(QUICK | SLOW)), stdout=subprocess.PIPE, stderr=slave,
    )  # fmt: skip
    os.close(slave)
    out, _ = process.communicate(timeout=DEADLINE_SECONDS)
    shown = os.read(master, 65_536)
    os.close(master)
    assert len(out.splitlines()) == 2
    assert shown == b"2 of 2 pages.\r\n", "whole lines, and nothing that moves the cursor"


def test_a_full_disk_stops_the_scrape(tmp_path: Path, papers: Papers) -> None:
    (tmp_path / "urls.txt").write_text("\n".join(papers.urls(*range(40))))
    line = f'"{sys.executable}" -m curtsy scrape -f urls.txt --json > /dev/full'
    told = subprocess.run(
        ["bash", "-c", line], cwd=tmp_path, env=environment(**(QUICK | SLOW)),
        capture_output=True, text=True, timeout=DEADLINE_SECONDS,
    )  # fmt: skip
    assert told.returncode == 1
    assert told.stderr.splitlines()[-1].startswith("curtsy: Standard output cannot be written")
    assert len(papers.requested) < 20


def test_many_lines_of_standard_input(tmp_path: Path, papers: Papers) -> None:
    """Twenty thousand lines: hundreds are no URLs, most name the same two hundred pages."""
    good = [url for _ in range(99) for url in papers.urls(*range(200))]
    lines = "\n".join([*good, *(f"no url {n}" for n in range(200))])
    with scraping(
        tmp_path, "-", "--skip-invalid", source_concurrency=8, min_delay_seconds=0
    ) as process:
        out, err = process.communicate(lines.encode(), timeout=DEADLINE_SECONDS)
    found = [json.loads(line)["url"] for line in out.splitlines()]
    assert sorted(found) == sorted(papers.urls(*range(200)))
    assert b"standard input line 19801: 'no url 0' is not a URL.\n" in err
    assert b"200 of 20000 left out as invalid, 19600 duplicates merged.\n" in err
