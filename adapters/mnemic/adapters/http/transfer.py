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

from litestar.types import ControllerRouterHandler

from mnemic.adapters.http.answers import Answer
from mnemic.adapters.http.arrivals import imported
from mnemic.adapters.http.calling import Desk
from mnemic.adapters.http.departures import exported
from mnemic.adapters.http.handlers import Asked, placed
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.routes import routes
from mnemic.adapters.http.spool import Room


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
