"""Uploads of exports: written to a temporary folder, checked, and imported. See ``transfer``."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path
from typing import Any

from anyio import to_thread
from attrs import frozen

from mnemic.adapters.hosting import Vacancy
from mnemic.adapters.http.endpoints import progress
from mnemic.adapters.http.endpoints.auth_context import authorize
from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.endpoints.temporary_exports import (
    ExportRoom,
    Folder,
    folder_for,
    unplaced,
)
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.messages.responses import Answer, of_document
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.middleware.security import Caller
from mnemic.adapters.http.routing.handlers import Asked
from mnemic.adapters.http.routing.routes import check_name
from mnemic.adapters.inprocess.operations.answer_version import TAG_DIGITS
from mnemic.adapters.remote.asgi_requests import check_unencoded, header
from mnemic.adapters.remote.calls import Progress
from mnemic.adapters.remote.transport_errors import BodyTooLarge, MediaTypeRefused, RequestTooSlow
from mnemic.adapters.transfer.exports import archive
from mnemic.adapters.transfer.exports.archive import Unpacking
from mnemic.kernel.errors import ViewReadOnly

BATCH_BYTES = 1 << 20
"""Amount of data that is written to the disk at once."""


@frozen(kw_only=True)
class Upload:
    """An uploaded export, and the name reserved for its space."""

    vacancy: Vacancy
    caller: Caller
    folder: Folder

    def settle(self, lines: Path, report: Progress | None = None) -> Answer:
        """Create the space. Runs on a worker thread.

        Raises:
            MnemicError: See ``SyncMemory.import_space``.
        """
        try:
            with unplaced(lines.parent):
                result = self.vacancy.fill(lines, actor=self.caller.name, progress=report)
        finally:
            self.folder.cleanup()
        tag = f"{result.version}.{result.chain[:TAG_DIGITS]}"
        version = {"etag": f'"{tag}"', "mnemic-version": str(result.version)}
        return of_document(result, status=201, headers=version)

    def leave(self) -> None:
        """Release the name and remove the temporary files; a space that was created remains."""
        self.vacancy.release()
        self.folder.cleanup()


async def imported(dispatcher: Dispatcher, room: ExportRoom, request: Asked) -> Answer | Pieces:
    """Create a space from a body, and return the result.

    Raises:
        Unauthenticated, SpaceNotFound, Forbidden: The caller may not create it.
        SpaceExists: The space exists.
        MediaTypeRefused, BodyTooLarge, RequestTooSlow: The body is not accepted.
        ExportCorrupt, FieldRefused, StoreTooNew, StoreFull: See ``SyncMemory.import_space``.
        Overloaded, ShareExceeded: Too many transfers are in progress, of all or of this client.
    """
    scope: Any = request.scope
    caller, space = authorize(dispatcher, scope, "admin")
    requests.check_fields(requests.query(scope), ())
    check_name(space)
    check_body(dispatcher, scope)
    vacancy = await dispatcher.spaces.vacancy(space)
    try:
        room.take(caller.client)
    except BaseException:
        vacancy.release()
        raise
    try:
        arrival = Upload(vacancy=vacancy, caller=caller, folder=folder_for(dispatcher, "import"))
    except BaseException:
        vacancy.release()
        room.leave(caller.client)
        raise

    def leave() -> None:
        arrival.leave()
        room.leave(caller.client)

    try:
        with unplaced(Path(arrival.folder.name)):
            lines = await received(dispatcher, request, Path(arrival.folder.name))
    except BaseException:
        leave()
        raise

    async def work(report: Progress | None) -> Answer:
        return await dispatcher.workers.run(
            partial(arrival.settle, lines, report),
            timeout_s=dispatcher.settings.long_timeout_s,
            done=leave,
            client=caller.client,
        )

    if requests.wants_stream(scope):
        return await progress.reported(
            work, request=scope, heartbeat_s=dispatcher.settings.heartbeat_s
        )
    return await work(None)


def check_body(dispatcher: Dispatcher, scope: Any) -> None:
    """Refuse an upload by its headers alone, before any of its body is read.

    Raises:
        MediaTypeRefused: It is of another type, or has a content encoding.
        BodyTooLarge: It is longer than allowed.
        ViewReadOnly: The server only reads.
    """
    if dispatcher.settings.read_only:
        raise ViewReadOnly("this server only reads")
    said = header(scope, b"content-type") or ""
    if said.partition(";")[0].strip().lower() != archive.MEDIA_TYPE:
        raise MediaTypeRefused(
            f"the body is {said or 'of no type'!r:.100}, not {archive.MEDIA_TYPE}",
            recovery=f"Send what .../export answered, as Content-Type: {archive.MEDIA_TYPE}.",
        )
    check_unencoded(scope)
    announced = header(scope, b"content-length") or ""
    if announced.isdigit() and int(announced) > dispatcher.settings.import_max_bytes:
        raise _too_large(dispatcher)


async def received(dispatcher: Dispatcher, request: Asked, folder: Path) -> Path:
    """Write the body into *folder* as it arrives, and return the file of lines.

    Raises:
        BodyTooLarge, RequestTooSlow, ExportCorrupt, StoreFull, StoreFailed: See each.
        ConnectionError: The client has disconnected.
    """
    size, batch, more = 0, bytearray(), True
    with Unpacking(folder) as unpacking:
        while more:
            message = await _message(dispatcher, request)
            batch += message.get("body", b"")
            more = message.get("more_body", False)
            if size + len(batch) > dispatcher.settings.import_max_bytes:
                raise _too_large(dispatcher)
            if len(batch) >= BATCH_BYTES or not more:
                size += len(batch)
                await to_thread.run_sync(unpacking.feed, bytes(batch))
                batch.clear()
        return unpacking.finish()


async def _message(dispatcher: Dispatcher, request: Asked) -> dict[str, Any]:
    try:
        async with asyncio.timeout(dispatcher.settings.body_timeout_s):
            message: Any = await request.receive()
    except TimeoutError:
        timeout_s = dispatcher.settings.body_timeout_s
        raise RequestTooSlow(
            f"no part of the body arrived for {timeout_s:g} seconds", timeout_s=timeout_s
        ) from None
    if message["type"] != "http.request":
        raise ConnectionError("the connection was closed before the body was complete")
    return dict(message)


def _too_large(dispatcher: Dispatcher) -> BodyTooLarge:
    limit = dispatcher.settings.import_max_bytes
    return BodyTooLarge(
        f"the body is longer than {limit} bytes",
        recovery="Export a part of the memory with upto, or copy the store with `mnemic migrate`.",
        limit_bytes=limit,
    )
