"""How a door refuses, how it takes what is sent again, and how it stands beside another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.specs.contracts.answers import plain
from mnemic.specs.contracts.doorsteps import Door, Doorstep, learned, needs, version_of
from mnemic.specs.contracts.refusals import LIMITED, WISHES
from mnemic.specs.contracts.wishes import (
    FIRST,
    LESSONS,
    READING_TOO,
    STRANGERS,
    WRITING,
)


class Manners(Doorstep):
    """The part of `DoorContract` that is the same for every verb."""

    def prepared(self, verb: str, memory: Door, ids: Mapping[str, str]) -> Mapping[str, str]:
        """Do what has to come before a verb, and return the ids that it takes."""
        features, ask = FIRST.get(verb, ((), None))
        self.skip_without(verb, *features)
        return ids if ask is None else {**ids, **ask(memory, ids)}

    # --- refusals -------------------------------------------------------------------------------

    @pytest.mark.parametrize("wish", WISHES)
    def test_a_refusal_has_a_code_and_a_way_out_and_writes_nothing(
        self, wish: str, memory: Door, ids: Mapping[str, str]
    ) -> None:
        code, features, ask = WISHES[wish]
        self.skip_without(*features.split())
        before = plain(memory.status())
        with pytest.raises(MnemicError) as refused:
            ask(memory, ids)
        assert refused.value.code == code
        assert refused.value.recovery
        assert plain(memory.status()) == before

    @pytest.mark.parametrize("stranger", STRANGERS)
    def test_what_no_verb_knows_is_refused(
        self, stranger: str, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        with pytest.raises((MnemicError, AttributeError, TypeError)):
            STRANGERS[stranger](memory, ids)
        assert version_of(memory) == before

    @pytest.mark.parametrize("limit", [0, 1001])
    @pytest.mark.parametrize("listing", LIMITED)
    def test_no_listing_is_endless(
        self, listing: str, limit: int, memory: Door, ids: Mapping[str, str]
    ) -> None:
        self.skip_without(listing)
        with pytest.raises(MnemicError) as refused:
            LIMITED[listing](memory, ids, limit=limit)
        assert (refused.value.code, bool(refused.value.recovery)) == ("field-refused", True)
        assert plain(LIMITED[listing](memory, ids, limit=1000)) is not None

    # --- commands that are sent again -----------------------------------------------------------

    @needs("command_id")
    @pytest.mark.parametrize("verb", WRITING)
    def test_a_command_sent_again_is_answered_as_before_and_done_once(
        self, verb: str, memory: Door, ids: Mapping[str, str]
    ) -> None:
        its = self.prepared(verb, memory, ids)
        before = version_of(memory)
        first = plain(WRITING[verb](memory, its, command_id="mine"))
        written = version_of(memory)
        assert plain(WRITING[verb](memory, its, command_id="mine")) == first
        assert version_of(memory) == written > before

    @needs("command_id")
    def test_a_command_id_is_good_for_one_request(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        memory.forget(ids["tea"], command_id="mine")
        before = version_of(memory)
        with pytest.raises(MnemicError) as refused:
            memory.forget(ids["oil"], command_id="mine")
        assert (refused.value.code, bool(refused.value.recovery)) == ("command-id-reused", True)
        assert version_of(memory) == before

    # --- doors beside each other ----------------------------------------------------------------

    def test_two_doors_on_one_space_tell_the_same(
        self, opened: Callable[..., Door], memory: Door, ids: Mapping[str, str]
    ) -> None:
        other = opened()
        assert plain(other.block(ids["gate"])) == plain(memory.block(ids["gate"]))
        other.connect(ids["tea"], ids["gate"], "supports")
        assert plain(memory.disconnect(ids["tea"], ids["gate"]))["action"] == "removed"
        assert plain(other.status()) == plain(memory.status())

    @needs("seat", "start_session", "history")
    def test_a_seat_has_a_name_and_a_session_of_its_own(self, memory: Door) -> None:
        first = memory.seat(actor="Ines")
        session = plain(first.start_session())["session_id"]
        memory.learn(LESSONS["gate"])
        memory.seat(actor="Ines", session=session).learn(LESSONS["tea"])
        started, learned, said = plain(memory.history(limit=3))
        assert (started["kind"], started["actor"]) == ("session-started", "Ines")
        assert (learned["actor"] != "Ines", learned["session_id"]) == (True, None)
        assert (said["actor"], said["session_id"]) == ("Ines", session)
        with pytest.raises(MnemicError) as refused:
            memory.seat(actor="Omar", session=session)
        assert (refused.value.code, bool(refused.value.recovery)) == ("session-state", True)

    @needs("seat")
    def test_a_seat_may_be_for_reading_or_for_one_version(self, memory: Door) -> None:
        learned(memory, LESSONS["gate"])
        before = version_of(memory)
        readers = memory.seat(actor="Ines", read_only=True)
        with pytest.raises(MnemicError) as refused:
            readers.learn(LESSONS["tea"])
        assert (refused.value.code, version_of(readers)) == ("view-read-only", before)
        bound = memory.seat(actor="Ines", version=before)
        learned(bound, LESSONS["tea"])
        assert version_of(bound) == before + 1
        with pytest.raises(MnemicError) as late:
            memory.seat(actor="Omar", version=before).learn(LESSONS["oil"])
        assert (late.value.code, version_of(memory)) == ("version-conflict", before + 1)

    @needs("seat", "learn", "rezone", "forget")
    def test_a_seat_of_a_zone_writes_what_is_no_higher_and_changes_nothing_above(
        self, memory: Door
    ) -> None:
        ours = learned(memory, LESSONS["gate"])
        mail = memory.seat(actor="mailbox", zone="untrusted")
        own = learned(mail, LESSONS["tea"])
        assert [plain(memory.block(each))["zone"] for each in (ours, own)] == [
            "trusted",
            "untrusted",
        ]
        before = version_of(memory)
        beyond: tuple[Callable[[], Any], ...] = (
            lambda: mail.learn(LESSONS["oil"], zone="trusted"),
            lambda: mail.rezone(own, "trusted"),
            lambda: mail.forget(ours),
        )
        for reach in beyond:
            with pytest.raises(MnemicError) as refused:
                reach()
            assert (refused.value.code, bool(refused.value.recovery)) == ("forbidden", True)
        assert version_of(memory) == before
        mail.forget(own)

    @needs("read_only")
    @pytest.mark.parametrize("verb", sorted({*WRITING} - READING_TOO - {"end_session"}))
    def test_a_door_opened_for_reading_refuses_to_write(
        self,
        verb: str,
        opened: Callable[..., Door],
        memory: Door,
        ids: Mapping[str, str],
    ) -> None:
        its = self.prepared(verb, memory, ids)
        before = version_of(memory)
        with pytest.raises(MnemicError) as refused:
            WRITING[verb](opened(read_only=True), its)
        assert (refused.value.code, bool(refused.value.recovery)) == ("view-read-only", True)
        assert version_of(memory) == before

    @needs("read_only")
    def test_a_door_opened_for_reading_answers(
        self, opened: Callable[..., Door], memory: Door, ids: Mapping[str, str]
    ) -> None:
        reading, before = opened(read_only=True), version_of(memory)
        assert plain(reading.recall(LESSONS["gate"]))["block_ids"][0] == ids["gate"]
        assert plain(reading.block(ids["oil"])) == plain(memory.block(ids["oil"]))
        assert version_of(reading) == version_of(memory) == before

    def test_the_log_is_sound_after_all_this(self, memory: Door, ids: Mapping[str, str]) -> None:
        for ask in (WRITING["connect"], WRITING["outcome"], WRITING["forget"]):
            ask(memory, ids)
        verified = plain(memory.verify())
        assert (verified["sound"], verified["problem"]) == (True, None)
        assert verified["events"] == version_of(memory) + 1
