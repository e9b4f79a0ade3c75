"""Requests refused at the level of HTTP: each refusal is a problem document."""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest

from mnemic.adapters.http.settings import Settings
from mnemic.adapters.stores.memory import MemoryStore
from tests.adapters.http.interfaces import NOTES, Interface, interface

BLOCKS = f"{NOTES}/blocks"
JSON = {"content-type": "application/json"}
BLOCK = f"{BLOCKS}/0123456789abcdef"
DEEP = json.loads("[" * 900 + "]" * 900)
"""Deeper than recursive code can process, and no deeper than a parser accepts."""


@pytest.mark.parametrize(
    ("request_", "problem_"),
    [
        (("GET", "/v1/nothing", {}), (404, "path-unknown")),
        (("GET", "/", {}), (404, "path-unknown")),
        (("GET", "/v1/spaces//blocks", {}), (404, "path-unknown")),
        (("GET", f"{NOTES}/", {}), (404, "path-unknown")),
        (("GET", "/v1/spaces/%ff", {}), (404, "path-unknown")),
        (("GET", "/v1/spaces/..%2fnotes", {}), (404, "space-not-found")),
        (("PATCH", NOTES, {}), (405, "method-refused")),
        (("GET", f"{NOTES}?limit=3", {}), (422, "field-refused")),
        (("GET", f"{BLOCKS}?limit=many", {}), (422, "field-refused")),
        (("GET", f"{BLOCKS}?limit=", {}), (422, "field-refused")),
        (("GET", f"{BLOCKS}?limit=1.5", {}), (422, "field-refused")),
        (("GET", f"{BLOCKS}?limit=1&limit=2", {}), (422, "field-refused")),
        (("GET", f"{BLOCKS}?limit=0", {}), (422, "field-refused")),
        (("GET", f"{BLOCKS}?tag=%ff", {}), (400, "request-unreadable")),
        (("GET", f"{BLOCK}?block_id=x", {}), (422, "field-refused")),
        (("POST", BLOCKS, {"content": b"{", "headers": JSON}), (400, "body-unreadable")),
        (("POST", BLOCKS, {"content": b"\xff", "headers": JSON}), (400, "body-unreadable")),
        (("POST", BLOCKS, {"content": b"[" * 3000, "headers": JSON}), (400, "body-unreadable")),
        (("POST", BLOCKS, {"json": {"content": "x", "tags": DEEP}}), (400, "body-unreadable")),
        (("POST", f"{BLOCKS}/batch", {"json": {"lessons": 7}}), (422, "field-refused")),
        (("POST", BLOCKS, {"content": b"[]", "headers": JSON}), (422, "field-refused")),
        (("POST", BLOCKS, {"content": b"{}"}), (415, "media-type-refused")),
        (("POST", BLOCKS, {"data": {"content": "x"}}), (415, "media-type-refused")),
        (("POST", BLOCKS, {"json": {}}), (422, "field-refused")),
        (("POST", BLOCKS, {}), (422, "field-refused")),
        (("POST", BLOCKS, {"json": {"content": "x", "sauce": 1}}), (422, "field-refused")),
        (("POST", f"{BLOCKS}?content=x", {"json": {}}), (422, "field-refused")),
        (("POST", f"{BLOCK}/rezone", {"json": {"block_id": "x"}}), (422, "field-refused")),
        (("GET", NOTES, {"headers": {"accept": "text/html"}}), (406, "not-acceptable")),
        (("GET", NOTES, {"headers": {"accept": "application/json;q=0"}}), (406, "not-acceptable")),
        (("GET", NOTES, {"headers": {"authorization": "Basic eDp5"}}), (401, "unauthenticated")),
        (("GET", NOTES, {"headers": {"authorization": "Bearer"}}), (401, "unauthenticated")),
        (("GET", f"{NOTES}?x={'x' * 20_000}", {}), (414, "address-too-long")),
        (("PUT", "/v1/spaces/%20notes", {"by": "root"}), (422, "field-refused")),
        (("PUT", "/v1/spaces/%2e%2e", {"by": "root"}), (422, "field-refused")),
        (("PUT", "/v1/spaces/*", {"by": "root"}), (422, "field-refused")),
        (
            ("POST", f"{NOTES}/fork", {"json": {"space": ".."}, "by": "root"}),
            (422, "field-refused"),
        ),
        (
            ("POST", f"{NOTES}/fork", {"json": {"space": " *"}, "by": "root"}),
            (422, "field-refused"),
        ),
    ],
)
def test_malformed_requests_are_refused(
    refusing: Interface, request_: tuple[str, str, Any], problem_: tuple[int, str]
) -> None:
    method, path, said = request_
    status, code = problem_
    answer = refusing.ask(method, path, **said)
    problem = answer.json()
    assert (answer.status_code, problem["code"]) == (status, code)
    assert answer.headers["content-type"] == "application/problem+json"
    assert problem["type"] == f"urn:mnemic:error:{code}"
    assert problem["status"] == status
    assert problem["instance"] == f"urn:mnemic:request:{answer.headers['x-request-id']}"
    assert all((problem["title"], problem["detail"], problem["recovery"]))


def test_a_refusal_of_an_operation_comes_with_its_facts(refusing: Interface) -> None:
    answer = refusing.ask("GET", BLOCK, headers={"x-request-id": "r-1"})
    assert (answer.status_code, answer.json()) == (
        404,
        {
            "type": "urn:mnemic:error:block-not-found",
            "title": "Block not found",
            "status": 404,
            "detail": "no block has the id '0123456789abcdef'",
            "instance": "urn:mnemic:request:r-1",
            "code": "block-not-found",
            "recovery": answer.json()["recovery"],
            "block_id": "0123456789abcdef",
        },
    )


@pytest.mark.parametrize("accepted", ["*/*", "application/*", "text/html, */*;q=0.1", ""])
def test_acceptable_media_types_get_json(refusing: Interface, accepted: str) -> None:
    assert refusing.ask("GET", NOTES, headers={"accept": accepted}).status_code == 200


def test_options_lists_the_methods_of_a_path(refusing: Interface) -> None:
    wrong, asked = refusing.ask("PATCH", NOTES), refusing.ask("OPTIONS", NOTES, by=None)
    allowed = "DELETE, GET, HEAD, OPTIONS, PUT"
    assert (wrong.headers["allow"], asked.headers["allow"]) == (allowed, allowed)
    assert (asked.status_code, asked.content) == (204, b"")


def test_head_has_the_headers_of_get(refusing: Interface) -> None:
    got, asked = refusing.ask("GET", NOTES), refusing.ask("HEAD", NOTES)
    assert asked.content == b""
    assert [asked.headers[name] for name in ("etag", "content-length", "content-type")] == [
        got.headers[name] for name in ("etag", "content-length", "content-type")
    ]


def test_a_request_keeps_the_id_that_it_brings(refusing: Interface) -> None:
    answer = refusing.ask("GET", NOTES, headers={"x-request-id": "trace-7"})
    assert answer.headers["x-request-id"] == "trace-7"


@pytest.mark.parametrize("brought", ["a b", "x" * 65, "<script>"])
def test_an_invalid_request_id_is_replaced(refusing: Interface, brought: str) -> None:
    answer = refusing.ask("GET", NOTES, headers={"x-request-id": brought})
    assert len(answer.headers["x-request-id"]) == 32


@pytest.mark.parametrize("name", ["a/b", "ä ö", "50%", "a.b", "q?x#y", "...", "%2F"])
def test_a_space_may_be_called_almost_anything(opened: Interface, name: str) -> None:
    path = f"/v1/spaces/{''.join(f'%{byte:02x}' for byte in name.encode())}"
    made = opened.ask("PUT", path, by="root")
    again = opened.ask("PUT", path, by="root")
    assert (made.status_code, made.json()) == (201, {"space": name, "made": True})
    assert (again.status_code, again.json()) == (200, {"space": name, "made": False})
    assert opened.ask("GET", path, by="root").json()["space"] == name


def test_bodies_are_limited(tmp_path: Path) -> None:
    with interface(tmp_path, Settings(body_max_bytes=40)) as opened:
        fits = opened.ask(
            "POST",
            BLOCKS,
            content=b'{"content":"fits into forty bytes, just"}'[:40] + b"",
            headers=JSON,
        )
        large = opened.ask(
            "POST", BLOCKS, content=b'{"content":"is longer than forty bytes"}  ', headers=JSON
        )

        async def parts() -> Any:
            for _ in range(10):
                yield b'{"content"'

        unannounced = opened.ask("POST", BLOCKS, content=parts(), headers=JSON)
    assert fits.status_code != 413
    assert [each.status_code for each in (large, unannounced)] == [413, 413]
    assert [each.headers["connection"] for each in (large, unannounced)] == ["close", "close"]


@pytest.mark.parametrize(
    ("method", "path"),
    [("POST", BLOCKS), ("PUT", "/v1/spaces/new"), ("DELETE", NOTES), ("POST", f"{NOTES}/recall")],
)
def test_a_read_only_server_refuses_writes(tmp_path: Path, method: str, path: str) -> None:
    with interface(tmp_path, Settings(read_only=True)) as opened:
        answer = opened.ask(method, path, by="root")
        still = opened.ask("GET", "/v1/spaces", by="root").json()["items"]
    assert (answer.json()["code"], answer.json()["detail"]) == (
        "view-read-only",
        "this server only reads",
    )
    assert [each["space"] for each in still] == ["notes", "other"]


def test_a_read_only_server_does_not_consolidate_before_a_read(tmp_path: Path) -> None:
    store = MemoryStore()
    with interface(tmp_path, store=store) as opened:
        learned = opened.learn("Ines moved the demo.")
    (tmp_path / "tokens").unlink()
    with interface(tmp_path, Settings(read_only=True), store=store) as opened:
        question = {"query": "demo", "record": False}
        answer = opened.ask("POST", f"{NOTES}/recall", json=question)
    assert answer.status_code == 200
    assert answer.headers["etag"] == learned.headers["etag"]


class Broken(MemoryStore):
    """A store that fails with a bug once it is open."""

    broken = False

    def spaces(self) -> tuple[str, ...]:
        """Fail, with a text of a memory in the message."""
        if self.broken:
            raise ZeroDivisionError("Ines has a secret")
        return super().spaces()


def test_a_bug_is_logged_and_not_revealed(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    store = Broken()
    with interface(tmp_path, store=store) as opened:
        store.broken = True
        answer = opened.ask("GET", "/v1/spaces", headers={"x-request-id": "r-1"})
        alive = opened.ask("GET", "/healthz", by=None)
    assert (answer.status_code, answer.json()["code"], alive.status_code) == (500, "internal", 200)
    assert "secret" not in answer.text
    assert "request r-1 met a bug" in caplog.text


def test_the_access_log_holds_no_texts_and_no_secrets(
    opened: Interface, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level("INFO", logger="mnemic.http"):
        opened.learn("Ines has a secret.")
        opened.ask("GET", f"{BLOCKS}?author=Ines", headers={"x-request-id": "r-1"})
    written = [record.getMessage() for record in caplog.records]
    assert len(written) == 2
    assert written[1].startswith(f"r-1 GET {BLOCKS} 200 ")
    assert not [line for line in written if "Ines" in line or "mnemic_" in line]


def test_pages_of_other_origins_are_refused(refusing: Interface) -> None:
    asked = {"origin": "https://evil.example", "access-control-request-method": "GET"}
    answers = [
        refusing.ask("OPTIONS", NOTES, by=None, headers=asked),
        refusing.ask("GET", NOTES, headers=asked),
    ]
    assert ["access-control-allow-origin" in each.headers for each in answers] == [False, False]


def test_pages_of_named_origins_are_allowed(tmp_path: Path) -> None:
    origin = "https://app.example"
    asked = {
        "origin": origin,
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization",
    }
    with interface(tmp_path, Settings(origins=(origin,))) as opened:
        before = opened.ask("OPTIONS", NOTES, by=None, headers=asked)
        answer = opened.ask("GET", NOTES, headers={"origin": origin})
        other = opened.ask("GET", NOTES, headers={"origin": "https://evil.example"})
    assert before.headers["access-control-allow-origin"] == origin
    assert answer.headers["access-control-allow-origin"] == origin
    assert "ETag" in answer.headers["access-control-expose-headers"]
    assert "access-control-allow-origin" not in other.headers


@pytest.mark.parametrize("path", ["/v1//a%0Aforged%1b[31m", "/v1/spaces/a%0Aforged", "/%0Aforged"])
def test_no_path_injects_a_line_into_the_log(
    opened: Interface, caplog: pytest.LogCaptureFixture, path: str
) -> None:
    with caplog.at_level("INFO", logger="mnemic.http"):
        opened.ask("GET", path, headers={"x-request-id": "r-1"})
    (line,) = [record.getMessage() for record in caplog.records]
    assert line.startswith(f"r-1 GET {path.replace('[', '%5B')} 404 ")


def test_paths_of_files_are_only_logged(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with interface(tmp_path) as opened:
        opened.keyring.path.chmod(0o644)
        answer = opened.ask("GET", NOTES)
        opened.keyring.path.chmod(0o600)
    assert (answer.status_code, answer.json()["code"]) == (503, "store-failed")
    assert answer.json()["path"] == opened.keyring.path.name
    assert str(tmp_path) not in answer.text
    assert str(tmp_path) in caplog.text


def test_caches_are_told_of_every_header_that_matters(tmp_path: Path) -> None:
    origin = "https://app.example"
    with interface(tmp_path, Settings(origins=(origin,))) as opened:
        answers = [
            opened.ask("GET", path, headers=headers)
            for path in (NOTES, "/v1/spaces")
            for headers in ({}, {"origin": origin}, {"origin": "https://evil.example"})
        ]
    assert [answer.headers["vary"] for answer in answers] == [
        *["Mnemic-Session, Origin"] * 3,
        *["Origin"] * 3,
    ]


# --- content encodings ----------------------------------------------------------------------------


@pytest.mark.parametrize("encoding", ["gzip", "br", "identity, gzip", "x"])
def test_an_encoded_body_is_refused(refusing: Interface, encoding: str) -> None:
    body = gzip.compress(b'{"content": "Ines moved it."}')
    headers = {"content-type": "application/json", "content-encoding": encoding}
    answer = refusing.ask("POST", f"{NOTES}/blocks", content=body, headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (415, "media-type-refused")
    assert answer.headers["accept-encoding"] == "identity"
    assert "Content-Encoding" in answer.json()["recovery"]


def test_the_identity_encoding_is_none(opened: Interface) -> None:
    assert opened.learn("Mine.", headers={"content-encoding": "Identity"}).status_code == 201


# --- names of spaces ------------------------------------------------------------------------------

HIDDEN = ["a\nb", "a\tb", "a\x7fb", "a\u202eb", "a\u200bb", "a\u2028b", "a\U000e0041b", "a\u00adb"]


@pytest.mark.parametrize("name", HIDDEN)
def test_a_space_is_named_by_visible_characters(opened: Interface, name: str) -> None:
    path = f"/v1/spaces/{quote(name, safe='')}"
    made = opened.ask("PUT", path, by="root")
    copied = opened.ask("POST", f"{NOTES}/fork", by="root", json={"space": name})
    for answer in (made, copied):
        assert (answer.status_code, answer.json()["field"]) == (422, "space")
    listed = opened.ask("GET", "/v1/spaces", by="root").json()["items"]
    assert [each["space"] for each in listed] == ["notes", "other"]


def test_an_erased_space_is_gone_for_good(opened: Interface) -> None:
    assert opened.ask("PUT", NOTES).status_code == 200
    assert opened.ask("DELETE", f"{NOTES}?confirm=notes").status_code == 200
    gone = opened.ask("PUT", NOTES)
    assert (gone.status_code, gone.json()["code"]) == (410, "space-erased")


@pytest.mark.parametrize("query", ["", "?confirm=", "?confirm=Notes", "?confirm=other"])
def test_a_space_is_erased_by_its_name_alone(refusing: Interface, query: str) -> None:
    answer = refusing.ask("DELETE", f"{NOTES}{query}")
    assert (answer.status_code, answer.json()["field"]) == (422, "confirm")
    assert answer.json()["recovery"]


def test_deleting_a_block_forgets_it_and_erasing_it_is_a_request_of_its_own(
    opened: Interface,
) -> None:
    block = opened.learn("Ines moved the demo.", by="writer").json()["block_id"]
    path = f"{NOTES}/blocks/{block}"
    forgotten = opened.ask("DELETE", f"{path}?reason=old", by="writer")
    kept = opened.ask("GET", path).json()
    refused = opened.ask("POST", f"{NOTES}/erase", json={"block_ids": block}, by="writer")
    erased = opened.ask("POST", f"{NOTES}/erase", json={"block_ids": block})
    assert (forgotten.status_code, forgotten.json()["action"]) == (200, "archived")
    assert (kept["status"], kept["content"]) == ("archived", "Ines moved the demo.")
    assert (refused.status_code, erased.status_code) == (403, 200)
    assert opened.ask("GET", path).json()["content"] is None
