"""The page of the explorer, under ``/explore/``. Its files hold nothing of any memory.

So they need no token: the page asks the API for everything, with the token that its user gives it.
"""

from __future__ import annotations

from http import HTTPStatus
from typing import Any, Final

from litestar.types import ControllerRouterHandler

from mnemic.adapters.explorer import files, security_headers
from mnemic.adapters.http.messages.responses import Answer
from mnemic.adapters.http.routing.handlers import Asked, placed
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.transport_errors import PathUnknown

PATH: Final = "/explore"
INDEX: Final = "index.html"
ICON: Final = "icon.svg"
ICON_KEPT_S: Final = 3600
"""How long a browser keeps the icon: it asks for it whenever the address changes, so at every step
of the scrubber."""


def handlers() -> list[ControllerRouterHandler]:
    """Return the handlers of this module."""

    async def index(request: Asked) -> Answer:
        scope: Any = request.scope
        # As it was sent: the framework takes the last slash away. Names of files are relative.
        if not scope["raw_path"].partition(b"?")[0].endswith(b"/"):
            query = scope["query_string"].decode("latin-1")
            where = f"{PATH.removeprefix('/')}/" + (f"?{query}" if query else "")
            return Answer(status=HTTPStatus.TEMPORARY_REDIRECT, headers={"location": where})
        return answer(scope, INDEX)

    async def file(request: Asked) -> Answer:
        return answer(request.scope, request.scope["path_params"]["file"])

    return [
        placed(index, "GET", PATH, name="explorer"),
        placed(file, "GET", f"{PATH}/{{file}}", name="explorer_file"),
    ]


def answer(scope: Any, name: str) -> Answer:
    """Return one file of the page, compressed if the client takes it.

    Raises:
        PathUnknown: There is no such file.
    """
    found = files().get(name)
    if found is None:
        raise PathUnknown(f"there is no path {scope['path']:.200}")
    tag = f'"{found.tag}"'
    headers = {
        **security_headers(),
        "content-type": found.media_type,
        "cache-control": f"private, max-age={ICON_KEPT_S}" if name == ICON else "no-cache",
        "etag": tag,
        "vary": "Accept-Encoding",
    }
    if tag in (header(scope, b"if-none-match") or ""):
        return Answer(status=HTTPStatus.NOT_MODIFIED, headers=headers)
    if "gzip" in (header(scope, b"accept-encoding") or ""):
        return Answer(body=found.compressed, headers={**headers, "content-encoding": "gzip"})
    return Answer(body=found.body, headers=headers)
