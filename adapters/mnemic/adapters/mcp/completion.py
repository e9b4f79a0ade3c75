"""Completion of template variables and prompt arguments, from the contents of the memory."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType

from mcp.types import Completion

from mnemic.adapters.inprocess.queries import known_ids
from mnemic.adapters.mcp.session_handles import ClientHandle
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.operations import operations
from mnemic.adapters.remote.time_points import KINDS
from mnemic.kernel.model.compositions import LABELS
from mnemic.projections.frontier.queue import MODES

VALUES_MAX = 100
"""Values in one completion; the protocol allows no more."""
LOOKED_AT = 1000
"""Events, compositions or blocks searched for candidates; the latest where ordered by time."""

Candidates = Callable[[ClientHandle], Awaitable[Iterable[str]]]


async def completed(session_handle: ClientHandle, name: str, begun: str) -> Completion:
    """Return possible values of an argument that begin with *begun*.

    Args:
        session_handle: Of the client that asks; only what it may see is offered.
        name: The argument.
        begun: The text typed so far.
    """
    known = _KNOWN.get(name)
    candidates = (
        [] if known is None or not session_handle.allows("read") else await known(session_handle)
    )
    found = [each for each in dict.fromkeys(candidates) if each.startswith(begun)]
    return Completion(values=found[:VALUES_MAX], total=len(found), has_more=len(found) > VALUES_MAX)


async def _blocks(session_handle: ClientHandle) -> Iterable[str]:
    return await session_handle.memory.run(known_ids)


async def _decisions(session_handle: ClientHandle) -> list[str]:
    """Return the ids of the latest recalls, the latest first."""
    events = await session_handle.memory.history(limit=LOOKED_AT)
    return [f"d{each.version}" for each in reversed(events) if each.kind == "recall-recorded"]


async def _compositions(session_handle: ClientHandle) -> Iterable[str]:
    return [each.id for each in await session_handle.memory.ledger(limit=LOOKED_AT)]


async def _frames(session_handle: ClientHandle) -> Iterable[str]:
    return [frame.name for frame in (await session_handle.memory.policy()).frames]


async def _relations(session_handle: ClientHandle) -> Iterable[str]:
    return [name for name, _weight in (await session_handle.memory.policy()).relation_weights]


async def _tags(session_handle: ClientHandle) -> Iterable[str]:
    page = await session_handle.memory.blocks(limit=LOOKED_AT)
    return sorted({tag for block in page.items for tag in block.tags})


async def _points(session_handle: ClientHandle) -> Iterable[str]:
    """Return the kinds of time points, the end of the log in each, and the latest decisions."""
    status = await session_handle.memory.status()
    decisions = [f"decision:{each}" for each in await _decisions(session_handle)]
    ends = [f"hour:{status.hour}", f"version:{status.version}"]
    return [*(f"{kind}:" for kind in KINDS), *ends, *decisions]


async def _guides(session_handle: ClientHandle) -> Iterable[str]:
    index = await session_handle.perform(Call(operation="guide"))
    return [*index.names, *operations()]


async def _labels(_handle: ClientHandle) -> Iterable[str]:
    return LABELS


async def _modes(_handle: ClientHandle) -> Iterable[str]:
    return MODES


_KNOWN: Mapping[str, Candidates] = MappingProxyType(
    {
        "block_id": _blocks,
        "decision_id": _decisions,
        "composition_id": _compositions,
        "frame": _frames,
        "label": _labels,
        "mode": _modes,
        "point": _points,
        "relation": _relations,
        "tags": _tags,
        "operation": _guides,
    }
)
