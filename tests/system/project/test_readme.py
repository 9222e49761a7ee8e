"""A newcomer who does what the README says, in an empty home with a copy of the project.

Its blocks are run as they stand, in their order; only the address of the example page becomes one
of the practice site, since there may be no internet.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from curtsy.demo.process import PracticeProcess

ROOT = Path(__file__).parents[3]
README = (ROOT / "README.md").read_text()
START = README.partition("## Start")[2].partition("## What it promises")[0]
BLOCKS = re.findall(r"```sh\n(.*?)```", START, re.DOTALL)
PIP_SETTINGS = [Path.home() / place for place in (".config/pip/pip.conf", ".pip/pip.conf")]
KEPT = re.compile(
    r"PATH|LANG|TMPDIR|PIP_.*|.*_proxy|SSL_CERT_FILE|REQUESTS_CA_BUNDLE", re.IGNORECASE
)
"""Of the environment: how pip finds its packages is the machine's business."""
INSTALL_SECONDS = 900
STORY = "/news/letters/a-map-sold-twice"


@pytest.fixture(scope="module")
def site() -> Iterator[PracticeProcess]:
    with PracticeProcess(hosts=1) as practice:
        yield practice


@pytest.fixture(scope="module")
def clone(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """What a clone would hold, with what is not committed yet."""
    folder = tmp_path_factory.mktemp("newcomer") / "curtsy"
    listed = ["git", "ls-files", "-co", "--exclude-standard"]
    names = subprocess.run(listed, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    for name in names.splitlines():
        if (ROOT / name).is_file():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(ROOT / name, folder / name)
    return folder


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """An empty home. pip leaves the compiling of a hundred packages to those that are used."""
    kept = {name: value for name, value in os.environ.items() if KEPT.fullmatch(name)}
    for settings in PIP_SETTINGS:
        if settings.exists():
            kept.setdefault("PIP_CONFIG_FILE", str(settings))
    return kept | {
        "HOME": str(tmp_path_factory.mktemp("home")), "CURTSY_ALLOW_ADDRESSES": "127.0.1.0/24",
        "CURTSY_API_PORT": "8765", "PIP_NO_COMPILE": "1", "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    }  # fmt: skip


def block(beginning: str, site: PracticeProcess) -> str:
    """The README's block that begins so."""
    [found] = [one for one in BLOCKS if one.startswith(beginning)]
    found = found.replace("https://example.com/feed.xml", site.url(0, "/news/feed.xml"))
    found = found.replace("https://example.com/", site.url(0, STORY))
    return found.replace("http://127.0.0.1:8000", "http://127.0.0.1:8765")


@pytest.mark.timeout(INSTALL_SECONDS + 300)
def test_what_the_readme_says_works_as_it_stands(
    clone: Path, environment: dict[str, str], site: PracticeProcess
) -> None:

    def do(beginning: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            ["sh", "-ec", block(beginning, site)], cwd=clone, env=environment,
            capture_output=True, text=True, timeout=INSTALL_SECONDS,
        )  # fmt: skip

    demo = do("make demo")
    assert demo.returncode == 0, demo.stderr[-2000:]
    assert "54 articles" in demo.stdout
    packages = {path.name for path in clone.glob(".venv/lib/python*/site-packages/*")}
    assert "fastapi" in packages
    assert not {"pytest", "mypy", "hatchling"} & packages, "what only developers need is not there"

    scraped = do(".venv/bin/curtsy scrape https")
    assert scraped.returncode == 0, scraped
    assert scraped.stdout.startswith("# A Map Sold Twice\n")

    fed = do(".venv/bin/curtsy scrape --feed")
    assert (fed.returncode, len(fed.stdout.splitlines())) == (3, 20), "two of them are no articles"
    assert do(".venv/bin/python -c").stdout.startswith("Results(1 result")

    up = subprocess.Popen(
        ["sh", "-ec", "exec " + block("make up", site)], cwd=clone, env=environment,
        stdout=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip
    try:
        assert up.stdout is not None
        lines = iter(up.stdout.readline, "")
        assert any("Press Ctrl-C to stop it" in line for line in lines)
        answer = json.loads(do("curl").stdout)
        assert answer.keys() == json.loads(_shown_answer()).keys()
        deadline = time.monotonic() + 30
        while True:
            results = _get(f"http://127.0.0.1:8765/jobs/{answer['job_id']}/results", environment)
            if results["results"] or time.monotonic() > deadline:
                break
            time.sleep(0.2)
        assert [(r["url"], r["title"]) for r in results["results"]] == [
            (site.url(0, STORY), "A Map Sold Twice")
        ]
    finally:
        os.killpg(up.pid, signal.SIGINT)  # as Ctrl-C does
        up.wait(60)
        if up.stdout is not None:
            up.stdout.close()


def _shown_answer() -> str:
    [found] = re.findall(r"```json\n(.*?)```", START, re.DOTALL)
    return str(found)


def _get(url: str, environment: dict[str, str]) -> dict[str, list[dict[str, str]]]:
    said = subprocess.run(["curl", "-s", url], env=environment, capture_output=True, check=True)
    found: dict[str, list[dict[str, str]]] = json.loads(said.stdout)
    return found
