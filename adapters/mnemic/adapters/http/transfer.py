"""A memory that is carried away whole, or brought: its export as one body.

``GET /v1/spaces/{space}/export?upto=&words=`` (scope admin) answers with a tar archive
(``application/x-tar``) of the two files that ``export`` writes; ``adapters.exchange.archive`` says
how it is made up and how it is checked: the first line of the export holds the digests of
everything else. ``Content-Length`` is known from the beginning, so a body that was cut off shows;
the header ``Mnemic-Version`` says at which version the export ends. ``tar xf`` gives files that
``mnemic import`` takes.

``POST /v1/spaces/{space}/import`` (scope admin) takes the same body, under any names, and makes the
space of it: 201 and an ImportResult. A space that is there is not touched (409, space-exists);
what does not add up is refused as in the process (422, export-corrupt) before anything is written.
The body goes to the disk as it comes; ``Settings.import_max_bytes`` says how long it may be (413).
With ``Accept: text/event-stream`` it says how far it is, once the body is there. Until the space is
whole nobody sees it.

On the way both lie in a folder of their own, readable by the server's user alone, which goes when
they are through, or when whoever is at the other end has gone. While an export is sent its files
have no names any more (on POSIX), so that not even a killed server leaves words behind.

``Settings.transfers_max`` of both together may be under way; one more is told to come again (503).
"""

from __future__ import annotations

import asyncio
import os
import re
from collections.abc import AsyncGenerator, Generator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Lock
from typing import Any
from urllib.parse import quote

from anyio import to_thread
from attrs import define, field, frozen
from litestar.types import ControllerRouterHandler

from mnemic.adapters.exchange import archive, files
from mnemic.adapters.exchange.archive import Packed, Unpacking
from mnemic.adapters.hosting import Vacancy
from mnemic.adapters.http import progress, reading
from mnemic.adapters.http.answers import Answer, of_document
from mnemic.adapters.http.calling import Desk, in_query
from mnemic.adapters.http.failures import (
    BodyTooLarge,
    MediaTypeRefused,
    Overloaded,
    RequestTooSlow,
)
from mnemic.adapters.http.handlers import Asked, placed
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.places import check_name
from mnemic.adapters.http.routes import Route, routes
from mnemic.adapters.http.security import Caller, header
from mnemic.adapters.http.visits import let_in, visit
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.wire.calls import Progress
from mnemic.kernel.errors import MnemicError, ViewReadOnly

BATCH_BYTES = 1 << 20
"""Written to the disk in one go."""
_UNNAMED = re.compile(r"[^A-Za-z0-9._-]+")


@define
class Room:
    """How many transfers are under way, of as many as may be."""

    most: int
    taken: int = 0

    def take(self) -> None:
        """Take a place.

        Raises:
            Overloaded: There is none.
        """
        if self.taken >= self.most:
            raise Overloaded(
                f"{self.taken} exports and imports are under way, which is as many as may be",
                under_way=self.taken,
            )
        self.taken += 1

    def leave(self) -> None:
        """Give the place back. Once."""
        self.taken -= 1


def handlers(desk: Desk) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""
    room = Room(desk.settings.transfers_max)
    leaving, coming = routes()["export"], routes()["import_space"]

    async def export(request: Asked) -> Pieces:
        return await exported(desk, leaving, room, request.scope)

    async def import_space(request: Asked) -> Answer | Pieces:
        return await imported(desk, room, request)

    return [
        placed(export, leaving.method, leaving.path, name="export"),
        placed(import_space, coming.method, coming.path, name="import_space"),
    ]


# --- away -----------------------------------------------------------------------------------------


@define
class Shipment:
    """An export on its way: made on a worker, sent from the event loop, and given up by either."""

    folder: TemporaryDirectory[str]
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
        shipment = Shipment(_folder(desk, "export"))
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


# --- and back -------------------------------------------------------------------------------------


@frozen(kw_only=True)
class Arrival:
    """An export that has come in, and the place it is for."""

    vacancy: Vacancy
    caller: Caller
    folder: TemporaryDirectory[str]

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
        arrival = Arrival(vacancy=vacancy, caller=caller, folder=_folder(desk, "import"))
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


# --- on the way -----------------------------------------------------------------------------------


def _folder(desk: Desk, what: str) -> TemporaryDirectory[str]:
    """Return a new folder that nobody else can look into.

    Raises:
        StoreFull, StoreFailed: There is no place for it.
    """
    place = desk.settings.spool
    with files.named(Path(place or "the folder for temporary files")):
        return TemporaryDirectory(prefix=f"mnemic-{what}-", dir=place)


@contextmanager
def unplaced(folder: Path) -> Generator[None]:
    """Say nothing of where temporary files lie, in the errors of a ``with`` block."""
    try:
        yield
    except MnemicError as error:
        error.message = error.message.replace(f"{folder}{os.sep}", "")
        if "path" in error.facts:
            error.facts = {**error.facts, "path": Path(str(error.facts["path"])).name}
        raise
