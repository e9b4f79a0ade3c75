"""The state that a client keeps between calls, and the handling of calls and answers. No I/O.

1. The session and the recent ids are kept by the client, as by a session handle in the process:
   the server keeps nothing between two requests but the log.
2. An operation that writes gets a command id, its caller's or a random one, so that it may be sent
   again; a random one only if retries are enabled.
3. A session is open from the answer of ``start_session`` to that of ``end_session``. If one of the
   two fails, the error alone does not say whether the session is open; the log is queried
   (``settle``). The same holds when an operation is refused for its session, which another client
   may have ended (``goes_on``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from mnemic.adapters.client.answers import Answer, result_in
from mnemic.adapters.client.requests import Request, header_value, request_of, space_path
from mnemic.adapters.client.server import Server, ServerUnreachable
from mnemic.adapters.client.time_points import resolved
from mnemic.adapters.inprocess.engine.recent_ids import RecentIds
from mnemic.adapters.inprocess.operations.experiments import policies_by_name
from mnemic.adapters.remote.calls import Call
from mnemic.kernel.errors import FieldRefused, MnemicError, SessionState
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.ports import Entropy
from mnemic.kernel.results import Status

POINTS: Final = frozenset({"after", "at", "before"})
"""Arguments that may be points in time. A number among them is a version."""
SESSIONS: Final = frozenset({"start_session", "end_session"})
COMMAND_BYTES: Final = 8


class ClientSession:
    """One client of one space."""

    def __init__(
        self, server: Server, space: str, entropy: Entropy, *, session: str | None = None
    ) -> None:
        self.server = server
        self.space = space
        self.session = None if session is None else SessionId(header_value("session", session))
        self.recent = RecentIds()
        self._entropy = entropy

    def request(self, call: Call, *, in_session: bool = True) -> Request:
        """Return the request that makes a call.

        Args:
            call: The call. Queries of the past are sent without the session, which they ignore.
            in_session: Whether to send the session along, if there is one.

        Raises:
            FieldRefused: An argument cannot be sent.
        """
        session = self.session if in_session and call.as_of is None else None
        return request_of(call, space=self.space, session=session)

    def making(self) -> Request:
        """Return the request that creates the space, unless it exists."""
        return Request(operation="make", method="PUT", target=space_path(self.space), again=True)

    def live(self, operation: str, arguments: Mapping[str, Any]) -> Call:
        """Return a call to the present memory.

        Raises:
            FieldRefused: An argument is for the server alone to decide.
        """
        given = {name: each for name, each in arguments.items() if name != "progress"}
        command_id = given.pop("command_id", None)
        spec = Call(operation=operation).spec
        for name in sorted(spec.declaration.local):
            if given.pop(name, None) is not None:
                raise FieldRefused(
                    f"{name} of {operation} cannot be given over HTTP",
                    recovery=f"Leave out {name}: the server has files of its own.",
                    field=name,
                )
        if "policies" in given:
            given["policies"] = policies_by_name(given["policies"])
        for name in POINTS & given.keys():
            given[name] = resolved(name, given[name])
        if spec.repeatable and command_id is None and self.server.retries:
            command_id = self._entropy.token(COMMAND_BYTES).hex()
        return Call(operation=operation, arguments=given, command_id=command_id)

    def concluded(self, call: Call, request: Request, answer: Answer) -> Any:
        """Return the result of a call, and update the session and the recent ids from it.

        Raises:
            ServerUnreachable: The response is not an answer of the operation.
        """
        result = result_in(answer, call.spec, request, self.server)
        if call.as_of is None:
            self._note(call.operation, result)
        return result

    def _note(self, operation: str, result: Any) -> None:
        match operation:
            case "learn":
                self.recent.learn(result.block_id, known=result.is_known)
            case "learn_many" | "add":
                for each in result.results:
                    self.recent.learn(each.block_id, known=each.is_known)
            case "revise":
                self.recent.learn(result.block_id)
            case "recall":
                self.recent.recall(result.block_ids)
            case "outcome":
                self.recent.touch(result.updated)
            case "start_session" if result.session_id != self.session:
                self.session, self.recent = result.session_id, RecentIds()
            case "end_session" if result.session_id == self.session:
                self.session = None
            case _:
                pass

    def doubts(self, operation: str, error: MnemicError) -> bool:
        """Return whether an error leaves it unknown if the session is still open."""
        about = operation in SESSIONS or isinstance(error, SessionState)
        return about and self.session is not None and not isinstance(error, ServerUnreachable)

    def goes_on(self, operation: str, error: MnemicError, session: SessionId | None) -> bool:
        """Return whether to repeat an operation that was refused only because of its session.

        A session that another client has ended is over, as it is for a handle in the process;
        operations that are not about that session are repeated without it.

        Args:
            operation: The operation, refused before anything was done.
            error: The refusal.
            session: The session that was sent along.
        """
        refused = isinstance(error, SessionState) and session is not None
        return refused and operation != "end_session" and self.session != session

    def settle(self, status: Status) -> None:
        """Forget the session if it is not open in the log."""
        if self.session not in status.open_sessions:
            self.session = None


def arguments_given(
    operation: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return the arguments of a call by name.

    Args:
        operation: The method of the in-process memory.
        args: Positional arguments, without the memory itself.
        keywords: Keyword arguments.

    Raises:
        TypeError: The operation has no such parameters.
    """
    signature = _signature(operation)
    try:
        given = dict(signature.bind(None, *args, **keywords).arguments)
    except TypeError as error:
        raise TypeError(f"{operation.__name__}() {error}") from None
    del given[next(iter(signature.parameters))]
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(given.pop(name, {}))
    return given


@cache
def _signature(operation: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(operation)
