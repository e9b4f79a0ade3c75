"""The description of the door: sound, whole, and the same as what the door does."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from openapi_spec_validator import validate

from mnemic.adapters.http import refusals
from mnemic.adapters.http.openapi import document
from mnemic.adapters.http.operations import TAGS, examples
from mnemic.adapters.http.routes import routes
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.wire.problems import known
from mnemic.adapters.wire.verbs import verbs
from tests.adapters.http.running import running
from tests.adapters.wire.strictness import Check

BESIDE = {"spaces", "make_space", "events", "openapi", "healthz", "readyz", "metrics"}


@pytest.fixture(scope="module")
def told() -> dict[str, Any]:
    return document()


def operations(told: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield every operation with its id."""
    for path in told["paths"].values():
        for operation in path.values():
            yield operation["operationId"], operation


def found(told: dict[str, Any], reference: str) -> Any:
    """Return what a reference names."""
    here: Any = told
    for part in reference.removeprefix("#/").split("/"):
        here = here[part]
    return here


def references(here: Any) -> Iterator[str]:
    """Yield every reference inside of something."""
    if isinstance(here, dict):
        if isinstance(here.get("$ref"), str):
            yield here["$ref"]
        here = list(here.values())
    if isinstance(here, list):
        for each in here:
            yield from references(each)


def test_it_is_openapi(told: dict[str, Any]) -> None:
    validate(told)


def test_every_verb_stands_at_its_place_and_a_few_things_stand_beside(
    told: dict[str, Any],
) -> None:
    places = {
        operation["operationId"]: (method.upper(), path)
        for path, methods in told["paths"].items()
        for method, operation in methods.items()
    }
    assert {name: (route.method, route.path) for name, route in routes().items()} | {
        name: places[name] for name in BESIDE
    } == places


def test_every_verb_stands_under_one_heading(told: dict[str, Any]) -> None:
    assert sorted(" ".join(TAGS.values()).split()) == sorted(verbs())
    assert {tag for _, each in operations(told) for tag in each["tags"]} == {
        tag["name"] for tag in told["tags"]
    }


def test_every_reference_leads_somewhere_and_every_component_is_used(
    told: dict[str, Any],
) -> None:
    named = set(references(told))
    for reference in named:
        found(told, reference)
    components = {
        f"#/components/{kind}/{name}"
        for kind, entries in told["components"].items()
        for name in entries
        if kind != "securitySchemes"
    }
    assert components - named == set()


def test_names_of_schemas_are_their_titles(told: dict[str, Any]) -> None:
    schemas = told["components"]["schemas"]
    assert {name: shape["title"] for name, shape in schemas.items()} == {
        name: name for name in schemas
    }


def test_every_operation_and_parameter_is_explained(told: dict[str, Any]) -> None:
    silent = [
        (name, each.get("name"))
        for name, operation in operations(told)
        for each in (operation, *operation["parameters"])
        if "$ref" not in each and not each["description"]
    ]
    assert silent == []


def test_every_example_fits_its_schema(told: dict[str, Any]) -> None:
    wrong = []
    for name, operation in operations(told):
        answers = [each.get("content", {}) for each in operation["responses"].values()]
        for content in (operation.get("requestBody", {}).get("content", {}), *answers):
            for body in content.values():
                check = Check({**told, **body.get("schema", {})})
                wrong += [
                    (name, error.message)
                    for example in body.get("examples", {}).values()
                    for error in check.iter_errors(example["value"])
                ]
    assert wrong == []


def test_every_problem_has_an_example_that_is_one(told: dict[str, Any]) -> None:
    check = Check({**told, "$ref": "#/components/schemas/Problem"})
    codes = set()
    for response in told["components"]["responses"].values():
        for code, example in response["content"]["application/problem+json"]["examples"].items():
            check.validate(example["value"])
            codes.add(code)
    families = {"error", "refused", "conflict", "corrupt", "unavailable"}
    assert codes == {*known(), "internal"} - families


def test_examples_of_bodies_are_of_verbs_that_take_one() -> None:
    taking = {
        name
        for name, route in routes().items()
        if not route.by_query and name not in {"import_space", "verify_receipt"}
    }
    assert set(examples()) == taking


@pytest.mark.parametrize("verb", sorted(verbs()))
def test_what_a_verb_raises_stands_under_its_status(verb: str, told: dict[str, Any]) -> None:
    operation = dict(operations(told))[verb]
    by_name = {each.__name__: each for each in known().values()}
    for name in verbs()[verb].told.raises:
        error = by_name[name]
        assert f"`{error.code}`" in operation["responses"][str(error.status)]["description"]


def test_every_status_of_an_error_has_words() -> None:
    assert {error.status for error in known().values()} - set(refusals.WORDS) == set()


def test_limits_are_those_of_the_server() -> None:
    words = document(Settings(body_max_bytes=3 << 20))["info"]["description"]
    assert re.search(r"Bodies up to (\S+) MB", words)[1] == "3"  # type: ignore[index]


def test_it_is_made_once() -> None:
    assert document(Settings()) is document(Settings())


def test_the_door_tells_it_to_anybody(tmp_path: Path) -> None:
    with running(tmp_path) as server, server.anonymous() as client:
        answer = client.get("/v1/openapi.json")
        refused = client.get("/v1/openapi.json?pretty=1")
    assert (answer.status_code, answer.headers["content-type"]) == (200, "application/json")
    assert answer.json() == document()
    assert (refused.status_code, refused.json()["code"]) == (422, "field-refused")
