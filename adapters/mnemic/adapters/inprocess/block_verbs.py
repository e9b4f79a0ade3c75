"""Verbs on blocks: learn, revise, forget, erase, rezone, consolidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from attrs import asdict, evolve

from mnemic.adapters.inprocess import consolidation, reembedding
from mnemic.adapters.inprocess.answers import learn_results
from mnemic.adapters.inprocess.commands import Command, Written
from mnemic.adapters.inprocess.consolidation import Progress
from mnemic.adapters.inprocess.host import Date, Host
from mnemic.adapters.inprocess.items import item
from mnemic.adapters.inprocess.opening import check_identity
from mnemic.kernel.decisions.archiving import (
    decide_erase,
    decide_forget,
    decide_revise,
    decide_rezone,
)
from mnemic.kernel.decisions.learning import Learned, Lesson, decide_learn
from mnemic.kernel.errors import FieldRefused, Refused
from mnemic.kernel.events import BlockErased, Event, SpaceErased
from mnemic.kernel.identity import BlockId
from mnemic.kernel.ports import Embedder
from mnemic.kernel.reading import Moment
from mnemic.kernel.results import (
    ConsolidateResult,
    ErasureReceipt,
    ForgetResult,
    LearnManyResult,
    LearnResult,
    ReembedResult,
    Refusal,
    ReviseResult,
    RezoneResult,
)
from mnemic.projections.views import View

BATCH_MAX = 10_000
"""Lessons of one ``learn_many``."""


class BlockVerbs(Host):
    """What a host does with blocks."""

    def learn(
        self,
        content: str,
        *,
        tags: Iterable[str] = (),
        category: str = "knowledge",
        source: str = "api",
        author: str | None = None,
        thread: str | None = None,
        confidence: float = 0.8,
        created_at: Date = None,
        zone: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        expires_at: Date = None,
        command_id: str | None = None,
    ) -> LearnResult:
        """Put a text into the inbox: durable when this returns, without any model.

        Args:
            content: What to remember.
            tags: Up to 64 labels; ``self/…`` tags also decide how fast it fades.
            category: What kind of thing it is.
            source: Where it came from; decides its trust zone.
            author: Who said it.
            thread: Which conversation or document it belongs to.
            confidence: How sure it is. Range: [0, 1].
            created_at: When it was true or said; ISO 8601 or a datetime, naive is UTC. None:
                now. ``"unknown"``: its age stays neutral.
            zone: Trust zone, if not the one of the source.
            metadata: A small JSON object.
            expires_at: From then on it is no longer recalled.
            command_id: See the class.

        Raises:
            ContentEmpty, ContentTooLong, TagsRefused, FieldRefused, IdCollision: See each.
            Forbidden: The zone is above that of this seat.
        """
        lesson = Lesson(
            content=content,
            tags=tags,
            category=category,
            source=source,
            author=author,
            thread=thread,
            confidence=confidence,
            created_at=created_at,
            zone=zone,
            metadata=metadata,
            expires_at=expires_at,
        )

        def decide(view: View, _: Moment) -> Written:
            learned = decide_learn(view, lesson)
            (result,) = learn_results(view, [learned], view.point.version + 1)
            return Written(() if learned.event is None else (learned.event,), extra=result)

        arguments = _told(lesson) if command_id is not None else {}
        outcome = self._open().execute(Command("learn", arguments, command_id), decide)
        result: LearnResult = outcome.extra
        self._crumbs.learn(result.block_id, known=result.action == "duplicate")
        return result

    def learn_many(
        self,
        lessons: Iterable[Mapping[str, Any] | str],
        *,
        command_id: str | None = None,
    ) -> LearnManyResult:
        """Learn many texts in one transaction; what cannot be learned is refused by itself.

        Args:
            lessons: Texts, or mappings with the arguments of ``learn``; at most 10,000.
            command_id: See the class.

        Raises:
            FieldRefused: Too many at once, or one lesson instead of a list.
        """
        if isinstance(lessons, str | bytes | Mapping) or not isinstance(lessons, Iterable):
            raise FieldRefused(
                f"learn_many takes a list of lessons, got {lessons!r:.100}",
                recovery="Use learn for one.",
                field="lessons",
            )
        given = [_lesson(each) for each in lessons]
        if len(given) > BATCH_MAX:
            raise FieldRefused(
                f"{len(given)} lessons at once, the limit is {BATCH_MAX}",
                recovery="Learn them in several batches.",
            )

        def decide(view: View, _: Moment) -> Written:
            learned, refused, events = _decide_many(view, given)
            results = learn_results(view, learned, view.point.version + 1)
            result = LearnManyResult(results=results, refused=tuple(refused))
            return Written(tuple(events), extra=result)

        arguments = {} if command_id is None else {"lessons": [_told(each) for each in given]}
        command = Command("learn_many", arguments, command_id)
        result: LearnManyResult = self._open().execute(command, decide).extra
        for each in result.results:
            self._crumbs.learn(each.block_id, known=each.action == "duplicate")
        return result

    def revise(
        self,
        block_id: str,
        content: str,
        reason: str | None = None,
        *,
        command_id: str | None = None,
    ) -> ReviseResult:
        """Let new words take the place of a block; its tags, evidence and edges go on.

        Raises:
            BlockNotFound, BlockNotActive, FieldRefused, ContentEmpty, ContentTooLong: See each.
        """

        def decide(view: View, _: Moment) -> Written:
            events = decide_revise(view, block_id, content, reason)
            return Written(events, extra=events[1].supersession)

        arguments = {"block_id": block_id, "content": content, "reason": reason}
        outcome = self._open().execute(Command("revise", arguments, command_id), decide)
        change = outcome.extra
        self._crumbs.learn(change.new)
        return ReviseResult(
            block_id=change.new,
            superseded_id=change.old,
            edges_moved=len(change.moved),
            edges_lost=change.lost,
            version=outcome.first,
        )

    def forget(
        self, block_id: str, reason: str | None = None, *, command_id: str | None = None
    ) -> ForgetResult:
        """Archive a block: it is no longer recalled, and views of the past still show it.

        Raises:
            BlockNotFound: It was never learned.
        """

        def decide(view: View, _: Moment) -> Written:
            event = decide_forget(view, block_id, reason)
            return Written(() if event is None else (event,), extra=event is not None)

        arguments = {"block_id": block_id, "reason": reason}
        outcome = self._open().execute(Command("forget", arguments, command_id), decide)
        return ForgetResult(
            block_id=BlockId(block_id),
            action="archived" if outcome.extra else "already_archived",
        )

    def erase(self, block_id: str, *, command_id: str | None = None) -> ErasureReceipt:
        """Destroy a block's words and vectors for good, in the past too.

        The log, its chain and the id stay. Asking again names the event that erased it.

        Raises:
            BlockNotFound: It was never learned.
            LogCorrupt: The log is damaged where a checkpoint spared the reading of it. An erasure
                folds all of it again, and nothing behind the damage would be left.
        """
        self._open().check_foldable()

        def decide(view: View, _: Moment) -> Written:
            event = decide_erase(view, block_id)
            return Written(() if event is None else (event,), erase=(block_id,))

        outcome = self._open().execute(Command("erase", {"block_id": block_id}, command_id), decide)
        block, version = BlockId(block_id), outcome.last
        recorded = self._space.event_at(version)
        if recorded is None or recorded.event != BlockErased(block_id=block):
            with self._space.guard:
                state = self._space.state
                number = state.catalogue.numbers[block]
                whole = state.timeline.space_erased or 0
                version = state.timeline.erased_blocks.get(number, whole)
        return self._receipt(block, version)

    def erase_space(self, *, command_id: str | None = None) -> ErasureReceipt:
        """Destroy every word and vector of the space for good; nothing can be learned after."""

        def decide(view: View, _: Moment) -> Written:
            gone = view.state.timeline.space_erased is not None
            return Written(() if gone else (SpaceErased(),), erase_all=True)

        self._open().execute(Command("erase_space", {}, command_id), decide)
        with self._space.guard:
            version = self._space.state.timeline.space_erased or 0
        return self._receipt(None, version)

    def _receipt(self, block_id: BlockId | None, version: int) -> ErasureReceipt:
        return ErasureReceipt(
            block_id=block_id,
            version=version,
            chain=self._space.digest_at(version).hex(),
            left=self._space.left,
        )

    def rezone(
        self, block_id: str, zone: str, reason: str | None = None, *, command_id: str | None = None
    ) -> RezoneResult:
        """Move a block to another trust zone.

        Raises:
            BlockNotFound, BlockNotActive, FieldRefused: See each.
        """

        def decide(view: View, _: Moment) -> Written:
            event = decide_rezone(view, block_id, zone, reason)
            return Written(() if event is None else (event,), extra=event is not None)

        arguments = {"block_id": block_id, "zone": zone, "reason": reason}
        outcome = self._open().execute(Command("rezone", arguments, command_id), decide)
        return RezoneResult(
            block_id=BlockId(block_id),
            zone=zone.strip(),
            action="rezoned" if outcome.extra else "unchanged",
        )

    def consolidate(
        self,
        limit: int | None = None,
        *,
        relink: bool = False,
        progress: Progress | None = None,
        command_id: str | None = None,
    ) -> ConsolidateResult:
        """Promote what waits in the inbox: embed it, find near-duplicates, form edges.

        Args:
            limit: Promote at most this many, first in first; None: all.
            relink: Also look for edges of active blocks that have few.
            progress: Called with blocks done and blocks to do.
            command_id: See the class.

        Raises:
            VectorRefused, EmbedderMismatch: The embedder cannot be used; nothing is lost.
            FieldRefused: The limit is no count.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise FieldRefused(f"limit must be a count from 0, got {limit!r}", field="limit")
        space = self._open()
        space.check_writable()
        with space.guard:
            space.check_kept()
        return self._asking(
            partial(
                consolidation.consolidate,
                space,
                limit=limit,
                relink=relink,
                command_id=command_id,
                progress=progress,
            )
        )

    dream = consolidate

    def reembed(self, embedder: Embedder, *, progress: Progress | None = None) -> ReembedResult:
        """Move the space to another embedder; the old one rules until every block is ready.

        Stop it when you like: it goes on where it was. Views of the past keep the embedder that
        was in force at their point.

        Raises:
            VectorRefused: The embedder cannot be used; nothing has changed.
            FieldRefused: It is no embedder.
        """
        space = self._open()
        space.check_writable()
        check_identity(embedder)
        with space.guard:
            space.catch_up()
            space.check_clear(Command("reembed", {}))
            # Whoever asks right behind the switch finds the new model here already.
            self._plugged.models = evolve(self._models, coming=embedder)
        result = reembedding.reembed(space, embedder, progress=progress)
        with space.guard:
            if space.live().embedder == embedder.identity:  # else somebody has moved it on
                self._plugged.models = evolve(self._models, embedder=embedder)
        return result


def _decide_many(
    view: View, lessons: Sequence[Lesson | Refused]
) -> tuple[list[Learned], list[Refusal], list[Event]]:
    """Decide lessons one after the other, each knowing of those before it."""
    learned: list[Learned] = []
    refused: list[Refusal] = []
    events: list[Event] = []
    known: set[str] = set()
    for position, lesson in enumerate(lessons):
        try:
            if isinstance(lesson, Refused):
                raise lesson
            each = decide_learn(view, lesson, known=known)
        except Refused as error:
            refused.append(
                Refusal(
                    position=position,
                    code=error.code,
                    detail=error.message,
                    recovery=error.recovery,
                )
            )
            continue
        learned.append(each)
        if each.event is not None:
            known.add(each.block_id)
            events.append(each.event)
    return learned, refused, events


def _lesson(given: object) -> Lesson | Refused:
    """Return what was given as a lesson, or why it is none."""
    if isinstance(given, str):
        return Lesson(content=given)
    try:
        return item(Lesson, given, "a lesson")
    except FieldRefused as refusal:
        return refusal


def _told(lesson: Lesson | Refused) -> dict[str, Any]:
    """Return what identifies a lesson. Metadata may contain itself, so nothing is followed."""
    return asdict(lesson, recurse=False) if isinstance(lesson, Lesson) else lesson.to_dict()
