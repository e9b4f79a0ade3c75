"""Runs the rows about the ledger: compositions, labels, and answers of the tool.

``given`` of such a row:

* ``blocks``     ``[name, words, {options of learn}]``, learned in this order
* ``crowd``      number of further blocks, which have nothing in common with any other
* ``fortieths``  ``[one, other, count]``: a cosine of exactly *count* / 40; other blocks are
                 dissimilar
* ``cosines``    ``[one, other, cosine]``: nearly that cosine
* ``steps``      ``[operation, words..., {options}]``: an operation of `SyncMemory`, or

    * ``["wait", {hours = 2}]`` moves the wall clock
    * ``["compose", [members], {options}]``: members by name, or ``[name, role]``
    * ``["retract", composition, label]`` retracts that label
    * ``["composed_graph", {arguments}]``: the tool

  and ``times`` among the options repeats a step.

``then`` has ``answer`` (fields of the last answer; ``"a.b"`` picks one of every entry of a list,
``"len(a)"`` counts them), ``fields`` (the names of all fields of the entries of a list), or
``refused`` (the message of the refusal that the last step comes to, which changes nothing).
``"$none"`` means None.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from mnemic.adapters.embedders.hashing import with_cosine
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.kernel.errors import Refused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.specs.rules import Row

SIZE = 48
FORTY = 40
AT_ONCE = 250
IDS = {"erase": 1, "forget": 1}
"""Number of leading arguments of an operation that name blocks."""


class Told:
    """An embedder for which all texts are dissimilar, except those with given vectors."""

    def __init__(self, vectors: Mapping[str, Sequence[float]]) -> None:
        self._vectors = vectors
        self.identity = EmbedderIdentity(name="told", dimension=SIZE)

    def embed(self, texts: Sequence[str]) -> NDArray[np.float32]:
        """Return one row per text; a zero vector is similar to none."""
        rows = [self._vectors.get(text, (0.0,) * SIZE) for text in texts]
        return np.array(rows, dtype=np.float32).reshape(len(texts), SIZE)


class Ledger:
    """One memory on which the steps of a row are run."""

    def __init__(self, row: Row) -> None:
        given = row.given
        self.clock = ManualClock()
        self.memory = SyncMemory.open(
            ":memory:",
            embedder=Told(_vectors(given)),
            clock=self.clock,
            entropy=SeededEntropy("ledger"),
        )
        self.ids: dict[str, str] = {}
        for name, words, *options in given.get("blocks", ()):
            learned = self.memory.learn(words, **(options[0] if options else {}))
            self.ids[name] = str(learned.block_id)
        crowd = [f"no {number}" for number in range(given.get("crowd", 0))]
        for start in range(0, len(crowd), AT_ONCE):
            self.memory.learn_many(crowd[start : start + AT_ONCE])
        self.memory.consolidate()

    def play(self, steps: Sequence[Any]) -> Any:
        """Run steps and return the last answer."""
        answer: Any = None
        for operation, *words in steps:
            more = dict(words.pop()) if words and isinstance(words[-1], dict) else {}
            for _ in range(more.pop("times", 1)):
                answer = self._step(operation, *words, **more)
        return answer

    def _step(self, operation: str, *words: Any, **more: Any) -> Any:
        match operation, words:
            case "wait", ():
                return self.clock.advance(**more)
            case "compose", (members,):
                return self.memory.compose([self._member(each) for each in members], **more)
            case "retract", (composition, said):
                labels = self.memory.composition(composition).labels
                (label,) = (each.label_id for each in labels if each.label == said)
                return self.memory.retract_label(label)
            case "composed_graph", ():
                if "memory_id" in more:
                    more["memory_id"] = self.ids.get(more["memory_id"], more["memory_id"])
                return self.memory.composed_graph(**more)
            case _:
                known = IDS.get(operation, 0)
                named = (self.ids[word] for word in words[:known])
                return getattr(self.memory, operation)(*named, *words[known:], **more)

    def _member(self, member: str | list[str]) -> Any:
        if isinstance(member, str):
            return self.ids[member]
        return {"block_id": self.ids[member[0]], "role": member[1]}

    def named(self, value: Any) -> Any:
        """Return an answer with ids replaced by names, and None by the word for it."""
        names = {block: name for name, block in self.ids.items()}
        match value:
            case dict():
                return {key: self.named(each) for key, each in value.items()}
            case list():
                return [self.named(each) for each in value]
            case None:
                return "$none"
            case str():
                return names.get(value, value)
            case _:
                return value


def played(row: Row) -> None:
    """Run a row and compare the result with its expectations."""
    ledger, steps, then = Ledger(row), row.given["steps"], row.then
    ledger.play(steps[:-1])
    if "refused" in then:
        before = ledger.memory.status().version
        with pytest.raises(Refused) as refused:
            ledger.play(steps[-1:])
        assert refused.value.message == then["refused"]
        assert ledger.memory.status().version == before
        return
    answer = ledger.play(steps[-1:])
    told = ledger.named(answer)
    counts = {f"len({name})": len(each) for name, each in told.items() if isinstance(each, list)}
    said = then["answer"]
    assert {path: _pick(counts | told, path.split(".")) for path in said} == said
    for name, fields in then.get("fields", {}).items():
        assert {tuple(sorted(entry)) for entry in answer[name]} == {tuple(fields)}


def _pick(told: Any, path: list[str]) -> Any:
    """Return the value at the end of a path; for a list, the values in all entries."""
    if not path:
        return told
    if isinstance(told, list):
        return [_pick(each, path) for each in told]
    return _pick(told[path[0]], path[1:])


def _vectors(given: Mapping[str, Any]) -> dict[str, Sequence[float]]:
    """Return the vectors of the texts whose cosine a row defines."""
    words = {name: says for name, says, *_ in given.get("blocks", ())}
    found: dict[str, Sequence[float]] = {}
    for one, other, count in given.get("fortieths", ()):
        found |= {words[one]: _signs(FORTY), words[other]: _signs(count)}
    for one, other, cosine in given.get("cosines", ()):
        axis = (1.0, *(0.0,) * (SIZE - 1))
        found |= {words[one]: axis, words[other]: with_cosine(axis, cosine, axis=1)}
    return found


def _signs(count: int) -> tuple[float, ...]:
    """Return forty entries of equal size, with *count* more positive than negative ones.

    Since all entries have the same size, they are stored without relative error.
    """
    positive = (FORTY + count) // 2
    return tuple((1.0 if place < positive else -1.0) * (place < FORTY) for place in range(SIZE))
