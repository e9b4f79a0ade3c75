"""How a door tells of the past: views of any point, the log, and what changed."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.specs.contracts.answers import plain
from mnemic.specs.contracts.doorsteps import Door, Doorstep, Wall, learned, needs, version_of
from mnemic.specs.contracts.looks import LOOKS, ONLY_PAST
from mnemic.specs.contracts.wishes import LESSONS, READING_TOO, WRITING
from mnemic.specs.strategies.clocks import HOUR_US

NEW_YEAR = "2026-01-01T00:00:00+00:00"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class Past(Doorstep):
    """The part of `DoorContract` about views, the log and what changed."""

    @pytest.fixture
    def story(self, memory: Door, ids: Mapping[str, str]) -> dict[str, str]:
        """Let some of everything happen; return the ids of blocks, a composition, a decision."""
        self.skip_without("compose", "label", "as_of")
        memory.connect(ids["tea"], ids["gate"], "supports", note="he opens it")
        composed = plain(memory.compose([ids["gate"], ids["tea"]], query="why tea?"))
        memory.label(composed["composition_id"], "helpful")
        recalled = plain(memory.recall(LESSONS["gate"], top_k=2))
        memory.learn(
            "the lamp is new", tags=["lamp"], category="observation", author="Ines", thread="rota"
        )
        return {
            **ids,
            "composition": composed["composition_id"],
            "decision": recalled["decision_id"],
        }

    def told(self, view: Door, story: Mapping[str, str], *, past: bool = True) -> dict[str, Any]:
        """Return what *view* answers to every question that this door knows."""
        return {
            name: plain(ask(view, story))
            for name, (features, ask) in LOOKS.items()
            if self.lacks.isdisjoint(f"as_of.{each}" for each in features.split())
            and (past or name not in ONLY_PAST)
        }

    # --- views ----------------------------------------------------------------------------------

    def test_the_past_stays_as_it_was_told(self, memory: Door, story: Mapping[str, str]) -> None:
        version = version_of(memory)
        told = self.told(memory.as_of(version=version), story)
        memory.forget(story["gate"])
        memory.disconnect(story["gate"], story["tea"])
        memory.label(story["composition"], "dead_end")
        memory.outcome([story["tea"], story["oil"]], signal=1.0)
        learned(memory, "the harbour gate opens at seven")
        memory.consolidate()
        memory.recall(LESSONS["gate"])
        again = self.told(memory.as_of(version=version), story)
        assert {name for name in told if again[name] != told[name]} == set()
        assert (told["the counts"]["version"], told["the counts"]["active"]) == (version, 3)

    @needs("clock")
    def test_the_present_and_its_view_tell_the_same(
        self, memory: Door, story: Mapping[str, str]
    ) -> None:
        view = memory.as_of(version=version_of(memory))
        present, past = (self.told(each, story, past=False) for each in (memory, view))
        assert {name for name in past if present[name] != past[name]} == set()

    @needs("clock", "start_session")
    def test_a_point_has_many_names(
        self, memory: Door, story: Mapping[str, str], wall: Wall
    ) -> None:
        memory.start_session()
        wall.us += HOUR_US // 2
        memory.connect(story["oil"], story["tea"], "elaborates")
        version, then = version_of(memory), EPOCH + timedelta(microseconds=wall.us)
        wall.us += HOUR_US // 4
        memory.forget(story["gate"])
        views = [
            memory.as_of(**point)
            for point in ({"version": version}, {"hour": 0.5}, {"at": then.isoformat()})
        ]
        assert [(view.version, view.hour) for view in views] == [(version, 0.5)] * 3
        first, second, third = (self.told(view, story) for view in views)
        assert first == second == third
        assert plain(memory.as_of(hour=0.5).block(story["gate"]))["status"] == "active"
        assert plain(memory.as_of(hour=0.75).block(story["gate"]))["status"] == "archived"

    @needs("clock", "start_session")
    def test_what_fades_is_told_at_the_hour_that_was_named(
        self, memory: Door, ids: Mapping[str, str], wall: Wall
    ) -> None:
        self.skip_without("as_of")
        memory.start_session()
        wall.us += HOUR_US
        memory.forget(ids["tea"])
        recencies = [
            plain(memory.as_of(hour=hour).block(ids["gate"]))["recency"] for hour in (0.0, 0.5, 1.0)
        ]
        assert recencies == [1.0, 0.995012479, 0.990049834]  # exp(-.01 * hours)

    @needs("as_of", "as_of.recall")
    def test_a_decision_names_what_it_read(self, memory: Door, ids: Mapping[str, str]) -> None:
        before = version_of(memory)
        recalled = plain(memory.recall(LESSONS["gate"]))
        memory.forget(ids["gate"])
        view = memory.as_of(decision=recalled["decision_id"])
        assert plain(view.status())["version"] == before
        assert plain(view.recall(LESSONS["gate"])) == {**recalled, "decision_id": None}

    @needs("as_of", "as_of.now")
    def test_ages_can_be_those_of_another_day(self, memory: Door) -> None:
        memory.learn("the lamp is new", created_at=NEW_YEAR)
        memory.consolidate()
        version = version_of(memory)
        recencies = [
            plain(memory.as_of(version=version, now=now).recall("which lamp?"))["blocks"][0]
            for now in (NEW_YEAR, "2026-01-15T00:00:00+00:00")
        ]
        found = [block["recency_score"] for block in recencies]
        assert found == [1.0, 0.496585304]  # exp(-.05 * 14)

    def test_a_view_does_not_know_what_came_later(
        self, memory: Door, story: Mapping[str, str]
    ) -> None:
        early = memory.as_of(version=2)
        unknown: tuple[Callable[[], Any], ...] = (
            lambda: early.block(story["tea"]),
            lambda: early.composition(story["composition"]),
            lambda: early.diff(0, story["decision"]),
        )
        for ask in unknown:
            with pytest.raises(MnemicError) as refused:
                ask()
            assert refused.value.recovery
        assert plain(early.status())["version"] == 2

    def test_a_view_writes_nothing(self, memory: Door, story: Mapping[str, str]) -> None:
        before = version_of(memory)
        view = memory.as_of(version=before)
        its = {**story, "label": "l1", "version": str(before)}
        for verb in sorted({*WRITING} - READING_TOO):
            with pytest.raises((MnemicError, AttributeError, TypeError)):
                WRITING[verb](view, its)
        view.recall(LESSONS["gate"])
        assert version_of(memory) == before

    # --- the log --------------------------------------------------------------------------------

    @needs("history", "log")
    def test_the_log_lists_events_in_order_and_in_pages(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        memory.forget(ids["tea"], "not ours")
        head = version_of(memory)
        whole = plain(memory.log(after=-1, limit=100))
        assert [each["version"] for each in whole] == [*range(head + 1)]
        assert plain(memory.log(after=1, limit=2)) == whole[2:4]
        assert plain(memory.history(limit=2)) == whole[-2:]
        behind = plain(memory.history(of=ids["tea"], limit=100))
        assert [each["kind"] for each in behind] == [
            "block-learned",
            "blocks-promoted",
            "block-forgotten",
        ]
        assert [whole[each["version"]] for each in behind] == behind
        assert behind[0]["detail"] == f"{ids['tea'][:8]} {LESSONS['tea']}"

    @needs("timeline", "clock", "start_session", "end_session")
    def test_the_timeline_tells_when_everything_happened(self, memory: Door, wall: Wall) -> None:
        for _ in range(2):
            memory.start_session()
            wall.us += HOUR_US // 2
            memory.end_session()
        found = plain(memory.timeline(bins=2, limit=1))
        assert (found["hour"], found["sessions_total"]) == (1.0, 2)
        assert found["kinds"] == {
            "policy-adopted": 1,
            "session-ended": 2,
            "session-started": 2,
            "space-opened": 1,
        }
        stretches = [(each["from_hour"], each["to_hour"]) for each in found["bins"]]
        assert stretches == [(0.0, 0.5), (0.5, 1.0)]
        assert sum(each["events"] for each in found["bins"]) == found["events"]
        (first,) = found["sessions"]
        assert (first["ended"], first["from_hour"], first["to_hour"]) == (True, 0.0, 0.5)
        (second,) = plain(memory.timeline(after=found["next_after"], limit=1))["sessions"]
        assert (second["from_hour"], second["to_hour"]) == (0.5, 1.0)

    @needs("diff")
    def test_what_changed_between_two_points_is_told(
        self, memory: Door, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        memory.connect(ids["tea"], ids["gate"], "supports")
        new = learned(memory, "the lamp is new")
        memory.outcome([ids["oil"]], signal=1.0)
        memory.forget(ids["tea"])
        found = plain(memory.diff(before))
        same = plain(memory.diff(str(before), "now", limit=50))
        same["after"]["at"] = found["after"]["at"]  # the clock of some doors has gone on
        assert same == found
        expected = {"learned": 1, "archived": 1, "evidence": 1}
        assert {name: count for name, count in found["totals"].items() if count} == expected
        assert [block["id"] for block in found["learned"]] == [new]
        assert [block["id"] for block in found["archived"]] == [ids["tea"]]
        (gained,) = found["evidence"]
        assert gained == {"block_id": ids["oil"], "gained_for": 1.0, "gained_against": 0.0}
        assert (found["before"]["version"], found["after"]["version"]) == (before, before + 4)
        between = plain(memory.diff(before, before + 1))
        (formed,) = between["edges_formed"]
        assert formed["relation"] == "supports"
