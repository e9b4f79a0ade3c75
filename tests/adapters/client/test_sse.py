from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from mnemic.adapters.client.sse import Decoder, Event, SSEParser

LINES = "a line\u2028that Python would break, \x85 twice"
STREAM = (
    ": hello\r\n\r\n"
    "retry: 1500\n\n"
    f"id: 7\nevent: block-learned\ndata: {LINES}\n\n"
    "data: first\rdata: second\r\r"
    "data:no space\nnobody: knows\nid: a\0b\n\n"
    "event: empty\n\n"
    "data: never ended\n"
).encode()
EVENTS = [
    Event(name="block-learned", data=LINES, id="7"),
    Event(data="first\nsecond", id="7"),
    Event(data="no space", id="7"),
]


def decoded(pieces: list[bytes]) -> list[Event]:
    decoder = Decoder()
    return [event for piece in pieces for event in decoder.feed(piece)]


@given(cuts=st.lists(st.integers(min_value=0, max_value=len(STREAM)), max_size=12))
def test_events_do_not_depend_on_how_the_stream_is_split(cuts: list[int]) -> None:
    places = [0, *sorted(cuts), len(STREAM)]
    assert decoded([STREAM[start:end] for start, end in pairwise(places)]) == EVENTS


def test_a_name_belongs_to_its_own_event_alone() -> None:
    named = b"event: one\n\ndata: two\n\n"
    assert decoded([named]) == [Event(name="message", data="two")]


def test_the_server_says_how_long_to_wait_before_coming_back() -> None:
    decoder = Decoder()
    assert [*decoder.feed(b"retry: 1500\n\nretry: soon\n\n")] == []
    assert decoder.retry_s == 1.5


def test_a_long_operation_reports_progress_and_its_answer() -> None:
    steps: list[tuple[int, int]] = []
    hearing = SSEParser(lambda done, todo: steps.append((done, todo)))
    hearing.take(b'event: progress\ndata: {"done": 1, "todo": 2}\n\n: \n\n')
    assert (steps, hearing.answer) == ([(1, 2)], None)
    hearing.take(b'id: 9\nevent: result\ndata: {"chunks": 1}\n\n')
    assert hearing.answer is not None
    assert (hearing.answer.status, hearing.answer.body) == (200, b'{"chunks": 1}')


def test_progress_that_cannot_be_read_stops_no_work() -> None:
    steps: list[tuple[int, int]] = []
    hearing = SSEParser(lambda done, todo: steps.append((done, todo)))
    for data in (b"oops", b"[]", b"{}", b'{"done": 1, "todo": "all"}'):
        hearing.take(b"event: progress\ndata: %b\n\n" % data)
    assert (steps, hearing.answer) == ([], None)


def test_a_problem_at_the_end_of_long_work_is_an_answer_with_its_status() -> None:
    hearing = SSEParser(None)
    hearing.take(b'event: progress\ndata: {"done": 1, "todo": 2}\n\n')
    hearing.take(b'event: problem\ndata: {"code": "store-full", "status": 507}\n\n')
    assert hearing.answer is not None
    assert (hearing.answer.status, hearing.answer.content_type) == (507, "application/problem+json")
