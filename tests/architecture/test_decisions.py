"""Events are assembled where they are decided: in the kernel, and nowhere in an adapter."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import get_args

import pytest

from mnemic.kernel.events import Event
from tests.architecture.imports import ROOT, modules

EVENTS = frozenset(each.__name__ for each in get_args(Event))
OF_BYTES = {
    "mnemic.adapters.stores.encrypted.unrecorded": {"BlockErased", "SpaceErased"},
    "mnemic.adapters.transfer.copies.copying": {"BlockErased", "LossAccepted", "SpaceErased"},
}
"""Events that are added to logs which are not replayed: there is no state to decide on."""


def assembled(source: str) -> Iterator[str]:
    """Yield the events whose constructors a module calls, by imported name or as an attribute."""
    tree = ast.parse(source)
    imported = {
        alias.asname or alias.name: alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        and (node.module or "").startswith("mnemic.kernel.events")
        for alias in node.names
    }
    packages = {
        alias.asname or alias.name
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.module == "mnemic.kernel"
        for alias in node.names
        if alias.name == "events"
    }
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        called, name = node.func, ""
        if isinstance(called, ast.Name):
            name = imported.get(called.id, "")
        elif isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name):
            name = called.attr if called.value.id in packages else ""
        if name in EVENTS:
            yield name


def test_no_adapter_assembles_events_but_erasures_in_logs_without_a_state() -> None:
    adapters = {name: path for name, path in modules(ROOT).items() if ".adapters" in name}
    found = {
        name: made
        for name, path in adapters.items()
        if (made := {*assembled(path.read_text(encoding="utf-8"))})
    }
    assert found == OF_BYTES


@pytest.mark.parametrize(
    "source",
    [
        "from mnemic.kernel.events import SpaceErased\nSpaceErased()",
        "from mnemic.kernel.events.space import SpaceErased as Gone\nGone()",
        "from mnemic.kernel import events\nevents.SpaceErased()",
        "from mnemic.kernel import events as happened\nhappened.SpaceErased()",
    ],
)
def test_an_assembled_event_is_found(source: str) -> None:
    assert [*assembled(source)] == ["SpaceErased"]


@pytest.mark.parametrize(
    "source",
    [
        "from mnemic.kernel.errors import SpaceErased\nSpaceErased('gone')",
        "from mnemic.kernel.events import SpaceErased\nisinstance(event, SpaceErased)",
        "from mnemic.kernel.events import EmbedderIdentity\nEmbedderIdentity(name='a')",
    ],
)
def test_other_uses_of_events_pass(source: str) -> None:
    assert [*assembled(source)] == []
