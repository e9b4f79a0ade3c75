"""Operations on the composition ledger: compose, label, retract_label."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from attrs import asdict

from mnemic.adapters.inprocess.batch_items import batch_item
from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.operations.host import Host
from mnemic.adapters.inprocess.registry import operation
from mnemic.kernel.decision import Decision, first_of
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.events import BlocksComposed
from mnemic.kernel.model import identity
from mnemic.kernel.model.compositions import LabelFacts
from mnemic.kernel.model.identity import CompositionId, LabelId
from mnemic.kernel.timestamps import Instant
from mnemic.projections.ledger.ledger import Composed
from mnemic.projections.view import View

if TYPE_CHECKING:
    from mnemic.kernel.decisions.composing import MemberSpec
    from mnemic.kernel.results import ComposeResult, LabelResult


class LedgerOperations(Host):
    """Operations on compositions and their labels."""

    @operation("POST ./compositions", "Compositions", "write", status=201, makes="composition_id")
    def compose(
        self,
        members: Iterable[str | Mapping[str, Any] | MemberSpec],
        *,
        tool: str = "compose",
        mode: str = "compose",
        query: str | None = None,
        query_hash: str | None = None,
        confidence: float | None = None,
        status: str | None = None,
        output_preview: str | None = None,
        metadata: Mapping[str, Any] | None = None,
        consume: str = "all",
        composition_id: str | None = None,
        command_id: str | None = None,
    ) -> ComposeResult:
        """Record that blocks were used together in one piece of reasoning.

        Args:
            members: Block ids, or objects with ``block_id``, ``role`` (``primary``,
                ``supporting``, ``contradicting``, ``superseded``, ``related``), ``rank``,
                ``trust``, ``score``, ``preview`` and ``metadata``. Of bare ids the first is
                primary and the others support it.
            tool: The tool that composed them.
            mode: Its mode.
            query: The purpose; None: not given.
            query_hash: A digest of the query, for the caller's own use; None: ``fnv1a64`` of it.
            confidence: Confidence in the outcome, from 0 to 1; None: not given.
            status: A status of your choice.
            output_preview: The beginning of the output.
            metadata: A small JSON object, up to as many bytes as the policy allows. None: none.
            consume: Which pairs count as composed from here on: ``all``, ``primary_only`` or
                ``none``.
            composition_id: An id of your own, not of the form ``c31``; None: an id from the log.
                Repeating the same composition with this id is a duplicate; another one is refused.
            command_id: See the class.

        Raises:
            FieldRefused, BlockNotFound, CompositionExists: See each.
        """
        from mnemic.kernel.decisions.composing import Composition, decide_compose
        from mnemic.kernel.results import ComposeResult

        composition = Composition(
            members=_members(members),
            composition_id=composition_id,
            tool=tool,
            mode=mode,
            query=query,
            query_hash=query_hash,
            confidence=confidence,
            status=status,
            output_preview=output_preview,
            metadata=metadata,
            consume=consume,
        )

        def decide(view: View, _: Instant) -> Decision[Composed | None]:
            events = decide_compose(view, composition).events
            return Decision(events, None if events else view.composition(composition_id))

        outcome = self._open().execute(Command("compose", asdict(composition), command_id), decide)
        before, event = outcome.result, first_of(outcome.events, BlocksComposed)
        if event is None:
            return ComposeResult(
                composition_id=before.id,
                action="duplicate",
                version=before.version,
                member_ids=tuple(member.block_id for member in before.event.members),
            )
        return ComposeResult(
            composition_id=event.composition_id or identity.composition_id(outcome.last),
            action="created",
            version=outcome.last,
            member_ids=tuple(member.block_id for member in event.members),
        )

    @operation("POST ./compositions/{composition_id}/labels", "Compositions", "write", status=201)
    def label(
        self,
        composition_id: str,
        label: str,
        *,
        notes: str | None = None,
        source: str = "user",
        confidence_delta: float | None = None,
        metadata: Mapping[str, Any] | None = None,
        command_id: str | None = None,
    ) -> LabelResult:
        """Label a composition with its outcome. Labels add up; a wrong one can be retracted.

        Raises:
            CompositionNotFound, LabelUnsupported, FieldRefused, Forbidden: See each.
        """
        from mnemic.kernel.decisions.composing import LabelSpec, decide_label
        from mnemic.kernel.results import LabelResult

        spec = LabelSpec(
            composition_id=composition_id,
            label=label,
            source=source,
            notes=notes,
            confidence_delta=confidence_delta,
            metadata=metadata,
        )
        command = Command("label", asdict(spec), command_id)
        outcome = self._open().execute(command, lambda view, _: decide_label(view, spec))
        return LabelResult(
            label_id=identity.label_id(outcome.last),
            composition_id=CompositionId(composition_id),
            label=label,
            action="labelled",
        )

    @operation("POST ./labels/{label_id}/retract", "Compositions", "write")
    def retract_label(
        self, label_id: str, *, reason: str | None = None, command_id: str | None = None
    ) -> LabelResult:
        """Retract a label. That it was set stays in the log.

        Raises:
            LabelNotFound, NoteTooLong, FieldRefused, Forbidden: See each.
        """
        from mnemic.kernel.decisions.composing import decide_retract
        from mnemic.kernel.results import LabelResult

        arguments = {"label_id": label_id, "reason": reason}
        outcome = self._open().execute(
            Command("retract_label", arguments, command_id),
            lambda view, _: decide_retract(view, label_id, reason=reason),
        )
        facts: LabelFacts = outcome.result
        return LabelResult(
            label_id=LabelId(label_id),
            composition_id=facts.composition_id,
            label=facts.label,
            action="retracted" if outcome.events else "unchanged",
        )


def _members(given: object) -> tuple[MemberSpec, ...]:
    """Return members as specs.

    Raises:
        FieldRefused: They are not a list of ids or objects.
    """
    if isinstance(given, str | Mapping) or not isinstance(given, Iterable):
        raise FieldRefused(
            f"members must be a list of ids or objects, got {given!r:.80}", field="members"
        )
    return tuple(_spec(place, member) for place, member in enumerate(given))


def _spec(place: int, member: object) -> MemberSpec:
    from mnemic.kernel.decisions.composing import MemberSpec

    if isinstance(member, MemberSpec):
        return member
    if isinstance(member, str):
        return MemberSpec(block_id=member, role="supporting" if place else "primary")
    return batch_item(MemberSpec, member, f"member {place}", field="members")
