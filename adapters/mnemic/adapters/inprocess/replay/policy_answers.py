"""Answers of many policies to many past decisions, in rows that any runner computes.

Rules of this module:

1. A row holds the answers of one policy to one chunk of decisions, or what was recorded of these;
   block numbers and digests, nothing that depends on other policies or on later outcomes.
2. The key of a row is the digest of the chain at the last decision of its chunk, and at the last
   erasure, the versions of the chunk, and the digest of the policy: the same key, the same row.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, Final

from attrs import evolve, frozen

from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay import reevaluation
from mnemic.adapters.inprocess.replay.reevaluation import Decision, Rerun
from mnemic.adapters.inprocess.replay.space_work import CHUNK, chunks
from mnemic.adapters.runners.kept_rows import KeptRows
from mnemic.kernel.events import Answer, BlockErased, SpaceErased
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Row, Runner
from mnemic.projections.retrieval import packing, recorded_recalls
from mnemic.projections.retrieval.request import exploration_pool
from mnemic.projections.state.state import FOLD_VERSION
from mnemic.projections.view import View

RECORDED: Final = "recorded"
"""In the key of what was recorded, in place of the digest of a policy."""


@frozen(kw_only=True)
class Chunk:
    """A task: decisions, and the policies that answer them again."""

    versions: tuple[int, ...]
    policies: tuple[Policy | None, ...]
    """None: the facts of the record."""
    silent: bool = False
    """Whether all are answered without the random draw of exploration. Otherwise that is done only
    beside, for decisions that a draw changed."""


@frozen(kw_only=True)
class Answers:
    """Answers to a chunk of decisions, in the order of the log."""

    recorded: list[dict[str, Any]]
    """The facts of each decision, see ``_facts``."""
    policies: list[list[dict[str, Any] | None]]
    """By policy, then decision: ``digest`` and ``blocks``, None where it has no such frame; and
    ``silent``, the blocks without the draw. The whole is None where there is an obstacle."""


class Answering:
    """Collects the answers of policies to decisions from a runner, and from rows that were kept.

    Args:
        view: The state of the space whose erasures are part of the keys of rows.
        space: The space of the decisions.
        rows: Rows of earlier runs, and where new ones are kept.
        runner: Does ``answering``.
        silent: See ``Chunk``.
    """

    def __init__(
        self,
        view: View,
        space: SessionHandle,
        rows: KeptRows,
        runner: Runner,
        *,
        silent: bool = False,
    ) -> None:
        self._space = space
        self._rows = rows
        self._runner = runner
        self._silent = silent
        erasures = reevaluation.versions(view, BlockErased, SpaceErased)
        self._erased = _hex(space.log.digest_at(erasures[-1])) if erasures else "-"
        self._keys: dict[tuple[int, ...], str] = {}

    def answers(self, versions: Sequence[int], policies: Sequence[Policy]) -> Iterator[Answers]:
        """Yield the answers to each chunk of decisions, in order."""
        parts = list(chunks(versions, CHUNK))
        wanted: list[Policy | None] = [None, *policies]
        tasks = [
            Chunk(versions=part, policies=lacking, silent=self._silent)
            for part in parts
            if (
                lacking := tuple(each for each in wanted if self._key(part, each) not in self._rows)
            )
        ]
        missing = {task.versions for task in tasks}
        done = self._runner.run(tasks)
        for part in parts:
            while part in missing:
                place, found = next(done)
                task = tasks[place]
                for policy, row in zip(task.policies, found, strict=True):
                    self._rows.keep(self._key(task.versions, policy), row)
                missing.remove(task.versions)
            yield self._taken(part, wanted)

    def _taken(self, part: tuple[int, ...], wanted: Sequence[Policy | None]) -> Answers:
        recorded, *rest = [self._rows[self._key(part, each)] for each in wanted]
        for each in wanted[1:]:
            self._rows.drop(self._key(part, each))  # thousands of policies may follow
        return Answers(recorded=recorded, policies=rest)

    def _key(self, part: tuple[int, ...], policy: Policy | None) -> str:
        known = self._keys.get(part)
        if known is None:
            chain = _hex(self._space.log.digest_at(part[-1]))
            which = hashlib.sha256(repr(part).encode()).hexdigest()[:16]
            kind = "silent" if self._silent else "drawn"
            known = self._keys[part] = f"1.{FOLD_VERSION} {kind} {chain} {self._erased} {which}"
        return f"{known} {RECORDED if policy is None else policy.id}"


def _hex(digest: bytes | None) -> str:
    return "-" if digest is None else digest.hex()


# --- the work -------------------------------------------------------------------------------


def answering(space: SessionHandle, models: Models) -> Callable[[Chunk], list[Row]]:
    """Return the function that answers chunks; it keeps what later policies may share."""
    kept: reevaluation.Kept = {}
    return partial(answered, space, models, kept)


def answered(
    space: SessionHandle, models: Models, kept: reevaluation.Kept, chunk: Chunk
) -> list[Row]:
    """Return the row of each policy of a chunk."""
    policies = [each for each in chunk.policies if each is not None]
    wanted = None in chunk.policies
    facts: list[dict[str, Any]] = []
    rows: list[list[dict[str, Any] | None]] = [[] for _ in policies]
    drawn: dict[int, Decision] = {}
    asked = list(reevaluation.decisions(space, chunk.versions))
    given = [_silenced(each) for each in asked] if chunk.silent else asked
    for decision, rerun in zip(
        asked, reevaluation.reruns(space, models, given, policies, kept=kept), strict=True
    ):
        facts.append(_facts(decision, rerun, models, pools=chunk.silent) if wanted else {})
        if rerun.obstacle is not None:
            for row in rows:
                row.append(None)
            continue
        for row, answer in zip(rows, rerun.answers, strict=True):
            row.append(_answer(rerun.view, answer))
        explored = decision.event.explored
        if not chunk.silent and explored is not None and explored.drawn:
            drawn[len(facts) - 1] = _silenced(decision)
    again = reevaluation.reruns(space, models, drawn.values(), (None, *policies), kept={})
    for place, rerun in zip(drawn, again, strict=True):
        own, *others = (_blocks(answer) for answer in rerun.answers)
        facts[place]["silent"] = own
        for row, blocks in zip(rows, others, strict=True):
            entry = row[place]
            if entry is not None:
                entry["silent"] = blocks
    found = iter(rows)
    return [facts if each is None else next(found) for each in chunk.policies]


def _silenced(decision: Decision) -> Decision:
    return evolve(decision, silent=True)


def _facts(decision: Decision, rerun: Rerun, models: Models, *, pools: bool) -> dict[str, Any]:
    """Return what is needed of a record, in plain values.

    ``open`` is the block at the place that exploration may change, ``pool`` the blocks that could
    have been drawn for it, and ``silent`` the answer without the draw, where that is different.
    """
    event, recorded = decision.event, decision.recorded
    explored = event.explored
    facts: dict[str, Any] = {
        "version": recorded.version,
        "active_us": recorded.active_us,
        "session": recorded.session_id,
        "frame": event.frame,
        "obstacle": rerun.obstacle,
        "blocks": _blocks(event.answer),
    }
    if rerun.obstacle is not None:
        return facts
    facts["digest"] = packing.digest_of(rerun.view, event.answer.rows)
    if explored is not None:
        frame = rerun.view.policy.frame(event.frame)
        facts["open"] = packing.contested(rerun.view, frame, event.answer)
        facts["propensity"] = event.propensity
        facts["pool"] = _pool(decision, rerun.view, models) if pools else []
    return facts


def _pool(decision: Decision, view: View, models: Models) -> list[int]:
    """Return the blocks among which exploration drew, the one ranked for the place first."""
    event = decision.event
    request = recorded_recalls.request_of(decision.recorded, event)
    models = recorded_recalls.as_then(event, models)
    return exploration_pool(view, request, recorded_recalls.vector_of(event), models)


def _answer(view: View, answer: Answer | None) -> dict[str, Any]:
    if answer is None:
        return {"digest": "-", "blocks": None}
    return {"digest": packing.digest_of(view, answer.rows), "blocks": _blocks(answer)}


def _blocks(answer: Answer | None) -> list[int]:
    return [] if answer is None else answer.blocks
