"""Commands on messages and the facts that an extractor finds in them: add, re-extract."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from rich.text import Text

from mnemic.adapters.cli.invocation.conditions import scope as named
from mnemic.adapters.cli.invocation.context import Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.cli.invocation.json_lines import Line, lines
from mnemic.kernel.errors import FieldRefused

RECOVERY = "Write one message per line, or one JSON array of them."


def add(
    path: Path,
    /,
    *,
    extract: str | None = None,
    thread: str | None = None,
    scope: tuple[str, ...] = (),
    zone: str | None = None,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Learn the messages of a conversation, and the facts that an extractor finds in them.

    ```
    mnemic add talk.jsonl --extract rules --thread monday
    mnemic --chat-url http://localhost:11434/v1 --chat-model qwen3:8b add talk.json --extract chat
    ```

    A message is an object with role and content and, if they are known, name, created_at and id.
    Messages of OpenAI, Anthropic and LangChain are taken as they are. Each becomes a block of the
    category message, each fact one of the category fact. Messages that cannot be learned are
    reported and the others are learned; the exit code is 1. If the extractor fails, the messages
    are kept and the exit code is 5; adding them again tries again.

    Args:
        path: The file of JSON lines, or of one JSON array; - is standard input.
        extract: The extractor: none, rules, or chat; chat if it is configured, else none, if not
            given.
        thread: The conversation that they belong to, unless a message names another.
        scope: Whom they belong to: user=NAME, agent=NAME or run=NAME; repeat for more.
        zone: Trust zone, if not the one that follows from the role.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    read = lines(path)
    messages, places = _messages(read)
    with run.memory(making=True, extracting=extract in {None, "chat"}) as memory:
        with run.progress("adding") as progress:
            result = memory.add(
                messages,
                extract=extract,
                thread=thread,
                scope=named(scope),
                zone=zone,
                progress=progress,
                command_id=command_id,
            )
        run.show(result)
    if not run.as_json:
        for refusal in result.refused:
            run.warn(f"{places[refusal.position]}: {refusal.code}: {refusal.detail}")
        for problem in result.extraction.problems if result.extraction else ():
            run.warn(problem)
    if result.refused:
        return Exit.REFUSED
    unread = 0 if result.extraction is None else result.extraction.unread
    return Exit.UNAVAILABLE if unread else Exit.OK


def re_extract(
    extractor: str,
    space: str,
    /,
    *,
    since: str | None = None,
    until: str | None = None,
    run: Run,
) -> int:
    """Let an extractor read messages again on a fork, and show what that would change.

    ```
    mnemic re-extract rules trial --since 2026-03-01
    mnemic adopt-extraction trial
    ```

    Nothing is written here until `adopt-extraction` makes what was found there the state of this
    space. Facts that are gained are marked +, those that are lost -, those that another one
    replaces ~. Run again, it continues with what is unread; the exit code is 5 if messages are.

    Args:
        extractor: The extractor: none, rules, or chat if it is configured.
        space: Name of the fork: a new space, or one that an earlier run has begun.
        since: Only messages that were recorded at or after this instant, ISO 8601.
        until: Only messages that were recorded before or at it.
        run: The invocation.
    """
    with run.memory(extracting=extractor == "chat") as memory:
        with run.progress("reading") as progress:
            result = memory.re_extract(
                extractor, space, since=since, until=until, progress=progress
            )
        shown = (result, *result.gained, *result.lost, *result.changed, *result.decisions)
        run.show(result, *(Text(plain(each.summary)) for each in shown))
    return Exit.UNAVAILABLE if result.unread else Exit.OK


def _messages(read: Sequence[Line]) -> tuple[list[Any], list[str]]:
    """Return the messages of a file, and the place of each for messages about it.

    Raises:
        FieldRefused: The file is not JSON; nothing of it is learned.
    """
    if read and read[0].text.startswith("["):
        found = _parsed(read)
        return found, [f"message {place}" for place in range(1, len(found) + 1)]
    return [_parsed([line]) for line in read], [f"line {line.number}" for line in read]


def _parsed(read: Sequence[Line]) -> Any:
    """Return the value that consecutive lines hold as JSON."""
    try:
        return Line(read[0].number, "\n".join(each.text for each in read)).parsed()
    except ValueError as error:
        at, problem = 1, str(error)
        if isinstance(error, json.JSONDecodeError):
            at, problem = error.lineno, error.msg
        raise FieldRefused(
            f"line {read[at - 1].number} is not JSON: {problem}",
            recovery=RECOVERY,
            field="messages",
        ) from error
