"""From a request to a verb and back: one way for all of them."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import frozen

from mnemic.adapters.hosting import Spaces
from mnemic.adapters.http import progress, reading
from mnemic.adapters.http.answers import JSON, Answer, of_document
from mnemic.adapters.http.handlers import Asked
from mnemic.adapters.http.pieces import Pieces
from mnemic.adapters.http.reading import Tags
from mnemic.adapters.http.relays import Relays
from mnemic.adapters.http.routes import Route, check_name
from mnemic.adapters.http.security import (
    Authenticate,
    Caller,
    check_scope,
    check_writes,
    header,
    unseen,
)
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.http.watches import Watches
from mnemic.adapters.http.workers import Workers
from mnemic.adapters.inprocess.standing import asked, version_of, version_written
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.wire.calls import RECORDERS, Call, Progress, answered
from mnemic.adapters.wire.documents import ITEMS, document_of
from mnemic.kernel.decisions.learning import checked_name
from mnemic.kernel.errors import FieldRefused, PointOutOfRange, SessionState, VersionConflict

MADE = {"learn": "block_id", "compose": "composition_id"}
"""What a verb makes that can be asked for below the path where it was made."""
UNRECORDED = "What records nothing only reads: give record=false."
"""What helps a reader who wants a recall."""
MOVING = frozenset({"checkpoints", "diff", "frontier", "status"})
"""What answers otherwise at the same version: by the hour of the day, or by what stands beside the
log. Their ETag says where the log stands, and not that nothing else has changed."""
NOWHERE = -1
"""A version that no log is seen at: what a condition names that names none of ours."""
_VERSION = re.compile(r"0|[1-9][0-9]{0,17}")


@frozen(kw_only=True)
class Desk:
    """What all requests share."""

    spaces: Spaces
    authenticate: Authenticate
    settings: Settings
    workers: Workers
    stopping: asyncio.Event
    """Set when the server stops: streams end then."""
    watches: Watches
    """Who follows which log."""
    relays: Relays | None = None
    """The way to the other processes that serve the same address; None: there are none."""


@frozen(kw_only=True)
class Order:
    """A request that has been read and let in: everything that a worker needs for it."""

    route: Route
    call: Call
    caller: Caller
    space: str
    address: str
    """Path and query, as they were sent."""
    may_tidy: bool = False
    """Whether what waits may be consolidated before a question: it takes a server where anybody may
    write, a caller who may, and a method that may."""
    session: str | None = None
    if_match: Tags | None = None
    if_none_match: Tags | None = None

    @property
    def reads(self) -> bool:
        """Whether nothing is written for it."""
        return self.call.scope == "read"

    @property
    def tidies(self) -> bool:
        """Whether what waits is consolidated first, as a question does in the process.

        A condition speaks of the log as it stands, and would not hold any more.
        """
        return self.may_tidy and self.if_match is None and self.if_none_match is None

    @property
    def is_get(self) -> bool:
        """Whether it asks for what may stand in a cache."""
        return self.route.method == "GET"

    def is_unchanged(self, version: int) -> bool:
        """Return whether the answer is one that whoever asks has: a log at *version* has no other.

        What moves without the log is always sent again, and so is all that is asked in a session:
        its hour goes on, and with it whatever fades.
        """
        moves = self.session is not None or self.route.verb.name in MOVING
        condition = self.if_none_match if self.is_get and not moves else None
        return condition is not None and condition.match(version)


async def answer(desk: Desk, route: Route, request: Asked) -> Answer | Pieces:
    """Return the answer to a request for a verb.

    Raises:
        MnemicError: Any refusal or failure; the application makes a problem document of it.
    """
    caller = desk.authenticate(request.scope)
    kinds = (JSON, reading.STREAM) if route.verb.long else (JSON,)
    reading.check_acceptable(request.scope, *kinds)
    if not route.of_space:
        return await _apart(desk, route, request)
    space = reading.segment(request.scope["path_params"]["space"])
    if not caller.sees(space):
        raise unseen(space)
    try:
        hold = await desk.spaces.hold(space)
    except PointOutOfRange:
        raise unseen(space) from None
    try:
        order = await ordered(desk, route, caller, request, space=space)
        timeout_s = _timeout_s(desk.settings, route)
    except BaseException:
        hold.release()
        raise

    async def work(report: Progress | None) -> Answer:
        carrying = partial(carried_out, hold.memory, order, report)
        return await desk.workers.run(carrying, timeout_s=timeout_s, done=hold.release)

    if route.verb.long and reading.wants_stream(request.scope):
        return await progress.reported(
            work, request=request.scope, heartbeat_s=desk.settings.heartbeat_s
        )
    return await work(None)


async def ordered(desk: Desk, route: Route, caller: Caller, request: Asked, *, space: str) -> Order:
    """Return what a request orders, once it is read and let in.

    Raises:
        Forbidden: The caller may not do this here.
        FieldRefused: An argument or a header is none of what it should be.
    """
    call = await called(desk, route, request)
    traceless = UNRECORDED if call.verb in RECORDERS else ""
    check_scope(caller, space, call.scope, besides=traceless)
    check_writes(desk.settings, call.scope)
    if call.command_id is not None and not (route.verb.repeatable or call.scope == "read"):
        raise FieldRefused(
            f"{route.verb.name} takes no Idempotency-Key",
            recovery="Leave it out; see GET /v1/openapi.json for the verbs that take one.",
            field="Idempotency-Key",
        )
    named = call.arguments.get("space")
    if route.verb.name == "fork" and isinstance(named, str):
        copy = named.strip()  # as the verb itself will read it
        check_scope(caller, copy, "admin")
        check_name(copy)
    scope: Any = request.scope
    return Order(
        route=route,
        call=call,
        caller=caller,
        space=space,
        address=f"{scope['path']}?{scope['query_string'].decode('ascii')}",
        may_tidy=not desk.settings.read_only
        and route.method == "POST"
        and caller.allows(space, "write"),
        session=header(scope, b"mnemic-session"),
        if_match=reading.tags(scope, b"if-match", weak=False),
        if_none_match=reading.tags(scope, b"if-none-match", weak=True),
    )


async def called(desk: Desk, route: Route, request: Asked) -> Call:
    """Return the verb that a request calls, with everything that it says."""
    scope: Any = request.scope
    fields = reading.query(scope)
    in_path = {name: reading.segment(scope["path_params"][name]) for name in route.in_path}
    point = {
        name: reading.single(name, fields.pop(name)) for name in reading.POINT if name in fields
    }
    if route.by_query:
        arguments = in_query(route, fields)
    else:
        reading.check_fields(fields, reading.POINT)
        content = await reading.body(scope, request.receive, desk.settings)
        arguments = reading.json_object(scope, content)
    for name in in_path:
        if name in arguments:
            raise FieldRefused(f"{name} stands in the path already", field=name)
    key = header(scope, b"idempotency-key")
    return Call(
        verb=route.verb.name,
        arguments={**arguments, **in_path},
        command_id=None if key is None else checked_name("Idempotency-Key", unquoted(key)),
        **point,
    )


def in_query(route: Route, fields: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the arguments of a verb that a query holds."""
    known = {
        name: parameter
        for name, parameter in {
            **(route.verb.past_parameters or {}),
            **route.verb.parameters,
        }.items()
        if name not in route.in_path
    }
    points = reading.POINT if route.verb.past_parameters is not None else ()
    reading.check_fields(fields, (*known, *points))
    return {name: reading.value(known[name], values) for name, values in fields.items()}


def unquoted(key: str) -> str:
    """Return an idempotency key without the quotes of a structured field, if it is written so."""
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key


def carried_out(memory: SyncMemory, order: Order, report: Progress | None = None) -> Answer:
    """Return the answer to an order. Runs on a worker; *report* is told how far long work is."""
    seat = seated(memory, order)
    if order.reads:
        return _asked(seat, order, report)
    if order.if_none_match is not None:
        check_none(order.if_none_match, version_of(seat))
    document = document_of(answered(seat, order.call, report))
    return _told(order, document, version_written(seat))


def seated(memory: SyncMemory, order: Order) -> SyncMemory:
    """Return the seat that an order is carried out on.

    Raises:
        SessionState: Its session is not open, or another actor began it.
    """
    sit = partial(
        memory.seat,
        actor=order.caller.name,
        zone=order.caller.zone,
        read_only=order.reads and not order.tidies,
        version=None if order.reads else wanted(order.if_match, memory),
    )
    try:
        return sit(session=order.session)
    except SessionState:
        # Whoever did not hear that a session ended says so again; the log remembers by the id.
        if order.call.verb != "end_session" or order.call.command_id is None:
            raise
        return sit()


def _asked(seat: SyncMemory, order: Order, report: Progress | None) -> Answer:
    def question() -> dict[str, Any]:
        return document_of(answered(seat, order.call, report))

    if order.route.verb.long:
        document, version = question(), version_of(seat)
    else:
        document, version = asked(seat, question)
    if order.if_match is not None and not order.if_match.match(version):
        raise stale(version)
    if order.if_none_match is not None and not order.is_get:
        check_none(order.if_none_match, version)
    if order.is_unchanged(version):
        return Answer(status=304, headers=_of_version(version))
    return _told(order, document, version)


def _told(order: Order, document: Mapping[str, Any], version: int) -> Answer:
    headers = _of_version(version)
    page, made = _next_page(order, document), document.get(MADE.get(order.call.verb, ""))
    if page is not None:
        headers["link"] = f'<{reading.following(order.address, page)}>; rel="next"'
    if made is not None:
        headers["location"] = f"{order.address.partition('?')[0]}/{made}"
    return of_document(document, status=order.route.status, headers=headers)


def _next_page(order: Order, document: Mapping[str, Any]) -> int | None:
    """Return the version behind which the next page of a list begins, if there may be one."""
    if "next_after" in document or "after" not in order.route.verb.parameters:
        return document.get("next_after") if order.is_get else None
    limit = order.route.verb.parameters.get("limit")
    items: list[Any] = document.get(ITEMS, [])
    if limit is None or len(items) < order.call.arguments.get("limit", limit.default):
        return None
    last: int = items[-1]["version"]
    return last


def _of_version(version: int) -> dict[str, str]:
    return {"etag": f'"{version}"', "mnemic-version": str(version), "vary": "Mnemic-Session"}


def check_none(condition: Tags, version: int) -> None:
    """Refuse a request that is to be answered only if the log stands elsewhere.

    Raises:
        VersionConflict: It stands there.
    """
    if condition.match(version):
        raise stale(version)


def wanted(condition: Tags | None, memory: SyncMemory) -> int | None:
    """Return where a condition wants the log to stand; None: anywhere.

    A single version is left to the seat, which lets a command pass that is repeated though the log
    has moved on: by that very command.
    """
    if condition is None or condition.any:
        return None
    if len(condition.versions) == 1:
        (named,) = condition.versions
        return int(named) if _VERSION.fullmatch(named) else NOWHERE
    head = version_of(memory)
    return head if condition.match(head) else NOWHERE


def stale(head: int) -> VersionConflict:
    """Return the refusal of a request whose condition does not hold."""
    return VersionConflict(
        f"the log stands at version {head}",
        recovery="Look at what has happened since, and repeat with the ETag of that answer.",
        head=head,
    )


def _timeout_s(settings: Settings, route: Route) -> float:
    return settings.long_timeout_s if route.verb.long else settings.call_timeout_s


async def _apart(desk: Desk, route: Route, request: Asked) -> Answer:
    """Answer a verb that is about no space."""
    call = await called(desk, route, request)
    result = getattr(SyncMemory, call.verb)(**call.arguments)
    return of_document(document_of(result), status=route.status)
