"""Complete decisions of connect and disconnect."""

from __future__ import annotations

from typing import Any

import pytest

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.connecting import (
    Assertion,
    Connected,
    Terms,
    decide_connect,
    decide_disconnect,
    terms,
)
from mnemic.kernel.events import (
    EdgeConnected,
    EdgeDeferred,
    EdgeDisconnected,
    Event,
)
from mnemic.kernel.model.edges import EdgeFacts
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.model.texts import Remark
from mnemic.kernel.numeric.arithmetic import MICROS_PER_HOUR, NANO, nano
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.timestamps import Instant
from mnemic.projections.view import View
from tests.kernel.decisions.logs import adopted, folded, learned

LOW, HIGH, THIRD = BLOCKS = tuple(BlockId(str(n) * 16) for n in (1, 2, 3))
NOW = Instant(active_us=5 * MICROS_PER_HOUR, recorded_us=0)
STANDING = EdgeConnected(
    source=LOW, target=HIGH, relation="supports", weight=nano(0.95), action="created", count=4
)
FOUND = EdgeConnected(
    source=LOW,
    target=HIGH,
    relation="similar",
    weight=nano(0.5),
    action="created",
    origin="similarity",
    count=2,
)
NOTE = Remark(of=(LOW, HIGH), text="why")


def after(*events: Event, **policy: Any) -> View:
    return folded(
        adopted(Policy(**policy)),
        *(learned(block) for block in BLOCKS),
        *events,
        now_us=NOW.active_us,
    )


def connect(view: View, source: str = HIGH, target: str = LOW, **given: Any) -> Decision[Connected]:
    return decide_connect(view, Assertion(source=source, target=target, **given), NOW)


def made(event: EdgeConnected | EdgeDeferred | None, **fields: Any) -> Decision[Connected]:
    return Decision(() if event is None else (event,), Connected(**fields))


def test_terms_are_trimmed_and_empty_ones_count_as_not_given() -> None:
    given = Assertion(source="", target="", relation=" Caused By ", weight=0.25, note=" why ")
    assert terms(given, DEFAULT) == Terms(relation="caused by", weight=NANO // 4, note="why")
    empty = Assertion(source="", target="", relation=" ", note=" ")
    assert terms(empty, DEFAULT) == Terms(relation=None, weight=None, note=None)


@pytest.mark.parametrize(
    ("given", "relation", "weight", "warnings"),
    [
        ({}, "similar", 0.65, ()),
        ({"relation": "contradicts"}, "contradicts", 0.6, ()),
        ({"relation": "supports", "weight": 0.5}, "supports", 0.5, ()),
        (
            {"relation": "supports", "weight": 0.25},
            "supports",
            0.25,
            ("weight 0.25 is far from the usual 0.75 of 'supports'",),
        ),
    ],
)
def test_a_new_edge_is_as_asserted(
    given: dict[str, Any], relation: str, weight: float, warnings: tuple[str, ...]
) -> None:
    assert connect(after(), note=" why ", **given) == made(
        event=EdgeConnected(
            source=HIGH,
            target=LOW,
            relation=relation,
            weight=nano(weight),
            action="created",
            note=NOTE,
        ),
        action="created",
        relation=relation,
        weight=nano(weight),
        note="why",
        warnings=warnings,
    )


def test_a_new_edge_lists_displaced_edges() -> None:
    assert connect(after(FOUND, degree_cap=1), THIRD, LOW, relation="custom") == made(
        event=EdgeConnected(
            source=THIRD,
            target=LOW,
            relation="custom",
            weight=nano(DEFAULT.relation_weight_custom),
            action="created",
            displaced=((LOW, HIGH),),
        ),
        action="created",
        relation="custom",
        weight=nano(DEFAULT.relation_weight_custom),
        note=None,
        displaced=(EdgeFacts(0, 1, "similar", "similarity", nano(0.5), 0, 2),),
    )


def test_at_the_cap_the_connection_is_deferred() -> None:
    waits = connect(after(degree_cap=0), relation="supports", weight=0.1, note="why")
    assert waits == made(
        event=EdgeDeferred(
            source=HIGH, target=LOW, relation="supports", weight=nano(0.1), note=NOTE
        ),
        action="deferred",
        relation="supports",
        weight=nano(0.1),
        note="why",
        warnings=("weight 0.10 is far from the usual 0.75 of 'supports'",),
    )


IGNORED = "the edge exists and was reinforced; {} was ignored: use if_exists='update'"


@pytest.mark.parametrize(
    ("given", "ignored"),
    [
        ({}, ()),
        ({"relation": "supports"}, ()),
        ({"relation": "custom"}, ("relation",)),
        ({"weight": 0.95}, ("weight",)),
        ({"note": "why"}, ("note",)),
        ({"relation": "custom", "weight": 0.1, "note": "why"}, ("relation", "weight", "note")),
    ],
)
def test_asserting_again_reinforces_and_warns_about_ignored_fields(
    given: dict[str, Any], ignored: tuple[str, ...]
) -> None:
    assert connect(after(STANDING), **given) == made(
        event=EdgeConnected(
            source=LOW,
            target=HIGH,
            relation="supports",
            weight=NANO,
            action="reinforced",
            count=5,
        ),
        action="reinforced",
        relation="supports",
        weight=NANO,
        note=None,
        warnings=tuple(IGNORED.format(name) for name in ignored),
    )


def test_reinforcing_keeps_the_origin_of_an_edge() -> None:
    assert connect(after(FOUND)).events == (
        EdgeConnected(
            source=LOW,
            target=HIGH,
            relation="similar",
            weight=nano(0.5 + DEFAULT.reinforce_delta),
            action="reinforced",
            origin="similarity",
            count=3,
        ),
    )


def test_skipping_returns_the_existing_edge() -> None:
    assert connect(after(STANDING), if_exists="skip", note="why") == made(
        event=None, action="skipped", relation="supports", weight=nano(0.95), note=None
    )


@pytest.mark.parametrize(
    ("given", "relation", "weight", "note", "warnings"),
    [
        ({}, "similar", 0.5, None, ()),
        ({"note": "why"}, "similar", 0.5, "why", ()),
        ({"relation": "supports"}, "supports", 0.5, None, ()),
        (
            {"relation": "supports", "weight": 0.125},
            "supports",
            0.125,
            None,
            ("weight 0.12 is far from the usual 0.75 of 'supports'",),
        ),
    ],
)
def test_updating_an_automatic_edge_makes_it_an_agent_edge(
    given: dict[str, Any],
    relation: str,
    weight: float,
    note: str | None,
    *,
    warnings: tuple[str, ...],
) -> None:
    assert connect(after(FOUND), if_exists="update", **given) == made(
        event=EdgeConnected(
            source=HIGH,
            target=LOW,
            relation=relation,
            weight=nano(weight),
            action="updated",
            origin="agent",
            count=2,
            note=None if note is None else NOTE,
        ),
        action="updated",
        relation=relation,
        weight=nano(weight),
        note=note,
        warnings=warnings,
    )


# --- disconnect -----------------------------------------------------------------------------

WAITING = EdgeDeferred(source=LOW, target=HIGH, relation="custom", weight=1)
OTHER = EdgeDeferred(source=LOW, target=THIRD, relation="elaborates", weight=1)


def disconnect(view: View, guard: str | None = None, reason: str | None = None) -> Decision[str]:
    return decide_disconnect(view, HIGH, LOW, guard_relation=guard, reason=reason)


def test_an_existing_edge_is_removed_with_the_reason() -> None:
    for guard in (None, " ", " Supports "):
        assert disconnect(after(STANDING), guard, " why ") == Decision(
            (
                EdgeDisconnected(
                    source=HIGH,
                    target=LOW,
                    relation="supports",
                    weight=nano(0.95),
                    reason=NOTE,
                ),
            ),
            "removed",
        )


def test_a_pending_connection_is_removed_too() -> None:
    view = after(OTHER, WAITING)
    assert disconnect(view) == Decision((EdgeDisconnected(source=HIGH, target=LOW),), "removed")
    assert disconnect(view, "custom") == Decision(
        (EdgeDisconnected(source=HIGH, target=LOW),), "removed"
    )
    assert disconnect(view, "elaborates") == Decision((), "guarded")


def test_a_guard_with_another_relation_keeps_the_edge() -> None:
    assert disconnect(after(STANDING), "custom") == Decision((), "guarded")


def test_without_an_edge_or_pending_connection_nothing_is_removed() -> None:
    assert disconnect(after(OTHER), "custom", "why") == Decision((), "not_found")
