"""The verbs as a table: what each takes and answers, who may call it, what it does to the log.

Names, parameters, defaults and words come from ``SyncMemory`` and ``SyncView`` themselves, so that
a door cannot say otherwise than the verb. This table adds what code does not say: the scope that a
caller needs, and whether calling twice is as good as once.
"""

from __future__ import annotations

import inspect
import typing
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from attrs import frozen

from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.inprocess.snapshot import SyncView
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.wire.docstrings import Docstring, docstring
from mnemic.adapters.wire.forms import (
    Assertion,
    Filter,
    Instant,
    Lesson,
    Member,
    PolicyBody,
    Signed,
)
from mnemic.kernel.policy import Policy

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")
"""Each allows what stands before it."""
REQUIRED = inspect.Parameter.empty

READS = (
    "analogies backtest block blocks checkpoints compare composed_with composition diff edges"
    " explain frontier guide history ledger log near_duplicates pending_connections policy receipt"
    " replay replay_all status timeline verify verify_receipt what_if why_not"
).split()
"""Nothing is written, and asking again is free of consequences."""
WRITES = (
    "compose composed_graph connect connect_by_query connects consolidate curate deep_reference"
    " disconnect end_session forget label learn learn_many outcome recall retract_label revise"
    " start_session"
).split()
RULES = (
    "adopt_policy checkpoint drop_checkpoints erase erase_space export fork import_space reembed"
    " revert rezone"
).split()
"""What decides over the whole space, what takes its words and keys out of it, what cannot be taken
back, and what makes a source more trusted than it was."""
DESTRUCTIVE = frozenset(
    "adopt_policy connect connect_by_query connects consolidate curate disconnect drop_checkpoints"
    " erase erase_space forget revert revise".split()
)
"""What may take something out of the present: a connect may replace an edge or displace a weaker
one, and a consolidation archives what is said again. What other verbs tidy on their way does not
count: nobody calls them for that."""
SAME_TWICE = frozenset(
    "adopt_policy checkpoint consolidate curate disconnect drop_checkpoints erase erase_space"
    " forget learn learn_many reembed rezone".split()
)
"""Writes that find nothing left to do when they are called again at once."""
HOST_ONLY = frozenset({"as_of", "close", "dream", "open", "seat", "session"})
"""Verbs of whoever holds the memory in its own process, and another name of one."""

SPOKEN: Mapping[tuple[str, str], Any] = MappingProxyType(
    {
        ("*", "where"): Filter | None,
        ("*", "created_at"): Instant | None,
        ("*", "expires_at"): Instant | None,
        ("*", "at"): Instant | None,
        ("learn_many", "lessons"): list[str | Lesson],
        ("compose", "members"): list[str | Member],
        ("connects", "edges"): list[Assertion],
        ("verify_receipt", "receipt"): Signed,
        ("adopt_policy", "policy"): PolicyBody,
        ("what_if", "policy"): PolicyBody | None,
        ("backtest", "policies"): dict[str, PolicyBody],
        ("reembed", "embedder"): EmbedderName,
        ("diff", "before"): int | str,
        ("diff", "after"): int | str,
    }
)
"""Parameters that are other values in a document than in the process, by verb and name."""
UNSPOKEN = frozenset({"self", "progress", "command_id"})
"""Parameters that no document holds: a door has its own ways for them."""
PATHS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "export": frozenset({"path"}),
        "fork": frozenset({"into"}),
        "import_space": frozenset({"path", "into", "clock", "entropy", "actor", "keys"}),
    }
)
"""Parameters that name files: over a wire nobody names a file of the server's."""


@frozen(kw_only=True)
class Parameter:
    """One thing that a verb is told."""

    name: str
    type: Any
    default: Any = REQUIRED
    told: str = ""
    """What the docstring says of it."""

    @property
    def required(self) -> bool:
        """Whether it has to be given."""
        return self.default is REQUIRED


@frozen(kw_only=True)
class Verb:
    """One verb, as every door offers it."""

    name: str
    scope: Scope
    """What a caller has to be allowed."""
    parameters: Mapping[str, Parameter]
    past_parameters: Mapping[str, Parameter] | None = None
    """Of the same verb on a view of the past; None: a view has no such verb."""
    returns: Any
    told: Docstring
    reads_only: bool = False
    destructive: bool = False
    same_twice: bool = False
    repeatable: bool = False
    """Whether it takes a command id."""
    long: bool = False
    """Whether it says how far it is."""
    lenient: bool = False
    """Whether it takes whatever else a client sends, and leaves it alone."""

    def taking(self, *, past: bool) -> Mapping[str, Parameter]:
        """Return what it takes, live or of the past."""
        return (self.past_parameters or {}) if past else self.parameters


@cache
def verbs() -> Mapping[str, Verb]:
    """Return every verb that a door over a wire may offer, by name."""
    scopes: dict[str, Scope] = {
        **dict.fromkeys(READS, "read"),
        **dict.fromkeys(WRITES, "write"),
        **dict.fromkeys(RULES, "admin"),
    }
    return MappingProxyType({name: _verb(name, scopes[name]) for name in sorted(scopes)})


def _verb(name: str, scope: Scope) -> Verb:
    live = _call(SyncMemory, name)
    past = _call(SyncView, name) if hasattr(SyncView, name) else None
    names = inspect.signature(live).parameters
    return Verb(
        name=name,
        scope=scope,
        parameters=_parameters(name, live),
        past_parameters=None if past is None else _parameters(name, past),
        returns=typing.get_type_hints(live, _names(live))["return"],
        told=docstring(live),
        reads_only=scope == "read",
        destructive=name in DESTRUCTIVE,
        same_twice=scope == "read" or name in SAME_TWICE,
        repeatable="command_id" in names,
        long="progress" in names,
        lenient=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in names.values()),
    )


def _call(of: type, name: str) -> Callable[..., Any]:
    """Return the function behind a verb, or behind the property of that name."""
    found: Any = inspect.getattr_static(of, name)
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, staticmethod):
        found = found.__func__
    call: Callable[..., Any] = inspect.unwrap(found)
    return call


def _parameters(verb: str, call: Callable[..., Any]) -> Mapping[str, Parameter]:
    hints = typing.get_type_hints(call, _names(call))
    told = {**docstring(_call(SyncMemory, verb)).arguments, **docstring(call).arguments}
    left_out = UNSPOKEN | PATHS.get(verb, frozenset())
    return MappingProxyType(
        {
            name: Parameter(
                name=name,
                type=SPOKEN.get((verb, name), SPOKEN.get(("*", name), hints[name])),
                default=given.default,
                told=told.get(name, ""),
            )
            for name, given in inspect.signature(call).parameters.items()
            if name not in left_out and given.kind is not inspect.Parameter.VAR_KEYWORD
        }
    )


def _names(call: Callable[..., Any]) -> dict[str, Any]:
    """Return what the annotations of a function may name: some are imported for checkers only."""
    return {"Policy": Policy, **getattr(call, "__globals__", {})}
