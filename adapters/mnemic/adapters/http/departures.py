"""A memory that leaves: written aside, sent from there, and gone from there. See ``transfer``."""

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

from mnemic.adapters.exchange import archive
from mnemic.adapters.exchange.archive import Packed
from mnemic.adapters.http import reading
from mnemic.adapters.http.calling import Desk, in_query
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.routes import Route
from mnemic.adapters.http.spool import Folder, Room, folder_for, unplaced
from mnemic.adapters.http.visits import visit
from mnemic.adapters.inprocess.sync import SyncMemory

_UNNAMED = re.compile(r"[^A-Za-z0-9._-]+")


@define
class Shipment:
    """An export on its way: made on a worker, sent from the event loop, and given up by either."""

    folder: Folder
    packed: Packed | None = None
    _is_given_up: bool = False
    _turn: Lock = field(factory=Lock)

    def pack(self, memory: SyncMemory, arguments: dict[str, Any]) -> Packed:
        """Write the export, and open it. On a worker.

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
        """Remove everything: it was sent, or nobody wants it any more. As often as one likes."""
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


async def exported(desk: Desk, route: Route, room: Room, scope: Any) -> Pieces:
    """Return the export of a space as one body.

    Raises:
        Unauthenticated, PointOutOfRange, Forbidden: See ``visits.visit``.
        FieldRefused, LogCorrupt, SpaceErased, StoreBusy, StoreFull: See ``SyncMemory.export``.
        Overloaded: Too many are under way.
    """
    visited = await visit(desk, scope, "admin")
    hold = visited.hold
    try:
        arguments = in_query(route, reading.query(scope))
        reading.check_acceptable(scope, archive.MEDIA_TYPE)
        room.take()
    except BaseException:
        hold.release()
        raise
    shipment: Shipment | None = None
    try:
        shipment = Shipment(folder_for(desk, "export"))
        memory = hold.memory.seat(actor=visited.caller.name, read_only=True)
        packed = await desk.workers.run(
            partial(shipment.pack, memory, arguments),
            timeout_s=desk.settings.long_timeout_s,
            done=hold.release,
        )
    except BaseException:
        room.leave()
        if shipment is None:
            hold.release()
        else:
            shipment.give_up()
        raise

    def leave() -> None:
        room.leave()
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
    """Return what a browser should call the file. Source: RFC 6266, and RFC 8187 for the name."""
    plain = _UNNAMED.sub("-", space).strip("-.") or "memory"
    full = quote(f"{space}-{version}.tar", safe="")
    return f"attachment; filename=\"{plain}-{version}.tar\"; filename*=UTF-8''{full}"
