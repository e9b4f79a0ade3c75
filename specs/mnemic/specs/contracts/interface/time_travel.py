"""Contract of queries of the past: views of any point, the log, and differences."""
# ruff: noqa: PLR2004 - expected values stand as they are

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.contracts.interface.fixtures import (
    Interface,
    InterfaceFixture,
    Wall,
    learned,
    needs,
    version_of,
)
from mnemic.specs.contracts.interface.sample_requests import LESSONS, READING_TOO, WRITING
from mnemic.specs.contracts.interface.view_queries import ONLY_PAST, VIEW_QUERIES
from mnemic.specs.strategies.clocks import HOUR_US

NEW_YEAR = "2026-01-01T00:00:00+00:00"
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


class TimeTravel(InterfaceFixture):
    """The part of `InterfaceContract` about views, the log and differences."""

    @pytest.fixture
    def story(self, memory: Interface, ids: Mapping[str, str]) -> dict[str, str]:
        """Write events of many kinds; return the ids of blocks, a composition and a decision."""
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

    def answers(
        self, view: Interface, story: Mapping[str, str], *, past: bool = True
    ) -> dict[str, Any]:
        """Return the answers of *view* to every query that this interface supports."""
        return {
            name: plain(ask(view, story))
            for name, (features, ask) in VIEW_QUERIES.items()
            if self.lacks.isdisjoint(f"as_of.{each}" for each in features.split())
            and (past or name not in ONLY_PAST)
        }

    # --- views ----------------------------------------------------------------------------------

    def test_past_views_do_not_change(self, memory: Interface, story: Mapping[str, str]) -> None:
        version = version_of(memory)
        answers = self.answers(memory.as_of(version=version), story)
        memory.forget(story["gate"])
        memory.disconnect(story["gate"], story["tea"])
        memory.label(story["composition"], "dead_end")
        memory.outcome([story["tea"], story["oil"]], signal=1.0)
        learned(memory, "the harbour gate opens at seven")
        memory.consolidate()
        memory.recall(LESSONS["gate"])
        again = self.answers(memory.as_of(version=version), story)
        assert {name for name in answers if again[name] != answers[name]} == set()
        assert (answers["the counts"]["version"], answers["the counts"]["active"]) == (version, 3)

    @needs("clock")
    def test_the_live_memory_and_its_view_agree(
        self, memory: Interface, story: Mapping[str, str]
    ) -> None:
        view = memory.as_of(version=version_of(memory))
        present, past = (self.answers(each, story, past=False) for each in (memory, view))
        assert {name for name in past if present[name] != past[name]} == set()

    @needs("clock", "start_session")
    def test_a_point_can_be_named_in_many_ways(
        self, memory: Interface, story: Mapping[str, str], wall: Wall
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
        first, second, third = (self.answers(view, story) for view in views)
        assert first == second == third
        assert plain(memory.as_of(hour=0.5).block(story["gate"]))["status"] == "active"
        assert plain(memory.as_of(hour=0.75).block(story["gate"]))["status"] == "archived"

    @needs("clock", "start_session")
    def test_decay_is_evaluated_at_the_hour_of_the_view(
        self, memory: Interface, ids: Mapping[str, str], wall: Wall
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
    def test_a_decision_names_the_version_it_read(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        recalled = plain(memory.recall(LESSONS["gate"]))
        memory.forget(ids["gate"])
        view = memory.as_of(decision=recalled["decision_id"])
        assert plain(view.status())["version"] == before
        assert plain(view.recall(LESSONS["gate"])) == {**recalled, "decision_id": None}

    @needs("as_of", "as_of.now")
    def test_ages_can_be_evaluated_at_another_date(self, memory: Interface) -> None:
        memory.learn("the lamp is new", created_at=NEW_YEAR)
        memory.consolidate()
        version = version_of(memory)
        asked = {"query": "which lamp?", "frame": "attention", "detail": "full"}
        answers = [
            plain(memory.as_of(version=version, now=now).recall(**asked))
            for now in (NEW_YEAR, "2026-01-15T00:00:00+00:00")
        ]
        found = [answer["blocks"][0]["recency_score"] for answer in answers]
        assert found == [1.0, 0.496585304]  # exp(-.05 * 14)

    def test_a_view_excludes_later_events(
        self, memory: Interface, story: Mapping[str, str]
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

    def test_a_view_writes_nothing(self, memory: Interface, story: Mapping[str, str]) -> None:
        before = version_of(memory)
        view = memory.as_of(version=before)
        its = {**story, "label": "l1", "version": str(before)}
        for operation in sorted({*WRITING} - READING_TOO):
            with pytest.raises((MnemicError, AttributeError, TypeError)):
                WRITING[operation](view, its)
        view.recall(LESSONS["gate"])
        assert version_of(memory) == before

    # --- the log --------------------------------------------------------------------------------

    @needs("history", "log")
    def test_the_log_lists_events_in_order_and_in_pages(
        self, memory: Interface, ids: Mapping[str, str]
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
    def test_the_timeline_counts_events_by_time(self, memory: Interface, wall: Wall) -> None:
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
    def test_diff_lists_changes_between_two_points(
        self, memory: Interface, ids: Mapping[str, str]
    ) -> None:
        before = version_of(memory)
        memory.connect(ids["tea"], ids["gate"], "supports")
        new = learned(memory, "the lamp is new")
        memory.outcome([ids["oil"]], signal=1.0)
        memory.forget(ids["tea"])
        found = plain(memory.diff(before))
        same = plain(memory.diff(str(before), "now", limit=50))
        same["after"]["at"] = found["after"]["at"]  # the clock of some interfaces has gone on
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
