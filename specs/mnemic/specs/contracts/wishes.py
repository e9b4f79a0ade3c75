"""What is asked of a door in the tests: what it refuses, what it does not know, what writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

LONG_AGO = "1970-01-02T00:00:00+00:00"
"""When the lessons were true: so long ago that the wall clock adds nothing to any score."""
NOBODY = "0" * 16
LESSONS = {
    "gate": "the harbour gate opens at six",
    "oil": "the gate needs some oil",
    "tea": "Tomasz prefers green tea to coffee in the morning",
}
"""Two that are close to each other and one that is not, to the plane embedder and to real ones."""


Ask: TypeAlias = Callable[..., Any]
"""A verb called on a door, with the ids of the lessons."""

WISHES: dict[str, tuple[str, str, Ask]] = {
    "learn nothing": ("content-empty", "learn", lambda m, _: m.learn(" \n ")),
    "learn too much": ("content-too-long", "learn", lambda m, _: m.learn("x" * 32_769)),
    "learn under a long tag": (
        "tags-refused",
        "learn",
        lambda m, _: m.learn("x", tags=["x" * 129]),
    ),
    "learn beyond certainty": ("field-refused", "learn", lambda m, _: m.learn("x", confidence=1.5)),
    "learn of no date": (
        "field-refused",
        "learn",
        lambda m, _: m.learn("x", created_at="one of these days"),
    ),
    "revise the unknown": ("block-not-found", "revise", lambda m, _: m.revise(NOBODY, "x")),
    "revise into nothing": ("content-empty", "revise", lambda m, ids: m.revise(ids["tea"], "")),
    "forget the unknown": ("block-not-found", "forget", lambda m, _: m.forget(NOBODY)),
    "forget for too long a reason": (
        "note-too-long",
        "forget",
        lambda m, ids: m.forget(ids["tea"], "x" * 501),
    ),
    "erase the unknown": ("block-not-found", "erase", lambda m, _: m.erase(NOBODY)),
    "look at the unknown": ("block-not-found", "block", lambda m, _: m.block(NOBODY)),
    "connect with itself": (
        "self-loop",
        "connect",
        lambda m, ids: m.connect(ids["tea"], ids["tea"]),
    ),
    "connect the unknown": (
        "block-not-found",
        "connect",
        lambda m, ids: m.connect(ids["tea"], NOBODY),
    ),
    "connect too strongly": (
        "weight-out-of-range",
        "connect",
        lambda m, ids: m.connect(ids["tea"], ids["gate"], weight=1.01),
    ),
    "connect once more": (
        "edge-exists",
        "connect",
        lambda m, ids: m.connect(ids["gate"], ids["oil"], if_exists="error"),
    ),
    "connect somehow": (
        "unknown-if-exists",
        "connect",
        lambda m, ids: m.connect(ids["gate"], ids["oil"], if_exists="merge"),
    ),
    "connect with too long a note": (
        "note-too-long",
        "connect",
        lambda m, ids: m.connect(ids["gate"], ids["tea"], note="x" * 501),
    ),
    "disconnect from itself": (
        "self-loop",
        "disconnect",
        lambda m, ids: m.disconnect(ids["tea"], ids["tea"]),
    ),
    "recall in an unknown frame": (
        "frame-unknown",
        "recall",
        lambda m, _: m.recall("x", frame="nobody's"),
    ),
    "recall no block at all": ("field-refused", "recall", lambda m, _: m.recall("x", top_k=0)),
    "recall by an unknown key": (
        "field-refused",
        "recall",
        lambda m, _: m.recall("x", where={"colour": "red"}),
    ),
    "score above one": (
        "signal-out-of-range",
        "outcome",
        lambda m, ids: m.outcome([ids["tea"]], signal=1.5),
    ),
    "score nobody": ("nothing-to-score", "outcome", lambda m, _: m.outcome([], signal=1.0)),
    "score an unknown decision": (
        "decision-not-found",
        "outcome",
        lambda m, _: m.outcome(decision_id="d999", signal=1.0),
    ),
    "consolidate fewer than none": (
        "field-refused",
        "consolidate",
        lambda m, _: m.consolidate(limit=-1),
    ),
    "end no session": ("session-state", "end_session", lambda m, _: m.end_session()),
    "look back beyond the end": (
        "point-out-of-range",
        "as_of",
        lambda m, _: m.as_of(version=999).status(),
    ),
    "look back at two points": (
        "field-refused",
        "as_of",
        lambda m, _: m.as_of(version=1, hour=0.0).status(),
    ),
    "replay what was never decided": ("decision-not-found", "replay", lambda m, _: m.replay("d0")),
}
"""What is wished for: the code of the refusal, the verb, and how to ask."""

STRANGERS: dict[str, Ask] = {
    "a verb": lambda m, _: m.levitate(),
    "a field of learn": lambda m, _: m.learn("x", colour="red"),
    "a field of recall": lambda m, _: m.recall("x", mood="good"),
    "a field of connect": lambda m, ids: m.connect(ids["gate"], ids["tea"], colour="red"),
    "a field of outcome": lambda m, ids: m.outcome([ids["gate"]], signal=1.0, mood="good"),
    "a status of blocks": lambda m, _: m.blocks(status="asleep"),
}

WRITING: dict[str, Ask] = {
    "learn": lambda m, _, **own: m.learn("the lamp is new", created_at=LONG_AGO, **own),
    "learn_many": lambda m, _, **own: m.learn_many(["the lamp is new", ""], **own),
    "revise": lambda m, ids, **own: m.revise(ids["tea"], "Tomasz prefers coffee", **own),
    "forget": lambda m, ids, **own: m.forget(ids["tea"], **own),
    "erase": lambda m, ids, **own: m.erase(ids["tea"], **own),
    "rezone": lambda m, ids, **own: m.rezone(ids["tea"], "vetted", **own),
    "connect": lambda m, ids, **own: m.connect(ids["tea"], ids["gate"], weight=0.05, **own),
    "connects": lambda m, ids, **own: m.connects(
        [{"source": ids["tea"], "target": ids["gate"]}, {"source": NOBODY, "target": NOBODY}],
        **own,
    ),
    "disconnect": lambda m, ids, **own: m.disconnect(ids["gate"], ids["oil"], **own),
    "outcome": lambda m, ids, **own: m.outcome([ids["gate"], ids["tea"]], signal=0.9, **own),
    "curate": lambda m, _, **own: m.curate(**own),
    "consolidate": lambda m, _, **own: m.consolidate(relink=True, **own),
    "start_session": lambda m, _, **own: m.start_session(**own),
}
"""What writes, and may be sent again under an id."""
