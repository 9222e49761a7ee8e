"""`curtsy health --ready`, the health check of the image."""

import subprocess
import sys
from pathlib import Path

from cli.running import environment, running
from support.patience import PATIENCE
from support.postgres import free_port


def asked(folder: Path, *options: str, **settings: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "curtsy", "health", *options], cwd=folder, text=True,
        env=environment(**settings), capture_output=True, timeout=PATIENCE, check=False,
    )  # fmt: skip


def test_it_asks_the_api_of_this_machine_and_needs_neither_worker_nor_key(tmp_path: Path) -> None:
    port = free_port()
    nobody = asked(tmp_path, "--ready", api_port=port)
    assert nobody.returncode == 1
    assert f"No curtsy answers at http://127.0.0.1:{port}" in nobody.stderr
    assert not list(tmp_path.iterdir()), "it makes no database"
    for command in (["db", "upgrade"], ["keys", "add", "--user", "a", "--role", "admin"]):
        subprocess.run([sys.executable, "-m", "curtsy", *command], cwd=tmp_path, check=True,
                       env=environment(), capture_output=True, timeout=PATIENCE)  # fmt: skip
    with running(tmp_path, "api", api_port=port, api_host="0.0.0.0") as api:
        assert api.url
        ready = asked(tmp_path, "--ready", api_port=port, api_host="0.0.0.0")
        assert (ready.returncode, ready.stderr) == (0, "")
        assert asked(tmp_path, api_port=port).returncode == 1, "no worker is up"
        elsewhere = tmp_path / "elsewhere"
        elsewhere.mkdir()
        ready = asked(elsewhere, "--ready", "--json", "--url", f"http://127.0.0.1:{port}")
        assert ready.stdout.startswith('{"status":"ok","store":"ok","workers":0')
