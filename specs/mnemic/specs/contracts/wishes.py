"""What is asked of a door in the tests: what it does not know, what writes, what takes long."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeAlias

from attrs import evolve

from mnemic.kernel.policy import DEFAULT
from mnemic.specs.contracts.answers import plain
from mnemic.specs.strategies.vectors import PlaneEmbedder

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
"""A verb called on a door, with the ids of the lessons and of what else there is."""

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
    "dream": lambda m, _, **own: m.dream(relink=True, **own),
    "start_session": lambda m, _, **own: m.start_session(**own),
    "recall": lambda m, _, **own: m.recall(LESSONS["gate"], **own),
    "deep_reference": lambda m, _, **own: m.deep_reference(LESSONS["gate"], **own),
    "connect_by_query": lambda m, _, **own: m.connect_by_query(
        LESSONS["tea"], LESSONS["gate"], **own
    ),
    "compose": lambda m, ids, **own: m.compose([ids["tea"], ids["gate"]], **own),
    "adopt_policy": lambda m, _, **own: m.adopt_policy(evolve(DEFAULT, name="other"), **own),
    "revert": lambda m, its, **own: m.revert(int(its["version"]), int(its["version"]), **own),
    "end_session": lambda m, _, **own: m.end_session(**own),
    "label": lambda m, its, **own: m.label(its["composition"], "helpful", **own),
    "retract_label": lambda m, its, **own: m.retract_label(its["label"], **own),
    "composed_graph": lambda m, its, **own: m.composed_graph(
        "label", event_id=its["composition"], outcome_type="submitted", **own
    ),
    "erase_space": lambda m, _, **own: m.erase_space(**own),
}
"""What writes, and may be sent again under an id."""


def composed(memory: Any, ids: Mapping[str, str]) -> dict[str, str]:
    """Compose two of the lessons and label that."""
    made = plain(memory.compose([ids["gate"], ids["tea"]], query="why tea?"))["composition_id"]
    label = plain(memory.label(made, "helpful"))["label_id"]
    return {"composition": made, "label": label}


def started(memory: Any, _: Mapping[str, str]) -> dict[str, str]:
    """Start a session."""
    return {"session": plain(memory.start_session())["session_id"]}


def learned(memory: Any, _: Mapping[str, str]) -> dict[str, str]:
    """Learn a lesson more, which waits in the inbox."""
    return {"lamp": plain(memory.learn("the lamp is new", created_at=LONG_AGO))["block_id"]}


def faded(memory: Any, ids: Mapping[str, str]) -> dict[str, str]:
    """Connect two lessons so weakly that it does not last."""
    memory.connect(ids["tea"], ids["gate"], weight=0.05)
    return {}


def forgotten(memory: Any, ids: Mapping[str, str]) -> dict[str, str]:
    """Forget a lesson, and return where the log says so."""
    memory.forget(ids["tea"])
    return {"version": str(plain(memory.status())["version"])}


FIRST: dict[str, tuple[tuple[str, ...], Ask]] = {
    "consolidate": ((), learned),
    "dream": ((), learned),
    "curate": ((), faded),
    "revert": ((), forgotten),
    "end_session": (("start_session",), started),
    "label": (("compose", "label"), composed),
    "retract_label": (("compose", "label"), composed),
    "composed_graph": (("compose", "label"), composed),
}
"""What has to come before some of these: the verbs it takes, and how."""
READING_TOO = frozenset({"recall", "deep_reference"})
"""What writes only where it may."""

LONG: dict[str, Ask] = {
    "consolidate": lambda m, _, **own: m.consolidate(**own),
    "dream": lambda m, _, **own: m.dream(**own),
    "verify": lambda m, _, **own: m.verify(**own),
    "replay_all": lambda m, _, **own: m.replay_all(**own),
    "backtest": lambda m, _, **own: m.backtest([DEFAULT], **own),
    "verify_receipt": lambda m, its, **own: m.verify_receipt(
        plain(m.receipt(its["decision"])), **own
    ),
    "export": lambda m, its, **own: m.export(Path(its["folder"]) / "out.jsonl", **own),
    "fork": lambda m, _, **own: m.fork("trial", **own),
    "reembed": lambda m, _, **own: m.reembed(PlaneEmbedder("another plane"), **own),
}
"""What takes long and says how far it is, given a decision and a folder."""
