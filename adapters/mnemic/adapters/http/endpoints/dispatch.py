"""Dispatch of requests to operations: parse, authorize, call, and render the response."""

from __future__ import annotations

import asyncio
import re
from collections.abc import Mapping
from functools import partial
from typing import Any

from attrs import frozen

from mnemic.adapters.hosting import Hold, Spaces
from mnemic.adapters.http.endpoints import leaders, progress
from mnemic.adapters.http.endpoints.log_watchers import Watches
from mnemic.adapters.http.endpoints.prepared_call import PreparedCall
from mnemic.adapters.http.endpoints.worker_threads import Workers
from mnemic.adapters.http.messages import requests
from mnemic.adapters.http.messages.requests import Tags
from mnemic.adapters.http.messages.responses import JSON, Answer, of_document
from mnemic.adapters.http.messages.streamed_responses import Pieces
from mnemic.adapters.http.middleware.security import (
    Authenticate,
    Caller,
    check_scope,
    check_writes,
    unseen,
)
from mnemic.adapters.http.routing.handlers import Asked
from mnemic.adapters.http.routing.routes import Route, check_name
from mnemic.adapters.http.settings import Settings
from mnemic.adapters.inprocess.operations.answer_version import (
    asked,
    tag_of,
    version_of,
    version_written,
)
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.remote.asgi_requests import header
from mnemic.adapters.remote.calls import (
    Call,
    Progress,
    answered,
)
from mnemic.adapters.remote.shares import Shares
from mnemic.kernel.errors import FieldRefused, SessionState, SpaceNotFound, VersionConflict
from mnemic.kernel.validation import checked_name

UNRECORDED = "A recall that is not recorded needs no more than read: give record=false."
"""Advice for a caller with the scope read who requests a recall."""
NOWHERE = -1
"""A version that no log has, for a condition whose tags match no version."""
_VERSION = re.compile(r"0|[1-9][0-9]{0,17}")


@frozen(kw_only=True)
class Dispatcher:
    """Dependencies that all requests share."""

    spaces: Spaces
    authenticate: Authenticate
    settings: Settings
    workers: Workers
    stopping: asyncio.Event
    """Set when the server stops; streams then end."""
    watches: Watches
    """The followers of each log."""
    arriving: Shares
    """Requests whose bodies are being received."""
    forwarding: leaders.Forwarding
    """Passes requests on to other hosts of a cluster."""


async def answer(dispatcher: Dispatcher, route: Route, request: Asked) -> Answer | Pieces:
    """Return the response to a request for an operation.

    Raises:
        MnemicError: Any refusal or failure; the application makes a problem document of it.
    """
    caller = dispatcher.authenticate(request.scope)
    kinds = (JSON, requests.STREAM) if route.operation.long else (JSON,)
    requests.check_acceptable(request.scope, *kinds)
    if not route.of_space:
        return await _without_space(dispatcher, route, request)
    space = requests.segment(request.scope["path_params"]["space"])
    if not caller.sees(space):
        raise unseen(space)
    dispatcher.workers.check_share(caller.client)  # before the body is read
    if dispatcher.spaces.cluster is not None:
        prepared = await arrived(dispatcher, route, caller, request, space=space)
        try:
            return await leaders.answer(
                dispatcher.spaces,
                prepared,
                request.scope,
                run=partial(_run, dispatcher, request),
                forward=dispatcher.forwarding.answer,
                timeout_s=_timeout_s(dispatcher.settings, route),
            )
        except SpaceNotFound:
            raise unseen(space) from None
    try:
        hold = await dispatcher.spaces.hold(space)
    except SpaceNotFound:
        raise unseen(space) from None
    try:
        prepared = await arrived(dispatcher, route, caller, request, space=space)
    except BaseException:
        hold.release()
        raise
    return await _run(dispatcher, request, prepared, hold)


async def _run(
    dispatcher: Dispatcher, request: Asked, prepared: PreparedCall, hold: Hold
) -> Answer | Pieces:
    """Return the response to a request that this process executes; *hold* is released."""
    timeout_s = _timeout_s(dispatcher.settings, prepared.route)

    async def work(report: Progress | None) -> Answer:
        executing = partial(executed, hold.memory, prepared, report)
        return await dispatcher.workers.run(
            executing, timeout_s=timeout_s, done=hold.release, client=prepared.caller.client
        )

    if prepared.route.operation.long and requests.wants_stream(request.scope):
        return await progress.reported(
            work, request=request.scope, heartbeat_s=dispatcher.settings.heartbeat_s
        )
    return await work(None)


async def arrived(
    dispatcher: Dispatcher, route: Route, caller: Caller, request: Asked, *, space: str
) -> PreparedCall:
    """Receive and prepare a request, within the share of its client; see ``prepare``."""
    with dispatcher.arriving.using(caller.client):
        return await prepare(dispatcher, route, caller, request, space=space)


async def prepare(
    dispatcher: Dispatcher, route: Route, caller: Caller, request: Asked, *, space: str
) -> PreparedCall:
    """Parse and authorize a request.

    Raises:
        Forbidden: The caller does not have the scope.
        FieldRefused: An argument or a header is invalid.
    """
    call = await called(dispatcher, route, request)
    traceless = UNRECORDED if call.spec.can_skip_record else ""
    check_scope(caller, space, call.scope, besides=traceless)
    check_writes(dispatcher.settings, call.scope)
    if call.command_id is not None and not (route.operation.repeatable or call.scope == "read"):
        raise FieldRefused(
            f"{route.operation.name} takes no Idempotency-Key",
            recovery="Leave it out; see GET /v1/openapi.json for the operations that take one.",
            field="Idempotency-Key",
        )
    if call.other_space is not None:
        check_scope(caller, call.other_space, "admin")
        check_name(call.other_space)
    scope: Any = request.scope
    return PreparedCall(
        route=route,
        call=call,
        caller=caller,
        space=space,
        address=f"{scope['path']}?{scope['query_string'].decode('ascii')}",
        may_consolidate=not dispatcher.settings.read_only
        and route.method == "POST"
        and caller.allows(space, "write"),
        session=header(scope, b"mnemic-session"),
        if_match=requests.tags(scope, b"if-match", weak=False),
        if_none_match=requests.tags(scope, b"if-none-match", weak=True),
    )


async def called(dispatcher: Dispatcher, route: Route, request: Asked) -> Call:
    """Return the operation that a request calls, with all its arguments."""
    scope: Any = request.scope
    fields = requests.query(scope)
    in_path = {name: requests.segment(scope["path_params"][name]) for name in route.in_path}
    point = {
        name: requests.single(name, fields.pop(name)) for name in requests.POINT if name in fields
    }
    if route.by_query:
        arguments = in_query(route, fields)
    else:
        requests.check_fields(fields, requests.POINT)
        content = await requests.body(scope, request.receive, dispatcher.settings)
        arguments = requests.json_object(scope, content)
    for name in in_path:
        if name in arguments:
            raise FieldRefused(f"{name} is given in the path already", field=name)
    key = header(scope, b"idempotency-key")
    return Call(
        operation=route.operation.name,
        arguments={**arguments, **in_path},
        command_id=None if key is None else checked_name("Idempotency-Key", unquoted(key)),
        **point,
    )


def in_query(route: Route, fields: Mapping[str, list[str]]) -> dict[str, Any]:
    """Return the arguments of an operation that are in the query."""
    known = {
        name: parameter
        for name, parameter in {
            **(route.operation.past_parameters or {}),
            **route.operation.parameters,
        }.items()
        if name not in route.in_path
    }
    points = requests.POINT if route.operation.past_parameters is not None else ()
    requests.check_fields(fields, (*known, *points))
    return {name: requests.value(known[name], values) for name, values in fields.items()}


def unquoted(key: str) -> str:
    """Return an idempotency key without the quotes of a structured field, if it has them."""
    return key[1:-1] if len(key) > 1 and key[0] == key[-1] == '"' else key


def executed(memory: SyncMemory, prepared: PreparedCall, report: Progress | None = None) -> Answer:
    """Execute a request on a worker thread; *report* is called with the progress of long work."""
    session_handle = handle_of(memory, prepared)
    if prepared.reads:
        return _read(session_handle, prepared, report)
    if prepared.if_none_match is not None:
        version = version_of(session_handle)
        check_none(prepared.if_none_match, version, tag_of(session_handle, version))
    result = answered(session_handle, prepared.call, report)
    written = version_written(session_handle)
    return _response(prepared, result, _of_version(written, tag_of(session_handle, written)))


def handle_of(memory: SyncMemory, prepared: PreparedCall) -> SyncMemory:
    """Return the session handle on which a request is executed.

    Raises:
        SessionState: Its session is not open, or another actor began it.
    """
    open_handle = partial(
        memory.session_handle,
        actor=prepared.caller.name,
        zone=prepared.caller.zone,
        read_only=prepared.reads and not prepared.consolidates_first,
        version=None if prepared.reads else wanted(prepared.if_match, memory),
    )
    try:
        return open_handle(session=prepared.session)
    except SessionState:
        # A client that missed the response to end_session repeats it; the log knows its command id.
        if prepared.call.operation != "end_session" or prepared.call.command_id is None:
            raise
        return open_handle()


def _read(session_handle: SyncMemory, prepared: PreparedCall, report: Progress | None) -> Answer:
    question = partial(answered, session_handle, prepared.call, report)
    if prepared.route.operation.long:
        result, version = question(), version_of(session_handle)
    else:
        result, version = asked(session_handle, question)
    tag = tag_of(session_handle, version)
    if prepared.if_match is not None and not prepared.if_match.match(tag):
        raise version_conflict(version)
    if prepared.if_none_match is not None and not prepared.is_get:
        check_none(prepared.if_none_match, version, tag)
    if prepared.is_unchanged(tag):
        return Answer(status=304, headers=_of_version(version, tag))
    return _response(prepared, result, _of_version(version, tag))


def _response(prepared: PreparedCall, result: Any, headers: dict[str, str]) -> Answer:
    page, makes = _next_page(prepared, result), prepared.route.operation.declaration.makes
    if page is not None:
        headers["link"] = f'<{requests.following(prepared.address, page)}>; rel="next"'
    if makes is not None:
        headers["location"] = f"{prepared.address.partition('?')[0]}/{getattr(result, makes)}"
    return of_document(result, status=prepared.route.status, headers=headers)


def _next_page(prepared: PreparedCall, result: Any) -> int | None:
    """Return the version after which the next page of a list begins, if there may be one."""
    if not isinstance(result, tuple) or "after" not in prepared.route.operation.parameters:
        return getattr(result, "next_after", None) if prepared.is_get else None
    limit = prepared.route.operation.parameters.get("limit")
    if limit is None or len(result) < prepared.call.arguments.get("limit", limit.default):
        return None
    last: int = result[-1].version
    return last


def _of_version(version: int, tag: str) -> dict[str, str]:
    return {"etag": f'"{tag}"', "mnemic-version": str(version), "vary": "Mnemic-Session"}


def check_none(condition: Tags, version: int, tag: str) -> None:
    """Refuse a request on the condition that the log is not at a version.

    Args:
        condition: The versions.
        version: That of the log.
        tag: Its tag.

    Raises:
        VersionConflict: It is at that version.
    """
    if condition.match(tag):
        raise version_conflict(version)


def wanted(condition: Tags | None, memory: SyncMemory) -> int | None:
    """Return the version that a condition requires of the log; None: any.

    A single version is left to the session handle, which accepts a repeated command although the
    log has moved on by that very command. Its digest, if given, has to be that of the log.
    """
    if condition is None or condition.any:
        return None
    if len(condition.versions) == 1:
        (named,) = condition.versions
        version, _, digest = named.partition(".")
        if not _VERSION.fullmatch(version) or (digest and not _is_of(memory, int(version), named)):
            return NOWHERE
        return int(version)
    head = version_of(memory)
    return head if condition.match(tag_of(memory, head)) else NOWHERE


def _is_of(memory: SyncMemory, version: int, tag: str) -> bool:
    """Return whether a tag is that of a version of the log."""
    return version <= version_of(memory) and tag_of(memory, version) == tag


def version_conflict(head: int) -> VersionConflict:
    """Return the error for a condition that does not hold."""
    return VersionConflict(
        f"the log is at version {head}",
        recovery="Read what has happened since, and repeat with the ETag of that response.",
        head=head,
    )


def _timeout_s(settings: Settings, route: Route) -> float:
    return settings.long_timeout_s if route.operation.long else settings.call_timeout_s


async def _without_space(dispatcher: Dispatcher, route: Route, request: Asked) -> Answer:
    """Answer an operation that belongs to no space."""
    call = await called(dispatcher, route, request)
    result = getattr(SyncMemory, call.operation)(**call.arguments)
    return of_document(result, status=route.status)
