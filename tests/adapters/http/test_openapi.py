"""The description of the interface is valid, complete, and consistent with the interface."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from mnemic.adapters.http.description import error_responses
from mnemic.adapters.http.description.openapi import document
from mnemic.adapters.http.description.operations import examples
from mnemic.adapters.http.routing.routes import routes
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.remote.errors import known
from mnemic.adapters.remote.operations import operations as memory_operations
from tests.adapters.http.live_servers import running
from tests.adapters.remote.strictness import Check

BESIDE = {"spaces", "make_space", "events", "openapi", "healthz", "readyz", "metrics"}


@pytest.fixture(scope="module")
def description() -> dict[str, Any]:
    return document()


def described(description: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every operation with its id."""
    for path in description["paths"].values():
        for operation in path.values():
            yield operation["operationId"], operation


def found(description: dict[str, Any], reference: str) -> Any:
    """Return the target of a reference."""
    here: Any = description
    for part in reference.removeprefix("#/").split("/"):
        here = here[part]
    return here


def references(here: Any) -> Iterator[str]:
    """Yield every reference within a value."""
    if isinstance(here, dict):
        if isinstance(here.get("$ref"), str):
            yield here["$ref"]
        here = list(here.values())
    if isinstance(here, list):
        for each in here:
            yield from references(each)


def test_it_is_openapi(description: dict[str, Any]) -> None:
    validate(description)


def test_every_operation_and_every_service_endpoint_is_described(
    description: dict[str, Any],
) -> None:
    places = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in description["paths"].items()
        for method, operation in methods.items()
    }
    assert {name: (route.method, route.path) for name, route in routes().items()} | {
        name: places[name] for name in BESIDE
    } == places


def test_every_tag_is_used(description: dict[str, Any]) -> None:
    assert {tag for _, each in described(description) for tag in each["tags"]} == {
        tag["name"] for tag in description["tags"]
    }


def test_every_reference_resolves_and_every_component_is_used(
    description: dict[str, Any],
) -> None:
    named = set(references(description))
    for reference in named:
        found(description, reference)
    components = {
        f"#/components/{kind}/{name}"
        for kind, entries in description["components"].items()
        for name in entries
        if kind != "securitySchemes"
    }
    assert components - named == set()


def test_names_of_schemas_are_their_titles(description: dict[str, Any]) -> None:
    schemas = description["components"]["schemas"]
    assert {name: shape["title"] for name, shape in schemas.items()} == {
        name: name for name in schemas
    }


def test_every_operation_and_parameter_is_explained(description: dict[str, Any]) -> None:
    silent = [
        (name, each.get("name"))
        for name, operation in described(description)
        for each in (operation, *operation["parameters"])
        if "$ref" not in each and not each["description"]
    ]
    assert silent == []


def test_every_example_fits_its_schema(description: dict[str, Any]) -> None:
    wrong = []
    for name, operation in described(description):
        answers = [each.get("content", {}) for each in operation["responses"].values()]
        for content in (operation.get("requestBody", {}).get("content", {}), *answers):
            for body in content.values():
                check = Check({**description, **body.get("schema", {})})
                wrong += [
                    (name, error.message)
                    for example in body.get("examples", {}).values()
                    for error in check.iter_errors(example["value"])
                ]
    assert wrong == []


def test_every_problem_has_a_valid_example(description: dict[str, Any]) -> None:
    check = Check({**description, "$ref": "#/components/schemas/Problem"})
    codes = set()
    for response in description["components"]["responses"].values():
        for code, example in response["content"]["application/problem+json"]["examples"].items():
            check.validate(example["value"])
            codes.add(code)
    families = {"error", "refused", "conflict", "corrupt", "unavailable"}
    assert codes == {*known(), "internal"} - families


def test_examples_of_bodies_name_parameters_of_operations_that_take_one() -> None:
    for name, shown in examples().items():
        route = routes()[name]
        assert not route.by_query
        assert set(shown) <= set(route.operation.parameters) - set(route.in_path)


@pytest.mark.parametrize("memory_operation", sorted(memory_operations()))
def test_errors_of_an_operation_are_listed_under_their_status(
    memory_operation: str, description: dict[str, Any]
) -> None:
    operation = dict(described(description))[memory_operation]
    by_name = {each.__name__: each for each in known().values()}
    for name in memory_operations()[memory_operation].docs.raises:
        error = by_name[name]
        assert f"`{error.code}`" in operation["responses"][str(error.status)]["description"]


def test_every_error_status_has_a_description() -> None:
    assert {error.status for error in known().values()} - set(error_responses.WORDS) == set()


def test_limits_are_those_of_the_server() -> None:
    words = document(Settings(body_max_bytes=3 << 20))["info"]["description"]
    assert re.search(r"Bodies up to (\S+) MB", words)[1] == "3"  # type: ignore[index]


def test_the_description_is_cached() -> None:
    assert document(Settings()) is document(Settings())


def test_the_description_needs_no_token(tmp_path: Path) -> None:
    with running(tmp_path) as server, server.anonymous() as client:
        answer = client.get("/v1/openapi.json")
        refused = client.get("/v1/openapi.json?pretty=1")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == document()
    assert (refused.status_code, refused.json()["code"]) == (422, "field-refused")
