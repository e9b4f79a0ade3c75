"""What a client knows between two calls, and what it makes of calls and answers. No I/O.

1. The session and the breadcrumbs are the client's own, as they are a handle's own in the process:
   the server keeps nothing between two requests but the log.
2. A verb that writes gets a command id, its caller's or a random one, so that it may be sent again;
   a random one only if it would be.
3. A session stands from the answer of ``start_session`` to that of ``end_session``. When one of the
   two fails nobody knows by the error alone whether it still does; the log is asked (``settle``).
   So it is when a verb is refused for its session: somebody else may have ended it (``goes_on``).
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any, Final

from mnemic.adapters.client.answers import Answer, result_in
from mnemic.adapters.client.requests import Request, header_value, request_of, space_path
from mnemic.adapters.client.server import Server, ServerUnreachable
from mnemic.adapters.client.translation import policies_by_name
from mnemic.adapters.inprocess.breadcrumbs import Breadcrumbs
from mnemic.adapters.wire.calls import Call
from mnemic.adapters.wire.verbs import PATHS
from mnemic.kernel.errors import FieldRefused, MnemicError, SessionState
from mnemic.kernel.identity import SessionId
from mnemic.kernel.ports import Entropy
from mnemic.kernel.results import Status

SESSIONS: Final = frozenset({"start_session", "end_session"})
COMMAND_BYTES: Final = 8


class Desk:
    """One client of one space."""

    def __init__(
        self, server: Server, space: str, entropy: Entropy, *, session: str | None = None
    ) -> None:
        self.server = server
        self.space = space
        self.session = None if session is None else SessionId(header_value("session", session))
        self.crumbs = Breadcrumbs()
        self._entropy = entropy

    def request(self, call: Call, *, in_session: bool = True) -> Request:
        """Return the request that makes a call.

        Args:
            call: What is asked. The past is the same in every session, so it is asked outside.
            in_session: Whether the session goes along, if there is one.

        Raises:
            FieldRefused: An argument cannot be sent.
        """
        session = self.session if in_session and call.as_of is None else None
        return request_of(call, space=self.space, session=session)

    def making(self) -> Request:
        """Return the request that makes the space, unless it is there."""
        return Request(verb="make", method="PUT", target=space_path(self.space), again=True)

    def live(self, verb: str, arguments: Mapping[str, Any]) -> Call:
        """Return a call to the memory as it is.

        Raises:
            FieldRefused: An argument is a matter of the server's.
        """
        given = {name: each for name, each in arguments.items() if name != "progress"}
        command_id = given.pop("command_id", None)
        for name in PATHS.get(verb, ()):
            if given.pop(name, None) is not None:
                raise FieldRefused(
                    f"{name} of {verb} cannot be said over HTTP",
                    recovery=f"Leave out {name}: the server has files of its own.",
                    field=name,
                )
        if "policies" in given:
            given["policies"] = policies_by_name(given["policies"])
        call = Call(verb=verb, arguments=given)
        if call.spec.repeatable and command_id is None and self.server.retries:
            command_id = self._entropy.token(COMMAND_BYTES).hex()
        return Call(verb=verb, arguments=given, command_id=command_id)

    def concluded(self, call: Call, request: Request, answer: Answer) -> Any:
        """Return the result of a call, and take note of what it means for this client.

        Raises:
            ServerUnreachable: It is no answer of the verb.
        """
        result = result_in(answer, call.spec, request, self.server)
        if call.as_of is None:
            self._note(call.verb, result)
        return result

    def _note(self, verb: str, result: Any) -> None:
        match verb:
            case "learn":
                self.crumbs.learn(result.block_id, known=result.action == "duplicate")
            case "learn_many":
                for each in result.results:
                    self.crumbs.learn(each.block_id, known=each.action == "duplicate")
            case "revise":
                self.crumbs.learn(result.block_id)
            case "recall":
                self.crumbs.recall(result.block_ids)
            case "outcome":
                self.crumbs.touch(result.updated)
            case "start_session" if result.session_id != self.session:
                self.session, self.crumbs = result.session_id, Breadcrumbs()
            case "end_session" if result.session_id == self.session:
                self.session = None
            case _:
                pass

    def doubts(self, verb: str, error: MnemicError) -> bool:
        """Whether nobody knows, after an error, if the session still stands."""
        about = verb in SESSIONS or isinstance(error, SessionState)
        return about and self.session is not None and not isinstance(error, ServerUnreachable)

    def goes_on(self, verb: str, error: MnemicError, session: SessionId | None) -> bool:
        """Whether a verb is asked again, since all that was wrong with it was its session.

        A session that somebody else has ended is over, as it is for a handle in the process; what
        is not about that session goes on without it.

        Args:
            verb: What was asked, and refused before anything was done.
            error: The refusal.
            session: The one that went along.
        """
        refused = isinstance(error, SessionState) and session is not None
        return refused and verb != "end_session" and self.session != session

    def settle(self, status: Status) -> None:
        """Let go of a session that the log does not know as open."""
        if self.session not in status.open_sessions:
            self.session = None


def arguments_given(
    verb: Callable[..., Any], args: tuple[Any, ...], keywords: Mapping[str, Any]
) -> dict[str, Any]:
    """Return what a verb was called with, by name.

    Args:
        verb: As it stands in the class of the memory in the process.
        args: Without the memory itself.
        keywords: By name.

    Raises:
        TypeError: The verb has no such parameters.
    """
    signature = _signature(verb)
    try:
        given = dict(signature.bind(None, *args, **keywords).arguments)
    except TypeError as error:
        raise TypeError(f"{verb.__name__}() {error}") from None
    del given[next(iter(signature.parameters))]
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.VAR_KEYWORD:
            given.update(given.pop(name, {}))
    return given


@cache
def _signature(verb: Callable[..., Any]) -> inspect.Signature:
    return inspect.signature(verb)
