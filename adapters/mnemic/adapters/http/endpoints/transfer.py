"""Endpoints that export a whole memory as one body, and import one.

``GET /v1/spaces/{space}/export?upto=&words=`` (scope admin) answers with a tar archive
(``application/x-tar``) of the two files that ``export`` writes; ``adapters.exchange.archive``
describes its format and how it is checked: the first line of the export holds the digests of
everything else. ``Content-Length`` is known from the beginning, so a truncated body can be
detected; the header ``Mnemic-Version`` gives the version at which the export ends. ``tar xf``
extracts files that ``mnemic import`` takes.

``POST /v1/spaces/{space}/import`` (scope admin) takes the same body, with any file names, and
creates the space from it: 201 and an ImportResult. An existing space is not changed (409,
space-exists); an inconsistent export is refused as in the process (422, export-corrupt) before
anything is written. The body is written to the disk as it arrives;
``Settings.import_max_bytes`` limits its length (413). With ``Accept: text/event-stream`` the
response reports progress once the body has arrived. The space is invisible until it is complete.

Both use a temporary folder that only the server's user can read, and that is removed when the
transfer is complete or the client disconnects. While an export is sent its files are already
unlinked (on POSIX), so that not even a killed server leaves texts behind.

``Settings.transfers_max`` of both together may be in progress; one more is refused (503), and so is
one more than the share of a client (429, see ``remote.shares``).
"""

from __future__ import annotations

from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.endpoints.dispatch import Dispatcher
from mnemic.adapters.http.endpoints.exports import exported
from mnemic.adapters.http.endpoints.imports import imported
from mnemic.adapters.http.endpoints.temporary_exports import ExportRoom
from mnemic.adapters.http.messages.responses import Answer
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.routing.handlers import Asked, placed
from mnemic.adapters.http.routing.routes import routes


def handlers(dispatcher: Dispatcher) -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""
    room = ExportRoom(dispatcher.settings.transfers_max)
    leaving, coming = routes()["export"], routes()["import_space"]

    async def export(request: Asked) -> Pieces:
        return await exported(dispatcher, leaving, room, request.scope)

    async def import_space(request: Asked) -> Answer | Pieces:
        return await imported(dispatcher, room, request)

    return [
        placed(export, leaving.method, leaving.path, name="export"),
        placed(import_space, coming.method, coming.path, name="import_space"),
    ]
