"""Errors that only remote interfaces raise, in the same form as all others."""

from __future__ import annotations

from mnemic.kernel.errors import Refused, Unavailable


class PathUnknown(Refused):
    """There is no such path."""

    code = "path-unknown"
    status = 404
    default_recovery = (
        "See GET /v1/openapi.json for the paths; each begins with /v1/spaces/{space}."
    )


class MethodRefused(Refused):
    """The path takes other methods."""

    code = "method-refused"
    status = 405
    default_recovery = "Use a method that the header Allow names."


class BodyUnreadable(Refused):
    """The body is not valid JSON."""

    code = "body-unreadable"
    status = 400
    default_recovery = "Send one JSON object, in UTF-8."


class RequestUnreadable(Refused):
    """A header or an address cannot be parsed."""

    code = "request-unreadable"
    status = 400
    default_recovery = "Correct what is named and repeat the request."


class MediaTypeRefused(Refused):
    """The declared type of the body is not JSON, or it has a content encoding."""

    code = "media-type-refused"
    status = 415
    default_recovery = "Send the header Content-Type: application/json."


class NotAcceptable(Refused):
    """The client accepts none of the available media types."""

    code = "not-acceptable"
    status = 406
    default_recovery = "Leave out Accept, or name application/json in it."


class HeadTooLarge(Refused):
    """Request line and headers are longer than allowed."""

    code = "head-too-large"
    status = 431
    default_recovery = "Send shorter headers; long values belong in the body."


class BodyTooLarge(Refused):
    """The body is longer than allowed."""

    code = "body-too-large"
    status = 413
    default_recovery = "Send less at once, such as a batch in several parts."


class AddressTooLong(Refused):
    """Path and query are longer than allowed."""

    code = "address-too-long"
    status = 414
    default_recovery = "Shorten the query."


class RequestTooSlow(Refused):
    """The request did not arrive in time."""

    code = "request-too-slow"
    status = 408
    default_recovery = "Send the request again, in one go."


class HostRefused(Refused):
    """The request seems to come from a page of another site, through a browser of this machine."""

    code = "host-refused"
    status = 421
    default_recovery = "Use localhost or 127.0.0.1, from this machine; others need a token."


class OriginRefused(Refused):
    """The request comes from a page of another site, through a browser of this machine."""

    code = "origin-refused"
    status = 403
    default_recovery = "Send a token, or name the page's origin in --cors of `mnemic serve`."


class Overloaded(Unavailable):
    """Too many requests are waiting. Nothing was begun."""

    code = "overloaded"
    default_recovery = "Try again after the number of seconds in the header Retry-After."


class ShareExceeded(Unavailable):
    """The client uses its share of the server already. Nothing was begun."""

    code = "share-exceeded"
    status = 429
    default_recovery = (
        "Try again after the number of seconds in the header Retry-After, with fewer at once."
    )


class Overdue(Unavailable):
    """The response did not come in time. A command that had begun may still be written."""

    code = "overdue"
    default_recovery = (
        "Repeat a command with the same Idempotency-Key: it is written once, and answered as soon "
        "as it is done."
    )


class Stopping(Unavailable):
    """The server is shutting down. Nothing was begun."""

    code = "stopping"
    default_recovery = "Try again when the server is back."


class NotReady(Unavailable):
    """The server runs, but cannot work."""

    code = "not-ready"
    default_recovery = "See the server's log; try again when its disk and its store are in order."


class WorkersFailed(Unavailable):
    """The worker processes failed to serve."""

    code = "workers-failed"
    default_recovery = "See the server's log for the reason, or serve with one worker."


class ExtraMissing(Unavailable):
    """A requested part of mnemic is not installed."""

    code = "extra-missing"
