"""The demo's sample keeps its promises: shape, times, keys, counts, questions asked again."""

from __future__ import annotations

import json
import re
from collections import Counter
from datetime import UTC, datetime, timedelta
from itertools import chain, pairwise
from pathlib import Path
from typing import Any

import pytest

from mnemic.kernel.model.identity import normalised

Action = dict[str, Any]

SAMPLE = Path(__file__).parents[2] / "examples" / "fortnight.jsonl"

FIELDS: dict[str, tuple[set[str], set[str]]] = {
    "session": ({"name"}, set()),
    "learn": ({"content", "category", "tags"}, {"key", "author", "thread"}),
    "recall": ({"key", "query", "top_k"}, set()),
    "outcome": ({"signal", "source"}, {"of", "keys"}),
    "connect": ({"source", "target", "relation", "note"}, set()),
    "revise": ({"key", "replaces", "content", "reason"}, set()),
    "consolidate": (set(), set()),
    "curate": (set(), set()),
    "end": (set(), set()),
}
"""What a line must have and may have besides ``at`` and ``do``."""

COUNTS = {
    "session": (9, 12),
    "end": (9, 12),
    "learn": (140, 160),
    "recall": (12, 18),
    "outcome": (8, 12),
    "connect": (8, 12),
    "revise": (3, 5),
    "consolidate": (2, 4),
    "curate": (2, 4),
}
"""How many lines of each kind make a fortnight: at least and at most."""

RESEND = "How long does a gauge wait before it resends a reading?"
SPIKES = "What causes the 04:10 jumps at Tannery Bridge?"


@pytest.fixture(scope="module")
def actions() -> list[Action]:
    return [json.loads(line) for line in SAMPLE.read_text(encoding="utf-8").splitlines()]


@pytest.fixture(scope="module")
def sessions(actions: list[Action]) -> list[list[Action]]:
    """The actions cut at each start, so that every part begins with its own session line."""
    starts = [row for row, action in enumerate(actions) if action["do"] == "session"]
    return [actions[start:stop] for start, stop in pairwise([*starts, len(actions)])]


def instant(action: Action) -> datetime:
    return datetime.fromisoformat(action["at"])


def of_kind(actions: list[Action], *kinds: str) -> list[Action]:
    return [action for action in actions if action["do"] in kinds]


def steps(actions: list[Action]) -> list[timedelta]:
    return [instant(later) - instant(earlier) for earlier, later in pairwise(actions)]


def breaks(sessions: list[list[Action]]) -> list[timedelta]:
    return [instant(after[0]) - instant(before[-1]) for before, after in pairwise(sessions)]


def between(low: float, value: float, high: float) -> bool:
    return low <= value <= high


def test_every_line_has_the_fields_of_its_kind(actions: list[Action]) -> None:
    wrong = [
        action
        for action in actions
        for must, may in [FIELDS[action["do"]]]
        if not must <= action.keys() - {"at", "do"} <= must | may
    ]
    assert wrong == []


def test_every_time_is_utc_and_later_than_the_one_before(actions: list[Action]) -> None:
    assert {instant(action).tzinfo for action in actions} == {UTC}
    assert [step for step in steps(actions) if step <= timedelta(0)] == []


def test_every_session_starts_once_and_ends_once(sessions: list[list[Action]]) -> None:
    for session in sessions:
        kinds = [action["do"] for action in session]
        assert (kinds[0], kinds[-1]) == ("session", "end")
        assert (kinds.count("session"), kinds.count("end")) == (1, 1)


def test_no_line_is_outside_a_session(actions: list[Action], sessions: list[list[Action]]) -> None:
    assert list(chain.from_iterable(sessions)) == actions


def test_a_session_lasts_one_to_four_hours(sessions: list[list[Action]]) -> None:
    lengths = [instant(session[-1]) - instant(session[0]) for session in sessions]
    assert [span for span in lengths if not timedelta(hours=1) <= span <= timedelta(hours=4)] == []


def test_lines_of_a_session_are_2_to_40_minutes_apart(sessions: list[list[Action]]) -> None:
    odd = [
        step
        for session in sessions
        for step in steps(session)
        if not timedelta(minutes=2) <= step <= timedelta(minutes=40)
    ]
    assert odd == []


def test_the_sample_covers_fourteen_days(actions: list[Action]) -> None:
    assert (instant(actions[-1]).date() - instant(actions[0]).date()).days + 1 == 14


def test_one_holiday_of_four_days_is_in_the_middle(sessions: list[list[Action]]) -> None:
    long = [row for row, gap in enumerate(breaks(sessions), 1) if gap >= timedelta(days=2)]
    assert [sessions[row][0]["name"] for row in long] == ["After Easter"]
    assert timedelta(days=4) <= breaks(sessions)[long[0] - 1] < timedelta(days=5)
    assert long == [len(sessions) // 2]


@pytest.mark.parametrize(("kind", "bounds"), COUNTS.items())
def test_there_are_enough_lines_of_each_kind(
    actions: list[Action], kind: str, bounds: tuple[int, int]
) -> None:
    assert between(bounds[0], len(of_kind(actions, kind)), bounds[1])


def test_every_category_of_memory_occurs(actions: list[Action]) -> None:
    categories = Counter(action["category"] for action in of_kind(actions, "learn"))
    assert categories.keys() == {"knowledge", "observation", "message", "decision", "preference"}
    assert [name for name, count in categories.items() if count < 10] == []


def test_the_agent_has_a_constitution_values_goals_and_constraints(actions: list[Action]) -> None:
    tags = Counter(tag for action in of_kind(actions, "learn") for tag in action["tags"])
    own = {tag: count for tag, count in tags.items() if tag.startswith("self/")}
    assert own.keys() == {"self/constitutional", "self/value", "self/goal", "self/constraint"}
    assert [tag for tag, count in own.items() if count < 2] == []


def test_a_memory_is_40_to_220_characters_long(actions: list[Action]) -> None:
    contents = [action["content"] for action in of_kind(actions, "learn", "revise")]
    assert [content for content in contents if not between(40, len(content), 220)] == []


def test_tags_and_notes_keep_within_the_limits(actions: list[Action]) -> None:
    learned = of_kind(actions, "learn")
    assert [action for action in learned if not between(1, len(set(action["tags"])), 64)] == []
    tags = {tag for action in learned for tag in action["tags"]}
    assert [tag for tag in tags if len(tag) > 128 or not re.fullmatch(r"[a-z0-9/-]+", tag)] == []
    notes = [action["note"] for action in of_kind(actions, "connect")]
    assert [note for note in notes if len(note) > 500] == []


def test_every_message_has_an_author_and_a_thread(actions: list[Action]) -> None:
    messages = [action for action in of_kind(actions, "learn") if action["category"] == "message"]
    assert [message for message in messages if not message.keys() >= {"author", "thread"}] == []


def test_no_memory_repeats_another(actions: list[Action]) -> None:
    seen = Counter(normalised(action["content"]) for action in of_kind(actions, "learn", "revise"))
    assert [content for content, count in seen.items() if count > 1] == []


def test_every_signal_lies_between_0_and_1(actions: list[Action]) -> None:
    signals = [action["signal"] for action in of_kind(actions, "outcome")]
    assert [signal for signal in signals if not between(0, signal, 1)] == []


def test_outcomes_good_and_bad_name_a_recall_or_memories(actions: list[Action]) -> None:
    outcomes = of_kind(actions, "outcome")
    assert [action for action in outcomes if ("of" in action) == ("keys" in action)] == []
    assert {action["signal"] < 0.2 for action in outcomes} == {True, False}


def test_a_key_is_given_once(actions: list[Action]) -> None:
    keys = Counter(action["key"] for action in actions if "key" in action)
    assert [key for key, count in keys.items() if count > 1] == []


def test_a_key_is_named_only_while_its_memory_is_active(actions: list[Action]) -> None:
    standing: set[str] = set()
    asked: set[str] = set()
    dangling: list[Action] = []
    for action in actions:
        match action:
            case {"do": "learn", "key": key}:
                standing.add(key)
            case {"do": "recall", "key": key}:
                asked.add(key)
            case {"do": "revise", "key": key, "replaces": old}:
                dangling += [action] * (old not in standing)
                standing = standing - {old} | {key}
            case {"do": "connect", "source": source, "target": target}:
                dangling += [action] * (not {source, target} <= standing or source == target)
            case {"do": "outcome", "keys": keys}:
                dangling += [action] * (not set(keys) <= standing)
            case {"do": "outcome", "of": decision}:
                dangling += [action] * (decision not in asked)
            case _:
                pass
    assert dangling == []


def test_a_memory_has_a_key_only_if_something_names_it(actions: list[Action]) -> None:
    given = {action["key"] for action in of_kind(actions, "learn") if "key" in action}
    named = {action.get(end) for action in actions for end in ("source", "target", "replaces")}
    scored = {key for action in actions for key in action.get("keys", ())}
    assert given - named - scored == set()


def test_the_corrections_are_these(actions: list[Action]) -> None:
    revised = [(action["replaces"], action["key"]) for action in of_kind(actions, "revise")]
    assert revised == [
        ("resend-30", "resend-60"),
        ("silent-coverage", "silent-space"),
        ("amber-240", "amber-225"),
        ("diag-battery", "diag-mill"),
        ("resend-60", "resend-spread"),
    ]


def test_the_questions_asked_more_than_once_are_these(actions: list[Action]) -> None:
    asked: dict[str, list[str]] = {}
    for action in of_kind(actions, "recall"):
        asked.setdefault(action["query"], []).append(action["key"])
    assert {query: keys for query, keys in asked.items() if len(keys) > 1} == {
        RESEND: ["q-resend-1", "q-resend-2", "q-resend-3", "q-resend-4"],
        SPIKES: ["q-spike-1", "q-spike-2", "q-spike-3"],
        "How many gauges are still on 2G?": ["q-2g-1", "q-2g-2"],
        "Why did two pilot gauges stay silent after the push?": ["q-silent-1", "q-silent-2"],
        "At what level does Tannery Bridge go amber?": ["q-amber-1", "q-amber-2"],
    }


@pytest.mark.parametrize(
    ("query", "story"),
    [
        (
            RESEND,
            [
                "resend-30",
                "q-resend-1",
                "resend-60",
                "q-resend-2",
                "After Easter",
                "q-resend-3",
                "resend-spread",
                "q-resend-4",
            ],
        ),
        (
            SPIKES,
            ["diag-battery", "q-spike-1", "q-spike-2", "After Easter", "diag-mill", "q-spike-3"],
        ),
    ],
)
def test_the_question_is_asked_around_its_corrections_and_the_holiday(
    actions: list[Action], query: str, story: list[str]
) -> None:
    answer = [
        action.get("key", action.get("name"))
        for action in actions
        if action.get("query", query) == query
    ]
    assert [name for name in answer if name in story] == story


def test_the_count_of_2g_gauges_is_restated_and_always_adds_up(actions: list[Action]) -> None:
    """Near-duplicates on purpose: each count should displace the one before."""
    shape = re.compile(r"By the site register, (\d+) of the 212 gauges .* the other (\d+) .*")
    matches = [shape.fullmatch(action["content"]) for action in of_kind(actions, "learn")]
    counts = [(int(match[1]), int(match[2])) for match in matches if match]
    assert counts == [(148, 64), (138, 74), (136, 76), (99, 113), (96, 116)]
    assert {sum(pair) for pair in counts} == {212}
