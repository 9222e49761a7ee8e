"""Programs of other projects that some tests drive: Chromium, Prometheus, docker-compose (which
reads our file without an engine) and shellcheck.

`make test` installs them before any test, where it can (as root, with apt), and otherwise says
which tests are left out. Prometheus is only unpacked, beside the virtual environment: its package
would start a service.
"""

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

UNPACKED = Path(sys.prefix) / "programs"


def chromium() -> str | None:
    return shutil.which("chromium")


def prometheus() -> str | None:
    return shutil.which("prometheus") or shutil.which(UNPACKED / "usr/bin/prometheus")


def promtool() -> str | None:
    return shutil.which("promtool") or shutil.which(UNPACKED / "usr/bin/promtool")


LEFT_OUT = {
    "chromium": "the browser tests do not run",
    "docker-compose": "nobody but our own test reads the compose file",
    "shellcheck": "the start script is not checked by another program",
    "prometheus": "no real one scrapes the metrics",
}
"""What does not happen where a program is missing."""


def install() -> None:
    """Installs what is missing. Called once, before the tests: parallel installations would
    fail."""
    missing = _missing()
    if missing and os.geteuid() == 0 and shutil.which("apt-get"):
        _apt("update")
        for name in missing:
            if name == "prometheus":
                _unpack(name)
            else:
                _apt("install", "-y", "--no-install-recommends", name)
    say_what_is_left_out()


def say_what_is_left_out() -> None:
    """`make test` says so before the tests, and again after them, where people look."""
    for name in _missing():
        print(f"SKIPPED: there is no {name}, so {LEFT_OUT[name]}.")


def _missing() -> list[str]:
    found = {name: shutil.which(name) for name in LEFT_OUT}
    found["prometheus"] = promtool() and prometheus()
    return [name for name, path in found.items() if path is None]


def _apt(*command: str, folder: str | None = None) -> None:
    subprocess.run(
        ["apt-get", "-q", *command], env=os.environ | {"DEBIAN_FRONTEND": "noninteractive"},
        capture_output=True, check=False, cwd=folder,
    )  # fmt: skip


def _unpack(package: str) -> None:
    with tempfile.TemporaryDirectory(prefix="curtsy-package-") as folder:
        Path(folder).chmod(0o755)  # apt downloads as a user of its own
        _apt("download", package, folder=folder)
        for file in Path(folder).glob("*.deb"):
            UNPACKED.mkdir(exist_ok=True)
            subprocess.run(["dpkg-deb", "-x", file, UNPACKED], check=False)


if __name__ == "__main__":
    if "--only-say" in sys.argv:
        say_what_is_left_out()
    else:
        install()
