"""Prompts: how to end a session well, and how to review the frontier.

Each is filled with the current contents of the memory, so that a model has ids and texts available
and need not search for them first. Filling a prompt writes nothing.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from types import MappingProxyType

from attrs import evolve, frozen
from mcp.types import GetPromptResult, PromptArgument, PromptMessage, TextContent
from mcp.types import Prompt as ListedPrompt

from mnemic.adapters.mcp.session_handles import ClientHandle
from mnemic.adapters.remote.calls import Call
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.model.compositions import LABELS
from mnemic.kernel.model.identity import BlockId
from mnemic.kernel.rendering import cited, escaped, render_line
from mnemic.kernel.results import (
    Block,
    ClassicCandidate,
    Composition,
    Edge,
    Frontier,
    FrontierCandidate,
)

BLOCKS_MAX = 40
"""Blocks of a session that a reflection shows: the last ones."""
CANDIDATES = 10
CANDIDATES_MAX = 50
COMPOSITIONS_MAX = 20
PREVIEW_MAX = 240
"""Characters of a block that are shown."""

REFLECTION = """\
This session is ending. Go through what it touched, and leave the memory better than it was.

Touched, in order ({shown} of {total}):
{blocks}

Edges among them:
{edges}
{pairs}
Do this, with the tools of mnemic, and do nothing where nothing is true:
1. Keep what you learned and have not kept yet: mnemic_learn.
2. Say how the blocks served that you used: mnemic_outcome, signal 0 (useless) to 1 (decisive). \
Not for blocks you did not use.
3. Correct what turned out wrong: mnemic_correct (revise, or forget); an edge that is wrong: \
mnemic_disconnect, if it is in your list.
4. Connect what belongs together{relation}: mnemic_connect, each time with a note that says \
why. Only blocks you have read.
5. If a conclusion came out of several blocks, record it: mnemic_compose.
6. If mnemic_session is in your list: end_session.
"""
FRONTIER = """\
These sets of blocks have not been composed yet and look worth it, best first. This is a queue of \
questions, not a list of findings: a high score says where to look, not that something is there.

{candidates}
{labelled}
For each, beginning with the first:
1. Read its blocks (mnemic_look, block) and answer its question in a sentence or two.
2. If they say something together that none says alone, record it: mnemic_compose with these \
blocks, then label the outcome (mnemic_compose, label).
3. If it leads nowhere, compose it all the same and label it with the reason: a specific \
closed_by_... rather than dead_end. A duplicate risk: check the duplicate families first. A \
success: find out why it worked.
Never report a candidate as a finding without sources of its own.
"""

Fill = Callable[[ClientHandle, Mapping[str, str]], Awaitable[str]]


@frozen(kw_only=True)
class Prompt:
    """A prompt that a client may offer to its user."""

    name: str
    title: str
    description: str
    arguments: Mapping[str, str]
    """The description of each argument; all are optional."""
    fill: Fill

    @property
    def listed(self) -> ListedPrompt:
        """The prompt as a client lists it."""
        given = [
            PromptArgument(name=name, description=description, required=False)
            for name, description in self.arguments.items()
        ]
        return ListedPrompt(
            name=self.name, title=self.title, description=self.description, arguments=given
        )

    async def filled(
        self, session_handle: ClientHandle, arguments: Mapping[str, str]
    ) -> GetPromptResult:
        """Return the prompt filled from the memory.

        Raises:
            FieldRefused: There is no such argument, or its value is invalid.
            MnemicError: The memory cannot be read.
        """
        for name in arguments:
            if name not in self.arguments:
                raise FieldRefused(
                    f"the prompt {self.name} knows no argument {name!r:.80}",
                    recovery=f"It takes: {', '.join(self.arguments)}.",
                    field=name[:80],
                )
        given = {name: value.strip() for name, value in arguments.items() if value.strip()}
        text = TextContent(type="text", text=await self.fill(session_handle, given))
        return GetPromptResult(
            description=self.description, messages=[PromptMessage(role="user", content=text)]
        )


# --- end of a session -----------------------------------------------------------------------------


async def _reflection(session_handle: ClientHandle, given: Mapping[str, str]) -> str:
    touched = session_handle.memory.session_block_ids
    ids = set(touched[-BLOCKS_MAX:])
    blocks = [await session_handle.memory.block(block) for block in touched[-BLOCKS_MAX:]]
    among: dict[tuple[str, str], Edge] = {}
    for block in blocks:
        for edge in await session_handle.memory.edges(block.id):
            if {edge.source_id, edge.target_id} <= ids:
                among[edge.source_id, edge.target_id] = edge
    relation = given.get("relation")
    return REFLECTION.format(
        shown=len(blocks),
        total=len(touched),
        blocks=_listed(preview(block) for block in blocks),
        edges=_listed(str(edge) for edge in among.values()),
        pairs=await _near(session_handle, ids),
        relation=f", looking above all for `{relation}`" if relation else "",
    )


async def _near(session_handle: ClientHandle, ids: AbstractSet[BlockId]) -> str:
    """Return a paragraph that lists the near-duplicate pairs among *ids*."""
    found = [
        f"- {first.id} and {second.id} (cosine {cosine:.2f})"
        for first, second, cosine in await session_handle.memory.near_duplicates()
        if {first.id, second.id} & ids
    ]
    return "\nThese say almost the same:\n" + "\n".join(found) + "\n" if found else ""


# --- the frontier ---------------------------------------------------------------------------------


async def _frontier(session_handle: ClientHandle, given: Mapping[str, str]) -> str:
    tags = [tag.strip() for tag in given.get("tags", "").split(",") if tag.strip()]
    arguments = {"tags": tags, "limit": _limit(given.get("limit"))}
    queue: Frontier = await session_handle.perform(
        Call(operation="frontier", arguments={"mode": given.get("mode", "default"), **arguments})
    )
    lines = [
        await _candidate(session_handle, rank, each)
        for rank, each in enumerate(queue.candidates, start=1)
    ]
    empty = f"Nothing: {queue.empty_because}. There is nothing to review."
    return FRONTIER.format(
        candidates="\n".join(lines) or empty,
        labelled=await _labelled(session_handle, given.get("label")),
    )


async def _candidate(
    session_handle: ClientHandle, rank: int, candidate: FrontierCandidate | ClassicCandidate
) -> str:
    if isinstance(candidate, FrontierCandidate):
        ends = candidate.block_ids
    else:
        ends = (candidate.first_id, candidate.second_id)
    blocks = [await session_handle.memory.block(block) for block in ends]
    lines = [f"   - {preview(block)}" for block in blocks]
    question = escaped(candidate.composition_question)
    return "\n".join([f"{rank}. {candidate}", *lines, f"   {question}"])


async def _labelled(session_handle: ClientHandle, label: str | None) -> str:
    if label is None:
        return ""
    if label not in LABELS:
        raise FieldRefused(
            f"there is no label {label!r:.40}",
            recovery=f"Give one of: {', '.join(LABELS)}.",
            field="label",
        )
    ledger = await session_handle.memory.ledger(limit=1000)
    found: Sequence[Composition] = [
        each for each in ledger if label in {given.label for given in each.labels}
    ]
    lines = _listed(str(each) for each in found[:COMPOSITIONS_MAX])
    return f"\nReview these again, which carry the label {label}:\n{lines}\n"


def _limit(given: str | None) -> int:
    if given is None:
        return CANDIDATES
    if not (given.isascii() and given.isdigit() and 1 <= int(given[:9]) <= CANDIDATES_MAX):
        raise FieldRefused(
            f"limit {given!r:.40} is not a number of candidates",
            recovery=f"Give a whole number from 1 to {CANDIDATES_MAX}.",
            field="limit",
        )
    return int(given)


# --- texts ----------------------------------------------------------------------------------------


def preview(block: Block) -> str:
    """Return the line of a block in a prompt: its full id, and the beginning of its text."""
    text = block.content
    if text is not None and len(text) > PREVIEW_MAX:
        text = f"{text[:PREVIEW_MAX]}..."
    line = cited(
        block.id,
        text,
        zone=block.zone,
        actor=block.actor,
        author=block.author,
        created_at=block.created_at,
        status=None if block.status == "active" else block.status,
        is_lost=block.lost,
        validity=block.validity,
        valid_from=block.valid_from,
        valid_until=block.valid_until,
    )
    return render_line(evolve(line, id=block.id))


def _listed(lines: Iterable[str]) -> str:
    return "\n".join(f"- {line}" for line in lines) or "- none"


PROMPTS: Mapping[str, Prompt] = MappingProxyType(
    {
        each.name: each
        for each in (
            Prompt(
                name="end_of_session_reflection",
                title="End-of-session reflection",
                description="Review what this session touched: keep, score, correct and connect.",
                arguments=MappingProxyType(
                    {"relation": "Look above all for edges of this relation."}
                ),
                fill=_reflection,
            ),
            Prompt(
                name="review_frontier",
                title="Review the frontier",
                description="Review sets of blocks that were never composed and look worth it.",
                arguments=MappingProxyType(
                    {
                        "tags": "Only blocks with one of these, separated by commas.",
                        "mode": "default, or classic for the form that older clients know.",
                        "limit": f"How many candidates, 1 to {CANDIDATES_MAX}; {CANDIDATES} if not "
                        "given.",
                        "label": "Also review the compositions that carry this label.",
                    }
                ),
                fill=_frontier,
            ),
        )
    }
)
