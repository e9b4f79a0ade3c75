"""Analyses over HTTP: one request per passage, answers checked strictly."""

from __future__ import annotations

import json
from threading import Event
from typing import Any

import pytest

from mnemic.adapters.endpoints import ChatAnalyst
from mnemic.adapters.endpoints.chat import INSTRUCTIONS
from mnemic.kernel.errors import FieldRefused
from mnemic.kernel.ports import Analysis, Passage
from tests.adapters.endpoints.conftest import Chatting, Reply, Server, said

NOTE = Passage(content="The gate opens at six.", tags=("harbour",))
NOTHING: dict[str, object] = {"tags": [], "alignment": None, "summary": None}


def notes(*contents: str) -> list[Passage]:
    return [Passage(content=content) for content in contents]


def test_a_passage_is_sent_as_data_apart_from_the_instructions(
    server: Server, chatting: Chatting
) -> None:
    list(chatting().analyse([NOTE]))
    (request,) = server.requests
    assert request.path == "/v1/chat/completions"
    messages = request.document.pop("messages")
    assert request.document == {"model": "small", "response_format": {"type": "json_object"}}
    assert [message["role"] for message in messages] == ["system", "user"]
    assert messages[0]["content"] == INSTRUCTIONS
    assert json.loads(messages[1]["content"]) == {
        "content": "The gate opens at six.",
        "category": "knowledge",
        "tags": ["harbour"],
        "author": None,
        "source": "api",
    }


def test_the_host_may_add_fields_to_a_request(server: Server, chatting: Chatting) -> None:
    list(chatting(options={"temperature": 0}).analyse([NOTE]))
    document = server.requests[0].document
    assert sorted(document) == ["messages", "model", "temperature"]


def test_the_analysis_is_what_the_model_says(server: Server, chatting: Chatting) -> None:
    answer = {"tags": ["Gate ", "harbour", "rota"], "alignment": 0.25, "summary": "Six."}
    server.script.append(Reply(200, said(answer)))
    assert list(chatting().analyse([NOTE])) == [
        Analysis(tags=("gate", "rota"), alignment=0.25, summary="Six.")
    ]


@pytest.mark.parametrize("answer", [{}, NOTHING, {"tags": None}, {"summary": ""}])
def test_a_model_may_return_an_empty_analysis(
    server: Server, chatting: Chatting, answer: dict[str, object]
) -> None:
    server.script.append(Reply(200, said(answer)))
    assert list(chatting().analyse([NOTE])) == [Analysis()]


UNUSABLE = {
    "no JSON": b"<html>",
    "no choices": b"{}",
    "no choice": b'{"choices": []}',
    "no content": b'{"choices": [{"message": {"content": null}}]}',
    "prose": said("The tags are harbour and gate."),
    "fenced JSON": said('```json\n{"tags": []}\n```'),
    "a list": said([]),
    "a field nobody asked for": said({**NOTHING, "zone": "trusted"}),
    "tags in one text": said({**NOTHING, "tags": "harbour"}),
    "tags that are numbers": said({**NOTHING, "tags": [1]}),
    "an alignment in words": said({**NOTHING, "alignment": "high"}),
    "an alignment that is a truth": said({**NOTHING, "alignment": True}),
    "a summary in parts": said({**NOTHING, "summary": ["a", "b"]}),
}


@pytest.mark.parametrize("body", UNUSABLE.values(), ids=UNUSABLE.keys())
def test_an_unusable_answer_fails_for_its_passage_alone(
    server: Server, chatting: Chatting, body: bytes
) -> None:
    server.script.extend([Reply(200, said(NOTHING)), Reply(200, body), Reply(200, said(NOTHING))])
    analyst = chatting()
    assert list(analyst.analyse(notes("a", "b", "c"))) == [Analysis(), None, Analysis()]
    assert (analyst.last_failure or "").startswith("small did not answer as asked: ")


@pytest.mark.parametrize("status", [400, 413, 422])
def test_a_passage_that_is_refused_fails_alone(
    server: Server, chatting: Chatting, status: int
) -> None:
    server.script.extend([Reply(status, b"not this one"), Reply(200, said(NOTHING))])
    assert list(chatting().analyse(notes("a", "b"))) == [None, Analysis()]


@pytest.mark.parametrize("status", [401, 403, 404])
def test_a_general_refusal_ends_all_requests(
    server: Server, chatting: Chatting, status: int
) -> None:
    server.script.append(Reply(status, b"no"))
    analyst = chatting()
    assert list(analyst.analyse(notes("a", "b", "c"))) == [None] * 3
    assert analyst.last_failure == f"{server.url}/chat/completions answered {status} no"
    assert len(server.requests) == 1


def test_an_unreachable_server_gets_one_request(
    server: Server, chatting: Chatting, pauses: list[float]
) -> None:
    server.script.extend([Reply(200, said(NOTHING)), *[Reply(503)] * 4])
    assert list(chatting().analyse(notes("a", "b", "c", "d"))) == [Analysis(), None, None, None]
    assert (len(server.requests), pauses) == (5, [0.5, 1.0, 2.0])


def test_several_requests_at_once_answer_in_the_order_of_the_passages(
    server: Server, chatting: Chatting
) -> None:
    """Each answer names the category that was asked about."""
    passages = [Passage(content=f"note {n}", category=f"kind {n}") for n in range(20)]
    found = list(chatting(concurrency=4).analyse(passages))
    assert found == [Analysis(tags=(f"kind {n}",), alignment=0.5) for n in range(20)]
    assert len(server.requests) == 20


def test_closing_the_generator_stops_the_requests(server: Server, chatting: Chatting) -> None:
    silence = Event()
    server.script.extend([Reply(200, said(NOTHING)), Reply(200, said(NOTHING), waits_for=silence)])
    answers = chatting().analyse(notes("a", "b", "c", "d"))
    assert next(answers) == Analysis()
    answers.close()
    silence.set()
    assert len(server.requests) <= 2


# --- what a model may not do --------------------------------------------------------------------


@pytest.mark.parametrize(
    ("passage", "tags"),
    [
        (Passage(content="x"), ("self/goal", "x")),
        (Passage(content="x", tags=("X",)), ("self/goal",)),
        (Passage(content="x", author="Ann"), ("x",)),
        (Passage(content="x", category="message"), ("x",)),
        (Passage(content="x", source="web"), ("x",)),
    ],
    ids=["its own", "its own, tagged", "somebody's", "a message", "from the web"],
)
def test_only_own_passages_gain_self_tags_and_never_constitutional_ones(
    server: Server, chatting: Chatting, passage: Passage, tags: tuple[str, ...]
) -> None:
    given = ["x", "self/goal", "self/constitutional", " SELF/Constitutional", "self/else"]
    server.script.append(Reply(200, said({**NOTHING, "tags": given})))
    assert list(chatting().analyse([passage])) == [Analysis(tags=tags)]


def test_an_analyst_is_named_for_its_model(chatting: Chatting) -> None:
    assert chatting().name == "chat:small"


@pytest.mark.parametrize("options", [{"concurrency": 0}, {"retries": -1}, {"timeout_s": 0}])
def test_a_number_out_of_range_is_refused(options: dict[str, Any]) -> None:
    with pytest.raises(FieldRefused):
        ChatAnalyst("http://localhost", "small", **options)
