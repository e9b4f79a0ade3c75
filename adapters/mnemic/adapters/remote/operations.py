"""The table of operations: what each takes and returns, who may call it, and its effect on the log.

Names, parameters, defaults and descriptions come from ``SyncMemory`` and ``SyncView`` themselves,
so that an interface cannot differ from the operation. This table adds what code does not express:
the scope that a caller needs, and whether an operation is idempotent.
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
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.adapters.remote.docstrings import Docstring, docstring
from mnemic.adapters.remote.forms import (
    Assertion,
    Filter,
    Instant,
    Lesson,
    Member,
    PolicyBody,
    Selector,
    Signed,
)
from mnemic.kernel.policy import Policy

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: tuple[Scope, ...] = ("read", "write", "admin")
"""Each includes the ones before it."""
REQUIRED = inspect.Parameter.empty

READS = (
    "analogies backtest block blocks checkpoints compare composed_with composition descent diff"
    " edges explain frontier guide history ledger log near_duplicates pending_connections policy"
    " receipt replay replay_all status timeline verify verify_receipt what_if why_not"
).split()
"""They write nothing, and repeating them has no consequences."""
WRITES = (
    "compose composed_graph connect connect_by_query connects consolidate curate deep_reference"
    " disconnect end_session forget label learn learn_many outcome recall retract_label revise"
    " start_session"
).split()
RULES = (
    "adopt_policy calibrate checkpoint drop_checkpoints erase erase_space export fork import_space"
    " quarantine reembed revert revert_source rezone"
).split()
"""They affect the whole space or all that a source wrote, take texts and keys out of it, cannot be
undone, or make a source more trusted than it was."""
DESTRUCTIVE = frozenset(
    "adopt_policy connect connect_by_query connects consolidate curate disconnect drop_checkpoints"
    " erase erase_space forget quarantine reembed revert revert_source revise rezone".split()
)
"""They may remove something from the present, or replace it: a connect may displace a weaker edge,
a consolidation archives repeated texts, another zone or embedder takes the place of the former one.
Side effects of pending work that other operations consolidate do not count, since they are not the
purpose of the call."""
SAME_TWICE = frozenset(
    "adopt_policy calibrate checkpoint consolidate curate disconnect drop_checkpoints erase"
    " erase_space forget learn learn_many quarantine reembed rezone".split()
)
"""Writes that change nothing when they are repeated at once."""
HOST_ONLY = frozenset({"as_of", "close", "dream", "open", "session_handle", "session"})
"""Operations that only exist within the process of the memory, and an alias of one."""

SPOKEN: Mapping[tuple[str, str], Any] = MappingProxyType(
    {
        ("*", "where"): Filter | None,
        ("*", "selector"): Selector,
        ("*", "without"): Selector | None,
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
"""Parameters whose values in a document differ from those in the process, by operation and name."""
UNSPOKEN = frozenset({"self", "progress", "command_id"})
"""Parameters that no document holds: an interface passes them in its own way."""
PATHS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "export": frozenset({"path"}),
        "fork": frozenset({"into"}),
        "import_space": frozenset({"path", "into", "clock", "entropy", "actor", "keys"}),
    }
)
"""Parameters that name files, which remote callers cannot do."""


@frozen(kw_only=True)
class Parameter:
    """One parameter of an operation."""

    name: str
    type: Any
    default: Any = REQUIRED
    description: str = ""
    """Its description in the docstring."""

    @property
    def required(self) -> bool:
        """Whether it must be given."""
        return self.default is REQUIRED


@frozen(kw_only=True)
class Operation:
    """One operation, as every interface offers it."""

    name: str
    scope: Scope
    """The scope that a caller needs."""
    parameters: Mapping[str, Parameter]
    past_parameters: Mapping[str, Parameter] | None = None
    """Of the same operation on a view of the past; None: a view has no such operation."""
    returns: Any
    docs: Docstring
    reads_only: bool = False
    destructive: bool = False
    same_twice: bool = False
    repeatable: bool = False
    """Whether it takes a command id."""
    long: bool = False
    """Whether it reports progress."""
    lenient: bool = False
    """Whether it accepts and ignores unknown arguments."""

    def taking(self, *, past: bool) -> Mapping[str, Parameter]:
        """Return its parameters, live or on a view of the past."""
        return (self.past_parameters or {}) if past else self.parameters


@cache
def operations() -> Mapping[str, Operation]:
    """Return every operation that a remote interface may offer, by name."""
    scopes: dict[str, Scope] = {
        **dict.fromkeys(READS, "read"),
        **dict.fromkeys(WRITES, "write"),
        **dict.fromkeys(RULES, "admin"),
    }
    return MappingProxyType({name: _operation(name, scopes[name]) for name in sorted(scopes)})


def _operation(name: str, scope: Scope) -> Operation:
    live = _call(SyncMemory, name)
    past = _call(SyncView, name) if hasattr(SyncView, name) else None
    names = inspect.signature(live).parameters
    return Operation(
        name=name,
        scope=scope,
        parameters=_parameters(name, live),
        past_parameters=None if past is None else _parameters(name, past),
        returns=typing.get_type_hints(live, _names(live))["return"],
        docs=docstring(live),
        reads_only=scope == "read",
        destructive=name in DESTRUCTIVE,
        same_twice=scope == "read" or name in SAME_TWICE,
        repeatable="command_id" in names,
        long="progress" in names,
        lenient=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in names.values()),
    )


def _call(of: type, name: str) -> Callable[..., Any]:
    """Return the function behind an operation, or behind the property of that name."""
    found: Any = inspect.getattr_static(of, name)
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, staticmethod):
        found = found.__func__
    call: Callable[..., Any] = inspect.unwrap(found)
    return call


def _parameters(operation: str, call: Callable[..., Any]) -> Mapping[str, Parameter]:
    hints = typing.get_type_hints(call, _names(call))
    descriptions = {
        **docstring(_call(SyncMemory, operation)).arguments,
        **docstring(call).arguments,
    }
    left_out = UNSPOKEN | PATHS.get(operation, frozenset())
    return MappingProxyType(
        {
            name: Parameter(
                name=name,
                type=SPOKEN.get((operation, name), SPOKEN.get(("*", name), hints[name])),
                default=given.default,
                description=descriptions.get(name, ""),
            )
            for name, given in inspect.signature(call).parameters.items()
            if name not in left_out and given.kind is not inspect.Parameter.VAR_KEYWORD
        }
    )


def _names(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the names that annotations may use: some are imported for type checkers only."""
    return {"Policy": Policy, **getattr(call, "__globals__", {})}
