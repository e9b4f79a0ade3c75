"""Operations on blocks: learn, revise, rezone, consolidate."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

from attrs import asdict, evolve

from mnemic.adapters.inprocess.batch_items import batch_item, named_blocks
from mnemic.adapters.inprocess.engine.commands import Command, Progress
from mnemic.adapters.inprocess.engine.opening import check_identity
from mnemic.adapters.inprocess.operations.host import Date, Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel import results
from mnemic.kernel.decision import Decision
from mnemic.kernel.errors import FieldRefused, Refused
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.ports import Embedder
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_period
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.decisions.learning import Lesson
    from mnemic.kernel.results import (
        ConsolidateResult,
        LearnManyResult,
        LearnResult,
        ReembedResult,
        ReviseResult,
        RezoneResult,
    )

BATCH_MAX = 10_000
"""Lessons of one ``learn_many``."""


class BlockOperations(Host):
    """Operations on blocks."""

    @operation("POST ./blocks", "Blocks", "write", same_twice=True, status=201, makes="block_id")
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
        scope: Mapping[str, str] | None = None,
        role: str | None = None,
        valid_from: Date = None,
        valid_until: Date = None,
        key: str | None = None,
        command_id: str | None = None,
    ) -> LearnResult:
        """Put a text into the inbox: durable when this returns, without any model.

        Args:
            content: The text to remember.
            tags: Up to 64 labels; ``self/…`` tags also decide how fast it fades.
            category: The kind of text, a name such as ``knowledge`` or ``decision``.
            source: The source of the text, a name; the policy maps it to a trust zone.
            author: The author of the text.
            thread: The conversation or document that it belongs to.
            confidence: How certain the text is. Range: [0, 1].
            created_at: When it was true or said; ISO 8601 or a datetime, naive is UTC. None:
                now. ``"unknown"``: its age stays neutral.
            zone: Trust zone; None: the policy's zone for the source.
            metadata: A small JSON object.
            expires_at: From then on it is no longer recalled.
            scope: The ``user``, ``agent`` or ``run`` that it belongs to, stored as metadata; None:
                that of this handle.
            role: Which side of a conversation it comes from: ``user``, ``assistant``, ``tool`` or
                ``system``; stored as metadata.
            valid_from: Since when its fact holds in the world, whenever that was said. None: since
                ever. What is learned again with another period gets that period.
            valid_until: Until when its fact holds, exclusive. None: the end is open. Afterwards it
                is still recalled, behind what holds, and marked.
            key: The name of a record, such as ``people/ines``: the text supersedes the one that the
                key had in this scope; ``blocks(key=...)`` returns all of them. Stored as metadata.
            command_id: See the class.

        Raises:
            ContentEmpty, ContentTooLong, TagsRefused, FieldRefused, IdCollision: See each.
            Forbidden: The zone, or the text that the key has, is above that of this session handle.
            InboxFull: The zone of this session handle has no more room in the inbox.
        """
        # The modules, not names in them: importing those takes four times as long on every call.
        from mnemic.adapters.inprocess import results
        from mnemic.kernel.decisions import learning

        lesson = learning.Lesson(
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
            scope=self._scoped(scope),
            role=role,
            valid_from=valid_from,
            valid_until=valid_until,
            key=key,
        )

        def decide(view: View, _: Instant) -> Decision[LearnResult]:
            learned = learning.decide_learn(view, lesson)
            (result,) = results.learn_results(view, [learned.result], following=view.version + 1)
            return Decision(learned.events, result)

        arguments = _identifying(lesson) if command_id is not None else {}
        with self._emptying_full_inbox():
            outcome = self._open().execute(Command("learn", arguments, command_id), decide)
        result: LearnResult = outcome.result
        self._recent.learn(result.block_id, known=result.is_known)
        return result

    @operation("POST ./blocks/batch", "Blocks", "write", same_twice=True)
    def learn_many(
        self,
        lessons: Iterable[Mapping[str, Any] | str],
        *,
        forget: Sequence[str] = (),
        atomic: bool = False,
        command_id: str | None = None,
    ) -> LearnManyResult:
        """Learn many texts in one transaction; invalid ones are refused individually, or all.

        Args:
            lessons: Texts, or mappings with the arguments of ``learn``; at most 10,000.
            forget: Ids of blocks that are archived before, as by ``forget``; at most 10,000.
            atomic: Whether nothing is written if one lesson is refused; its refusal is raised.
            command_id: See the class.

        Raises:
            BatchRefused: Every lesson was refused; the message has the first reasons.
            FieldRefused: Too many at once, or one lesson instead of a list.
            InboxFull: The inbox has no room for any of them; see ``learn``.
            BlockNotFound, Forbidden: A block cannot be forgotten; nothing is written.
        """
        from mnemic.adapters.inprocess.results import learn_many_result
        from mnemic.kernel.decisions.archiving import decide_learn_many

        if isinstance(lessons, str | bytes | Mapping) or not isinstance(lessons, Iterable):
            raise FieldRefused(
                f"learn_many takes a list of lessons, got {lessons!r:.100}",
                recovery="Use learn for one.",
                field="lessons",
            )
        given = [self._lesson(each) for each in lessons]
        if len(given) > BATCH_MAX:
            raise FieldRefused(
                f"{len(given)} lessons at once, the limit is {BATCH_MAX}",
                recovery="Learn them in several batches.",
            )
        gone = named_blocks(forget, most=BATCH_MAX, field="forget") if forget else []

        def decide(view: View, _: Instant) -> Decision[LearnManyResult]:
            learned = decide_learn_many(view, given, forget=gone, atomic=atomic)
            return Decision(learned.events, learn_many_result(view, learned))

        arguments: dict[str, Any] = (
            {} if command_id is None else {"lessons": [_identifying(each) for each in given]}
        )
        if gone or atomic:  # left out otherwise: keeps command ids from before valid
            arguments |= {"forget": gone, "atomic": atomic}
        command = Command("learn_many", arguments, command_id)
        with self._emptying_full_inbox():
            result: LearnManyResult = self._open().execute(command, decide).result
        for each in result.results:
            self._recent.learn(each.block_id, known=each.is_known)
        return result

    def _lesson(self, given: object) -> Lesson | Refused:
        """Return an item of a batch as a lesson, or the refusal if it is invalid."""
        from mnemic.kernel.decisions.learning import Lesson

        try:
            lesson = (
                Lesson(content=given)
                if isinstance(given, str)
                else batch_item(Lesson, given, "a lesson")
            )
            scope = self._scoped(lesson.scope)
            return lesson if scope is lesson.scope else evolve(lesson, scope=scope)
        except FieldRefused as refusal:
            return refusal

    @operation("POST ./blocks/{block_id}/revise", "Blocks", "write", destructive=True)
    def revise(
        self,
        block_id: str,
        content: str,
        reason: str | None = None,
        *,
        created_at: Date = None,
        valid_from: Date = None,
        valid_until: Date = None,
        command_id: str | None = None,
    ) -> ReviseResult:
        """Replace the text of a block; its tags, evidence and edges are kept.

        Args:
            block_id: Id of a block: 16 hexadecimal digits.
            content: The new text.
            reason: Why; kept in the log.
            created_at: When the new text was said, as for ``learn``. None: now.
            valid_from: Since when the fact of the new text holds; without both dates the period of
                the block is kept.
            valid_until: Until when it holds, exclusive.
            command_id: See the class.

        Raises:
            BlockNotFound, BlockNotActive, FieldRefused, ContentEmpty, ContentTooLong: See each.
        """
        from mnemic.kernel.decisions.archiving import decide_revise

        period = checked_period(valid_from, valid_until)
        arguments: dict[str, Any] = {"block_id": block_id, "content": content, "reason": reason}
        dates = {"created_at": created_at, "valid_from": valid_from, "valid_until": valid_until}
        arguments |= {name: date for name, date in dates.items() if date is not None}
        outcome = self._open().execute(
            Command("revise", arguments, command_id),
            lambda view, _: decide_revise(
                view, block_id, content, reason, period=period, created_at=created_at
            ),
        )
        change = outcome.result
        self._recent.learn(change.new)
        return results.ReviseResult(
            block_id=change.new,
            superseded_id=change.old,
            edges_moved=len(change.moved),
            edges_lost=change.lost,
            version=outcome.first,
        )

    @operation(
        "POST ./blocks/{block_id}/rezone", "Blocks", "admin", destructive=True, same_twice=True
    )
    def rezone(
        self, block_id: str, zone: str, reason: str | None = None, *, command_id: str | None = None
    ) -> RezoneResult:
        """Move a block to another trust zone.

        Args:
            block_id: Id of a block.
            zone: The zone to move it to. The policy has ceilings for ``trusted``, ``vetted``,
                ``imported``, ``external``, ``untrusted`` and ``quarantined``.
            reason: Why; kept in the log. At most as long as a note (``note_length_max``, 500
                characters at first).
            command_id: See the class.

        Raises:
            BlockNotFound, BlockNotActive, FieldRefused: See each.
        """
        from mnemic.kernel.decisions.archiving import decide_rezone

        arguments = {"block_id": block_id, "zone": zone, "reason": reason}
        outcome = self._open().execute(
            Command("rezone", arguments, command_id),
            lambda view, _: decide_rezone(view, block_id, zone, reason),
        )
        return results.RezoneResult(
            block_id=BlockId(block_id),
            zone=zone.strip(),
            action="rezoned" if outcome.events else "unchanged",
        )

    @operation("POST ./consolidate", "Upkeep", "write", destructive=True, same_twice=True)
    def consolidate(
        self,
        limit: int | None = None,
        *,
        relink: bool = False,
        progress: Progress | None = None,
        command_id: str | None = None,
    ) -> ConsolidateResult:
        """Promote the blocks in the inbox: embed them, find near-duplicates, form edges.

        Args:
            limit: Promote at most this many, in the order of learning; None: all.
            relink: Also look for edges of active blocks that have few.
            progress: Called with blocks done and blocks to do.
            command_id: See the class.

        Raises:
            VectorRefused, EmbedderMismatch: The embedder cannot be used; nothing is lost.
            FieldRefused: The limit is not a count.
        """
        if limit is not None and (type(limit) is not int or limit < 0):
            raise FieldRefused(f"limit must be a count from 0, got {limit!r}", field="limit")
        from mnemic.adapters.inprocess.consolidation import consolidation

        space = self._open()
        space.check_writable()
        space.check_not_erased()
        return self._with_models(
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

    @operation("POST ./reembed", "Upkeep", "admin", destructive=True, same_twice=True)
    def reembed(self, embedder: Embedder, *, progress: Progress | None = None) -> ReembedResult:
        """Move the space to another embedder; the old one stays in use until every block is ready.

        It can be stopped at any time and resumes where it was. Views of the past keep the embedder
        that was in force at their point.

        Raises:
            VectorRefused: The embedder cannot be used; nothing has changed.
            FieldRefused: It is not an embedder.
        """
        from mnemic.adapters.inprocess.consolidation import reembedding

        space = self._open()
        space.check_writable()
        check_identity(embedder)
        space.caller.check_allowed(Command("reembed", {}), space.view())
        # Set before the switch, so that queries right after it find the new model.
        self._shared_models.models = evolve(self._models, coming=embedder)
        result = reembedding.reembed(space, embedder, progress=progress)
        if space.snapshot().embedder == embedder.identity:  # else it was re-embedded again
            models = self._models
            before = () if models.embedder is None else (models.embedder,)
            self._shared_models.models = evolve(
                models, embedder=embedder, others=(*models.others, *before)
            )
        return result


def _identifying(lesson: Lesson | Refused) -> dict[str, Any]:
    """Return the arguments that identify a lesson; metadata may be cyclic and is not traversed."""
    if isinstance(lesson, Refused):
        return lesson.to_dict()
    given = asdict(lesson, recurse=False)
    for name in ("scope", "role", "valid_from", "valid_until", "key"):
        if given[name] is None:
            del given[name]  # keeps command ids from before this field valid
    return given
