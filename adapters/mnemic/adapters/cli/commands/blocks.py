"""Commands that write: learn, one or many, revise, forget-many, erase, one or many, erase-space."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from textwrap import shorten
from typing import TYPE_CHECKING, Annotated, Any

from attrs import evolve
from cyclopts import Parameter

from mnemic.adapters.cli.invocation.conditions import conditions
from mnemic.adapters.cli.invocation.conditions import metadata as objects
from mnemic.adapters.cli.invocation.conditions import scope as named
from mnemic.adapters.cli.invocation.context import STANDARD_INPUT, Flag, Run
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.invocation.json_lines import Line, lines
from mnemic.adapters.short_ids import full_id
from mnemic.adapters.stores.addresses import told
from mnemic.kernel.errors import BatchRefused, FieldRefused
from mnemic.kernel.model.identity import short

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.kernel.results import Refusal

SOURCE = "cli"
"""The default source of what is learned here."""
ERASE = "erase"
"""What a person types to confirm."""
TEXT_SHOWN = 60
"""Characters of a text that is about to be erased."""


def learn(
    text: str,
    /,
    *,
    tag: tuple[str, ...] = (),
    category: str = "knowledge",
    author: str | None = None,
    thread: str | None = None,
    source: str = SOURCE,
    zone: str | None = None,
    confidence: float = 0.8,
    created_at: str | None = None,
    expires_at: str | None = None,
    metadata: tuple[str, ...] = (),
    scope: tuple[str, ...] = (),
    role: str | None = None,
    valid_from: str | None = None,
    valid_until: str | None = None,
    key: str | None = None,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Put one text into the inbox; the next recall finds it.

    Args:
        text: What to remember; - reads standard input.
        tag: A tag; repeat for more. self/… tags also decide how fast it fades.
        category: Its category.
        author: Its author.
        thread: The conversation or document that it belongs to.
        source: Where it came from; decides its trust zone.
        zone: Trust zone, if not the one of the source.
        confidence: How certain it is, 0 to 1.
        created_at: When it was said, ISO 8601 (UTC if it names no zone); now if not given.
        expires_at: When it expires; from then on it is no longer recalled.
        metadata: key=value; repeat for more.
        scope: Whom it belongs to: user=NAME, agent=NAME or run=NAME; repeat for more.
        role: Which side of a conversation it comes from: user, assistant, tool or system.
        valid_from: Since when its fact holds, ISO 8601; since ever if not given.
        valid_until: Until when its fact holds; what no longer holds is recalled behind what does.
        key: The name of a record, such as people/ines: the text replaces the one that it had.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory(making=True) as memory:
        run.show(
            memory.learn(
                _text_of(text),
                tags=tag,
                category=category,
                author=author,
                thread=thread,
                source=source,
                zone=zone,
                confidence=confidence,
                created_at=created_at,
                expires_at=expires_at,
                metadata=objects(metadata),
                scope=named(scope),
                role=role,
                valid_from=valid_from,
                valid_until=valid_until,
                key=key,
                command_id=command_id,
            )
        )
    return Exit.OK


def _text_of(text: str) -> str:
    return sys.stdin.read() if text == STANDARD_INPUT else text


def learn_many(
    path: Path,
    /,
    *,
    forget: tuple[str, ...] = (),
    atomic: bool = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Put many texts into the inbox in one transaction: JSON lines.

    A line is an object with content and, optionally, tags, category, source, author, thread,
    confidence, created_at, zone, metadata, expires_at, valid_from, valid_until and key, as for
    learn; or a text in quotes. Lines that cannot be learned are reported, the others are learned,
    and the exit code is 1. For files of other kinds, or of more than 10,000 lines, see
    `mnemic ingest`.

    Args:
        path: The file; - is standard input.
        forget: A block that is archived in the same transaction; repeat for more.
        atomic: Learn all lines or none: the first refusal is an error.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    from mnemic.adapters.inprocess.results import refusals_in
    from mnemic.kernel.results import LearnManyResult, Refusal

    read = lines(path)
    lessons, refused = _lessons(read)
    if atomic and refused:
        first = min(refused)
        raise FieldRefused(
            f"line {read[first].number}: {refused[first].detail}",
            recovery=refused[first].recovery,
            field="lessons",
        )
    with run.memory(making=True) as memory, run.progress("learning"):
        try:
            result = memory.learn_many(
                list(lessons.values()),
                forget=[full_id(memory, block) for block in forget],
                atomic=atomic,
                command_id=command_id,
            )
        except BatchRefused as error:
            result = LearnManyResult(results=(), refused=refusals_in(error, Refusal))
    positions = list(lessons)
    for refusal in result.refused:
        place = positions[refusal.position]
        refused[place] = evolve(refusal, position=place)
    result = evolve(result, refused=tuple(refused[place] for place in sorted(refused)))
    run.show(result)
    if not run.as_json:
        for refusal in result.refused:
            run.warn(f"line {read[refusal.position].number}: {refusal.code}: {refusal.detail}")
    return Exit.REFUSED if result.refused else Exit.OK


def _lessons(read: Sequence[Line]) -> tuple[dict[int, Any], dict[int, Refusal]]:
    """Return the parsed lines by position, and refusals of lines that are not JSON."""
    from mnemic.kernel.results import Refusal

    lessons: dict[int, Any] = {}
    refused: dict[int, Refusal] = {}
    for place, line in enumerate(read):
        try:
            lessons[place] = {"source": SOURCE, **_lesson(line.parsed())}
        except ValueError as error:
            refused[place] = Refusal(
                position=place,
                code="field-refused",
                detail=f"not a lesson: {error}",
                recovery="Write an object with content, or a text in quotes.",
            )
    return lessons, refused


def _lesson(given: Any) -> dict[str, Any]:
    """Return a parsed line as the arguments of ``learn``.

    Raises:
        ValueError: The line is neither an object nor a text.
    """
    match given:
        case str():
            return {"content": given}
        case dict():
            return given
        case _:
            raise ValueError(f"{given!r:.40} is neither an object nor a text")


def revise(
    block_id: str,
    text: str,
    /,
    *,
    reason: str | None = None,
    created_at: str | None = None,
    valid_from: str | None = None,
    valid_until: str | None = None,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Replace the text of a block; tags, evidence and edges are kept.

    Args:
        block_id: The block; the first 8 characters of its id are enough.
        text: The new text; - reads standard input.
        reason: The reason, for the log.
        created_at: When the new text was said, ISO 8601; now if not given.
        valid_from: Since when the fact of the new text holds, ISO 8601; without both dates, as for
            the old text.
        valid_until: Until when it holds.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        block = full_id(memory, block_id)
        run.show(
            memory.revise(
                block,
                _text_of(text),
                reason,
                created_at=created_at,
                valid_from=valid_from,
                valid_until=valid_until,
                command_id=command_id,
            )
        )
    return Exit.OK


def erase(
    *block_ids: Annotated[str, Parameter(required=True)],
    yes: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Destroy the text and vectors of blocks for good, in the past too. You are asked first.

    The log, its chain and the ids are kept. All are erased, or none if one of them is refused. To
    take a block out of recall and keep it in the past, use `mnemic forget`.

    Args:
        block_ids: One or several blocks; the first 8 characters of their ids are enough.
        yes: Do not ask; for a script.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        blocks = [full_id(memory, block_id) for block_id in block_ids]
        if not yes:
            run.confirm(
                f"This destroys {_named(memory, blocks)} for good, in the past too.",
                word=ERASE,
                option="--yes",
            )
        run.show(memory.erase(blocks, command_id=command_id))
    return Exit.OK


def _named(memory: SyncMemory, blocks: Sequence[str]) -> str:
    """Return what a person has to know of blocks that are about to be erased."""
    if len(blocks) > 1:
        return f"the texts of {len(blocks)} blocks"
    (block,) = blocks
    text = memory.block(block).content or ""
    return f"the text of block {short(block)}, {shorten(text, TEXT_SHOWN, placeholder=' …')!r},"


def forget_many(
    *,
    where: Annotated[tuple[str, ...], Parameter(required=True)],
    reason: str | None = None,
    dry_run: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Stop recalling all blocks that a filter finds; the past keeps them.

    If it is interrupted, run it again.

    Args:
        where: key=value; repeat for more. Keys as for `mnemic recall`, such as user=ines.
        reason: Why, for the log.
        dry_run: Show what would be archived, and write nothing.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory(read_only=dry_run) as memory, run.progress("forgetting") as progress:
        result = memory.forget_many(
            conditions(where), reason, dry_run=dry_run, progress=progress, command_id=command_id
        )
    run.show(result)
    return Exit.OK


def erase_many(
    *,
    where: Annotated[tuple[str, ...], Parameter(required=True)],
    dry_run: Flag = False,
    yes: Flag = False,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Destroy the text and vectors of all blocks that a filter finds, for good. You are asked.

    Archived blocks are found too, and facts that rest on the blocks alone are erased with them. If
    it is interrupted, run it again; with the same --command-id, the receipt names the blocks of
    both runs.

    Args:
        where: key=value; repeat for more. Keys as for `mnemic recall`, such as user=ines.
        dry_run: Show what would be erased, and write nothing.
        yes: Do not ask; for a script.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory(read_only=dry_run) as memory:
        if dry_run:
            run.show(memory.erase_many(conditions(where), dry_run=True))
            return Exit.OK
        if not yes:
            found = memory.erase_many(conditions(where), dry_run=True)
            run.confirm(
                f"{found.summary[:-1]} for good, in the past too.", word=ERASE, option="--yes"
            )
        with run.progress("erasing") as progress:
            result = memory.erase_many(conditions(where), progress=progress, command_id=command_id)
        run.show(result)
    return Exit.OK


def erase_space(*, confirm: str | None = None, command_id: str | None = None, run: Run) -> int:
    """Destroy all texts of the space for good, in the past too; nothing can be learned after.

    The log and its chain are kept, and can be verified. You are asked to type the space's name.

    Args:
        confirm: The name of the space, for a script; nothing is asked then.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory:
        if confirm is None:
            run.confirm(
                f"This destroys all texts of space {run.space!r} in {told(run.path)} for good. "
                "Nothing can be learned in it afterwards.",
                word=run.space,
                option="the name of the space with --confirm",
            )
        run.show(memory.erase_space(confirm or run.space, command_id=command_id))
    return Exit.OK
