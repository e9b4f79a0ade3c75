"""The stream of a long-running operation."""

from __future__ import annotations

from httpx_sse import ServerSentEvent

from mnemic.adapters.client.sse import OperationStream

PROGRESS = ServerSentEvent(event="progress", data='{"done": 1, "todo": 2}')


def test_a_long_operation_reports_progress_and_its_answer() -> None:
    steps: list[tuple[int, int]] = []
    stream = OperationStream(lambda done, todo: steps.append((done, todo)))
    stream.take(PROGRESS)
    assert (steps, stream.answer) == ([(1, 2)], None)
    stream.take(ServerSentEvent(event="result", data='{"chunks": 1}', id="9"))
    assert stream.answer is not None
    assert (stream.answer.status, stream.answer.body) == (200, b'{"chunks": 1}')


def test_progress_that_cannot_be_read_stops_no_work() -> None:
    steps: list[tuple[int, int]] = []
    stream = OperationStream(lambda done, todo: steps.append((done, todo)))
    for data in ("oops", "[]", "{}", '{"done": 1, "todo": "all"}'):
        stream.take(ServerSentEvent(event="progress", data=data))
    assert (steps, stream.answer) == ([], None)


def test_a_problem_at_the_end_of_long_work_is_an_answer_with_its_status() -> None:
    stream = OperationStream(None)
    stream.take(PROGRESS)
    stream.take(ServerSentEvent(event="problem", data='{"code": "store-full", "status": 507}'))
    assert stream.answer is not None
    assert (stream.answer.status, stream.answer.content_type) == (507, "application/problem+json")
