"""Resources: documents that a person or a host may pin into a context, by URI.

    mnemic://status                       counts, clock, policy, alerts
    mnemic://blocks/{block_id}            a block with its edges and the events behind it
    mnemic://decisions/{decision_id}      a recall with its explanation and its receipt
    mnemic://compositions/{composition_id}
    mnemic://views/{point}                the memory at a past point: status and last events before
    mnemic://views/{point}/blocks/{block_id}
    mnemic://frames/{frame}               the signal weights of a frame
    mnemic://guide/{operation}            the detailed guide of an operation
    mnemic://schemas/{operation}          its argument and answer schemas, complete

Each is composed of operations that only read, so a resource says what those operations say.
The list names the fixed resources and the blocks that this client touched last; everything else is
addressed by a template, with completion (``completion``).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from attrs import asdict, frozen
from mcp.shared.uri_template import UriTemplate
from mcp.types import Resource as ListedResource
from mcp.types import ResourceTemplate, TextResourceContents

from mnemic.adapters.mcp.answers import json_text
from mnemic.adapters.mcp.session_handles import ClientHandle
from mnemic.adapters.mcp.tool_listing import full_schemas
from mnemic.adapters.remote.calls import Call
from mnemic.adapters.remote.documents import document_of
from mnemic.adapters.remote.operations import operations
from mnemic.kernel.errors import FieldRefused, GuideUnknown
from mnemic.kernel.policy import Policy

LISTED_MAX = 20
"""Blocks in the list: those that this client touched last."""
EVENTS = 20
"""Events of a block or before a point that are shown."""
JSON = "application/json"
PLAIN = "text/plain"

Read = Callable[..., Awaitable[Any]]


@frozen(kw_only=True)
class Source:
    """One resource, or one for each value of the variables of its template."""

    template: str
    name: str
    title: str
    description: str
    read: Read
    """Called with the session handle, and with the variables of the template by name."""
    mime: str = JSON

    @property
    def is_fixed(self) -> bool:
        """Whether the template has no variables."""
        return "{" not in self.template

    def matched(self, uri: str) -> Mapping[str, str] | None:
        """Return the values of the template's variables in a URI; None: it does not match."""
        if self.is_fixed:
            return {} if uri == self.template else None
        found = _parsed(self.template).match(uri)
        return None if found is None else {name: str(value) for name, value in found.items()}


async def read(session_handle: ClientHandle, uri: str) -> TextResourceContents:
    """Return the contents of the resource with a URI.

    Raises:
        FieldRefused: There is no such resource.
        MnemicError: Refusals of the operations behind it: no such block, no such point.
    """
    for source in sources().values():
        variables = source.matched(uri)
        if variables is not None:
            found = await source.read(session_handle, **variables)
            text = found if isinstance(found, str) else json_text(found)
            return TextResourceContents(uri=uri, mime_type=source.mime, text=text)
    raise FieldRefused(
        f"there is no resource {uri!r:.200}",
        recovery=f"Read one of: {', '.join(sources())}.",
        field="uri",
    )


def listed(session_handle: ClientHandle) -> list[ListedResource]:
    """Return the fixed resources, and the blocks that this client touched last."""
    fixed = [
        ListedResource(
            uri=each.template,
            name=each.name,
            title=each.title,
            description=each.description,
            mime_type=each.mime,
        )
        for each in sources().values()
        if each.is_fixed
    ]
    touched = reversed(session_handle.memory.session_block_ids[-LISTED_MAX:])
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
            description=each.description,
            mime_type=each.mime,
        )
        for each in sources().values()
        if not each.is_fixed
    )


# --- contents -------------------------------------------------------------------------------------


async def _answer(
    session_handle: ClientHandle, operation: str, *, as_of: str | None = None, **arguments: Any
) -> Any:
    return document_of(
        await session_handle.perform(Call(operation=operation, arguments=arguments, as_of=as_of))
    )


async def _status(session_handle: ClientHandle) -> Any:
    return await _answer(session_handle, "status")


async def _block(session_handle: ClientHandle, block_id: str, *, point: str | None = None) -> Any:
    edges = await _answer(session_handle, "edges", block_id=block_id, as_of=point)
    events = await _answer(session_handle, "history", of=block_id, limit=EVENTS, as_of=point)
    return {
        "block": await _answer(session_handle, "block", block_id=block_id, as_of=point),
        "edges": edges["items"],
        "history": events["items"],
    }


async def _decision(session_handle: ClientHandle, decision_id: str) -> Any:
    return {
        "explanation": await _answer(session_handle, "explain", decision_id=decision_id),
        "receipt": await _answer(session_handle, "receipt", decision_id=decision_id),
    }


async def _composition(session_handle: ClientHandle, composition_id: str) -> Any:
    return await _answer(session_handle, "composition", composition_id=composition_id)


async def _view(session_handle: ClientHandle, point: str) -> Any:
    events = await _answer(session_handle, "history", limit=EVENTS, as_of=point)
    return {
        "point": point,
        "status": await _answer(session_handle, "status", as_of=point),
        "history": events["items"],
    }


async def _view_block(session_handle: ClientHandle, point: str, block_id: str) -> Any:
    return await _block(session_handle, block_id, point=point)


async def _frame(session_handle: ClientHandle, frame: str) -> Any:
    policy: Policy = await session_handle.perform(Call(operation="policy"))
    known = {each.name: each for each in policy.frames}
    if frame not in known:
        raise FieldRefused(
            f"no frame is called {frame!r:.80}",
            recovery=f"Name one of: {', '.join(known)}.",
            field="frame",
        )
    return asdict(known[frame])


async def _guides(session_handle: ClientHandle) -> str:
    return str(await session_handle.perform(Call(operation="guide")))


async def _guide(session_handle: ClientHandle, operation: str) -> str:
    return str(await session_handle.perform(Call(operation="guide", arguments={"name": operation})))


async def _schemas(_handle: ClientHandle, operation: str) -> Any:
    if operation not in operations():
        raise GuideUnknown(
            f"no operation is called {operation!r:.80}",
            recovery=f"Name one of: {', '.join(operations())}.",
        )
    return full_schemas(operations()[operation])


@cache
def _parsed(template: str) -> UriTemplate:
    return UriTemplate.parse(template)


_TABLE: tuple[tuple[str, str, str, str, Read], ...] = (
    ("status", "status", "Status", "Counts, clock, policy in force, alerts.", _status),
    ("guide", "guides", "All operations", "Every operation in a line.", _guides),
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
        "Which blocks were used together, and the outcome.",
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
    (
        "guide/{operation}",
        "guide",
        "An operation",
        "When to use it, when not, and what comes next.",
        _guide,
    ),
    (
        "schemas/{operation}",
        "schemas",
        "Schemas",
        "What an operation takes and answers, whole.",
        _schemas,
    ),
)


@cache
def sources() -> Mapping[str, Source]:
    """Return every resource by its template."""
    made = (
        Source(
            template=f"mnemic://{path}",
            name=name,
            title=title,
            description=description,
            read=act,
            mime=PLAIN if path.startswith("guide") else JSON,
        )
        for path, name, title, description, act in _TABLE
    )
    return MappingProxyType({source.template: source for source in made})
