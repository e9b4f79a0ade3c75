"""A memory that comes: written aside as it comes, checked, and made a space. See ``transfer``."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from attrs import frozen

from mnemic.adapters.exchange import archive
from mnemic.adapters.exchange.archive import Unpacking
from mnemic.adapters.hosting import Vacancy
from mnemic.adapters.http import progress, reading
from mnemic.adapters.http.answers import Answer, of_document
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.failures import BodyTooLarge, MediaTypeRefused, RequestTooSlow
from mnemic.adapters.http.handlers import Asked
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.routes import check_name
from mnemic.adapters.http.security import Caller, header
from mnemic.adapters.http.spool import Folder, Room, folder_for, unplaced
from mnemic.adapters.http.visits import let_in
from mnemic.adapters.wire.calls import Progress
from mnemic.kernel.errors import ViewReadOnly

BATCH_BYTES = 1 << 20
"""Written to the disk in one go."""


@frozen(kw_only=True)
class Arrival:
    """An export that has come in, and the place it is for."""

    vacancy: Vacancy
    caller: Caller
    folder: Folder

    def settle(self, lines: Path, report: Progress | None = None) -> Answer:
        """Make the space. On a worker.

        Raises:
            MnemicError: See ``SyncMemory.import_space``.
        """
        try:
            with unplaced(lines.parent):
                result = self.vacancy.fill(lines, actor=self.caller.name, progress=report)
        finally:
            self.folder.cleanup()
        version = {"etag": f'"{result.version}"', "mnemic-version": str(result.version)}
        return of_document(result.to_dict(), status=201, headers=version)

    def leave(self) -> None:
        """Leave nothing behind but the space, if it was made."""
        self.vacancy.release()
        self.folder.cleanup()


async def imported(desk: Desk, room: Room, request: Asked) -> Answer | Pieces:
    """Make a space of a body, and return what was made.

    Raises:
        Unauthenticated, PointOutOfRange, Forbidden: The caller may not make it.
        SpaceExists: It is there.
        MediaTypeRefused, BodyTooLarge, RequestTooSlow: The body is none that is taken.
        ExportCorrupt, FieldRefused, StoreTooNew, StoreFull: See ``SyncMemory.import_space``.
        Overloaded: Too many are under way.
    """
    scope: Any = request.scope
    caller, space = let_in(desk, scope, "admin")
    reading.check_fields(reading.query(scope), ())
    check_name(space)
    check_body(desk, scope)
    vacancy = await desk.spaces.vacancy(space)
    try:
        room.take()
    except BaseException:
        vacancy.release()
        raise
    try:
        arrival = Arrival(vacancy=vacancy, caller=caller, folder=folder_for(desk, "import"))
    except BaseException:
        vacancy.release()
        room.leave()
        raise

    def leave() -> None:
        arrival.leave()
        room.leave()

    try:
        with unplaced(Path(arrival.folder.name)):
            lines = await received(desk, request, Path(arrival.folder.name))
    except BaseException:
        leave()
        raise

    async def work(report: Progress | None) -> Answer:
        return await desk.workers.run(
            partial(arrival.settle, lines, report),
            timeout_s=desk.settings.long_timeout_s,
            done=leave,
        )

    if reading.wants_stream(scope):
        return await progress.reported(work, request=scope, heartbeat_s=desk.settings.heartbeat_s)
    return await work(None)


def check_body(desk: Desk, scope: Any) -> None:
    """Refuse what can be told from the headers alone to be no export, before any of it comes.

    Raises:
        MediaTypeRefused: It is something else, or packed in a way that is not taken.
        BodyTooLarge: It is longer than may be.
        ViewReadOnly: Nobody may write.
    """
    if desk.settings.read_only:
        raise ViewReadOnly("this server only reads")
    said = header(scope, b"content-type") or ""
    if said.partition(";")[0].strip().lower() != archive.MEDIA_TYPE:
        raise MediaTypeRefused(
            f"the body is {said or 'of no type'!r:.100}, not {archive.MEDIA_TYPE}",
            recovery=f"Send what .../export answered, as Content-Type: {archive.MEDIA_TYPE}.",
        )
    coded = header(scope, b"content-encoding") or "identity"
    if coded.lower() != "identity":
        raise MediaTypeRefused(
            f"the body is packed by {coded!r:.40}", recovery="Send it without Content-Encoding."
        )
    announced = header(scope, b"content-length") or ""
    if announced.isdigit() and int(announced) > desk.settings.import_max_bytes:
        raise _too_large(desk)


async def received(desk: Desk, request: Asked, folder: Path) -> Path:
    """Write the body into *folder* as it comes, and return the file of lines.

    Raises:
        BodyTooLarge, RequestTooSlow, ExportCorrupt, StoreFull, StoreFailed: See each.
        ConnectionError: Whoever sent it has gone.
    """
    size, batch, more = 0, bytearray(), True
    with Unpacking(folder) as unpacking:
        while more:
            message = await _message(desk, request)
            batch += message.get("body", b"")
            more = message.get("more_body", False)
            if size + len(batch) > desk.settings.import_max_bytes:
                raise _too_large(desk)
            if len(batch) >= BATCH_BYTES or not more:
                size += len(batch)
                await to_thread.run_sync(unpacking.feed, bytes(batch))
                batch.clear()
        return unpacking.finish()


async def _message(desk: Desk, request: Asked) -> dict[str, Any]:
    try:
        async with asyncio.timeout(desk.settings.body_timeout_s):
            message: Any = await request.receive()
    except TimeoutError:
        timeout_s = desk.settings.body_timeout_s
        raise RequestTooSlow(
            f"nothing of the body came for {timeout_s:g} seconds", timeout_s=timeout_s
        ) from None
    if message["type"] != "http.request":
        raise ConnectionError("the connection was closed before the body was there")
    return dict(message)


def _too_large(desk: Desk) -> BodyTooLarge:
    limit = desk.settings.import_max_bytes
    return BodyTooLarge(
        f"the body is longer than {limit} bytes",
        recovery="Import it with `mnemic import` beside the store, or raise the server's limit.",
        limit_bytes=limit,
    )
