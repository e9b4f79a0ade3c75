"""The operation ``replay_all``: computes past decisions again on a runner, and counts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import Final, TypeAlias

from attrs import evolve, frozen

from mnemic.adapters.inprocess.engine.commands import Progress, RunnerChoice
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.replay.reevaluation import decision_versions
from mnemic.adapters.inprocess.replay.replaying import outcomes
from mnemic.adapters.inprocess.replay.space_work import CHUNK, SpaceWork, chunks, started
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.identity import decision_id
from mnemic.kernel.results import ReplaySummary, SuspectCount
from mnemic.projections.descent.selection import Selection

CHANGED_MAX: Final = 1000
"""Differing decisions that are named."""
REPORTED_MAX: Final = 10
"""Differing decisions that are reported block by block."""


def replay_all(
    space: SessionHandle,
    models: Models,
    *,
    after: int | None = None,
    upto: int | None = None,
    without: Selection | None = None,
    progress: Progress | None = None,
    runner: RunnerChoice = None,
) -> ReplaySummary:
    """Compute every decision with version in (after, upto] again, and count the outcomes.

    With *without*, each is answered as though the blocks of those writes were not in memory, and
    differs if its answer has other blocks or another order.

    Raises:
        FieldRefused: A version is not a whole number.
        BlockNotFound: A block to leave out was never learned.
        LogCorrupt: At the first decision that cannot be read.
    """
    now = space.view()
    if without is not None:
        without.blocks(now)  # refuses unknown blocks
    first = -1 if after is None else _version("after", after)
    last = now.version if upto is None else _version("upto", upto)
    versions = decision_versions(now, after=first, upto=last)
    work = SpaceWork.on(space, models, replaying)
    parts = list(chunks(versions, CHUNK))
    rows: dict[int, list[Replayed]] = {}
    done = 0
    with started(runner, work, answers=len(versions)) as workers:
        tasks = [Chunk(versions=part, without=without) for part in parts]
        for place, row in workers.run(tasks):
            rows[place] = row
            done += len(parts[place])
            if progress is not None:
                progress(done, len(versions))
    found = [each for place in range(len(parts)) for each in rows[place]]
    counts = Counter(outcome for _, outcome, _ in found)
    suspects = Counter(suspect for _, _, suspect in found if suspect is not None)
    differing = [version for version, outcome, _ in found if outcome == "differs"]
    reported = [
        evolve(each, recall=None)
        for _, each in outcomes(space, models, differing[:REPORTED_MAX], without)
        if each is not None
    ]
    return ReplaySummary(
        decisions=counts.total(),
        reproduced=counts["reproduced"],
        differs=counts["differs"],
        sealed=counts["sealed"],
        lost=counts["lost"],
        retired=counts["recipe-retired"],
        first_version=versions[0] if versions else None,
        last_version=versions[-1] if versions else None,
        suspects=tuple(
            SuspectCount(suspect=suspect, decisions=count)
            for suspect, count in sorted(suspects.items(), key=lambda each: (-each[1], each[0]))
        ),
        differences=tuple(reported),
        changed=tuple(decision_id(version) for version in differing[:CHANGED_MAX]),
    )


@frozen(kw_only=True)
class Chunk:
    """A task: decisions to compute again, without the blocks of some writes."""

    versions: tuple[int, ...]
    without: Selection | None


Replayed: TypeAlias = tuple[int, str, str | None]
"""Version of a decision, its outcome, and what is suspected if it differs."""


def replaying(space: SessionHandle, models: Models) -> Callable[[Chunk], list[Replayed]]:
    """Return the function that computes the decisions of a chunk again."""
    return partial(replayed, space, models)


def replayed(space: SessionHandle, models: Models, chunk: Chunk) -> list[Replayed]:
    """Return the outcome of each decision of a chunk."""
    found = outcomes(space, models, chunk.versions, chunk.without)
    return [
        (version, outcome, None if differing is None else str(differing.suspect))
        for version, (outcome, differing) in zip(chunk.versions, found, strict=True)
    ]


def _version(name: str, given: object) -> int:
    if not isinstance(given, int) or isinstance(given, bool):
        raise FieldRefused(f"{name} must be a version, got {given!r}", field=name)
    return given
