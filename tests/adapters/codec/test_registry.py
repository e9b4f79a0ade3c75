from __future__ import annotations

from typing import get_args

import pytest
from attrs import frozen

from mnemic.adapters.codec.registry import TOPICS, UPCASTERS, Kind, Registry, parsed
from mnemic.kernel.events import Event
from mnemic.specs.strategies.events import EVENTS


@frozen(kw_only=True)
class Signal:
    tone: str


@frozen(kw_only=True)
class Echo:
    tone: str


def unchanged(fields: dict[str, object]) -> dict[str, object]:
    return fields


def test_every_event_has_exactly_one_current_name() -> None:
    assert sorted(TOPICS.values(), key=repr) == sorted(get_args(Event), key=repr)
    assert Registry().names == {event: topic for topic, event in TOPICS.items()}


def test_every_event_has_a_strategy() -> None:
    assert set(EVENTS) == set(get_args(Event))


def test_every_name_is_kebab_case_with_a_version_and_none_is_used_twice() -> None:
    names = [parsed(topic)[0] for topic in TOPICS]
    assert len(set(names)) == len(TOPICS)


def test_every_version_before_the_current_one_is_readable() -> None:
    registry = Registry({"signal.3": Signal}, {("signal", 1): unchanged, ("signal", 2): unchanged})
    assert registry.kinds == {
        "signal.3": Kind(Signal),
        "signal.2": Kind(Signal, (unchanged,)),
        "signal.1": Kind(Signal, (unchanged, unchanged)),
    }
    assert registry.names == {Signal: "signal.3"}


def test_the_shipped_upcasters_fit_the_shipped_topics() -> None:
    assert len(Registry().kinds) == len(TOPICS) + len(UPCASTERS)


@pytest.mark.parametrize("topic", ["signal", "signal.0", "Signal.1", "signal_x.1", "a.b.Signal.1"])
def test_a_malformed_topic_is_refused(topic: str) -> None:
    with pytest.raises(ValueError, match="is not a kebab-case name"):
        Registry({topic: Signal}, {})


def test_a_gap_in_the_chain_of_versions_is_refused() -> None:
    with pytest.raises(ValueError, match=r"signal\.3 has no upcaster from version 1"):
        Registry({"signal.3": Signal}, {("signal", 2): unchanged})


def test_an_upcaster_that_leads_nowhere_is_refused() -> None:
    with pytest.raises(ValueError, match=r"lead to no topic.*signal\.1"):
        Registry({"signal.1": Signal}, {("signal", 1): unchanged})


def test_one_class_under_two_topics_is_refused() -> None:
    with pytest.raises(ValueError, match="has two topics"):
        Registry({"signal.1": Signal, "echo.1": Signal}, {})


def test_one_name_for_two_classes_is_refused() -> None:
    with pytest.raises(ValueError, match="a name occurs twice"):
        Registry({"signal.1": Signal, "signal.2": Echo}, {("signal", 1): unchanged})
