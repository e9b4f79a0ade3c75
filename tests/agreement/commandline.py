"""The command line as a door: each verb is one run of ``mnemic --json``, in this process."""

from __future__ import annotations

import io
import json
from collections.abc import Iterable, Iterator, Mapping
from contextlib import redirect_stderr, redirect_stdout
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from mnemic.adapters.cli import main
from mnemic.specs.contracts import raised

FIRST: dict[str, tuple[str, ...]] = {
    "analogies": ("block_id",),
    "block": ("block_id",),
    "compare": ("block_id", "other_id"),
    "composed_with": ("block_id",),
    "composition": ("composition_id",),
    "connect": ("source", "target", "relation"),
    "connects": ("path",),
    "connect_by_query": ("source_query", "target_query", "relation"),
    "diff": ("before", "after"),
    "disconnect": ("source", "target"),
    "edges": ("block_id",),
    "erase": ("block_id",),
    "explain": ("decision_id", "block_id"),
    "forget": ("block_id", "reason"),
    "learn": ("content",),
    "learn_many": ("path",),
    "outcome": ("block_ids", "signal"),
    "recall": ("query",),
    "replay": ("decision_id",),
    "revert": ("from_version", "to_version"),
    "revise": ("block_id", "content", "reason"),
    "rezone": ("block_id", "zone", "reason"),
    "what_if": ("decision_id",),
    "why_not": ("decision_id", "block_id"),
}
"""What may stand in front of the named arguments of a verb."""
OPTIONS = {"decision_id": "decision", "reason": "reason", "tags": "tag", "token_budget": "budget"}
"""Options that the command line calls otherwise, or that are arguments of the verb."""
ITEMS = frozenset("analogies composed_with edges near_duplicates pending_connections".split())
"""Verbs that answer several things, which stand in one object here."""
LISTS = frozenset({"connects", "learn_many"})
"""Verbs whose one argument stands in a file of JSON lines."""
LACKS = frozenset(
    """
    adopt_policy backtest clock embedder read_only reembed session
    """.split()
)
"""Verbs and abilities of ``SyncMemory`` that the command line has not got, or has in its own way
(policies stand in files, and every command opens the store as it needs it)."""


class CommandLine:
    """``mnemic --db PATH``, with the verbs of ``SyncMemory``."""

    def __init__(self, path: Path, *point: str) -> None:
        self._path = path
        self._point = point
        """``as-of`` and the options that name a point of the past."""
        self._session: tuple[str, ...] = ()
        """The option that goes on with the session that was started here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing: every command opens the file and closes it."""

    def __getattr__(self, verb: str) -> Any:
        return partial(self._run, verb)

    def as_of(self, **point: Any) -> CommandLine:
        """Return the same, as of one point."""
        return CommandLine(self._path, "as-of", *spelled(point))

    def _run(self, verb: str, *args: Any, **named: Any) -> Any:
        """Run one command and return the document that it prints.

        Raises:
            MnemicError: It printed a refusal instead.
        """
        if verb in LISTS:
            args = (self._listed(*args),)
        command = [*self._point, *tokens(verb, args, named)]
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            main(["--db", str(self._path), "--json", *self._session, *command])
        printed = [json.loads(line) for line in out.getvalue().splitlines()]
        if verb in {"history", "log"}:
            return printed
        if not printed:
            raise raised(json.loads(err.getvalue().splitlines()[-1]))
        (document,) = printed
        if verb == "start_session":
            self._session = ("--session", document["session_id"])
        elif verb == "end_session":
            self._session = ()
        return document["items"] if verb in ITEMS else document

    def _listed(self, items: Iterable[Any]) -> str:
        """Return a file that holds *items*, one to a line."""
        path = self._path.with_suffix(".jsonl")
        path.write_text("\n".join(map(json.dumps, items)), encoding="utf-8")
        return str(path)


def tokens(verb: str, args: tuple[Any, ...], named: Mapping[str, Any]) -> list[str]:
    """Return the words of a command; texts stand behind ``--``, where no hyphen has a meaning."""
    given = {**dict(zip(FIRST.get(verb, ()), args, strict=False)), **named}
    texts: list[str] = []
    for name in FIRST.get(verb, ()):
        if name not in {"signal", "reason"} and given.get(name) is not None:
            value = given.pop(name)
            texts += list(value) if isinstance(value, list | tuple) else [str(value)]
    return [verb.replace("_", "-"), *spelled(given), "--", *texts]


def spelled(given: Mapping[str, Any]) -> Iterator[str]:
    """Yield named arguments as options; None is not given at all."""
    for name, value in given.items():
        option = f"--{OPTIONS.get(name, name).replace('_', '-')}"
        match value:
            case None | ():
                pass
            case True:
                yield option
            case False:
                yield from ("--no-record",) if name == "record" else ()
            case str() | int() | float():
                yield f"{option}={value}"
            case Mapping():
                yield from (f"{option}={key}={_word(entry)}" for key, entry in value.items())
            case _:
                yield from (f"{option}={each}" for each in value)


def _word(value: Any) -> str:
    return value if isinstance(value, str) else json.dumps(value)
