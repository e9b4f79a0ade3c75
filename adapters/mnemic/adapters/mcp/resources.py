"""Resources: what a person or a host may pin into a context, by address.

    mnemic://status                       counts, clock, policy, alerts
    mnemic://blocks/{block_id}            a block with its edges and the events behind it
    mnemic://decisions/{decision_id}      a recall with its explanation and its receipt
    mnemic://compositions/{composition_id}
    mnemic://views/{point}                the memory as it was: status and the last events before it
    mnemic://views/{point}/blocks/{block_id}
    mnemic://frames/{frame}               what a frame weighs
    mnemic://guide/{verb}                 the long words about a verb
    mnemic://schemas/{verb}               what it takes and answers, nothing cut

Each is made of verbs that only read, so a resource is as good as the verbs behind it. The list
names what is always there and the blocks that this client touched last; everything else is
addressed by a template, with completion (``completion``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

import orjson
from attrs import asdict, frozen
from mcp.shared.uri_template import UriTemplate
from mcp.types import Resource as ListedResource
from mcp.types import ResourceTemplate, TextResourceContents

from mnemic.adapters.mcp.offers import full_schemas
from mnemic.adapters.mcp.seats import Seat
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.documents import document_of
from mnemic.adapters.wire.verbs import verbs
from mnemic.kernel.errors import FieldRefused, GuideUnknown
from mnemic.kernel.policy import Policy

LISTED_MAX = 20
"""Blocks that the list names: those that this client touched last."""
EVENTS = 20
"""Events behind a block or before a point that are shown."""
JSON = "application/json"
PLAIN = "text/plain"

Read = Callable[..., Awaitable[Any]]


@frozen(kw_only=True)
class Source:
    """One resource, or one for each value of what its template leaves open."""

    template: str
    name: str
    title: str
    told: str
    read: Read
    """Called with the seat, and with what the template leaves open, by name."""
    mime: str = JSON

    @property
    def is_fixed(self) -> bool:
        """Whether nothing is left open."""
        return "{" not in self.template

    def matched(self, uri: str) -> Mapping[str, str] | None:
        """Return what an address says of what is left open; None: it is of another kind."""
        if self.is_fixed:
            return {} if uri == self.template else None
        found = _parsed(self.template).match(uri)
        return None if found is None else {name: str(value) for name, value in found.items()}


async def read(seat: Seat, uri: str) -> TextResourceContents:
    """Return what stands at an address.

    Raises:
        FieldRefused: There is no such address.
        MnemicError: The verbs behind it refuse: no such block, no such point.
    """
    for source in sources().values():
        left_open = source.matched(uri)
        if left_open is not None:
            found = await source.read(seat, **left_open)
            text = found if isinstance(found, str) else orjson.dumps(found).decode()
            return TextResourceContents(uri=uri, mime_type=source.mime, text=text)
    raise FieldRefused(
        f"there is no resource {uri!r:.200}",
        recovery=f"Read one of: {', '.join(sources())}.",
        field="uri",
    )


def listed(seat: Seat) -> list[ListedResource]:
    """Return what is always there, and the blocks that this client touched last."""
    fixed = [
        ListedResource(
            uri=each.template,
            name=each.name,
            title=each.title,
            description=each.told,
            mime_type=each.mime,
        )
        for each in sources().values()
        if each.is_fixed
    ]
    touched = reversed(seat.memory.session_block_ids[-LISTED_MAX:])
    return fixed + [
        ListedResource(uri=f"mnemic://blocks/{block}", name=f"block {block[:8]}", mime_type=JSON)
        for block in touched
    ]


@cache
def templates() -> tuple[ResourceTemplate, ...]:
    """Return the templates, as a client lists them."""
    return tuple(
        ResourceTemplate(
            uri_template=each.template,
            name=each.name,
            title=each.title,
            description=each.told,
            mime_type=each.mime,
        )
        for each in sources().values()
        if not each.is_fixed
    )


# --- what stands where ----------------------------------------------------------------------------


async def _answer(seat: Seat, verb: str, *, as_of: str | None = None, **arguments: Any) -> Any:
    return document_of(await seat.perform(Call(verb=verb, arguments=arguments, as_of=as_of)))


async def _status(seat: Seat) -> Any:
    return await _answer(seat, "status")


async def _block(seat: Seat, block_id: str, *, point: str | None = None) -> Any:
    edges = await _answer(seat, "edges", block_id=block_id, as_of=point)
    events = await _answer(seat, "history", of=block_id, limit=EVENTS, as_of=point)
    return {
        "block": await _answer(seat, "block", block_id=block_id, as_of=point),
        "edges": edges["items"],
        "history": events["items"],
    }


async def _decision(seat: Seat, decision_id: str) -> Any:
    return {
        "explanation": await _answer(seat, "explain", decision_id=decision_id),
        "receipt": await _answer(seat, "receipt", decision_id=decision_id),
    }


async def _composition(seat: Seat, composition_id: str) -> Any:
    return await _answer(seat, "composition", composition_id=composition_id)


async def _view(seat: Seat, point: str) -> Any:
    events = await _answer(seat, "history", limit=EVENTS, as_of=point)
    return {
        "point": point,
        "status": await _answer(seat, "status", as_of=point),
        "history": events["items"],
    }


async def _view_block(seat: Seat, point: str, block_id: str) -> Any:
    return await _block(seat, block_id, point=point)


async def _frame(seat: Seat, frame: str) -> Any:
    policy: Policy = await seat.perform(Call(verb="policy"))
    known = {each.name: each for each in policy.frames}
    if frame not in known:
        raise FieldRefused(
            f"no frame is called {frame!r:.80}",
            recovery=f"Name one of: {', '.join(known)}.",
            field="frame",
        )
    return asdict(known[frame])


async def _guides(seat: Seat) -> str:
    return str(await seat.perform(Call(verb="guide")))


async def _guide(seat: Seat, verb: str) -> str:
    return str(await seat.perform(Call(verb="guide", arguments={"name": verb})))


async def _schemas(_seat: Seat, verb: str) -> Any:
    if verb not in verbs():
        raise GuideUnknown(
            f"no verb is called {verb!r:.80}", recovery=f"Name one of: {', '.join(verbs())}."
        )
    return full_schemas(verbs()[verb])


@cache
def _parsed(template: str) -> UriTemplate:
    return UriTemplate.parse(template)


_TABLE: tuple[tuple[str, str, str, str, Read], ...] = (
    ("status", "status", "Status", "Counts, clock, policy in force, alerts.", _status),
    ("guide", "guides", "All verbs", "Every verb in a line.", _guides),
    ("blocks/{block_id}", "block", "A block", "With edges and the events behind it.", _block),
    (
        "decisions/{decision_id}",
        "decision",
        "A decision",
        "A past recall: why it answered so, and the receipt that proves it.",
        _decision,
    ),
    (
        "compositions/{composition_id}",
        "composition",
        "A composition",
        "What was used together, and what came of it.",
        _composition,
    ),
    (
        "views/{point}",
        "view",
        "The memory as it was",
        "At hour:12.5, version:901, at:2026-03-01T12:00Z or decision:d45.",
        _view,
    ),
    (
        "views/{point}/blocks/{block_id}",
        "block-then",
        "A block as it was",
        "With its edges, at a point of the past.",
        _view_block,
    ),
    ("frames/{frame}", "frame", "A frame", "Which signals it weighs, and how much.", _frame),
    ("guide/{verb}", "guide", "A verb", "When to use it, when not, and what comes next.", _guide),
    ("schemas/{verb}", "schemas", "Schemas", "What a verb takes and answers, whole.", _schemas),
)


@cache
def sources() -> Mapping[str, Source]:
    """Return every resource by its template."""
    made = (
        Source(
            template=f"mnemic://{path}",
            name=name,
            title=title,
            told=told,
            read=act,
            mime=PLAIN if path.startswith("guide") else JSON,
        )
        for path, name, title, told, act in _TABLE
    )
    return MappingProxyType({source.template: source for source in made})
