"""Completion of what templates and prompts leave open, from what this memory holds."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from types import MappingProxyType

from mcp.types import Completion

from mnemic.adapters.inprocess.queries import known_ids
from mnemic.adapters.mcp.seats import Seat
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.points import KINDS
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.composition import LABELS
from mnemic.projections.frontier.queue import MODES

VALUES_MAX = 100
"""Of one completion; the protocol allows no more."""
LOOKED_AT = 1000
"""Events, compositions or blocks that are looked at for candidates, the latest where there is an
order of time."""

Candidates = Callable[[Seat], Awaitable[Iterable[str]]]


async def completed(seat: Seat, name: str, begun: str) -> Completion:
    """Return what may stand for an argument that begins with *begun*.

    Args:
        seat: Who asks; only what this client may see is offered.
        name: The argument.
        begun: What has been typed.
    """
    known = _KNOWN.get(name)
    candidates = [] if known is None or not seat.allows("read") else await known(seat)
    found = [each for each in dict.fromkeys(candidates) if each.startswith(begun)]
    return Completion(values=found[:VALUES_MAX], total=len(found), has_more=len(found) > VALUES_MAX)


async def _blocks(seat: Seat) -> Iterable[str]:
    return await seat.memory.run(known_ids)


async def _decisions(seat: Seat) -> list[str]:
    """Return the ids of the latest recalls, the latest first."""
    events = await seat.memory.history(limit=LOOKED_AT)
    return [f"d{each.version}" for each in reversed(events) if each.kind == "recall-recorded"]


async def _compositions(seat: Seat) -> Iterable[str]:
    return [each.id for each in await seat.memory.ledger(limit=LOOKED_AT)]


async def _frames(seat: Seat) -> Iterable[str]:
    return [frame.name for frame in (await seat.memory.policy()).frames]


async def _relations(seat: Seat) -> Iterable[str]:
    return [name for name, _weight in (await seat.memory.policy()).relation_weights]


async def _tags(seat: Seat) -> Iterable[str]:
    page = await seat.memory.blocks(limit=LOOKED_AT)
    return sorted({tag for block in page.items for tag in block.tags})


async def _points(seat: Seat) -> Iterable[str]:
    """Return the kinds of points, where the log ends by each, and the latest decisions."""
    status = await seat.memory.status()
    decisions = [f"decision:{each}" for each in await _decisions(seat)]
    ends = [f"hour:{status.hour}", f"version:{status.version}"]
    return [*(f"{kind}:" for kind in KINDS), *ends, *decisions]


async def _guides(seat: Seat) -> Iterable[str]:
    index = await seat.perform(Call(verb="guide"))
    return [*index.names, *verbs()]


async def _labels(_seat: Seat) -> Iterable[str]:
    return LABELS


async def _modes(_seat: Seat) -> Iterable[str]:
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
        "verb": _guides,
    }
)
