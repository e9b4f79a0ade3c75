"""Schemathesis sends requests that the description of the HTTP interface allows, and others.

It stops after ``SECONDS``; by hand, and with more time, see ``schemathesis.toml``.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Callable, Generator
from pathlib import Path
from typing import Any

import pytest
import schemathesis
from schemathesis.config import SchemathesisConfig
from schemathesis.engine import Status, events, from_schema
from schemathesis.hooks import unregister_all

from mnemic.adapters.http.routing.routes import routes
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from tests.adapters.http import schemathesis_hooks
from tests.adapters.http.live_servers import running

pytestmark = pytest.mark.extended

SECONDS = int(os.environ.get("MNEMIC_SCHEMATHESIS_S", "40"))
SETTINGS = Path(__file__).with_name("schemathesis.toml")
WORDS = "gate oil tea shed yard lamp door roof well tool rope nail barn mill lane".split()
KNOWN = 0.6
"""Share of requested ids that exist."""
IDS = {
    "blocks": (
        *("path.block_id", "path.other_id", "query.of", "body.source", "body.target"),
        *("body.block_ids[*]", "body.edges[*].source", "body.edges[*].target"),
    ),
    "decisions": ("path.decision_id", "query.decision", "body.decision_id", "body.decision"),
    "compositions": ("path.composition_id", "body.composition_id", "body.event_id"),
    "labels": ("path.label_id",),
}
"""Parameters and the kinds of their ids."""

Ask = Callable[..., Any]


@pytest.fixture
def hooks() -> Generator[None]:
    """Register the hooks for one test."""
    unregister_all()
    schemathesis_hooks.register()
    yield
    unregister_all()


def filled(ask: Ask) -> dict[str, list[str]]:
    """Fill the space, and return the ids of its contents."""
    lessons = [f"{a} {b} {c}" for a in WORDS[:5] for b in WORDS[5:10] for c in WORDS[10:]]
    learned = ask("POST", "blocks/batch", lessons=lessons)["results"]
    blocks = [each["block_id"] for each in learned]
    ask("POST", "consolidate")
    decisions = [ask("POST", "recall", query=word)["decision_id"] for word in WORDS[:5]]
    lanes = [
        ask("POST", "compositions", members=blocks[place : place + 3])["composition_id"]
        for place in range(4)
    ]
    labels = [
        ask("POST", f"compositions/{lane}/labels", label="helpful")["label_id"] for lane in lanes
    ]
    return {"blocks": blocks, "decisions": decisions, "compositions": lanes, "labels": labels}


def configured(ids: dict[str, list[str]]) -> SchemathesisConfig:
    """Return the configuration of the file with the existing ids."""
    settings = tomllib.loads(SETTINGS.read_text("utf-8"))
    del settings["hooks"]  # they are registered for the test alone
    settings["dictionaries"] = {name: {"values": values} for name, values in ids.items()}
    for name, places in IDS.items():
        for place in places:
            settings["parameters"][place] = {"dictionary": name, "probability": KNOWN}
    config: SchemathesisConfig = SchemathesisConfig.from_dict(settings)
    config.max_time = SECONDS
    return config


@pytest.mark.usefixtures("hooks")
def test_the_interface_does_what_its_description_says(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    opening: dict[str, Any] = {"clock": ManualClock(), "entropy": SeededEntropy("fuzz")}
    with running(tmp_path, synchronous="normal", **opening) as server, server.client() as client:
        monkeypatch.setenv("MNEMIC_TOKEN", client.headers["authorization"].partition(" ")[2])
        for space in ("default", "doomed"):
            client.put(f"/v1/spaces/{space}").raise_for_status()

        def ask(method: str, path: str, **arguments: Any) -> Any:
            answer = client.request(method, f"/v1/spaces/default/{path}", json=arguments)
            return answer.raise_for_status().json()

        config = configured(filled(ask))
        schema = schemathesis.openapi.from_url(f"{server.url}/v1/openapi.json", config=config)
        failures, accepted = _run(schema)
    assert not failures, "\n\n".join(failures)
    assert len(accepted) > 0.8 * len(routes())


def _run(schema: Any) -> tuple[list[str], set[str]]:
    """Return the failures, and the operations that accepted at least one request."""
    failures: list[str] = []
    accepted: set[str] = set()
    for event in from_schema(schema).execute():
        match event:
            case events.ScenarioFinished():
                failures += _failures(event.recorder)
                accepted |= _accepted(event.recorder)
            case events.NonFatalError():
                failures.append(f"{event.label}: {event.value}")
            case events.FatalError():
                raise event.exception
            case _:
                pass
    return failures, accepted


def _failures(recorder: Any) -> list[str]:
    return [
        f"{check.name} {recorder.cases[case].value.as_curl_command()}\n"
        f"{check.failure_info.failure.title}: {check.failure_info.failure.message}"
        for case, checks in recorder.checks.items()
        for check in checks
        if check.status == Status.FAILURE
    ]


def _accepted(recorder: Any) -> set[str]:
    return {
        recorder.cases[case].value.operation.definition.raw["operationId"]
        for case, each in recorder.interactions.items()
        if each.response is not None and each.response.status_code < 300
    }
