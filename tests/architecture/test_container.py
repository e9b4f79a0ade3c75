"""The container image and the compose file, compared with the command line that they run.

No container engine is needed: the files are read.
"""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

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
    assert volumes_of(services) == composed["volumes"].keys()
    return services


@pytest.fixture(scope="module")
def cluster() -> dict[str, Any]:
    path = ROOT / "docs" / "how-to" / "compose-cluster.yaml"
    composed: dict[str, Any] = yaml.safe_load(path.read_text(encoding="utf-8"))
    assert volumes_of(composed["services"]) == composed["volumes"].keys()
    return composed


def volumes_of(services: dict[str, Any]) -> set[str]:
    """Return the names of the volumes that services use."""
    return {
        volume.partition(":")[0] for each in services.values() for volume in each.get("volumes", ())
    }


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


def test_the_hosts_of_the_composed_cluster_are_ones_that_the_command_line_parses(
    cluster: dict[str, Any],
) -> None:
    servers = {"server1", "server2", "server3"}
    hosts = {name: it for name, it in cluster["services"].items() if it["image"] == "mnemic"}
    assert len(hosts) == 3
    for name, host in hosts.items():
        _, bound, _ = app.parse_args(host["command"])
        assert bound.arguments["cluster"] == f"http://{name}:{PORT}"
        assert bound.arguments["token_file"] == Path("/data/tokens")
        assert host["volumes"] == ["tokens:/data"]  # the same tokens for all hosts
        assert host["depends_on"].keys() == servers
        addresses = (host["environment"]["MNEMIC_DB"], bound.arguments["read_from"])
        for address, role in zip(addresses, ("read-write", "prefer-standby"), strict=True):
            assert is_server(address_of(address))
            options = parse_qs(urlsplit(address).query)
            assert set(options["host"][0].split(",")) == servers
            assert options["target_session_attrs"] == [role]


def test_the_parts_of_the_composed_cluster_name_each_other(cluster: dict[str, Any]) -> None:
    services, configs = cluster["services"], cluster["configs"]
    balancer = configs["balancer"]["content"]
    lines = re.findall(r"^ +server (\w+) (\S+)$", balancer, re.MULTILINE)
    assert dict(lines) == {name: f"{name}:{PORT}" for name in ("one", "two", "three")}
    assert f"bind :{PORT}" in balancer
    assert services["balancer"]["ports"] == [f"127.0.0.1:{PORT}:{PORT}"]
    assert not any("ports" in it for name, it in services.items() if name != "balancer")
    patroni = yaml.safe_load(configs["patroni"]["content"])
    assert patroni["bootstrap"]["dcs"]["synchronous_mode"] == "quorum"
    assert patroni["etcd3"]["hosts"].partition(":")[0] in services
    for name in ("server1", "server2", "server3"):
        own = services[name]["environment"]
        assert own["PATRONI_NAME"] == name
        assert own["PATRONI_POSTGRESQL_CONNECT_ADDRESS"] == f"{name}:5432"
        assert patroni["postgresql"]["data_dir"].startswith(
            services[name]["volumes"][0].partition(":")[2]
        )
    used = {each["source"] for it in services.values() for each in it.get("configs", ())}
    assert used == configs.keys()
