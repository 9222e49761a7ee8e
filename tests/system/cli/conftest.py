import http.server
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import structlog

from curtsy import logs
from curtsy.cli import main
from curtsy.demo.process import PracticeProcess
from support.patience import the_api_has_time  # noqa: F401


def complaints(stderr: str) -> list[str]:
    """Its lines, but for the word that something takes long, such as `Reading jobs …`."""
    return [line for line in stderr.splitlines() if not line.endswith(" …")]


@dataclass
class Told:
    exit_code: int
    out: str
    err: str

    @property
    def json(self) -> Any:
        return json.loads(self.out)

    @property
    def lines_of_json(self) -> list[Any]:
        return [json.loads(line) for line in self.out.splitlines()]

    def sentence(self, code: int = 1) -> str:
        """What an error says: one line on stderr, after log lines at most."""
        assert self.exit_code == code, self
        assert self.out == ""
        [line] = [line for line in complaints(self.err) if not line.startswith("{")]
        assert line.startswith("curtsy: ")
        return line


Curtsy = Callable[..., Told]

QUICK = {"allow_addresses": "127.0.0.0/8", "min_delay_seconds": 0.02, "max_retry_attempts": 0,
         "lease_seconds": 10}  # fmt: skip


@pytest.fixture
def curtsy(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Curtsy]:
    """The command line in this process, in a folder of its own; settings as keywords."""
    monkeypatch.chdir(tmp_path)
    configured, level = structlog.get_config(), logs.CONFIGURATION.level

    def call(*arguments: str, **settings: Any) -> Told:
        with monkeypatch.context() as set_:
            set_.setattr(sys, "argv", ["curtsy", *arguments])
            for name, value in settings.items():
                set_.setenv(f"CURTSY_{name.upper()}", str(value))
            capsys.readouterr()
            code = 0
            try:
                main()
            except SystemExit as exit_:
                code = exit_.code if isinstance(exit_.code, int) else 0
            said = capsys.readouterr()
            return Told(code, said.out, said.err)

    yield call
    logs.CONFIGURATION.level, logs.CONFIGURATION.pending = level, None
    structlog.configure(**configured)


@pytest.fixture
def quick(curtsy: Curtsy) -> Curtsy:
    """The same with settings that suit pages on this machine."""

    def call(*arguments: str, **settings: Any) -> Told:
        return curtsy(*arguments, **(QUICK | settings))

    return call


@pytest.fixture(scope="module")
def pages() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=2) as site:
        yield site


@dataclass
class Site:
    """Answers every page with `hello`; `/slow` and what is in `/wait` only after it is let go."""

    url: str
    arrived: threading.Event
    let_go: threading.Event


@pytest.fixture
def site() -> Iterator[Site]:
    arrived, let_go = threading.Event(), threading.Event()

    class Pages(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            if self.path == "/slow" or self.path.startswith("/wait/"):
                arrived.set()
                let_go.wait(60)
            self.send_response(200)
            self.send_header("Content-Type", "text/plain")
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: Any) -> None:
            pass

    class Server(http.server.ThreadingHTTPServer):
        daemon_threads = True

        def handle_error(self, *_: Any) -> None:
            """A client that went away is part of the tests."""

    with Server(("127.0.0.1", 0), Pages) as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        yield Site(f"http://127.0.0.1:{server.server_port}", arrived, let_go)
        let_go.set()
        server.shutdown()
