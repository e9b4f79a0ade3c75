"""Sample requests for tests of an interface: unknown ones, writing ones and long ones."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.interface.answers import plain
from mnemic.specs.strategies.vectors import PlaneEmbedder

LONG_AGO = "1970-01-02T00:00:00+00:00"
"""Creation date of the lessons: so long ago that the wall clock adds nothing to any score."""
UNKNOWN_ID = "0" * 16
LESSONS = {
    "gate": "the harbour gate opens at six",
    "oil": "the gate needs some oil",
    "tea": "Tomasz prefers green tea to coffee in the morning",
}
"""Two that are close to each other and one that is not, for the plane embedder and real ones."""
WHY_TEA = "fnv1a64:0bb46c37e1321d3c"
"""Digest of the question ``why tea?``, which compositions of the contract are recorded with."""


Ask: TypeAlias = Callable[..., Any]
"""A call of an operation on an interface, with the ids of the lessons and of other objects."""

UNKNOWN_CALLS: dict[str, Ask] = {
    "an operation": lambda m, _: m.levitate(),
    "a field of learn": lambda m, _: m.learn("x", colour="red"),
    "a field of recall": lambda m, _: m.recall("x", mood="good"),
    "a field of connect": lambda m, ids: m.connect(ids["gate"], ids["tea"], colour="red"),
    "a field of outcome": lambda m, ids: m.outcome([ids["gate"]], signal=1.0, mood="good"),
    "a status of blocks": lambda m, _: m.blocks(status="asleep"),
}

WRITING: dict[str, Ask] = {
    "learn": lambda m, _, **own: m.learn("the lamp is new", created_at=LONG_AGO, **own),
    "learn_many": lambda m, _, **own: m.learn_many(["the lamp is new", ""], **own),
    "add": lambda m, _, **own: m.add(
        [{"role": "user", "content": "I live in Graz.", "created_at": LONG_AGO}, {}],
        extract="rules",
        **own,
    ),
    "adopt_extraction": lambda m, _, **own: m.adopt_extraction("trial", **own),
    "revise": lambda m, ids, **own: m.revise(ids["tea"], "Tomasz prefers coffee", **own),
    "forget": lambda m, ids, **own: m.forget(ids["tea"], **own),
    "forget_many": lambda m, _, **own: m.forget_many({"category": "knowledge"}, "why", **own),
    "erase": lambda m, ids, **own: m.erase(ids["tea"], **own),
    "erase_many": lambda m, _, **own: m.erase_many({"category": "knowledge"}, **own),
    "rezone": lambda m, ids, **own: m.rezone(ids["tea"], "vetted", **own),
    "connect": lambda m, ids, **own: m.connect(ids["tea"], ids["gate"], weight=0.05, **own),
    "connects": lambda m, ids, **own: m.connects(
        [
            {"source": ids["tea"], "target": ids["gate"]},
            {"source": UNKNOWN_ID, "target": UNKNOWN_ID},
        ],
        **own,
    ),
    "disconnect": lambda m, ids, **own: m.disconnect(ids["gate"], ids["oil"], **own),
    "outcome": lambda m, ids, **own: m.outcome([ids["gate"], ids["tea"]], signal=0.9, **own),
    "curate": lambda m, _, **own: m.curate(**own),
    "consolidate": lambda m, _, **own: m.consolidate(relink=True, **own),
    "dream": lambda m, _, **own: m.dream(relink=True, **own),
    "start_session": lambda m, _, **own: m.start_session(**own),
    "recall": lambda m, _, **own: m.recall(LESSONS["gate"], **own),
    "deep_reference": lambda m, _, **own: m.deep_reference(LESSONS["gate"], **own),
    "connect_by_query": lambda m, _, **own: m.connect_by_query(
        LESSONS["tea"], LESSONS["gate"], **own
    ),
    "compose": lambda m, ids, **own: m.compose([ids["tea"], ids["gate"]], **own),
    "calibrate": lambda m, _, **own: m.calibrate(**own),
    "adopt_policy": lambda m, _, **own: m.adopt_policy(evolve(DEFAULT, name="other"), **own),
    "revert": lambda m, its, **own: m.revert(int(its["version"]), int(its["version"]), **own),
    "quarantine": lambda m, ids, **own: m.quarantine({"block": ids["tea"]}, "why", **own),
    "revert_source": lambda m, ids, **own: m.revert_source({"block": ids["tea"]}, **own),
    "end_session": lambda m, _, **own: m.end_session(**own),
    "label": lambda m, its, **own: m.label(its["composition"], "helpful", **own),
    "retract_label": lambda m, its, **own: m.retract_label(its["label"], **own),
    "composed_graph": lambda m, its, **own: m.composed_graph(
        "label", event_id=its["composition"], outcome_type="submitted", **own
    ),
    "erase_space": lambda m, _, **own: m.erase_space("default", **own),
}
"""Writing operations, which can be repeated with the same command id."""


def composed(memory: Any, ids: Mapping[str, str]) -> dict[str, str]:
    """Compose two of the lessons and label the composition."""
    made = plain(memory.compose([ids["gate"], ids["tea"]], query="why tea?"))["composition_id"]
    label = plain(memory.label(made, "helpful"))["label_id"]
    return {"composition": made, "label": label}


def started(memory: Any, _: Mapping[str, str]) -> dict[str, str]:
    """Start a session."""
    return {"session": plain(memory.start_session())["session_id"]}


def judged(memory: Any, _: Mapping[str, str]) -> dict[str, str]:
    """Recall two lessons often, and judge the answers: only the first ones served."""
    for served in (*(True,) * 6, *(False,) * 20):
        recalled = plain(memory.recall(LESSONS["gate"], frame="attention", min_probability=0.0))
        memory.outcome(decision_id=recalled["decision_id"], signal=float(served))
    return {}


def tunable(memory: Any, _: Mapping[str, str]) -> bool:
    """Recall often, and judge the answers: as few as a policy search takes."""
    for turn in range(50):
        recalled = plain(memory.recall(LESSONS["gate"], top_k=1 + turn % 2))
        memory.outcome(decision_id=recalled["decision_id"], signal=float(turn % 3 == 0))
    return True


def learned(memory: Any, _: Mapping[str, str]) -> dict[str, str]:
    """Learn one more lesson, which stays in the inbox."""
    return {"lamp": plain(memory.learn("the lamp is new", created_at=LONG_AGO))["block_id"]}


def faded(memory: Any, ids: Mapping[str, str]) -> dict[str, str]:
    """Connect two lessons so weakly that a sweep removes the edge."""
    memory.connect(ids["tea"], ids["gate"], weight=0.05)
    return {}


def forgotten(memory: Any, ids: Mapping[str, str]) -> dict[str, str]:
    """Forget a lesson, and return the version of that event."""
    memory.forget(ids["tea"])
    return {"version": str(plain(memory.status())["version"])}


def extracted(memory: Any, _: Mapping[str, str]) -> dict[str, str]:
    """Add a message, and let an extractor read it on a fork."""
    memory.add([{"role": "user", "content": "I live in Graz."}])
    memory.re_extract("rules", "trial")
    return {}


FIRST: dict[str, tuple[tuple[str, ...], Ask]] = {
    "adopt_extraction": (("add", "re_extract"), extracted),
    "consolidate": ((), learned),
    "dream": ((), learned),
    "curate": ((), faded),
    "calibrate": (("outcome", "recall"), judged),
    "revert": ((), forgotten),
    "end_session": (("start_session",), started),
    "label": (("compose", "label"), composed),
    "retract_label": (("compose", "label"), composed),
    "composed_graph": (("compose", "label"), composed),
}
"""Prerequisites of some of these: the operations that they need, and the calls."""
READING_TOO = frozenset({"recall", "deep_reference"})
"""Operations that write only if writing is allowed."""

LONG: dict[str, Ask] = {
    "add": lambda m, _, **own: m.add(
        [{"role": "user", "content": "I live in Graz."}], extract="rules", **own
    ),
    "re_extract": lambda m, _, **own: (
        m.add([{"role": "user", "content": "I live in Graz."}]),
        m.re_extract("rules", "trial", **own),
    )[-1],
    "forget_many": lambda m, _, **own: m.forget_many({"category": "knowledge"}, **own),
    "erase_many": lambda m, _, **own: m.erase_many({"category": "knowledge"}, **own),
    "consolidate": lambda m, _, **own: m.consolidate(**own),
    "dream": lambda m, _, **own: m.dream(**own),
    "verify": lambda m, _, **own: m.verify(**own),
    "replay_all": lambda m, _, **own: m.replay_all(**own),
    "backtest": lambda m, _, **own: m.backtest([DEFAULT], **own),
    "tune": lambda m, its, **own: tunable(m, its) and m.tune(evaluations=4, **own),
    "verify_receipt": lambda m, its, **own: m.verify_receipt(
        plain(m.receipt(its["decision"])), **own
    ),
    "export": lambda m, its, **own: m.export(Path(its["folder"]) / "out.jsonl", **own),
    "fork": lambda m, _, **own: m.fork("trial", **own),
    "reembed": lambda m, _, **own: m.reembed(PlaneEmbedder("another plane"), **own),
}
"""Long operations that report progress, given a decision and a folder."""
