"""Lines that are no message: answered, so that whoever sent one does not wait for ever.

The SDK drops what it cannot read. That happens to honest clients: half of a surrogate pair, where a
text was cut within an emoji, is JSON to most writers and none to its reader.
Source: JSON-RPC 2.0, section 5.1.
"""

from __future__ import annotations

import json
from collections.abc import AsyncGenerator, AsyncIterable
from contextlib import asynccontextmanager
from typing import Any, Protocol, TypeAlias

import anyio
from anyio.streams.memory import MemoryObjectReceiveStream
from mcp import types
from mcp.shared.message import SessionMessage
from pydantic import ValidationError

Received: TypeAlias = SessionMessage | Exception


class Outgoing(Protocol):
    """Where messages are sent."""

    async def send(self, item: SessionMessage, /) -> None: ...


@asynccontextmanager
async def answering(
    incoming: AsyncIterable[Received], outgoing: Outgoing
) -> AsyncGenerator[MemoryObjectReceiveStream[Received]]:
    """Yield the messages of *incoming*; what is none is answered to *outgoing* instead."""
    inlet, outlet = anyio.create_memory_object_stream[Received](0)

    async def sort() -> None:
        async with inlet:
            async for received in incoming:
                if isinstance(received, ValidationError):
                    await outgoing.send(SessionMessage(refusal(received)))
                else:
                    await inlet.send(received)

    async with outlet, anyio.create_task_group() as tasks:
        tasks.start_soon(sort)
        yield outlet
        tasks.cancel_scope.cancel()


def refusal(error: ValidationError) -> types.JSONRPCError:
    """Return the answer to a line that is no message, to whom it names if that can be read."""
    first = error.errors(include_url=False)[0]
    if first["type"] != "json_invalid":
        told = types.ErrorData(code=types.INVALID_REQUEST, message="Not a message of JSON-RPC 2.0")
        return types.JSONRPCError(jsonrpc="2.0", id=None, error=told)
    told = types.ErrorData(
        code=types.PARSE_ERROR,
        message=f"{first['msg']}. Texts must be whole Unicode (no half of a surrogate pair), and "
        "values not nested deeper than a hundred levels.",
    )
    return types.JSONRPCError(jsonrpc="2.0", id=_id(first["input"]), error=told)


def _id(line: Any) -> int | str | None:
    """Return the id in a line that a more patient reader may still understand."""
    try:
        message = json.loads(line)
    except (TypeError, ValueError, RecursionError):
        return None
    found = message.get("id") if isinstance(message, dict) else None
    if isinstance(found, bool) or not isinstance(found, int | str):
        return None
    is_whole = not any("\ud800" <= char <= "\udfff" for char in str(found))
    return found if is_whole else None
