"""What only a door over HTTP can fail at, in the same form as everything else."""

from __future__ import annotations

from mnemic.kernel.errors import Refused, Unavailable


class PathUnknown(Refused):
    """Nothing stands at this path."""

    code = "path-unknown"
    status = 404
    default_recovery = (
        "See GET /v1/openapi.json for the paths; each begins with /v1/spaces/{space}."
    )


class MethodRefused(Refused):
    """Something stands at this path, and takes other methods."""

    code = "method-refused"
    status = 405
    default_recovery = "Use a method that the header Allow names."


class BodyUnreadable(Refused):
    """The body is no JSON."""

    code = "body-unreadable"
    status = 400
    default_recovery = "Send one JSON object, in UTF-8."


class RequestUnreadable(Refused):
    """A header or an address cannot be read."""

    code = "request-unreadable"
    status = 400
    default_recovery = "Correct what is named and repeat the request."


class MediaTypeRefused(Refused):
    """The body says that it is something else than JSON."""

    code = "media-type-refused"
    status = 415
    default_recovery = "Send the header Content-Type: application/json."


class NotAcceptable(Refused):
    """The request takes none of what there is."""

    code = "not-acceptable"
    status = 406
    default_recovery = "Leave out Accept, or name application/json in it."


class BodyTooLarge(Refused):
    """The body is longer than a body may be."""

    code = "body-too-large"
    status = 413
    default_recovery = "Send less at once, such as a batch in several parts."


class AddressTooLong(Refused):
    """Path and query are longer than they may be."""

    code = "address-too-long"
    status = 414
    default_recovery = "Shorten the query."


class RequestTooSlow(Refused):
    """The body did not come in time."""

    code = "request-too-slow"
    status = 408
    default_recovery = "Send the request again, in one go."


class HostRefused(Refused):
    """It seems that a page from elsewhere asks, through a browser of this machine."""

    code = "host-refused"
    status = 421
    default_recovery = "Ask for localhost or 127.0.0.1, from this machine; others need a token."


class OriginRefused(Refused):
    """A page from elsewhere asks, through a browser of this machine."""

    code = "origin-refused"
    status = 403
    default_recovery = "Ask with a token, or name the page's origin in --cors of `mnemic serve`."


class Overloaded(Unavailable):
    """More requests wait than may. Nothing was begun."""

    code = "overloaded"
    default_recovery = "Come again after as many seconds as the header Retry-After says."


class Overdue(Unavailable):
    """The answer did not come in time. A command that had begun may still be written."""

    code = "overdue"
    default_recovery = (
        "Repeat a command with the same Idempotency-Key: it is written once, and answered as soon "
        "as it is done."
    )


class Stopping(Unavailable):
    """The server is on its way out. Nothing was begun."""

    code = "stopping"
    default_recovery = "Come again when the server is back."


class NotReady(Unavailable):
    """The server lives, and cannot work."""

    code = "not-ready"
    default_recovery = "Look at the server's log; ask again when its disk and its store are well."


class WorkersFailed(Unavailable):
    """The processes that were to serve do not."""

    code = "workers-failed"
    default_recovery = "See what the server's log says of them, or serve with one worker."


class ExtraMissing(Unavailable):
    """A part of mnemic was asked for that is not installed."""

    code = "extra-missing"
