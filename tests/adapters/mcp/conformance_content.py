"""Tools, resources and prompts of the conformance suite that need nothing from the client."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import anyio
from mcp import types

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5E"
    "rkJggg=="
)
SILENCE = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
PAUSE_S = 0.05
STATIC = "This is the content of the static text resource."
DIALECT = "https://json-schema.org/draft/2020-12/schema"


def text(words: str) -> types.TextContent:
    """Return words as content."""
    return types.TextContent(type="text", text=words)


def result(*content: Any, is_error: bool = False) -> types.CallToolResult:
    """Return content as a tool result."""
    return types.CallToolResult(content=list(content), is_error=is_error)


def image() -> types.ImageContent:
    """Return one pixel."""
    return types.ImageContent(type="image", data=PIXEL, mime_type="image/png")


def embedded(uri: str, words: str, mime: str) -> types.EmbeddedResource:
    """Return a resource as content."""
    contents = types.TextResourceContents(uri=uri, mime_type=mime, text=words)
    return types.EmbeddedResource(type="resource", resource=contents)


# --- tools ----------------------------------------------------------------------------------------


async def _simple(_context: Any, _params: Any) -> Any:
    return result(text("This is a simple text response for testing."))


async def _image(_context: Any, _params: Any) -> Any:
    return result(image())


async def _audio(_context: Any, _params: Any) -> Any:
    return result(types.AudioContent(type="audio", data=SILENCE, mime_type="audio/wav"))


async def _embedded(_context: Any, _params: Any) -> Any:
    words = "This is an embedded resource content."
    return result(embedded("test://embedded-resource", words, "text/plain"))


async def _mixed(_context: Any, _params: Any) -> Any:
    data = json.dumps({"test": "data", "value": 123})
    mixed = embedded("test://mixed-content-resource", data, "application/json")
    return result(text("Multiple content types test:"), image(), mixed)


async def _error(_context: Any, _params: Any) -> Any:
    return result(text("This tool intentionally returns an error for testing"), is_error=True)


async def _logging(context: Any, _params: Any) -> Any:
    for words in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        await context.session.send_log_message("info", words, related_request_id=context.request_id)
        await anyio.sleep(PAUSE_S)
    return result(text("logged"))


async def _progress(context: Any, _params: Any) -> Any:
    for done in (0, 50, 100):
        await context.session.report_progress(done, 100)
        await anyio.sleep(PAUSE_S)
    return result(text("done"))


async def _headers(_context: Any, _params: Any) -> Any:
    return result(text("the headers fit"))


CONTENT = {
    "test_simple_text": _simple,
    "test_image_content": _image,
    "test_audio_content": _audio,
    "test_embedded_resource": _embedded,
    "test_multiple_content_types": _mixed,
    "test_error_handling": _error,
    "test_tool_with_logging": _logging,
    "test_logging_tool": _logging,
    "test_tool_with_progress": _progress,
    "test_custom_headers": _headers,
    "json_schema_2020_12_tool": _simple,
}


def _of(*names: str) -> dict[str, Any]:
    fields = {name: {"type": "string"} for name in names}
    return {"type": "object", "properties": fields, "required": list(names)}


SCHEMAS: Mapping[str, dict[str, Any]] = {
    "test_sampling": _of("prompt"),
    "test_elicitation": _of("message"),
    "test_custom_headers": {
        "type": "object",
        "properties": {"region": {"type": "string", "x-mcp-header": "Region"}},
    },
    "json_schema_2020_12_tool": {
        "$schema": DIALECT,
        "type": "object",
        "$defs": {
            "address": {
                "$anchor": "addressDef",
                "type": "object",
                "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
            }
        },
        "properties": {
            "name": {"type": "string"},
            "address": {"$ref": "#/$defs/address"},
            "contactMethod": {"type": "string", "enum": ["phone", "email"]},
            "phone": {"type": "string"},
            "email": {"type": "string"},
        },
        "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
        "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
        "then": {"required": ["phone"]},
        "else": {"required": ["email"]},
        "additionalProperties": False,
    },
}

# --- resources ------------------------------------------------------------------------------------

RESOURCES = {
    uri: types.Resource(uri=uri, name=name, description=f"For the suite: {name}", mime_type=mime)
    for uri, name, mime in (
        ("test://static-text", "static text", "text/plain"),
        ("test://static-binary", "static binary", "image/png"),
        ("test://watched-resource", "watched", "text/plain"),
    )
}
TEMPLATE = types.ResourceTemplate(
    uri_template="test://template/{id}/data", name="template", mime_type="application/json"
)


def resource(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """Return the suite's resource with a URI; None: there is none."""
    start, _, rest = uri.partition("test://template/")
    number, _, end = rest.partition("/data")
    if not start and number and not end:
        data = {"id": number, "templateTest": True, "data": f"Data for ID: {number}"}
        return types.TextResourceContents(
            uri=uri, mime_type="application/json", text=json.dumps(data)
        )
    if uri not in RESOURCES:
        return None
    if uri.endswith("binary"):
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PIXEL)
    return types.TextResourceContents(uri=uri, mime_type="text/plain", text=STATIC)


# --- prompts --------------------------------------------------------------------------------------


def _prompt(name: str, *arguments: str) -> types.Prompt:
    given = [types.PromptArgument(name=each, description=each, required=True) for each in arguments]
    return types.Prompt(name=name, description=f"For the suite: {name}", arguments=given)


PROMPTS = {
    each.name: each
    for each in (
        _prompt("test_simple_prompt"),
        _prompt("test_prompt_with_arguments", "arg1", "arg2"),
        _prompt("test_prompt_with_embedded_resource", "resourceUri"),
        _prompt("test_prompt_with_image"),
        _prompt("test_input_required_result_prompt"),
    )
}


def user_prompt(*content: Any) -> types.GetPromptResult:
    """Return content as messages of the user."""
    messages = [types.PromptMessage(role="user", content=each) for each in content]
    return types.GetPromptResult(messages=messages)


def prompt(name: str, given: Mapping[str, str]) -> types.GetPromptResult | None:
    """Return the suite's prompt with a name; None: there is none."""
    match name:
        case "test_simple_prompt":
            return user_prompt(text("This is a simple prompt for testing."))
        case "test_prompt_with_arguments":
            ends = f"arg1='{given['arg1']}', arg2='{given['arg2']}'"
            return user_prompt(text(f"Prompt with arguments: {ends}"))
        case "test_prompt_with_embedded_resource":
            words = "Embedded resource content for testing."
            found = embedded(given["resourceUri"], words, "text/plain")
            return user_prompt(found, text("Please process the embedded resource above."))
        case "test_prompt_with_image":
            return user_prompt(image(), text("Please analyze the image above."))
        case _:
            return None
