"""What docker-compose.yml and the Dockerfile say. `slow/deploy` runs what they start."""

import json
import re
import shutil
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

from curtsy.cli.commands.processes import STOP_SLACK_SECONDS
from curtsy.config import Settings
from support.compose import compose_file, example_variables, image_environment
from support.contained import USER
from support.patience import PATIENCE

ROOT = Path(__file__).parents[3]
DOCKERFILE = (ROOT / "Dockerfile").read_text()
OURS = ("upgrade", "api", "scheduler", "consumer", "single")


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    return dict(compose_file(example_variables())["services"])


def test_what_is_typed_without_a_profile_starts_all_parts(services: dict[str, Any]) -> None:
    by_default = {name for name, one in services.items() if "profiles" not in one}
    assert by_default == {"db", "upgrade", "api", "scheduler", "consumer"}
    assert services["single"]["profiles"] == ["single"]
    assert not {"container_name", "ports"} & services["consumer"].keys(), "so it can be scaled"


def test_the_example_of_env_names_no_database_so_all_use_the_one_of_the_file(
    services: dict[str, Any],
) -> None:
    assert not any("DATABASE" in name for name in example_variables())
    urls = {services[one]["environment"]["CURTSY_DATABASE_URL"] for one in OURS[:-1]}
    assert urls == {"postgresql://curtsy:only-on-this-machine@db/curtsy"}
    assert services["db"]["environment"]["POSTGRES_PASSWORD"] == "only-on-this-machine"
    assert services["single"]["environment"]["CURTSY_DATABASE_URL"] == "sqlite:////data/curtsy.db"


def test_a_password_of_env_reaches_the_database_and_all_who_use_it() -> None:
    found = compose_file({"POSTGRES_PASSWORD": "p"})["services"]
    assert found["db"]["environment"]["POSTGRES_PASSWORD"] == "p"
    assert {found[one]["environment"]["CURTSY_DATABASE_URL"] for one in OURS[:-1]} == {
        "postgresql://curtsy:p@db/curtsy"
    }


def test_only_the_api_is_published_and_for_this_machine_only(services: dict[str, Any]) -> None:
    published = {name: one["ports"] for name, one in services.items() if "ports" in one}
    assert published == {name: ["127.0.0.1:8000:8000"] for name in ("api", "single")}
    for name in published:
        environment = services[name]["environment"]
        assert (environment["CURTSY_OPEN_ACCESS"], environment["CURTSY_API_PORT"]) == ("on", "8000")
    moved = compose_file({"API_PORT": "9000", "CURTSY_OPEN_ACCESS": "off"})["services"]["api"]
    assert moved["ports"] == ["127.0.0.1:9000:8000"]
    assert moved["environment"]["CURTSY_OPEN_ACCESS"] == "off"


def test_the_database_is_in_a_network_without_a_way_out(services: dict[str, Any]) -> None:
    assert compose_file({})["networks"]["store"]["internal"] is True
    assert services["db"]["networks"] == services["upgrade"]["networks"] == ["store"]
    for name in ("api", "scheduler", "consumer"):
        assert services[name]["networks"] == ["default", "store"]


@pytest.mark.parametrize("name", OURS)
def test_each_part_has_no_more_rights_than_it_needs(services: dict[str, Any], name: str) -> None:
    one = services[name]
    assert one["read_only"] is True
    assert one["cap_drop"] == ["ALL"]
    assert one["security_opt"] == ["no-new-privileges:true"]
    assert one["init"] is True
    assert {"mem_limit", "pids_limit"} <= one.keys()
    assert not {"privileged", "user", "cap_add", "devices", "pid"} & one.keys()
    defaults = Settings.model_fields
    longest = defaults["scrape_timeout"].default + defaults["extract_seconds"].default
    grace = int(one["stop_grace_period"].removesuffix("s"))
    assert grace > longest + STOP_SLACK_SECONDS, "as long as `curtsy stop` would wait"


def test_the_schema_is_upgraded_once_before_the_others_start(services: dict[str, Any]) -> None:
    assert services["upgrade"]["command"] == ["db", "upgrade"]
    assert services["upgrade"]["restart"] == "no"
    assert services["upgrade"]["depends_on"] == {"db": {"condition": "service_healthy"}}
    for name in ("api", "scheduler", "consumer"):
        needed = services[name]["depends_on"]
        assert needed == {"upgrade": {"condition": "service_completed_successfully"}}
        assert services[name]["restart"] == "unless-stopped"


def test_the_image_runs_as_a_fixed_user_who_owns_the_folder() -> None:
    final = DOCKERFILE.rpartition("FROM ")[2]
    assert f"USER {USER}:{USER}\n" in final
    assert f'"--owner={USER}", "--group={USER}", "--mode=0700", "/data"' in final
    assert "WORKDIR /data\n" in final
    assert image_environment() == {"CURTSY_API_HOST": "0.0.0.0"}


def test_no_shell_runs_when_a_container_starts() -> None:
    said = dict(re.findall(r"^(ENTRYPOINT|CMD) (.*)$", DOCKERFILE, re.MULTILINE))
    assert {name: json.loads(given) for name, given in said.items()} == {
        "ENTRYPOINT": ["curtsy"], "CMD": ["up"],
    }  # fmt: skip
    [check] = re.findall(r"^HEALTHCHECK .* CMD (.*)$", DOCKERFILE, re.MULTILINE)
    assert json.loads(check) == ["curtsy", "health", "--ready"]
    for line in DOCKERFILE.replace("\\\n", "").splitlines():
        if line.startswith("RUN "):
            assert all(isinstance(one, str) for one in json.loads(line.removeprefix("RUN ")))


def test_the_image_has_what_the_lock_files_name_and_nothing_else() -> None:
    installs = [line for line in DOCKERFILE.replace("\\\n", "").splitlines() if '"install"' in line]
    of_packages = [line for line in installs if '"--requirement=' in line]
    assert all("--require-hashes" in line and "--only-binary=:all:" in line for line in of_packages)
    [ours] = [line for line in installs if '"curtsy"]' in line]
    assert '"--no-deps", "--no-index"' in ours


def test_what_builds_the_wheel_is_as_the_lock_of_developers_has_it() -> None:
    assert locked("requirements-build.txt").items() <= locked("requirements-dev.txt").items()
    needed = tomllib.loads((ROOT / "pyproject.toml").read_text())["build-system"]["requires"]
    assert {re.split(r"[>=]", one)[0] for one in needed} <= locked("requirements-build.txt").keys()


def locked(name: str) -> dict[str, str]:
    text = (ROOT / name).read_text()
    parts = re.findall(r"^([a-z0-9._-]+)==(.*(?:\n    .*)*)", text, re.MULTILINE)
    return dict(parts)


def test_only_what_the_image_is_built_from_is_sent_to_the_engine() -> None:
    lines = [one for one in (ROOT / ".dockerignore").read_text().splitlines() if one[:1] != "#"]
    assert lines[0] == "*"
    copied = set()
    for line in re.findall(r"^COPY (?!--from)(.*) \S+$", DOCKERFILE, re.MULTILINE):
        copied |= set(line.split())
    assert {one.removeprefix("!") for one in lines if one[0] == "!"} == copied
    assert all((ROOT / one).exists() for one in copied)


def test_compose_itself_accepts_the_file(tmp_path: Path) -> None:
    program = shutil.which("docker-compose")
    if program is None:
        pytest.skip("NOT TESTED: docker-compose, which needs no engine for this, is not installed")
    shutil.copy(ROOT / "docker-compose.yml", tmp_path)
    shutil.copy(ROOT / ".env.example", tmp_path / ".env")
    read = subprocess.run([program, "--profile", "single", "config"], cwd=tmp_path, text=True,
                          capture_output=True, timeout=PATIENCE, check=True)  # fmt: skip
    assert "postgresql://curtsy:only-on-this-machine@db/curtsy" in read.stdout
    assert "\n  single:\n" in read.stdout
