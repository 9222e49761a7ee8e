"""Programs of other projects that some tests drive: Chromium and Prometheus.

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


def install() -> None:
    """Installs what is missing. Called once, before the tests: parallel installations would
    fail."""
    missing = chromium() is None, prometheus() is None
    if any(missing) and os.geteuid() == 0 and shutil.which("apt-get"):
        _apt("update")
        if missing[0]:
            _apt("install", "-y", "--no-install-recommends", "chromium")
        if missing[1]:
            _unpack("prometheus")
    say_what_is_left_out()


def say_what_is_left_out() -> None:
    """`make test` says so before the tests, and again after them, where people look."""
    if chromium() is None:
        print("SKIPPED: there is no Chromium, so the browser tests do not run.")
    if prometheus() is None or promtool() is None:
        print("SKIPPED: there is no Prometheus, so no real one scrapes the metrics.")


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
