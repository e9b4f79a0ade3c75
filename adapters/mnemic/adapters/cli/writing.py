"""Commands that write: learn, revise, forget, erase, outcome."""

from __future__ import annotations

import sys

from mnemic.adapters.cli.addresses import full_id
from mnemic.adapters.cli.conditions import metadata as objects
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import STANDARD_INPUT, Run


def learn(
    text: str,
    /,
    *,
    tag: tuple[str, ...] = (),
    category: str = "knowledge",
    author: str | None = None,
    thread: str | None = None,
    source: str = "cli",
    zone: str | None = None,
    confidence: float = 0.8,
    created_at: str | None = None,
    expires_at: str | None = None,
    metadata: tuple[str, ...] = (),
    run: Run,
) -> int:
    """Put one text into the inbox; the next recall finds it.

    Args:
        text: What to remember; - reads standard input.
        tag: A label; repeat for more. self/… tags also decide how fast it fades.
        category: What kind of thing it is.
        author: Who said it.
        thread: Which conversation or document it belongs to.
        source: Where it came from; decides its trust zone.
        zone: Trust zone, if not the one of the source.
        confidence: How sure it is, 0 to 1.
        created_at: When it was said, ISO 8601 (UTC if it names no zone); now if not given.
        expires_at: From then on it is no longer recalled.
        metadata: key=value; repeat for more.
        run: This invocation.
    """
    content = sys.stdin.read() if text == STANDARD_INPUT else text
    with run.memory(making=True) as memory:
        run.show(
            memory.learn(
                content,
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
            )
        )
    return Exit.OK


def revise(block_id: str, text: str, /, *, reason: str | None = None, run: Run) -> int:
    """Let new words take the place of a block; tags, evidence and edges go on.

    Args:
        block_id: The block; 8 characters of its id are enough.
        text: The new words.
        reason: Why, for the log.
        run: This invocation.
    """
    with run.memory() as memory:
        run.show(memory.revise(full_id(memory, block_id), text, reason))
    return Exit.OK


def forget(block_id: str, /, *, reason: str | None = None, run: Run) -> int:
    """Archive a block: no longer recalled, still there in the past.

    Args:
        block_id: The block.
        reason: Why, for the log.
        run: This invocation.
    """
    with run.memory() as memory:
        run.show(memory.forget(full_id(memory, block_id), reason))
    return Exit.OK


def erase(block_id: str, /, *, run: Run) -> int:
    """Destroy a block's words for good, in the past too. The log and its chain stay.

    Args:
        block_id: The block.
        run: This invocation.
    """
    with run.memory() as memory:
        run.show(memory.erase(full_id(memory, block_id)))
    return Exit.OK


def outcome(
    *block_ids: str,
    signal: float,
    decision: str | None = None,
    composition: str | None = None,
    weight: float = 1.0,
    source: str = "cli",
    run: Run,
) -> int:
    """Say how well blocks served, or all that one recall returned or one composition used.

    Args:
        block_ids: The blocks.
        signal: 0 useless to 1 decisive.
        decision: A recorded recall, like d45, instead of blocks.
        composition: A composition, like c45, instead of blocks.
        weight: How much this counts, above 0.
        source: Who says so.
        run: This invocation.
    """
    with run.memory() as memory:
        result = memory.outcome(
            [full_id(memory, block_id) for block_id in block_ids],
            signal,
            decision_id=decision,
            composition_id=composition,
            weight=weight,
            source=source,
        )
    run.show(result)
    if not run.as_json:
        for refusal in result.refused:
            run.warn(f"{refusal.id}: {refusal.summary}")
    return Exit.REFUSED if result.refused else Exit.OK
