"""Downloads of exports: written to a temporary folder and sent from there. See ``transfer``."""

from __future__ import annotations

import os
import re
from collections.abc import AsyncGenerator
from functools import partial
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from attrs import define, field

from mnemic.adapters.http.endpoints.auth_context import auth_context
from mnemic.adapters.http.endpoints.dispatch import Dispatcher, in_query
from mnemic.adapters.http.endpoints.temporary_exports import (
    ExportRoom,
    Folder,
    folder_for,
    unplaced,
)
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.routing.routes import Route
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.transfer.exports import archive
from mnemic.adapters.transfer.exports.archive import Packed

_UNNAMED = re.compile(r"[^A-Za-z0-9._-]+")


@define
class Download:
    """An export to be sent: written on a worker thread, sent from the event loop."""

    folder: Folder
    packed: Packed | None = None
    _is_given_up: bool = False
    _turn: Lock = field(factory=Lock)

    def pack(self, memory: SyncMemory, arguments: dict[str, Any]) -> Packed:
        """Write the export, and open it. Runs on a worker thread.

        Raises:
            MnemicError: See ``SyncMemory.export``.
        """
        path = Path(self.folder.name) / archive.LINES
        with unplaced(path.parent):
            memory.export(path, **arguments)
            packed = Packed(path)
        with self._turn:
            self.packed = packed
            if os.name == "posix":
                self.folder.cleanup()
            if self._is_given_up:
                self._close()
        return packed

    def give_up(self) -> None:
        """Remove everything, after it was sent or abandoned. May be called repeatedly."""
        with self._turn:
            self._is_given_up = True
            self._close()

    def _close(self) -> None:
        if self.packed is not None:
            self.packed.__exit__(None, None, None)
        self.folder.cleanup()

    async def pieces(self) -> AsyncGenerator[bytes]:
        """Yield the archive, read on threads."""
        assert self.packed is not None  # noqa: S101 - nothing is sent before it is packed
        source = iter(self.packed)
        while (piece := await to_thread.run_sync(next, source, None)) is not None:
            yield piece


async def exported(dispatcher: Dispatcher, route: Route, room: ExportRoom, scope: Any) -> Pieces:
    """Return the export of a space as one body.

    Raises:
        Unauthenticated, SpaceNotFound, Forbidden: See ``auth_context.auth_context``.
        FieldRefused, LogCorrupt, SpaceErased, StoreBusy, StoreFull: See ``SyncMemory.export``.
        Overloaded, ShareExceeded: Too many transfers are in progress, of all or of this client.
    """
    visited = await auth_context(dispatcher, scope, "admin")
    hold, client = visited.hold, visited.caller.client
    try:
        arguments = in_query(route, requests.query(scope))
        requests.check_acceptable(scope, archive.MEDIA_TYPE)
        room.take(client)
    except BaseException:
        hold.release()
        raise
    shipment: Download | None = None
    try:
        shipment = Download(folder_for(dispatcher, "export"))
        memory = hold.memory.session_handle(actor=visited.caller.name, read_only=True)
        packed = await dispatcher.workers.run(
            partial(shipment.pack, memory, arguments),
            timeout_s=dispatcher.settings.long_timeout_s,
            done=hold.release,
            client=client,
        )
    except BaseException:
        room.leave(client)
        if shipment is None:
            hold.release()
        else:
            shipment.give_up()
        raise

    def leave() -> None:
        room.leave(client)
        shipment.give_up()

    return Pieces(
        pieces=shipment.pieces,
        headers={
            "content-type": archive.MEDIA_TYPE,
            "content-length": str(packed.size),
            "content-disposition": disposition(visited.space, packed.manifest.version),
            "cache-control": "no-store",
            "mnemic-version": str(packed.manifest.version),
        },
        done=leave,
    )


def disposition(space: str, version: int) -> str:
    """Return the header with the file's name. Source: RFC 6266, and RFC 8187 for its encoding."""
    plain = _UNNAMED.sub("-", space).strip("-.") or "memory"
    full = quote(f"{space}-{version}.tar", safe="")
    return f"attachment; filename=\"{plain}-{version}.tar\"; filename*=UTF-8''{full}"
