"""All decisions have one shape: the state first, a ``Decision`` back, and a public name."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

import pytest

from mnemic.kernel import decisions
from mnemic.kernel.decisions import Decision
from mnemic.kernel.events import BlockForgotten, SessionEnded, SessionStarted
from mnemic.kernel.model.identity import BlockId, CommandId, SessionId
from mnemic.kernel.timestamps import Instant


def deciding() -> Iterator[Callable[..., Any]]:
    for module in pkgutil.iter_modules(decisions.__path__, decisions.__name__ + "."):
        for name, value in vars(import_module(module.name)).items():
            if name.startswith("decide_") and value.__module__ == module.name:
                yield value


DECIDING = tuple(deciding())


def test_the_decisions_are_the_ones_that_the_package_exports() -> None:
    exported = {name for name in decisions.__all__ if name.startswith("decide_")}
    assert {each.__name__ for each in DECIDING} == exported
    assert all(getattr(decisions, each.__name__) is each for each in DECIDING)


@pytest.mark.parametrize("decide", DECIDING, ids=lambda each: each.__name__)
def test_a_decision_takes_the_state_first_and_returns_events_and_a_result(
    decide: Callable[..., Any],
) -> None:
    signature = inspect.signature(decide)
    first, *others = signature.parameters.values()
    assert (first.name, first.annotation) in {("reading", "Reading"), ("reading", "EdgeReading")}
    assert str(signature.return_annotation).startswith("Decision[")
    assert {each.annotation for each in others if each.name == "at"} <= {"Instant"}


def test_events_are_recorded_at_contiguous_versions_in_the_session() -> None:
    events = (BlockForgotten(block_id=BlockId("a")), BlockForgotten(block_id=BlockId("b")))
    recorded = Decision(events, None).recorded(
        first=7,
        at=Instant(5, 6),
        command_id=CommandId("c"),
        actor="ann",
        session=SessionId("s"),
    )
    assert [each.version for each in recorded] == [7, 8]
    assert tuple(each.event for each in recorded) == events
    shared = {(each.active_us, each.recorded_us, each.command_id, each.actor) for each in recorded}
    assert shared == {(5, 6, "c", "ann")}
    assert [each.session_id for each in recorded] == ["s", "s"]


def test_events_that_start_a_session_belong_to_it() -> None:
    """The event that ends one belongs to the session that the caller names."""
    for event, session in (
        (SessionStarted(session_id=SessionId("new")), "new"),
        (SessionEnded(session_id=SessionId("new")), None),
    ):
        (recorded,) = Decision((event,), None).recorded(
            first=0, at=Instant(0, 0), command_id=CommandId("c"), actor="ann", session=None
        )
        assert recorded.session_id == session


def test_nothing_is_recorded_of_a_decision_without_events() -> None:
    at = Instant(0, 0)
    recorded = Decision((), None).recorded(
        first=0, at=at, command_id=CommandId("c"), actor="ann", session=None
    )
    assert recorded == []
