"""Runs the rows with scenarios: steps at the interface, and the expected state after the last one.

During a scenario a checker reads the stored bytes and compares every event with the decision of the
plain reference; after the last step the columns, the reference and a handle that replays the log
from the start must have the same state. So one row tests the interface, the kernel and the
reference.

``given`` of such a row:

* ``steps``     ``[operation, words..., {options}]``; in addition to the operations of `SyncMemory`
                there are ``["wait", {hours = 2}]``, which moves the wall clock, and
                ``["mark", "one"]``, which marks a version of the log:
                ``["revert", "one", "two"]`` reverts the range between two marks
* ``active``    blocks that are learned and consolidated before the first step
* ``crowd``     ``[hub, count, cosine]``: that many more of them, around one that is named before
* ``texts``     text of a block or a question; without an entry it is its own name
* ``cosines``   ``[one, other, cosine]``: the cosine of a pair; blocks not named are dissimilar
* ``twentieths``  ``[one, other, count]``: a cosine of exactly *count* / 20, an even number
* ``tags``      tags of all these blocks
* ``embedder``  ``"bundled"`` if the meaning of words matters
* ``policy``, ``with``   see `Row.policy`

Blocks are called by the names given in the row, in results too. ``then`` may have:

* ``answer``    fields of the last answer; ``"errors.code"`` lists one field of every entry, and
                ``"len(blocks)"`` counts them
* ``refused``   code by id of what an outcome refused
* ``code``      code of the refusal of the last step; a refusal changes nothing
* ``writes``    whether the last step wrote anything
* ``edges``     every edge, ``[source, target, relation, weight, origin, count]``, by its ends
* ``anchors``   active hours of their last use, in the same order
* ``pending``   every pending connection, ``[source, target, relation]``
* ``blocks``, ``status``, ``recent_ids``   fields of blocks, of the status, of the memory

``"$none"`` means None, and ``digits`` of the row is the precision of its numbers.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

import attrs

from mnemic.adapters.embedders.bundled import BundledEmbedder
from mnemic.adapters.embedders.hashing import ScriptedEmbedder, with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.engine.opening import open_space
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import Refused
from mnemic.kernel.ports import Embedder
from mnemic.kernel.results import Result
from mnemic.projections.view import live
from mnemic.specs.rules import Row
from tests.agreement.log_checker import LogChecker
from tests.agreement.snapshots import StateDict, state_of_reference, state_of_view

SIZE = 64
IDS = {"connect": 2, "disconnect": 2, "forget": 1, "erase": 1, "block": 1}
"""How many of an operation's first words name blocks."""
HEX = re.compile("[0-9a-f]{16}")
EDGE = ("source_id", "target_id", "relation", "weight", "origin", "reinforcement_count")
NONE = "$none"
"""TOML has no word for it."""


class Stage:
    """One memory on which the steps of a row are run."""

    def __init__(self, row: Row) -> None:
        given = row.given
        self.texts: Mapping[str, str] = given.get("texts", {})
        self.digits = row.digits
        self.ids: dict[str, str] = {}
        self.marks: dict[str, int] = {}
        self.clock, self.store = ManualClock(), MemoryStore()
        bundled = given.get("embedder") == "bundled"
        self.embedder: Embedder = BundledEmbedder() if bundled else _script(row)
        self.space = self._opened(row)
        self.memory = SyncMemory(self.space, embedder=self.embedder)
        self.witness = LogChecker(self.store.log("default"))
        crowd = given.get("crowd", ("", 0))
        for name in (*given.get("active", ()), *_crowd(crowd[1])):
            self.step("learn", name, tags=given.get("tags", ()))
        if "active" in given:
            self.memory.consolidate()

    def _opened(self, row: Row | None) -> SessionHandle:
        _, space = open_space(
            self.store,
            space="default",
            policy=None if row is None else row.policy,
            clock=self.clock,
            entropy=SeededEntropy("stage"),
            actor="agent",
            synchronous="normal",
            read_only=row is None,
        )
        space.snapshot()
        return space

    # --- steps ------------------------------------------------------------------------------

    def play(self, steps: Iterable[list[Any]]) -> Any:
        """Run steps, check that refusals changed nothing, and return the last answer.

        A refusal is returned in place of an answer.
        """
        answer: Any = None
        self.witness.catch_up()
        for operation, *words in steps:
            more = words.pop() if words and isinstance(words[-1], dict) else {}
            before = self.version
            try:
                answer = self.step(operation, *words, **more)
            except Refused as refused:
                answer = refused
                assert self.version == before
            self.witness.catch_up()  # before an erasure takes away what it reads
        return answer

    def step(self, operation: str, *words: Any, **more: Any) -> Any:
        """Run one step and return its answer."""
        match operation, words:
            case "wait", ():
                return self.clock.advance(**more)
            case "mark", (name,):
                return self.marks.setdefault(name, self.version)
            case "revert", (start, end):
                words = (self.marks[start] + 1, self.marks[end])
            case "learn", (name,):
                learned = self.memory.learn(self.said(name), **more)
                assert HEX.fullmatch(learned.block_id)
                self.ids.setdefault(name, learned.block_id)
                return learned
            case "revise", (old, name):
                revised = self.memory.revise(self.id(old), self.said(name), **more)
                self.ids.setdefault(name, revised.block_id)
                return revised
            case (("outcome" | "compose"), (list() as blocks, *rest)):
                words = ([self.id(each) for each in blocks], *rest)
            case "connects", (edges,):
                return self.memory.connects([self._edge(each) for each in edges], **more)
            case (("recall" | "connect_by_query"), _):
                words = tuple(self.said(word) for word in words)
            case _:
                ids = IDS.get(operation, 0)
                words = (*(self.id(word) for word in words[:ids]), *words[ids:])
        return getattr(self.memory, operation)(*words, **more)

    def _edge(self, edge: Mapping[str, Any]) -> dict[str, Any]:
        return {**edge, "source": self.id(edge["source"]), "target": self.id(edge["target"])}

    def said(self, name: str) -> str:
        """Return the text of a block or a question."""
        return self.texts.get(name, name)

    def id(self, name: str) -> str:
        """Return the id of a block; other values are returned unchanged."""
        return self.ids.get(name, name)

    # --- state ------------------------------------------------------------------------------

    @property
    def version(self) -> int:
        return self.memory.status().version

    def state(self) -> StateDict:
        """Return the state, after checking that columns, a replay and the reference agree."""
        self.witness.catch_up()
        told = _state(self.space)
        assert told == state_of_reference(self.witness.plain)
        assert told == _state(self._opened(None))
        return told

    def edges(self, *fields: str, at: Queries | None = None) -> list[list[Any]]:
        """Return *fields* of every edge, sorted by the names of its ends.

        The ends of an automatic edge are in the order of their names.
        """
        asked = at or self.memory
        blocks = asked.blocks(limit=1000).items
        found = [self.named(edge) for block in blocks for edge in asked.edges(block.id)]
        for edge in found:
            if edge["origin"] != "agent":
                edge["source_id"], edge["target_id"] = sorted(_ends(edge))
        edges = {_ends(edge): edge for edge in found}
        return [[self.rounded(edges[ends][field]) for field in fields] for ends in sorted(edges)]

    def pending(self) -> list[list[Any]]:
        """Return the pending connections, oldest first."""
        return [
            [self.named(edge.source_id), self.named(edge.target_id), edge.relation]
            for edge in self.memory.pending_connections()
        ]

    def named(self, value: Any) -> Any:
        """Return results as plain values, with ids replaced by names."""
        names = {block: name for name, block in reversed(self.ids.items())}
        match value:
            case Result():
                return self.named(value.to_dict())
            case Mapping():
                return {key: self.named(each) for key, each in value.items()}
            case list() | tuple():
                return [self.named(each) for each in value]
            case str():
                return names.get(value, value)
            case _:
                return value

    def picked(self, told: Any, said: Mapping[str, Any]) -> dict[str, Any]:
        """Return the parts of a result that the row defines."""
        plain = {**_derived(told), **self.named(told)}
        return {path: self.rounded(_pick(plain, path.split("."))) for path in said}

    def rounded(self, value: Any) -> Any:
        """Return numbers rounded to the digits of the row, and None as the word for it."""
        match value:
            case list() | tuple():
                return [self.rounded(each) for each in value]
            case float() if self.digits is not None:
                return round(value, self.digits)
            case None:
                return NONE
            case _:
                return value


def played(row: Row) -> None:
    """Run a row and compare the result with its expectations."""
    stage, steps = Stage(row), row.given["steps"]
    stage.play(steps[:-1])
    before = stage.version
    answer = stage.play(steps[-1:])
    check(stage, row, answer=answer, before=before)


def check(stage: Stage, row: Row, *, answer: Any, before: int) -> None:
    """Compare all expectations of a row with the final state.

    Args:
        stage: After the last step.
        row: The row.
        answer: Answer of the last step, or its refusal.
        before: The version before the last step.
    """
    then, told = row.then, stage.state()
    assert told["version"] == stage.version
    assert then.get("code") == getattr(answer, "code", None)
    if "answer" in then:
        assert stage.picked(answer, then["answer"]) == then["answer"]
    if "writes" in then:
        assert (stage.version > before) is then["writes"]
    if "edges" in then:
        assert stage.edges(*EDGE) == then["edges"]
    if "anchors" in then:
        assert stage.edges("anchor_hour") == [[anchor] for anchor in then["anchors"]]
    if "pending" in then:
        assert stage.pending() == then["pending"]
    for name, said in then.get("blocks", {}).items():
        assert stage.picked(stage.memory.block(stage.id(name)), said) == said
    if "refused" in then:
        assert {each["id"]: each["code"] for each in stage.named(answer.refused)} == then["refused"]
    if "status" in then:
        assert stage.picked(stage.memory.status(), then["status"]) == then["status"]
    for name, said in then.get("recent_ids", {}).items():
        assert stage.rounded(stage.named(getattr(stage.memory, name))) == said


def _ends(edge: Mapping[str, Any]) -> tuple[str, str]:
    return edge["source_id"], edge["target_id"]


def _state(space: SessionHandle) -> StateDict:
    return state_of_view(live(space.state, active_us=0, instant_us=0))


def _derived(told: Any) -> dict[str, Any]:
    """Return the derived values of a result: the length of each list."""
    fields = {entry.name: getattr(told, entry.name) for entry in attrs.fields(type(told))}
    return {f"len({name})": len(each) for name, each in fields.items() if isinstance(each, tuple)}


def _pick(told: Any, path: list[str]) -> Any:
    """Return the value at the end of a path; for a list, the values in all entries."""
    if not path:
        return told
    if isinstance(told, list):
        return [_pick(each, path) for each in told]
    return _pick(told[path[0]], path[1:])


def _crowd(count: int) -> list[str]:
    return [f"one of a crowd, number {number}" for number in range(count)]


def _script(row: Row) -> ScriptedEmbedder:
    """Return an embedder for which only pairs in ``cosines`` of the row are similar."""
    given = row.given
    hub, count, cosine = given.get("crowd", ("", 0, 0.0))
    near = {other: (one, share) for one, other, share in given.get("cosines", ())}
    near |= dict.fromkeys(_crowd(count), (hub, cosine))
    steps = [word for step in given["steps"] for word in step[1:] if isinstance(word, str)]
    ones = [one for one, _ in near.values()]
    vectors: dict[str, tuple[float, ...]] = {}
    for axis, name in enumerate(dict.fromkeys([*ones, *given.get("active", ()), *steps, *near])):
        own = tuple(float(place == axis) for place in range(SIZE))
        if name in near:
            one, share = near[name]
            own = with_cosine(vectors[one], share, axis=axis)
        vectors[name] = own
    for one, other, share in given.get("twentieths", ()):
        vectors |= {one: _signs(20), other: _signs(share)}
    texts = given.get("texts", {})
    return ScriptedEmbedder({texts.get(name, name): vectors[name] for name in vectors}, SIZE)


def _signs(twentieths: int) -> tuple[float, ...]:
    """Return twenty entries of equal size, whose cosine with twenty positive ones is exact.

    Since all entries have the same size, they are stored without relative error.
    """
    positive = (20 + twentieths) // 2
    return tuple((1.0 if place < positive else -1.0) * (place < 20) for place in range(SIZE))
