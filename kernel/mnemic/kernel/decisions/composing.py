"""Decisions of compose, label and retract: what was used together, and its outcome."""

from __future__ import annotations

import json
import math
from collections.abc import Container, Mapping, Sequence
from typing import Any

from attrs import evolve, frozen

from mnemic.kernel.decision import Decision, single
from mnemic.kernel.decisions.authorization import check_members
from mnemic.kernel.decisions.connecting import remark_text
from mnemic.kernel.errors import (
    BlockNotFound,
    CompositionExists,
    CompositionNotFound,
    FieldRefused,
    LabelNotFound,
    LabelUnsupported,
)
from mnemic.kernel.events import BlocksComposed, CompositionLabelled, LabelRetracted, Member
from mnemic.kernel.model.compositions import CONSUMES, LABELS, ROLES, LabelFacts, query_hash
from mnemic.kernel.model.identity import CompositionId, composition_version, label_version
from mnemic.kernel.model.texts import (
    BlockText,
    CompositionText,
    Erased,
    LabelText,
    MemberText,
    Remark,
)
from mnemic.kernel.numeric.arithmetic import nano
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.validation import (
    check_encodable,
    check_visible,
    checked_metadata,
    checked_name,
    unit_interval,
)
from mnemic.kernel.values import Value

MEMBERS_MAX = 200
ID_LENGTH_MAX = 64
QUERY_LENGTH_MAX = 32_768
PREVIEW_LENGTH_MAX = 2000
PREVIEW_LENGTH = 160
"""Characters of a block that a default preview shows."""
NOTES_LENGTH_MAX = 2000
SCORE_MAX = 1e6


@frozen(kw_only=True)
class MemberSpec(Value):
    """One member of a composition, as given by the caller."""

    block_id: str
    role: str = "supporting"
    rank: int | None = None
    """None: its index in the list."""
    trust: float | None = None
    score: float | None = None
    preview: str | None = None
    """None: the beginning of the block's text."""
    metadata: Mapping[str, Any] | None = None
    """The block's current ``tags`` are added, unless given."""


@frozen(kw_only=True)
class Composition(Value):
    """A composition, as given by the caller."""

    members: Sequence[MemberSpec]
    composition_id: str | None = None
    tool: str = "compose"
    mode: str = "compose"
    query: str | None = None
    query_hash: str | None = None
    """None: the digest of *query*, if there is one."""
    confidence: float | None = None
    status: str | None = None
    output_preview: str | None = None
    metadata: Mapping[str, Any] | None = None
    consume: str = "all"


def decide_compose(reading: Reading, composition: Composition) -> Decision[None]:
    """Decide a composition; no event if an identical one with the same id exists already.

    Raises:
        FieldRefused, BlockNotFound: A field is invalid.
        CompositionExists: A different composition has the same id.

    Source: DOMAIN section 8.
    """
    if not 1 <= len(composition.members) <= MEMBERS_MAX:
        raise FieldRefused(
            f"a composition has 1 to {MEMBERS_MAX} members, got {len(composition.members)}",
            field="members",
        )
    members = [_member(reading, spec, place) for place, spec in enumerate(composition.members)]
    parts = {(member.block_id, member.role) for member in members}
    if len(parts) != len(members):
        raise FieldRefused("a block takes each role at most once", field="members")
    if composition.consume not in CONSUMES:
        raise FieldRefused(
            f"consume must be one of {', '.join(CONSUMES)}, got {composition.consume!r}",
            field="consume",
        )
    name = _own_id(composition.composition_id)
    event = BlocksComposed(
        members=tuple(sorted(members, key=lambda each: (each.rank, each.role, each.block_id))),
        composition_id=name,
        text=_composition_text(composition, reading.policy),
        tool=checked_name("tool", composition.tool),
        mode=checked_name("mode", composition.mode),
        status=None if composition.status is None else checked_name("status", composition.status),
        confidence=_fraction("confidence", composition.confidence),
        consume=composition.consume,
    )
    before = reading.composition_event(name)  # None if it has no name
    if before is None:
        return single(event)
    if _is_same(before, event, composition):
        return single(None)
    raise CompositionExists(f"another composition has the id {name!r}", composition_id=name)


def _is_same(before: BlocksComposed, event: BlocksComposed, said: Composition) -> bool:
    """Whether the composition given now is equal to the recorded one.

    Previews and tags that the caller did not give are ignored: they were copied from the blocks,
    which may have changed since. So is a digest of the query, which earlier releases did not
    compute. Erased texts cannot be compared any more.
    """
    text = event.text
    if said.query_hash is None and isinstance(text, CompositionText) and _lacks_hash(before):
        event = evolve(event, text=evolve(text, query_hash=None))
    given = {(spec.block_id, spec.role): spec for spec in said.members}
    gone = {
        (member.block_id, member.role)
        for member in before.members
        if isinstance(member.text, Erased)
    }
    return _bare(before, given, gone) == _bare(event, given, gone)


def _lacks_hash(event: BlocksComposed) -> bool:
    return isinstance(event.text, CompositionText) and event.text.query_hash is None


def _bare(
    event: BlocksComposed,
    given: Mapping[tuple[str, str], MemberSpec],
    gone: Container[tuple[str, str]],
) -> BlocksComposed:
    """Return a composition with only those member texts that the caller gave."""
    members = []
    for member in event.members:
        part = (member.block_id, member.role)
        text, spec = member.text, given.get(part)
        if part in gone:
            text = None
        elif isinstance(text, MemberText) and spec is not None:
            metadata = json.loads(text.metadata) if text.metadata else {}
            if "tags" not in (spec.metadata or {}):
                metadata.pop("tags", None)
            text = MemberText(
                preview=None if spec.preview is None else text.preview,
                metadata=json.dumps(metadata, sort_keys=True),
            )
        members.append(evolve(member, text=text))
    return evolve(event, members=tuple(members))


def _own_id(composition_id: object) -> CompositionId | None:
    if composition_id is None:
        return None
    name = checked_name("composition_id", composition_id)
    if len(name) > ID_LENGTH_MAX or composition_version(name) is not None:
        raise FieldRefused(
            f"composition_id must have at most {ID_LENGTH_MAX} characters and not look like c7, "
            f"got {name!r:.80}",
            field="composition_id",
        )
    return CompositionId(name)


def _member(reading: Reading, spec: MemberSpec, place: int) -> Member:
    number = reading.number(spec.block_id)
    if number is None:
        raise BlockNotFound(f"no block has the id {spec.block_id!r}", block_id=str(spec.block_id))
    facts = reading.facts(number)
    if spec.role not in ROLES:
        raise FieldRefused(
            f"role must be one of {', '.join(ROLES)}, got {spec.role!r}", field="role"
        )
    rank = place if spec.rank is None else spec.rank
    if type(rank) is not int or not 0 <= rank < 2**31:
        raise FieldRefused(f"rank must be a whole number from 0, got {rank!r}", field="rank")
    text = reading.text(number)
    words = text.content if isinstance(text, BlockText) else None
    preview = _text("preview", spec.preview, PREVIEW_LENGTH_MAX)
    given = checked_metadata(spec.metadata, reading.policy)
    metadata = {} if given is None else json.loads(given)
    # Tags inherited from a superseded block belong to that block, and are erased with it.
    tags = [tag for tag in facts.tags if isinstance(text, BlockText) and tag in text.tags]
    if tags:
        metadata.setdefault("tags", tags)
    if preview is None and words is not None:
        preview = words[:PREVIEW_LENGTH]
    return Member(
        block_id=facts.id,
        role=spec.role,
        rank=rank,
        trust=_fraction("trust", spec.trust),
        score=_number("score", spec.score),
        text=MemberText(
            of=(facts.id,),
            preview=preview,
            metadata=json.dumps(metadata, sort_keys=True, ensure_ascii=False) if metadata else None,
        ),
    )


def _composition_text(composition: Composition, policy: Policy) -> CompositionText | None:
    query = _text("query", composition.query, QUERY_LENGTH_MAX)
    given_hash = _visible("query_hash", composition.query_hash, ID_LENGTH_MAX)
    text = CompositionText(
        query=query,
        query_hash=query_hash(query) if given_hash is None and query is not None else given_hash,
        output_preview=_text("output_preview", composition.output_preview, PREVIEW_LENGTH_MAX),
        metadata=checked_metadata(composition.metadata, policy),
    )
    return None if text == CompositionText() else text


# --- labels ---------------------------------------------------------------------------------


@frozen(kw_only=True)
class LabelSpec(Value):
    """A label for a composition, as given by the caller."""

    composition_id: str
    label: str
    source: str = "user"
    notes: str | None = None
    confidence_delta: float | None = None
    metadata: Mapping[str, Any] | None = None


def decide_label(reading: Reading, spec: LabelSpec) -> Decision[None]:
    """Decide a label.

    Raises:
        LabelUnsupported, CompositionNotFound, FieldRefused, Forbidden: See each.

    Source: DOMAIN section 8.
    """
    if spec.label not in LABELS:
        raise LabelUnsupported(f"unsupported outcome_type: {spec.label}", label=str(spec.label))
    name = _known(reading, spec.composition_id)
    text = LabelText(
        notes=_visible("notes", spec.notes, NOTES_LENGTH_MAX),
        metadata=checked_metadata(spec.metadata, reading.policy),
    )
    delta = spec.confidence_delta
    if delta is not None and (_number("confidence_delta", delta) is None or abs(delta) > 1.0):
        raise FieldRefused(
            f"confidence_delta must be from -1 to 1, got {delta!r}", field="confidence_delta"
        )
    return single(
        CompositionLabelled(
            composition_id=name,
            label=spec.label,
            source=checked_name("label_source", spec.source),
            confidence_delta=None if delta is None else nano(float(delta)),
            text=None if text == LabelText() else text,
        )
    )


def decide_retract(reading: Reading, label_id: str, *, reason: str | None) -> Decision[LabelFacts]:
    """Decide a retraction; no event if the label was retracted already.

    Returns:
        As the result: the label before the command.

    Raises:
        LabelNotFound, NoteTooLong, FieldRefused, Forbidden: See each.
    """
    version = label_version(label_id)
    found = None if version is None else reading.label(version)
    if version is None or found is None:
        raise LabelNotFound(f"no label has the id {label_id!r}", label_id=str(label_id))
    _known(reading, found.composition_id)
    words = remark_text("reason", reason, reading.policy)
    if not found.counts:
        return Decision((), found)
    event = LabelRetracted(
        composition_id=found.composition_id,
        label_version=version,
        reason=None if words is None else Remark(text=words),
    )
    return Decision((event,), found)


def _known(reading: Reading, composition_id: object) -> CompositionId:
    composition = reading.composition_event(composition_id)
    if composition is None:
        raise CompositionNotFound(
            f"composition event not found: {composition_id}", composition_id=str(composition_id)
        )
    check_members(reading, composition)
    return CompositionId(str(composition_id))


# --- fields ---------------------------------------------------------------------------------


def _text(name: str, value: object, most: int) -> str | None:
    if value is None:
        return None
    if not isinstance(value, str) or len(value) > most:
        raise FieldRefused(f"{name} must be text of at most {most} characters", field=name)
    check_encodable(name, value)
    return value


def _visible(name: str, value: object, most: int) -> str | None:
    words = _text(name, value, most)
    if words is not None:
        check_visible(name, words)
    return words


def _fraction(name: str, value: object) -> int | None:
    return None if value is None else unit_interval(name, value)


def _number(name: str, value: object) -> int | None:
    if value is None:
        return None
    ok = isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)
    if not ok or abs(value) > SCORE_MAX:  # type: ignore[arg-type]
        raise FieldRefused(f"{name} must be a number, got {value!r}", field=name)
    return nano(float(value))  # type: ignore[arg-type]
