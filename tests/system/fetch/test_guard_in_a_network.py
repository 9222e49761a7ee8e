"""The guard in a network of its own: made-up names, redirectors, silent canaries."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

INSIDE = Path(__file__).with_name("network_inside.py")
RESOLVER = "nameserver 127.0.0.53\noptions timeout:1 attempts:1\n"
REACHED = {
    "a public name", "a name with two addresses", "a name in Unicode", "a name with a dot behind",
    "a public address", "a name with one good address", "a redirect to a public name",
    "a name before it rebinds", "a page behind its robots.txt",
    "a robots.txt that leads to the cloud's secrets",
}  # fmt: skip
THROUGH_A_PROXY = {
    "a public name", "a name with two addresses", "a name in Unicode", "a name with a dot behind",
    "a public address", "a redirect to a public name",
}  # fmt: skip
"""Not the name with one good address: the proxy might take the other."""
REACHED |= {f"{name}, through a proxy" for name in THROUGH_A_PROXY}
PUBLIC_HOSTS = {
    "public.example", "both.example", "xn--bcher-kva.example", "public.example.", "93.184.216.34",
}  # fmt: skip
NOWHERE = {"a neighbour, translated", "a neighbour, tunnelled"}
NOWHERE |= {f"{name}, through a proxy" for name in NOWHERE}
"""Without the guard they are tried, but no translator stands in this network."""

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or not (shutil.which("unshare") and shutil.which("ip")),
    reason="NOT TESTED HERE: the guard in a network of its own needs root, unshare and ip",
)


def run(folder: Path, *words: str) -> dict[str, Any]:
    resolver = folder / "resolv.conf"
    resolver.write_text(RESOLVER)
    inside = f'mount --bind {resolver} /etc/resolv.conf && exec "$@"'
    command = ["unshare", "--net", "--mount", "--fork", "sh", "-c", inside, "sh",
               sys.executable, str(INSIDE), *words]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0, done.stderr
    told: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return told


def test_the_canaries_hear_nothing_and_public_names_work(tmp_path: Path) -> None:
    told = run(tmp_path)
    assert told["rung"] == []
    assert set(told["asked_for"]) == PUBLIC_HOSTS
    reached = {name for name, outcome in told["outcomes"].items() if outcome == "public"}
    assert reached == REACHED
    others = {outcome for name, outcome in told["outcomes"].items() if name not in REACHED}
    assert others == {"address_refused"}


def test_without_the_guard_every_canary_rings(tmp_path: Path) -> None:
    told = run(tmp_path, "unguarded")
    assert len(told["rung"]) == 7
    del (
        told["outcomes"]["a robots.txt of a neighbour"],
        told["outcomes"]["a robots.txt of this machine"],
    )
    secrets = {name for name, outcome in told["outcomes"].items() if outcome == "secret"}
    assert secrets == set(told["outcomes"]) - REACHED - NOWHERE | {"a name with one good address"}
