"""Retries: which requests are sent again after a missing or a foreign answer."""

from __future__ import annotations

from contextlib import closing
from typing import Any

import pytest

from mnemic.adapters.client import ServerUnreachable, SyncMemory
from mnemic.adapters.client.answers import Answer, Silence
from mnemic.adapters.client.requests import Request
from mnemic.adapters.client.retries import pause_s
from mnemic.adapters.client.server import Server
from mnemic.adapters.remote.transport_errors import Overloaded
from mnemic.kernel.errors import MnemicError, SessionState, StoreBusy
from mnemic.kernel.results import Verification
from tests.adapters.client.serving import Served
from tests.adapters.client.transports import Breaking, Lossy, Scripted

SERVER = Server(address="http://127.0.0.1:1", token="", retries=3, backoff_s=0.5)
READING = Request(operation="status", method="GET", target="/", again=True)
JSON = {"content-type": "application/json"}
PROBLEM = {"content-type": "application/problem+json"}
BUSY = (
    b'{"code": "store-busy", "detail": "held", "recovery": "Wait.", "type": "urn:x", "status": 503}'
)


EVENTS = {"content-type": "text/event-stream"}


def through(transport: Any, **given: Any) -> SyncMemory:
    return SyncMemory.open(
        "http://127.0.0.1:1", token="", transport=transport, backoff_s=0.0, **given
    )


def lossy(server: Served, transport: Lossy, **given: Any) -> SyncMemory:
    token = server.token()
    return SyncMemory.open(
        server.address, token=token, make=True, transport=transport, backoff_s=0.0, **given
    )


# --- how long to wait ---------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("outcome", "attempt", "expected"),
    [
        (Silence(complaint="x"), 0, 0.5),
        (Silence(complaint="x"), 2, 2.0),
        (Silence(complaint="x"), 3, None),
        (Answer(status=503), 0, 0.5),
        (Answer(status=503, headers={"retry-after": "4"}), 0, 4.0),
        (Answer(status=503, headers={"retry-after": "11"}), 0, None),
        (Answer(status=503, headers={"retry-after": "soon"}), 1, 1.0),
        (Answer(status=502), 0, 0.5),
        (Answer(status=500), 0, None),
        (Answer(status=409), 0, None),
        (Answer(status=200), 0, None),
    ],
)
def test_the_pause_doubles_or_is_the_one_that_the_server_names(
    outcome: Answer | Silence, attempt: int, expected: float | None
) -> None:
    assert pause_s(SERVER, READING, outcome, attempt) == expected


def test_no_pause_is_longer_than_ten_seconds() -> None:
    patient = Server(address="http://127.0.0.1:1", token="", retries=100, backoff_s=0.5)
    assert pause_s(patient, READING, Silence(complaint="x"), 99) == 10.0


# --- lost answers -------------------------------------------------------------------------------


def test_a_command_whose_answer_was_lost_is_done_once(server: Served) -> None:
    transport = Lossy(2, of="/blocks")
    with lossy(server, transport) as memory:
        learned = memory.learn("the gate opens at six")
        kinds = [moment.kind for moment in memory.log()]
        assert (learned.action, kinds.count("block-learned")) == ("created", 1)
        keys = [key for key in transport.keys if key is not None]
        assert (len(keys), len({*keys}), len(keys[0])) == (3, 1, 16)
        assert memory.last_learned_block_id == learned.block_id


def test_each_command_has_an_id_of_its_own(server: Served) -> None:
    transport = Lossy(0)
    with lossy(server, transport) as memory:
        for content in ("one", "two"):
            memory.learn(content)
        memory.learn("three", command_id="mine")
        keys = [key for key in transport.keys if key is not None]
        assert (len({*keys}), keys[-1]) == (3, "mine")


def test_a_start_session_whose_answer_was_lost_begins_one_session(server: Served) -> None:
    with lossy(server, Lossy(1, of="/sessions")) as memory:
        started = memory.start_session()
        assert memory.status().open_sessions == (started.session_id,)


def test_an_end_session_whose_answer_was_lost_ends_the_session(server: Served) -> None:
    with lossy(server, Lossy(1, of="/sessions/end")) as memory:
        started, ended = memory.start_session(), memory.end_session()
        assert (ended.session_id, ended.action) == (started.session_id, "ended")
        assert memory.status().open_sessions == ()
        kinds = [moment.kind for moment in memory.log()]
        assert kinds.count("session-ended") == 1


def test_a_request_without_command_id_is_sent_once(server: Served) -> None:
    transport = Lossy(1, of="/fork")
    with lossy(server, transport) as memory:
        memory.learn("the gate opens at six")
        with pytest.raises(ServerUnreachable, match="in 1 try") as lost:
            memory.fork("copy")
        assert [each.url.path for each in transport.sent][-1].endswith("/fork")
        assert (lost.value.code, lost.value.status) == ("server-unreachable", 503)
        assert "the answer was lost" in lost.value.message
        assert lost.value.recovery


def test_without_retries_nothing_is_sent_twice_and_no_id_is_made(server: Served) -> None:
    transport = Lossy(1, of="/blocks")
    with lossy(server, transport, retries=0) as memory:
        with pytest.raises(ServerUnreachable):
            memory.learn("the gate opens at six")
        assert set(transport.keys) == {None}
        assert memory.status().inbox == 1


@pytest.mark.parametrize("command_id", [None, "mine"])
def test_an_unanswered_command_can_be_repeated_by_its_id(
    server: Served, command_id: str | None
) -> None:
    transport = Lossy(2, of="/recall")
    with lossy(server, transport, retries=1) as memory:
        memory.learn("the gate opens at six")
        with pytest.raises(ServerUnreachable) as lost:
            memory.recall("gate", command_id=command_id)
        result = str(lost.value.facts["command_id"])
        assert memory.recall("gate", command_id=result).decision_id is not None
        assert (result == "mine") is (command_id == "mine")
        assert memory.status().decisions == 1


def test_a_command_refused_under_overload_can_be_repeated_by_its_id() -> None:
    with through(Scripted((503, PROBLEM, BUSY)), retries=0) as memory:
        with pytest.raises(StoreBusy) as busy:
            memory.learn("the gate opens at six", command_id="mine")
        assert busy.value.facts == {"command_id": "mine"}


# --- others that answer -------------------------------------------------------------------------


def test_a_server_that_is_busy_is_asked_again() -> None:
    transport = Scripted((503, PROBLEM, BUSY), (503, PROBLEM, BUSY), (200, JSON, b'{"items": []}'))
    with through(transport) as memory:
        assert memory.log() == ()
    assert len(transport.sent) == 3


def test_a_server_that_stays_busy_raises_its_own_error() -> None:
    transport = Scripted(*[(503, PROBLEM, BUSY)] * 3)
    with through(transport) as memory, pytest.raises(StoreBusy) as busy:
        memory.log()
    assert (busy.value.message, busy.value.recovery, busy.value.facts) == ("held", "Wait.", {})


def test_a_redirection_to_another_host_is_followed_with_the_token() -> None:
    there = {"location": "http://127.0.0.1:2/v1/spaces/default/log"}
    transport = Scripted((307, there, b""), (200, JSON, b'{"items": []}'))
    with SyncMemory.open("http://127.0.0.1:1", token="secret", transport=transport) as memory:  # noqa: S106
        assert memory.log() == ()
    assert [each.url.port for each in transport.sent] == [1, 2]
    assert transport.sent[1].headers["authorization"] == "Bearer secret"


def test_a_redirection_that_gives_the_token_away_or_has_no_end_is_an_error() -> None:
    open_to_all = (307, {"location": "http://127.0.0.1:2/v1/spaces/default/log"}, b"")
    transport = Scripted(open_to_all)
    with (
        SyncMemory.open("https://127.0.0.1:1", token="secret", transport=transport) as memory,  # noqa: S106
        pytest.raises(ServerUnreachable),
    ):
        memory.log()
    assert len(transport.sent) == 1
    with through(Scripted(*[open_to_all] * 9)) as memory, pytest.raises(ServerUnreachable):
        memory.log()


def test_errors_of_the_interface_are_errors_of_their_own_classes() -> None:
    body = b'{"code": "overloaded", "detail": "144 wait", "recovery": "Wait.", "under_way": 144}'
    transport = Scripted((503, PROBLEM, body))
    with through(transport, retries=0) as memory, pytest.raises(Overloaded) as refused:
        memory.log()
    assert refused.value.facts == {"under_way": 144}


def test_an_error_of_a_newer_server_keeps_its_code() -> None:
    body = b'{"code": "moon-full", "detail": "no", "recovery": "Wait.", "instance": "urn:r:7"}'
    with through(Scripted((418, PROBLEM, body))) as memory, pytest.raises(MnemicError) as refused:
        memory.log()
    assert (refused.value.code, refused.value.recovery) == ("moon-full", "Wait.")
    assert "Request: urn:r:7" in refused.value.__notes__


@pytest.mark.parametrize(
    "answer",
    [
        (404, {"content-type": "text/html"}, b"<h1>Not Found</h1>"),
        (302, {"location": "http://elsewhere"}, b""),
        (200, {"content-type": "text/html"}, b"<h1>Welcome</h1>"),
        (200, JSON, b"[1]"),
        (200, JSON, b"{"),
        (401, PROBLEM, b'{"detail": "no code"}'),
        (403, JSON, b'{"code": "Forbidden", "message": "of a gateway"}'),
        (200, {}, b""),
    ],
)
def test_a_foreign_answer_is_reported_as_unreachable(answer: Any) -> None:
    transport = Scripted(answer)
    result = "as no server of mnemic does"
    with through(transport) as memory, pytest.raises(ServerUnreachable, match=result) as foreign:
        memory.log()
    assert foreign.value.facts == {"http_status": answer[0]}
    assert len(transport.sent) == 1


@pytest.mark.parametrize("data", ["oops", "[]", "{}"])
def test_a_foreign_problem_in_a_stream_is_reported_as_unreachable(data: str) -> None:
    transport = Scripted((200, EVENTS, f"event: problem\ndata: {data}\n\n".encode()))
    with through(transport) as memory, pytest.raises(ServerUnreachable, match="answered 500"):
        memory.verify()


@pytest.mark.parametrize("data", ["oops", "[]", "{}", '{"version": 1}'])
def test_a_foreign_event_is_reported_as_unreachable(data: str) -> None:
    transport = Scripted((200, EVENTS, f"event: x\ndata: {data}\n\n".encode()))
    with (
        through(transport) as memory,
        closing(memory.events()) as events,
        pytest.raises(ServerUnreachable, match="cannot be read"),
    ):
        next(events)


def test_a_complete_answer_counts_though_the_stream_breaks() -> None:
    transport = Breaking(b'event: result\ndata: {"events": 2, "head": "a", "sound": true}\n\n')
    with through(transport) as memory:
        assert memory.verify() == Verification(events=2, head="a", sound=True)
    assert transport.sent == 1


def test_a_document_of_another_release_is_reported_as_unreadable() -> None:
    transport, result = Scripted((200, JSON, b'{"items": [{"hour": 1}]}')), "cannot be read"
    with through(transport) as memory, pytest.raises(ServerUnreachable, match=result) as unreadable:
        memory.log()
    assert "release" in unreadable.value.recovery


def test_additional_fields_of_a_newer_server_are_ignored() -> None:
    moment = b'{"version": 1, "hour": 0.5, "recorded_at": "x", "kind": "k", "moon": "full"}'
    with through(Scripted((200, JSON, b'{"items": [%b], "more": 1}' % moment))) as memory:
        assert [each.kind for each in memory.log()] == ["k"]


def test_a_session_no_longer_open_in_the_log_is_forgotten(server: Served) -> None:
    token = server.token()
    with SyncMemory.open(server.address, token=token, make=True) as memory:
        started = memory.start_session()
        with SyncMemory.open(server.address, token=token, session=started.session_id) as other:
            other.end_session()
        with pytest.raises(SessionState):
            memory.end_session()
        assert memory.start_session().session_id != started.session_id
