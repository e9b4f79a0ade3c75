"""Tools of the conformance suite that send requests to the client, in both protocol forms."""

from __future__ import annotations

from typing import Any

from mcp import types
from mcp.shared.exceptions import MCPError

from tests.adapters.mcp.conformance_content import image, result, text, user_prompt

# --- by a request of the server, before 2026-07-28 ------------------------------------------------


async def _sampling(context: Any, params: Any) -> Any:
    words = (params.arguments or {})["prompt"]
    answer = await context.session.create_message(
        [types.SamplingMessage(role="user", content=text(words))],
        max_tokens=100,
        related_request_id=context.request_id,
    )
    return result(text(f"LLM response: {answer.content.text}"))


async def _form(context: Any, message: str, schema: dict[str, Any]) -> Any:
    answer = await context.session.elicit_form(
        message, schema, related_request_id=context.request_id
    )
    found = f"action={answer.action}, content={answer.content}"
    return result(text(f"Elicitation completed: {found}"))


async def _elicitation(context: Any, params: Any) -> Any:
    return await _form(context, (params.arguments or {})["message"], _asks("username", "email"))


async def _defaults(context: Any, _params: Any) -> Any:
    status = {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"}
    fields = {
        "name": {"type": "string", "default": "John Doe"},
        "age": {"type": "integer", "default": 30},
        "score": {"type": "number", "default": 95.5},
        "status": status,
        "verified": {"type": "boolean", "default": True},
    }
    return await _form(context, "Fill this in", {"type": "object", "properties": fields})


async def _enums(context: Any, _params: Any) -> Any:
    plain = ["option1", "option2", "option3"]
    titled = [
        {"const": f"value{place}", "title": f"{name} Option"}
        for place, name in enumerate(("First", "Second", "Third"), start=1)
    ]
    legacy = {"enum": ["opt1", "opt2", "opt3"], "enumNames": ["One", "Two", "Three"]}
    fields = {
        "untitledSingle": {"type": "string", "enum": plain},
        "titledSingle": {"type": "string", "oneOf": titled},
        "legacyEnum": {"type": "string", **legacy},
        "untitledMulti": {"type": "array", "items": {"type": "string", "enum": plain}},
        "titledMulti": {"type": "array", "items": {"anyOf": titled}},
    }
    return await _form(context, "Choose", {"type": "object", "properties": fields})


async def _reconnection(context: Any, _params: Any) -> Any:
    if context.close_sse_stream is not None:
        await context.close_sse_stream()
    return result(text("Reconnection test completed"))


# --- by an answer that asks, since 2026-07-28 -----------------------------------------------------


def _asks(*names: str, kind: str = "string") -> dict[str, Any]:
    fields = {name: {"type": kind} for name in names}
    return {"type": "object", "properties": fields, "required": list(names)}


def elicits(message: str, *names: str, kind: str = "string") -> types.ElicitRequest:
    """Return a question to the user."""
    schema = _asks(*names, kind=kind)
    return types.ElicitRequest(
        params=types.ElicitRequestFormParams(message=message, requested_schema=schema)
    )


def samples(words: str) -> types.CreateMessageRequest:
    """Return a question to the model."""
    asked = [types.SamplingMessage(role="user", content=text(words))]
    return types.CreateMessageRequest(
        params=types.CreateMessageRequestParams(messages=asked, max_tokens=100)
    )


def _needs(state: str | None = None, **requests: Any) -> types.InputRequiredResult:
    return types.InputRequiredResult(input_requests=requests, request_state=state)


def _given(params: Any, name: str) -> Any:
    return (params.input_responses or {}).get(name)


async def _name(_context: Any, params: Any) -> Any:
    answer = _given(params, "user_name")
    if not isinstance(answer, types.ElicitResult):
        return _needs(user_name=elicits("What is your name?", "name"))
    return result(text(f"Hello, {(answer.content or {}).get('name')}!"))


async def _capital(_context: Any, params: Any) -> Any:
    answer = _given(params, "capital_question")
    if answer is None:
        return _needs(capital_question=samples("What is the capital of France?"))
    return result(text(str(answer)))


async def _roots(_context: Any, params: Any) -> Any:
    answer = _given(params, "client_roots")
    if answer is None:
        return _needs(client_roots=types.ListRootsRequest())
    return result(text(str(answer)))


async def _state(_context: Any, params: Any) -> Any:
    if _given(params, "confirm") is None or params.request_state != "asked":
        return _needs("asked", confirm=elicits("Please confirm", "ok", kind="boolean"))
    return result(text("state-ok"))


async def _several(_context: Any, params: Any) -> Any:
    names = ("user_name", "greeting", "client_roots")
    if all(_given(params, name) is not None for name in names):
        return result(text("all there"))
    return _needs(
        "asked",
        user_name=elicits("What is your name?", "name"),
        greeting=samples("Generate a greeting"),
        client_roots=types.ListRootsRequest(),
    )


async def _rounds(_context: Any, params: Any) -> Any:
    if params.request_state == "two" and _given(params, "step2") is not None:
        return result(text("three rounds"))
    if params.request_state == "one" and _given(params, "step1") is not None:
        return _needs("two", step2=elicits("Step 2: What is your favorite color?", "color"))
    return _needs("one", step1=elicits("Step 1: What is your name?", "name"))


async def _capabilities(context: Any, params: Any) -> Any:
    if params.input_responses:
        return result(text("thanks"))
    can = context.session.client_capabilities
    requests: dict[str, Any] = {}
    if can is not None and can.sampling is not None:
        requests["question"] = samples("What is the capital of France?")
    if can is not None and can.elicitation is not None:
        requests["name"] = elicits("What is your name?", "name")
    return _needs(**requests) if requests else result(text("nothing to ask"))


async def _missing(context: Any, _params: Any) -> Any:
    can = context.session.client_capabilities
    if can is None or can.sampling is None:
        raise MCPError(
            types.MISSING_REQUIRED_CLIENT_CAPABILITY,
            "this needs sampling",
            data={"requiredCapabilities": {"sampling": {}}},
        )
    return result(image())


def asked_prompt(params: Any) -> Any:
    """Return a prompt that asks the user first."""
    answer = _given(params, "user_context")
    if answer is None:
        return _needs(user_context=elicits("What context should the prompt use?", "context"))
    return user_prompt(text(str(answer)))


ASKING = {
    "test_sampling": _sampling,
    "test_elicitation": _elicitation,
    "test_elicitation_sep1034_defaults": _defaults,
    "test_elicitation_sep1330_enums": _enums,
    "test_reconnection": _reconnection,
    "test_streaming_elicitation": _name,
    "test_missing_capability": _missing,
    "test_input_required_result_elicitation": _name,
    "test_input_required_result_sampling": _capital,
    "test_input_required_result_list_roots": _roots,
    "test_input_required_result_request_state": _state,
    "test_input_required_result_tampered_state": _state,
    "test_input_required_result_multiple_inputs": _several,
    "test_input_required_result_multi_round": _rounds,
    "test_input_required_result_capabilities": _capabilities,
}
