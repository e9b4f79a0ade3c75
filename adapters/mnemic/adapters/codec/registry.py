"""The permanent names of events in a log.

Rules of this module:

1. A topic is a kebab name, a dot and a version: ``block-learned.1``. It names a meaning, never a
   class or a module, so that code may move and a log stays readable.
2. A topic that was ever written is read for ever. A change of meaning takes the next version here,
   an upcaster from the one before and a line of the golden corpus.
3. A new field with a default keeps the version: bodies without it read as that default. A release
   that does not know the field refuses the event (``StoreTooNew``) instead of skipping it, since
   two releases must never fold two states out of one log.

And of upcasters, which bring what earlier releases wrote to the current version:

4. An upcaster takes the fields of an event as stored (names to JSON values) at one version and
   returns them as the next version would have stored them. It changes nothing it was given.
5. It knows no other event and no time: what version 1 did not say, it fills with what version 1
   meant.
6. Payloads are sealed: it sees their marks, may move or rename them, and keeps their order, since
   that order numbers their slots.
7. Upcasting happens on read only; stored bytes stay as they are.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

from attrs import Factory, field, frozen

from mnemic.kernel import events
from mnemic.kernel.values import Value

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

TOPICS: Mapping[str, type] = {
    "space-opened.1": events.SpaceOpened,
    "policy-adopted.1": events.PolicyAdopted,
    "embedder-adopted.1": events.EmbedderAdopted,
    "space-erased.1": events.SpaceErased,
    "loss-accepted.1": events.LossAccepted,
    "session-started.1": events.SessionStarted,
    "session-ended.1": events.SessionEnded,
    "block-learned.1": events.BlockLearned,
    "block-restated.1": events.BlockRestated,
    "blocks-promoted.1": events.BlocksPromoted,
    "blocks-relinked.1": events.BlocksRelinked,
    "block-superseded.1": events.BlockSuperseded,
    "block-forgotten.1": events.BlockForgotten,
    "block-erased.1": events.BlockErased,
    "block-rezoned.1": events.BlockRezoned,
    "blocks-quarantined.1": events.BlocksQuarantined,
    "vectors-staged.1": events.VectorsStaged,
    "facts-extracted.1": events.FactsExtracted,
    "edge-connected.1": events.EdgeConnected,
    "edge-deferred.1": events.EdgeDeferred,
    "edge-disconnected.1": events.EdgeDisconnected,
    "recall-recorded.1": events.RecallRecorded,
    "outcome-recorded.1": events.OutcomeRecorded,
    "blocks-composed.1": events.BlocksComposed,
    "composition-labelled.1": events.CompositionLabelled,
    "label-retracted.1": events.LabelRetracted,
    "curated.1": events.Curated,
    "reverted.1": events.Reverted,
}
"""The name under which each kind of event is written today."""
UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""The step from (name, version) to the version after it. Every event is at its first version."""

_TOPIC = re.compile(r"([a-z]+(?:-[a-z]+)*)\.([1-9][0-9]*)")


@frozen
class Kind(Value):
    """How to read one topic."""

    event: type
    """The class that its bodies become."""
    upcasters: tuple[Upcaster, ...] = ()
    """What to apply first, in order; none for the current version."""


def _kinds(registry: Registry) -> Mapping[str, Kind]:
    kinds: dict[str, Kind] = {}
    for topic, event in registry.topics.items():
        name, version = parsed(topic)
        chain: tuple[Upcaster, ...] = ()
        kinds[topic] = Kind(event)
        for older in range(version - 1, 0, -1):
            if (name, older) not in registry.upcasters:
                raise ValueError(f"{topic} has no upcaster from version {older}")
            chain = (registry.upcasters[name, older], *chain)
            kinds[f"{name}.{older}"] = Kind(event, chain)
    stray = [f"{name}.{version}" for name, version in registry.upcasters]
    if len(kinds) != len(registry.topics) + len(stray):
        raise ValueError(f"these upcasters lead to no topic, or a name occurs twice: {stray}")
    return kinds


def _names(registry: Registry) -> Mapping[type, str]:
    names = {event: topic for topic, event in registry.topics.items()}
    if len(names) != len(registry.topics):
        raise ValueError("a class of events has two topics")
    return names


@frozen
class Registry(Value):
    """The known topics, and the class of each.

    Args:
        topics: Class by current topic.
        upcasters: The step from each older (name, version) to the version after it.

    Raises:
        ValueError: A name or class occurs twice, or versions do not form a chain.
    """

    topics: Mapping[str, type] = TOPICS
    upcasters: Mapping[tuple[str, int], Upcaster] = UPCASTERS
    kinds: Mapping[str, Kind] = field(init=False, default=Factory(_kinds, takes_self=True))
    """Every readable topic, older versions included."""
    names: Mapping[type, str] = field(init=False, default=Factory(_names, takes_self=True))
    """Current topic by class."""


def is_topic(topic: str) -> bool:
    """Return whether *topic* is of the form that every release gives to topics."""
    return _TOPIC.fullmatch(topic) is not None


def parsed(topic: str) -> tuple[str, int]:
    """Return name and version of *topic*.

    Raises:
        ValueError: If it is not of the form ``kebab-name.N``.
    """
    match = _TOPIC.fullmatch(topic)
    if match is None:
        raise ValueError(f"{topic!r} is not a kebab-case name, a dot and a version from 1")
    return match[1], int(match[2])
