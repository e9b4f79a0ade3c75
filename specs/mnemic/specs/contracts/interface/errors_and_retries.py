"""Contract of errors, of repeated commands, and of several interfaces on one space."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    learned,
    needs,
    version_of,
)
from mnemic.specs.contracts.interface.refusals import LIMITED, REFUSED_CALLS
from mnemic.specs.contracts.interface.sample_requests import (
    FIRST,
    LESSONS,
    LONG_AGO,
    READING_TOO,
    UNKNOWN_CALLS,
    WRITING,
)


class ErrorsAndRetries(InterfaceFixture):
    """The part of `InterfaceContract` that is the same for every operation."""

    def prepared(
        self, operation: str, memory: Interface, ids: Mapping[str, str]
    ) -> Mapping[str, str]:
        """Perform the prerequisites of an operation, and return the ids that it needs."""
        features, ask = FIRST.get(operation, ((), None))
        self.skip_without(operation, *features)
        return ids if ask is None else {**ids, **ask(memory, ids)}

    # --- refusals -------------------------------------------------------------------------------

    @pytest.mark.parametrize("case", REFUSED_CALLS)
    def test_a_refusal_has_a_code_and_a_recovery_and_writes_nothing(
        self, case: str, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        code, features, ask = REFUSED_CALLS[case]
        self.skip_without(*features.split())
        before = plain(memory.status())
        with pytest.raises(MnemicError) as refused:
            ask(memory, ids)
        assert refused.value.code == code
        assert refused.value.recovery
        assert plain(memory.status()) == before

    @pytest.mark.parametrize("case", UNKNOWN_CALLS)
    def test_unknown_operations_and_arguments_are_refused(
        self, case: str, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        with pytest.raises((MnemicError, AttributeError, TypeError)):
            UNKNOWN_CALLS[case](memory, ids)
        assert version_of(memory) == before

    @pytest.mark.parametrize("limit", [0, 1001])
    @pytest.mark.parametrize("listing", LIMITED)
    def test_listings_are_limited(
        self, listing: str, limit: int, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        self.skip_without(listing)
        with pytest.raises(MnemicError) as refused:
            LIMITED[listing](memory, ids, limit=limit)
        assert (refused.value.code, bool(refused.value.recovery)) == ("field-refused", True)
        assert plain(LIMITED[listing](memory, ids, limit=1000)) is not None

    # --- repeated commands ----------------------------------------------------------------------

    @needs("command_id")
    @pytest.mark.parametrize("operation", WRITING)
    def test_a_repeated_command_is_executed_once_and_answered_alike(
        self, operation: str, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        its = self.prepared(operation, memory, ids)
        before = version_of(memory)
        first = plain(WRITING[operation](memory, its, command_id="mine"))
        written = version_of(memory)
        assert plain(WRITING[operation](memory, its, command_id="mine")) == first
        assert version_of(memory) == written > before

    @needs("command_id")
    def test_a_command_id_identifies_one_request(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        memory.forget(ids["tea"], command_id="mine")
        before = version_of(memory)
        with pytest.raises(MnemicError) as refused:
            memory.forget(ids["oil"], command_id="mine")
        assert (refused.value.code, bool(refused.value.recovery)) == ("command-id-reused", True)
        assert version_of(memory) == before

    # --- several interfaces and session handles -------------------------------------------------

    def test_two_interfaces_on_one_space_agree(
        self, opened: Callable[..., Interface], memory: Interface, ids: Mapping[str, str]
    ) -> None:
        other = opened()
        assert plain(other.block(ids["gate"])) == plain(memory.block(ids["gate"]))
        other.connect(ids["tea"], ids["gate"], "supports")
        assert plain(memory.disconnect(ids["tea"], ids["gate"]))["action"] == "removed"
        assert plain(other.status()) == plain(memory.status())

    @needs("session_handle", "start_session", "history")
    def test_a_session_handle_has_its_own_actor_and_session(self, memory: Interface) -> None:
        first = memory.session_handle(actor="Ines")
        session = plain(first.start_session())["session_id"]
        memory.learn(LESSONS["gate"])
        memory.session_handle(actor="Ines", session=session).learn(LESSONS["tea"])
        started, learned, said = plain(memory.history(limit=3))
        assert (started["kind"], started["actor"]) == ("session-started", "Ines")
        assert (learned["actor"] != "Ines", learned["session_id"]) == (True, None)
        assert (said["actor"], said["session_id"]) == ("Ines", session)
        with pytest.raises(MnemicError) as refused:
            memory.session_handle(actor="Omar", session=session)
        assert (refused.value.code, bool(refused.value.recovery)) == ("session-state", True)

    @needs("session_handle")
    def test_a_session_handle_can_be_read_only_or_expect_a_version(self, memory: Interface) -> None:
        learned(memory, LESSONS["gate"])
        before = version_of(memory)
        readers = memory.session_handle(actor="Ines", read_only=True)
        with pytest.raises(MnemicError) as refused:
            readers.learn(LESSONS["tea"])
        assert (refused.value.code, version_of(readers)) == ("view-read-only", before)
        bound = memory.session_handle(actor="Ines", version=before)
        learned(bound, LESSONS["tea"])
        assert version_of(bound) == before + 1
        with pytest.raises(MnemicError) as late:
            memory.session_handle(actor="Omar", version=before).learn(LESSONS["oil"])
        assert (late.value.code, version_of(memory)) == ("version-conflict", before + 1)

    @needs("session_handle")
    def test_a_session_handle_of_a_user_finds_what_is_theirs(self, memory: Interface) -> None:
        others = learned(memory, LESSONS["gate"])
        ines = memory.session_handle(actor="Ines", scope={"user": "ines"})
        own = learned(ines, LESSONS["gate"])
        assert own != others
        assert plain(ines.recall(LESSONS["gate"]))["block_ids"] == [own]
        assert {*plain(memory.recall(LESSONS["gate"]))["block_ids"]} == {others, own}

    @needs("session_handle", "learn", "rezone", "forget")
    def test_a_session_handle_of_a_zone_changes_nothing_above_it(self, memory: Interface) -> None:
        ours = learned(memory, LESSONS["gate"])
        mail = memory.session_handle(actor="mailbox", zone="untrusted")
        own = plain(mail.learn(LESSONS["tea"]))["block_id"]
        assert [plain(memory.block(each))["zone"] for each in (ours, own)] == [
            "trusted",
            "untrusted",
        ]
        before = version_of(memory)
        beyond: tuple[Callable[[], Any], ...] = (
            lambda: mail.learn(LESSONS["oil"], zone="trusted"),
            lambda: mail.learn(LESSONS["oil"], author="Ines"),
            lambda: mail.learn(LESSONS["oil"], created_at=LONG_AGO),
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
    @pytest.mark.parametrize("operation", sorted({*WRITING} - READING_TOO - {"end_session"}))
    def test_a_read_only_interface_refuses_writes(
        self,
        operation: str,
        opened: Callable[..., Interface],
        memory: Interface,
        ids: Mapping[str, str],
    ) -> None:
        its = self.prepared(operation, memory, ids)
        before = version_of(memory)
        with pytest.raises(MnemicError) as refused:
            WRITING[operation](opened(read_only=True), its)
        assert (refused.value.code, bool(refused.value.recovery)) == ("view-read-only", True)
        assert version_of(memory) == before

    @needs("read_only")
    def test_a_read_only_interface_answers_queries(
        self, opened: Callable[..., Interface], memory: Interface, ids: Mapping[str, str]
    ) -> None:
        reading, before = opened(read_only=True), version_of(memory)
        assert plain(reading.recall(LESSONS["gate"]))["block_ids"][0] == ids["gate"]
        assert plain(reading.block(ids["oil"])) == plain(memory.block(ids["oil"]))
        assert version_of(reading) == version_of(memory) == before

    def test_the_log_verifies_after_every_operation(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        for ask in (WRITING["connect"], WRITING["outcome"], WRITING["forget"]):
            ask(memory, ids)
        verified = plain(memory.verify())
        assert (verified["sound"], verified["problem"]) == (True, None)
        assert verified["events"] == version_of(memory) + 1
