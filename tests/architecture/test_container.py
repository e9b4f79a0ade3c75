"""The container image and the compose file, compared with the command line that they run.

No container engine is needed: the files are read.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from mnemic.adapters.cli.application import app
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.stores.addresses import address_of, is_server

ROOT = Path(__file__).parents[2]
DOCKERFILE = (ROOT / "Dockerfile").read_text(encoding="utf-8")
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PORT = Settings().port


def instructions(name: str) -> list[str]:
    """Return the arguments of every instruction of that name, continued lines joined."""
    joined = re.sub(r"\\\n\s*", "", DOCKERFILE)
    return re.findall(rf"^{name} (.*)$", joined, re.MULTILINE)


@pytest.fixture(scope="module")
def services() -> dict[str, Any]:
    composed: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text(encoding="utf-8"))
    services: dict[str, Any] = composed["services"]
    assert {
        volume.partition(":")[0] for each in services.values() for volume in each["volumes"]
    } == (composed["volumes"].keys())
    return services


def test_the_interpreter_is_one_that_is_supported() -> None:
    versions = {each.partition(":")[2].partition("-")[0] for each in instructions("FROM")}
    versions = {version.partition(" ")[0] for version in versions}
    known = {each.rpartition(" :: ")[2] for each in PROJECT["classifiers"]}
    assert len(versions) == 1
    assert versions <= known


def test_the_installed_extras_exist() -> None:
    (extras,) = re.findall(r'"\.\[([a-z,]+)\]"', DOCKERFILE)
    assert {"http", *extras.split(",")} <= PROJECT["optional-dependencies"].keys()


def test_the_image_runs_as_an_ordinary_user_on_a_volume() -> None:
    assert instructions("USER") == ["mnemic"]
    assert [json.loads(each) for each in instructions("VOLUME")] == [["/data"]]
    assert instructions("WORKDIR")[-1] == "/data"


def test_the_command_is_one_that_the_command_line_parses() -> None:
    ((program,),) = (json.loads(each) for each in instructions("ENTRYPOINT"))
    (command,) = (json.loads(each) for each in instructions("CMD"))
    _, bound, _ = app.parse_args(command)
    assert (program, bound.arguments["host"], bound.arguments["port"]) == (
        next(iter(PROJECT["scripts"])),
        "0.0.0.0",  # noqa: S104 - inside of a container
        PORT,
    )
    assert bound.arguments["token_file"].parent == Path("/data")


def test_the_port_is_exposed_and_asked_for_its_health() -> None:
    assert instructions("EXPOSE") == [str(PORT)]
    (check,) = instructions("HEALTHCHECK")
    assert f"http://127.0.0.1:{PORT}/healthz" in check


def test_only_sources_are_sent_to_the_builder() -> None:
    lines = (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines()
    kept = {line[1:] for line in lines if line.startswith("!")}
    assert "*" in lines
    assert kept == {
        "LICENSE",
        "README.md",
        "pyproject.toml",
        "adapters",
        "kernel",
        "projections",
        "specs",
    }


def test_the_composed_server_waits_for_its_database(services: dict[str, Any]) -> None:
    ours, database = services["mnemic"], services["database"]
    address = str(address_of(ours["environment"]["MNEMIC_DB"]))
    assert is_server(address)
    assert address.partition("@")[2] == f"database/{database['environment']['POSTGRES_DB']}"
    assert ours["environment"]["PGPASSWORD"] == database["environment"]["POSTGRES_PASSWORD"]
    assert ours["depends_on"] == {"database": {"condition": "service_healthy"}}
    assert "healthcheck" in database


def test_the_composed_server_is_reachable_from_this_machine_alone(services: dict[str, Any]) -> None:
    assert services["mnemic"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert "ports" not in services["database"]
