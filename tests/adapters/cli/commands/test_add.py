"""The command add: messages of a file, the extractor, and what the exit code says."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from anyio import to_thread

from mnemic.adapters.cli.invocation.context import invocation
from mnemic.adapters.cli.invocation.extractors import chat_extractor
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.serving.serve import spaces_of
from tests.adapters.cli.conftest import Shell
from tests.adapters.endpoints.conftest import Reply, Server, server
from tests.adapters.extractors.conftest import answer, fact

__all__ = ["server"]

SAID: tuple[Mapping[str, Any], ...] = (
    {"role": "user", "name": "Ines", "content": "I live in Graz.", "id": "1"},
    {"role": "assistant", "content": [{"type": "text", "text": "Noted."}], "id": "2"},
)
FORMS = {
    "lines": "\n\n".join(map(json.dumps, SAID)),
    "an array": json.dumps(SAID, indent=2),
    "an array on one line": json.dumps(SAID),
}


@pytest.fixture
def talk(tmp_path: Path) -> Path:
    path = tmp_path / "talk"
    path.write_text(FORMS["lines"], encoding="utf-8")
    return path


@pytest.mark.parametrize("form", FORMS)
def test_messages_are_read_from_lines_and_arrays(form: str, talk: Path, shell: Shell) -> None:
    talk.write_text(FORMS[form], encoding="utf-8")
    ran = shell("add", str(talk), "--extract=rules", "--thread=t", "--scope=user=ines", "--json")
    assert ran.exit == Exit.OK
    assert [each["action"] for each in ran.document["results"]] == ["created", "created"]
    assert [each["content"] for each in ran.document["extraction"]["facts"]] == ["I live in Graz."]
    again = shell("add", str(talk), "--extract=rules", "--thread=t", "--scope=user=ines")
    assert again.out == ("Added: 2 messages, 0 new. rules-1: 0 facts in 0 messages.\n")


def test_messages_are_read_from_standard_input(
    shell: Shell, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sys.stdin", io.StringIO(FORMS["lines"]))
    assert shell("add", "-").out == "Added: 2 messages, 2 new.\n"


NOT_JSON = {
    "a line": (f"{json.dumps(SAID[0])}\n\nhello", "line 3 is not JSON"),
    "an array": (FORMS["an array"].replace('"id": "2"', "id"), "line 16 is not JSON"),
    "nothing that closes": ("[", "line 1 is not JSON"),
}


@pytest.mark.parametrize("case", NOT_JSON)
def test_of_a_file_that_is_not_json_nothing_is_learned(
    case: str, talk: Path, shell: Shell, store: Path
) -> None:
    text, detail = NOT_JSON[case]
    talk.write_text(text, encoding="utf-8")
    ran = shell("add", str(talk), "--json")
    assert (ran.exit, ran.error["code"]) == (Exit.REFUSED, "field-refused")
    assert ran.error["detail"].startswith(detail)
    assert not store.exists()


def test_a_message_that_cannot_be_learned_is_reported_by_its_line(talk: Path, shell: Shell) -> None:
    talk.write_text(f'{json.dumps(SAID[0])}\n\n{{"role": "user"}}\n7', encoding="utf-8")
    ran = shell("add", str(talk))
    assert ran.exit == Exit.REFUSED
    assert ran.out == "Added: 1 message, 1 new, 2 refused.\n"
    assert [each.split(": ")[:2] for each in ran.err.splitlines()] == [
        ["warning line 3", "field-refused"],
        ["warning line 4", "field-refused"],
    ]


def test_the_endpoint_is_named_by_options_and_its_key_by_a_variable(
    talk: Path, shell: Shell, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_CHAT_KEY", "secret")
    monkeypatch.setenv("OPENAI_API_KEY", "of something else")
    server.script.append(answer(fact("Ines lives in Graz.", "I live in Graz")))
    chat = (f"--chat-url={server.url}", "--chat-model=small")
    ran = shell(*chat, "add", str(talk), "--extract=chat", "--json")
    assert ran.exit == Exit.OK
    (found,) = ran.document["extraction"]["facts"]
    assert (found["content"], found["model"]) == ("Ines lives in Graz.", "small")
    (request,) = server.requests
    assert (request.key, request.document["model"]) == ("Bearer secret", "small")


def test_a_failing_endpoint_keeps_the_messages(
    talk: Path, shell: Shell, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_CHAT_URL", server.url)
    monkeypatch.setenv("MNEMIC_CHAT_MODEL", "small")
    server.script.append(Reply(401))
    ran = shell("add", str(talk))
    assert ran.exit == Exit.UNAVAILABLE
    assert ran.out.startswith("Added: 2 messages, 2 new. chat: 0 facts in 0 messages")
    assert "401" in ran.err
    kept = shell("blocks", "--category=message", "--json").document["items"]
    assert [each["content"] for each in kept] == ["I live in Graz.", "Noted."]


@pytest.mark.parametrize("option", ["--chat-url=http://localhost:1/v1", "--chat-model=small"])
def test_half_an_endpoint_is_refused(option: str, talk: Path, shell: Shell) -> None:
    ran = shell(option, "add", str(talk), "--extract=chat", "--json")
    assert (ran.exit, ran.error["code"]) == (Exit.REFUSED, "field-refused")
    assert "MNEMIC_CHAT_MODEL" in ran.error["recovery"]


def test_a_reextraction_is_shown_and_adopted(talk: Path, shell: Shell) -> None:
    shell("add", str(talk), "--extract=rules")
    shown = shell("re-extract", "none", "trial")
    assert shown.exit == Exit.OK
    assert "- I live in Graz." in shown.out
    adopted = shell("adopt-extraction", "trial", "--json").document
    assert [each["before"] for each in adopted["lost"]] == ["I live in Graz."]


def test_a_server_has_the_configured_extractor(
    store: Path, server: Server, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MNEMIC_CHAT_KEY", "secret")
    run = invocation(store, space="default", chat_url=server.url, chat_model="m", as_json=True)
    server.script.append(answer(fact("Ines lives in Graz.", "I live in Graz")))

    async def served() -> list[str | None]:
        async with spaces_of(run, read_only=False, extractor=extractor) as spaces:
            await spaces.make("default")
            with await spaces.hold("default") as hold:
                added = await to_thread.run_sync(hold.memory.add, SAID[:1])
                return [each.content for each in added.facts]

    extractor = chat_extractor(run)
    assert extractor is not None
    with extractor:
        assert anyio.run(served) == ["Ines lives in Graz."]
    assert server.requests[0].key == "Bearer secret"
