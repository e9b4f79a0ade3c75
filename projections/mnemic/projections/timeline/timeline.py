"""The timeline: when each version was recorded, and the settings in force at it.

Version, active hour and wall clock of every event, so that each way to name a point of the past
resolves to a version; and the few settings that have one value in force.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import compress, count
from operator import attrgetter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from mnemic.kernel.clock import ActiveClock
from mnemic.kernel.errors import FieldRefused, PointOutOfRange
from mnemic.kernel.events import EmbedderIdentity, Recorded, SessionEnded, SessionStarted
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.timestamps import Instant, iso
from mnemic.projections.storage.array_bundle import (
    ArrayBundle,
    nested,
    packed,
    unpacked,
    within,
)
from mnemic.projections.storage.columns import Interner
from mnemic.projections.storage.event_columns import EventColumns
from mnemic.projections.storage.growable_array import GrowableArray
from mnemic.projections.storage.versioned_maps import Coding, VersionedMap
from mnemic.projections.timeline.command_ids import CommandIds

_POLICIES: Coding[Policy] = Coding(
    lambda key, policy: (key, policy.body), lambda plain: (plain[0], Policy.parse(plain[1]))
)
_EMBEDDERS: Coding[EmbedderIdentity] = Coding(
    lambda key, embedder: (key, embedder.name, embedder.dimension, embedder.weights),
    lambda plain: (
        plain[0],
        EmbedderIdentity(name=plain[1], dimension=plain[2], weights=plain[3]),
    ),
)
_MOMENT: Mapping[str, type[np.generic]] = {
    "active_us": np.int64,
    "recorded_us": np.int64,
    "kind": np.int16,
    "session": np.int32,
    "actor": np.int32,
}
_ENVELOPE = attrgetter("active_us", "recorded_us", "session_id", "actor", "command_id")
_OF_SESSIONS = frozenset((SessionStarted, SessionEnded))


class Timeline:
    """Time and settings of every version of the log."""

    def __init__(self) -> None:
        self._moments = EventColumns(**_MOMENT)
        """By version."""
        self.kinds = Interner()
        self._kind_numbers: dict[type, int] = {}
        self.session_ids = Interner("")
        self.actors = Interner()
        self.command_ids = CommandIds()
        self.clock = ActiveClock()
        self.policies: VersionedMap[Policy] = VersionedMap(_POLICIES)
        self.embedders: VersionedMap[EmbedderIdentity] = VersionedMap(_EMBEDDERS)
        self.sessions: VersionedMap[int] = VersionedMap()
        """Open sessions and the versions at which they started."""
        self.latest_session: VersionedMap[SessionId] = VersionedMap()
        self.curated_us: VersionedMap[int] = VersionedMap()
        """Active time of the last sweep."""
        self.salt: bytes | None = None
        self.erased_blocks: dict[int, int] = {}
        """By block number: the version that erased it."""
        self.erased_context: dict[int, frozenset[int] | None] = {}
        """By number of an erased block: those that its texts were the context of; None: unknown."""
        self.space_erased: int | None = None
        """The version that erased the whole space."""
        self.losses: set[tuple[int, int]] = set()
        """Payloads whose loss was accepted: version and slot."""

    def frozen(self) -> ArrayBundle:
        """Return everything as arrays."""
        facts = {
            "kinds": self.kinds.words,
            "session_ids": self.session_ids.words,
            "actors": self.actors.words,
            "active_us": self.clock.active_us,
            "counted_us": self.clock.counted_us,
            "last_us": list(self.clock.last_us.items()),
            "salt": None if self.salt is None else self.salt.hex(),
            "erased_blocks": list(self.erased_blocks.items()),
            "erased_context": [
                [block, None if near is None else sorted(near)]
                for block, near in self.erased_context.items()
            ],
            "space_erased": self.space_erased,
            "losses": sorted(self.losses),
        }
        return {
            "active_us": self.active_us.values,
            "recorded_us": self.recorded_us.values,
            "kind": self.kind.values,
            "session": self.session.values,
            "actor": self.actor.values,
            "facts": packed(facts),
            **nested(
                command_ids=self.command_ids.frozen(),
                policies=self.policies.frozen(),
                embedders=self.embedders.frozen(),
                sessions=self.sessions.frozen(),
                latest_session=self.latest_session.frozen(),
                curated_us=self.curated_us.frozen(),
            ),
        }

    @classmethod
    def thawed(cls, parts: Mapping[str, NDArray[Any]]) -> Timeline:
        """Return the timeline that was frozen."""
        timeline, facts = cls(), unpacked(parts["facts"])
        timeline._moments = EventColumns.thawed(parts, _MOMENT)
        timeline.kinds = Interner.thawed(facts["kinds"])
        timeline.session_ids = Interner.thawed(facts["session_ids"])
        timeline.actors = Interner.thawed(facts["actors"])
        timeline.command_ids = CommandIds.thawed(within(parts, "command_ids"))
        timeline.clock = ActiveClock(
            active_us=facts["active_us"],
            counted_us=facts["counted_us"],
            last_us=dict(facts["last_us"]),
        )
        timeline.policies = VersionedMap.thawed(within(parts, "policies"), _POLICIES)
        timeline.embedders = VersionedMap.thawed(within(parts, "embedders"), _EMBEDDERS)
        timeline.sessions = VersionedMap.thawed(within(parts, "sessions"))
        timeline.latest_session = VersionedMap.thawed(within(parts, "latest_session"))
        timeline.curated_us = VersionedMap.thawed(within(parts, "curated_us"))
        timeline.salt = None if facts["salt"] is None else bytes.fromhex(facts["salt"])
        timeline.erased_blocks = dict(facts["erased_blocks"])
        timeline.erased_context = {
            block: None if near is None else frozenset(near)
            for block, near in facts["erased_context"]
        }
        timeline.space_erased = facts["space_erased"]
        timeline.losses = {(version, slot) for version, slot in facts["losses"]}
        return timeline

    def make_room(self) -> None:
        """Make room for an event."""
        self._moments.make_room()
        self.command_ids.make_room()

    @property
    def version(self) -> int:
        """The last version that was applied, -1 before the first."""
        return len(self._moments) - 1

    @property
    def active_us(self) -> GrowableArray:
        """By version: the active time."""
        return self._column("active_us")

    @property
    def recorded_us(self) -> GrowableArray:
        """By version: the wall clock."""
        return self._column("recorded_us")

    @property
    def kind(self) -> GrowableArray:
        """By version: the number of the kind of event."""
        return self._column("kind")

    @property
    def session(self) -> GrowableArray:
        """By version: the number of the session of the event, 0 outside of one."""
        return self._column("session")

    @property
    def actor(self) -> GrowableArray:
        """By version: the number of the actor that wrote the event."""
        return self._column("actor")

    def actor_at(self, version: int) -> str:
        """Return the actor that wrote the event at *version*."""
        return self.actors.words[self._moments.value("actor", version)]

    def _column(self, name: str) -> GrowableArray:
        return GrowableArray.thawed(self._moments.column(name))

    @property
    def policy(self) -> Policy:
        """The policy in force at the head."""
        return self.policies.current.get("policy", DEFAULT)

    @property
    def embedder(self) -> EmbedderIdentity | None:
        """The embedder in force at the head; None before the first promotion."""
        return self.embedders.current.get("embedder")

    def instant(self, session: SessionId | None, now_us: int) -> Instant:
        """Return the time of a command at the head; see ``instant``."""
        return instant(self.clock, session, now_us, gap_us=self.policy.gap_us)

    def record(self, recorded: Recorded) -> None:
        """Add the envelope of the next event, and the session that it starts or ends."""
        clock, session = self.clock, recorded.session_id
        active_us, recorded_us = recorded.active_us, recorded.recorded_us
        # The recorded value counts, so that replaying old bytes can never disagree with them.
        clock.active_us = active_us
        if session is not None:
            clock.credit(session, recorded_us, gap_us=self.policy.gap_us)
        kind = recorded.kind
        number = self._kind_numbers.get(kind)
        if number is None:
            number = self._kind_numbers[kind] = self.kinds.number(kind.__name__)
        within = self.session_ids.number(session or "")
        actor = self.actors.number(recorded.actor)
        self._moments.append((active_us, recorded_us, number, within, actor))
        self.command_ids.record(recorded.command_id, recorded.version)
        if kind in _OF_SESSIONS:
            self._note_session(recorded)

    def record_each(self, events: Sequence[Recorded], kinds: Sequence[type]) -> None:
        """Add the envelopes of the next events, and the sessions they start or end.

        Args:
            events: At least one, and none that adopts a policy.
            kinds: The class of each.
        """
        envelopes = zip(*map(_ENVELOPE, events), strict=True)
        active_us, recorded_us, sessions, actors, command_ids = envelopes
        first = 0
        for place in list(compress(count(), map(_OF_SESSIONS.__contains__, kinds))):
            stretch = slice(first, place + 1)
            self.clock.credit_each(
                sessions[stretch], recorded_us[stretch], gap_us=self.policy.gap_us
            )
            self._note_session(events[place])
            first = place + 1
        self.clock.credit_each(sessions[first:], recorded_us[first:], gap_us=self.policy.gap_us)
        self.clock.active_us = active_us[-1]
        for kind in dict.fromkeys(kinds):
            if kind not in self._kind_numbers:
                self._kind_numbers[kind] = self.kinds.number(kind.__name__)
        within = {each: self.session_ids.number(each or "") for each in dict.fromkeys(sessions)}
        by = {each: self.actors.number(each) for each in dict.fromkeys(actors)}
        self._moments.extend(
            [
                np.fromiter(active_us, np.int64, len(events)),
                np.fromiter(recorded_us, np.int64, len(events)),
                _numbers(kinds, self._kind_numbers),
                _numbers(sessions, within),
                _numbers(actors, by),
            ]
        )
        self.command_ids.record_each(command_ids, events[0].version)

    def _note_session(self, recorded: Recorded) -> None:
        """Record that a session started or ended."""
        event = recorded.event
        if isinstance(event, SessionStarted):
            self.start_session(event.session_id, recorded.version, recorded.recorded_us)
        elif isinstance(event, SessionEnded):
            self.end_session(event.session_id, recorded.version)

    def start_session(self, session: SessionId, version: int, recorded_us: int) -> None:
        self.clock.start(session, recorded_us)
        self.sessions.put(session, version, version)
        self.latest_session.put("session", version, session)

    def end_session(self, session: SessionId, version: int) -> None:
        self.clock.end(session)
        self.sessions.drop(session, version)

    # --- points of the past -----------------------------------------------------------------

    # Readers name the head up to which they may read: behind it, events are being applied.

    def version_at_hour(self, active_us: int, *, head: int) -> int:
        """Return the last version up to *head* whose active time is at most *active_us*.

        Raises:
            PointOutOfRange: It is before the first event, or the log is empty.
        """
        hours = self.active_us.values[: head + 1]
        found = int(np.searchsorted(hours, active_us, side="right")) - 1
        return _checked(found, "hour", active_us, head)

    def version_at_instant(self, recorded_us: int, *, head: int) -> int:
        """Return the last version up to *head* that was recorded at or before *recorded_us*.

        Raises:
            PointOutOfRange: There is none.
        """
        found = np.nonzero(self.recorded_us.values[: head + 1] <= recorded_us)[0]
        if not found.size:
            first = iso(int(self.recorded_us.values[0])) if head >= 0 else "never"
            raise PointOutOfRange(
                f"no event was recorded at or before {iso(recorded_us)}; the first one: {first}",
                recovery="Name a later instant, or a day, which means its end.",
                point="at",
                asked=recorded_us,
                head=head,
            )
        return int(found[-1])

    @staticmethod
    def checked_version(version: int, *, head: int) -> int:
        """Return *version* if a log that ends at *head* has it.

        Raises:
            PointOutOfRange: It does not.
        """
        return _checked(version if version <= head else -1, "version", version, head)


def _checked(version: int, kind: str, asked: int, head: int) -> int:
    if version < 0:
        raise PointOutOfRange(
            f"there is no event at {kind} {asked}; the log ends at version {head}",
            point=kind,
            asked=asked,
            head=head,
        )
    return version


def instant(clock: ActiveClock, session: SessionId | None, now_us: int, *, gap_us: int) -> Instant:
    """Return the time of a command: active time by a log, and the wall clock.

    Args:
        clock: The clock of the log.
        session: The session of the command; no time passes outside of one, or after its end.
        now_us: The wall clock, microseconds since the epoch. It may have been set back.
        gap_us: The gap of the policy in force.

    Raises:
        FieldRefused: The clock shows no whole number of 63 bits, which a log could not hold.
    """
    if type(now_us) is not int or not -(2**62) <= now_us < 2**62:
        raise FieldRefused(
            f"the clock shows {now_us!r}",
            recovery="Give a clock whose now_us() is a whole number of microseconds.",
            field="clock",
        )
    return Instant(clock.reading(session, now_us, gap_us=gap_us), now_us)


def _numbers(each: Sequence[Any], numbers: Mapping[Any, int]) -> NDArray[np.int64]:
    """Return the numbers of a column of which most values are often the same."""
    if len(numbers) == 1:
        return np.full(len(each), next(iter(numbers.values())), dtype=np.int64)
    return np.fromiter(map(numbers.__getitem__, each), np.int64, len(each))
