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
from mnemic.kernel.policy import Policy
from mnemic.specs.contracts import raised

FIRST: dict[str, tuple[str, ...]] = {
    "adopt_policy": ("policy",),
    "analogies": ("block_id",),
    "backtest": ("policies",),
    "block": ("block_id",),
    "compare": ("block_id", "other_id"),
    "compose": ("members",),
    "composed_graph": ("action",),
    "composed_with": ("block_id",),
    "composition": ("composition_id",),
    "connect": ("source", "target", "relation"),
    "connects": ("edges",),
    "connect_by_query": ("source_query", "target_query", "relation"),
    "deep_reference": ("query",),
    "diff": ("before", "after"),
    "disconnect": ("source", "target"),
    "edges": ("block_id",),
    "erase": ("block_id",),
    "explain": ("decision_id", "block_id"),
    "export": ("path",),
    "forget": ("block_id", "reason"),
    "fork": ("space",),
    "guide": ("name",),
    "label": ("composition_id", "label"),
    "learn": ("content",),
    "learn_many": ("lessons",),
    "outcome": ("block_ids", "signal"),
    "recall": ("query",),
    "receipt": ("decision_id",),
    "replay": ("decision_id",),
    "retract_label": ("label_id",),
    "revert": ("from_version", "to_version"),
    "revise": ("block_id", "content", "reason"),
    "rezone": ("block_id", "zone", "reason"),
    "verify_receipt": ("receipt",),
    "what_if": ("decision_id",),
    "why_not": ("decision_id", "block_id"),
}
"""What may stand in front of the named arguments of a verb."""
OPTIONS = {
    "compose.composition_id": "name",
    "composition_id": "composition",
    "decision_id": "decision",
    "from_": "from",
    "frontier.decision": "of",
    "horizon_hours": "horizon",
    "output_preview": "preview",
    "tags": "tag",
    "token_budget": "budget",
}
"""Options that the command line calls otherwise, of one verb or of all."""
NAMED = frozenset({"reason", "signal"})
"""What is an option there, though it may stand in front here."""
REFUSING = {"record": "--no-record", "words": "--no-words"}
"""What is said where something is false; of anything else it is not said at all."""
LISTS = frozenset({"edges", "lessons"})
"""Arguments that stand in files of JSON lines."""
MOMENTS = frozenset({"history", "log"})
"""Verbs that print one document for each event."""
ITEMS = frozenset("analogies composed_with edges near_duplicates pending_connections".split())
"""Verbs that answer several things, which stand in one object there."""
LACKS = frozenset(
    """
    adopt_policy.shape backtest.shape clock compose.shape
    composed_graph.ignored connects.shape embedder last_learned_block_id last_recall_block_ids
    learn_many.shape progress read_only reembed seat session session_block_ids
    """.split()
)
"""What the command line has not got, or has in its own way: it takes the system's clock and the
models by name, draws progress as a bar, opens the store as each command needs it, reads lists and
policies from files, and has words of its own for options that make no sense. Who acts, and in
which session, is said by options of every command; no process lasts long enough to remember what
it touched."""


class CommandLine:
    """``mnemic --db PATH``, with the verbs of ``SyncMemory``."""

    def __init__(self, path: Path, *point: str, space: str = "default") -> None:
        self._path = path
        self._space = space
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
        return partial(self, verb)

    # --- what is called otherwise there -----------------------------------------------------

    def as_of(self, **point: Any) -> CommandLine:
        """Return the same, as of one point."""
        return CommandLine(self._path, "as-of", *spelled("as_of", point), space=self._space)

    @property
    def version(self) -> Any:
        """The version that a view stands at."""
        return self("status")["version"]

    @property
    def hour(self) -> Any:
        """The active hours that a view stands at."""
        return self("status")["hour"]

    def block(self, block_id: str) -> Any:
        """Return a block; its edges, which stand beside it there, have a verb of their own."""
        found = dict(self("block", block_id))
        found.pop("edges", None)
        return found

    def ledger(self, **named: Any) -> Any:
        """Return the compositions that are listed, without the company of a block."""
        return self("ledger", **named)["compositions"]

    def checkpoints(self) -> Any:
        """Return the checkpoints that are listed."""
        return self("checkpoints")["checkpoints"]

    def import_space(
        self, path: Path, into: Path, *, space: str = "default", actor: str = "import"
    ) -> Any:
        """Import a file, where options of every command say where and who."""
        there = CommandLine(into, "--actor", actor, space=space)
        return there("import_space", str(path))

    def erase_space(self, **named: Any) -> Any:
        """Erase the space; nobody is here to be asked again."""
        return self("erase_space", yes=True, **named)

    # --- one command ------------------------------------------------------------------------

    def __call__(self, verb: str, *args: Any, **named: Any) -> Any:
        """Run one command and return the document that it prints.

        Raises:
            MnemicError: It printed a refusal instead.
        """
        first = FIRST.get(verb, ("",))
        given = {**dict(zip(first, args, strict=False)), **named}
        words = tokens(verb, {name: self._written(name, value) for name, value in given.items()})
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            where = ["--db", str(self._path), "--space", self._space, "--json"]
            main([*where, *self._session, *self._point, *words])
        printed = [json.loads(line) for line in out.getvalue().splitlines()]
        if verb in MOMENTS and (printed or not err.getvalue()):
            return printed
        if not printed:
            raise raised(json.loads(err.getvalue().splitlines()[-1]))
        (document,) = printed
        if verb == "start_session":
            self._session = ("--session", document["session_id"])
        elif verb == "end_session":
            self._session = ()
        return document["items"] if verb in ITEMS else document

    def _written(self, name: str, value: Any) -> Any:
        """Return an argument, or the file that it stands in."""
        match value:
            case Policy():
                return self._file(f"{value.name}.json", value.body)
            case list() if name == "policies":
                return [self._written(name, policy) for policy in value]
            case Mapping() if name == "policies":
                return [self._file(f"{each}.json", value[each].body) for each in value]
            case Mapping() if name == "receipt":
                return self._file("receipt.json", json.dumps(value))
            case _ if name in LISTS:
                return self._file(f"{name}.jsonl", "\n".join(map(json.dumps, value)))
            case _:
                return value

    def _file(self, name: str, text: str) -> str:
        path = self._path.with_name(name)
        path.write_text(text, encoding="utf-8")
        return str(path)


def tokens(verb: str, given: Mapping[str, Any]) -> list[str]:
    """Return the words of a command; texts stand behind ``--``, where no hyphen has a meaning."""
    rest = dict(given)
    texts: list[str] = []
    for name in FIRST.get(verb, ("",)):
        if name not in NAMED and rest.get(name) is not None:
            value = rest.pop(name)
            texts += map(_word, value if isinstance(value, list | tuple) else [value])
    return [verb.replace("_", "-"), *spelled(verb, rest), "--", *texts]


def spelled(verb: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield named arguments as options; None is not given at all."""
    for name, value in given.items():
        called = OPTIONS.get(f"{verb}.{name}", OPTIONS.get(name, name))
        option = f"--{called.replace('_', '-')}"
        match value:
            case None | ():
                pass
            case True:
                yield option
            case False:
                yield from (REFUSING[name],) if name in REFUSING else ()
            case str() | int() | float() | Path():
                yield f"{option}={value}"
            case Mapping():
                yield from (f"{option}={pair}" for pair in _pairs(name, value))
            case _:
                yield from (f"{option}={each}" for each in value)


def _pairs(name: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield an object as ``key=value``; of a filter, lists and metadata one by one."""
    for key, value in given.items():
        if name == "where" and isinstance(value, Mapping):
            yield from (f"{key}.{pair}" for pair in _pairs(key, value))
            continue
        values: Iterable[Any] = value if isinstance(value, list) else [value]
        yield from (f"{key}={_word(each)}" for each in values)


def _word(value: Any) -> str:
    return json.dumps(value) if isinstance(value, Mapping | bool | None) else str(value)
