"""The command line as an interface: each operation runs ``mnemic --json`` in this process."""

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
    "add": ("messages",),
    "adopt_extraction": ("space",),
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
    "descent": ("selector",),
    "diff": ("before", "after"),
    "disconnect": ("source", "target"),
    "edges": ("block_id",),
    "erase": ("block_ids",),
    "erase_many": ("where",),
    "erase_space": ("confirm",),
    "explain": ("decision_id", "block_id"),
    "facts": ("of",),
    "export": ("path",),
    "forget": ("block_id", "reason"),
    "forget_many": ("where", "reason"),
    "fork": ("space",),
    "guide": ("name",),
    "label": ("composition_id", "label"),
    "learn": ("content",),
    "learn_many": ("lessons",),
    "outcome": ("block_ids", "signal"),
    "quarantine": ("selector",),
    "re_extract": ("extractor", "space"),
    "recall": ("query",),
    "receipt": ("decision_id",),
    "replay": ("decision_id",),
    "retract_label": ("label_id",),
    "revert": ("from_version", "to_version"),
    "revert_source": ("selector",),
    "revise": ("block_id", "content", "reason"),
    "rezone": ("block_id", "zone", "reason"),
    "sources": ("of",),
    "verify_receipt": ("receipt",),
    "what_if": ("decision_id",),
    "why_not": ("decision_id", "block_id"),
}
"""Positional arguments of an operation."""
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
"""Options with another name on the command line, of one operation or of all."""
NAMED = frozenset({"confirm", "reason", "signal", "where"})
"""Options of the command line that may be positional arguments here."""
REFUSING = {"record": "--no-record", "words": "--no-words"}
"""Flags for false values; false values of other options are omitted."""
LISTS = frozenset({"edges", "lessons", "messages"})
"""Arguments passed as files of JSON lines."""
MOMENTS = frozenset({"history", "log"})
"""Operations that print one document for each event."""
ITEMS = frozenset(
    "analogies composed_with edges facts near_duplicates pending_connections sources".split()
)
"""Operations with several results, which are in one object on the command line."""
LACKS = frozenset(
    """
    adopt_policy.shape backtest.shape clock compose.shape
    composed_graph.ignored connects.shape embedder last_learned_block_id last_recall_block_ids
    learn_many.shape progress read_only reembed session session_block_ids session_handle
    subgraph.shape to_markdown where.nested
    """.split()
)
"""Features that the command line lacks or provides differently: it takes the system's clock and the
models by name, shows progress as a bar, opens the store as each command needs it, reads lists and
policies from files, and has its own messages for invalid options. Actor and session are options of
every command; no process lives long enough to keep recent ids."""


class CommandLine:
    """``mnemic --db PATH``, with the operations of ``SyncMemory``."""

    def __init__(self, path: Path, *point: str, space: str = "default") -> None:
        self._path = path
        self._space = space
        self._point = point
        """``as-of`` and the options that name a point of the past."""
        self._session: tuple[str, ...] = ()
        """The option that continues the session that was started here."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Do nothing: every command opens the file and closes it."""

    def __getattr__(self, operation: str) -> Any:
        return partial(self, operation)

    # --- what is called otherwise there -----------------------------------------------------

    def as_of(self, **point: Any) -> CommandLine:
        """Return the same, as of one point."""
        return CommandLine(self._path, "as-of", *spelled("as_of", point), space=self._space)

    @property
    def version(self) -> Any:
        """The version of a view."""
        return self("status")["version"]

    @property
    def hour(self) -> Any:
        """The active hour of a view."""
        return self("status")["hour"]

    def block(self, block_id: str) -> Any:
        """Return a block without its edges, which are a separate operation elsewhere."""
        found = dict(self("block", block_id))
        found.pop("edges", None)
        return found

    def ledger(self, **named: Any) -> Any:
        """Return the listed compositions, without the co-members of a block."""
        return self("ledger", **named)["compositions"]

    def checkpoints(self) -> Any:
        """Return the listed checkpoints."""
        return self("checkpoints")["checkpoints"]

    def import_space(
        self, path: Path, into: Path, *, space: str = "default", actor: str = "import"
    ) -> Any:
        """Import a file; store and actor are options of every command."""
        there = CommandLine(into, "--actor", actor, space=space)
        return there("import_space", str(path))

    # --- one command ------------------------------------------------------------------------

    def __call__(self, operation: str, *args: Any, **named: Any) -> Any:
        """Run one command and return the document that it prints.

        Raises:
            MnemicError: It printed a refusal instead.
        """
        first = FIRST.get(operation, ("",))
        given = {**dict(zip(first, args, strict=False)), **named}
        words = tokens(
            operation, {name: self._written(name, value) for name, value in given.items()}
        )
        out, err = io.StringIO(), io.StringIO()
        with redirect_stdout(out), redirect_stderr(err):
            where = ["--db", str(self._path), "--space", self._space, "--json"]
            main([*where, *self._session, *self._point, *words])
        printed = [json.loads(line) for line in out.getvalue().splitlines()]
        if operation in MOMENTS and (printed or not err.getvalue()):
            return printed
        if not printed:
            raise raised(json.loads(err.getvalue().splitlines()[-1]))
        (document,) = printed
        if operation == "start_session":
            self._session = ("--session", document["session_id"])
        elif operation == "end_session":
            self._session = ()
        return document["items"] if operation in ITEMS else document

    def _written(self, name: str, value: Any) -> Any:
        """Return an argument, or the file that holds it."""
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


def tokens(operation: str, given: Mapping[str, Any]) -> list[str]:
    """Return the arguments of a command; texts are behind ``--``, where hyphens are literal."""
    rest = dict(given)
    texts: list[str] = []
    for name in FIRST.get(operation, ("",)):
        if name not in NAMED and rest.get(name) is not None:
            value = rest.pop(name)
            if name == "selector":
                texts += _pairs(name, value)
            else:
                texts += map(_word, value if isinstance(value, list | tuple) else [value])
    asked = ["--yes"] if operation in {"erase", "erase_many"} else []  # it would ask a person
    return [operation.replace("_", "-"), *spelled(operation, rest), *asked, "--", *texts]


def spelled(operation: str, given: Mapping[str, Any]) -> Iterator[str]:
    """Yield named arguments as options; None is not given at all."""
    for name, value in given.items():
        called = OPTIONS.get(f"{operation}.{name}", OPTIONS.get(name, name))
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
