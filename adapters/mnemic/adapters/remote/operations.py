"""The operations as every remote interface offers them, collected from the registry.

Names, parameters, defaults and descriptions come from ``SyncMemory`` and ``SyncView`` themselves,
so that an interface cannot differ from the operation; see ``inprocess.registry`` for the rest.
"""

from __future__ import annotations

import inspect
import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from types import MappingProxyType
from typing import Any

from attrs import frozen

from mnemic.adapters.docstrings import Docstring, docstring
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.inprocess.registry import (
    Declaration,
    Scope,
    declarations,
    implementation,
)
from mnemic.adapters.inprocess.replay.plots import PlottedBacktest
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
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
from mnemic.kernel import results
from mnemic.kernel.decisions import composing, connecting
from mnemic.kernel.policy import Policy

REQUIRED = inspect.Parameter.empty

SPOKEN: Mapping[tuple[str, str], Any] = MappingProxyType(
    {
        ("*", "where"): Filter | None,
        ("*", "selector"): Selector,
        ("*", "without"): Selector | None,
        ("*", "created_at"): Instant | None,
        ("*", "expires_at"): Instant | None,
        ("*", "valid_from"): Instant | None,
        ("*", "valid_until"): Instant | None,
        ("*", "at"): Instant | None,
        ("*", "detail"): str | None,
        ("learn_many", "lessons"): list[str | Lesson],
        ("compose", "members"): list[str | Member],
        ("connects", "edges"): list[Assertion],
        ("verify_receipt", "receipt"): Signed,
        ("adopt_policy", "policy"): PolicyBody,
        ("what_if", "policy"): PolicyBody | None,
        ("backtest", "policies"): dict[str, PolicyBody],
        ("reembed", "embedder"): EmbedderName,
        ("re_extract", "since"): Instant | None,
        ("re_extract", "until"): Instant | None,
        ("diff", "before"): int | str,
        ("diff", "after"): int | str,
    }
)
"""Parameters whose values in a document differ from those in the process, by operation and name."""
UNSPOKEN = frozenset({"self", "progress", "command_id"})
"""Parameters that no document holds: an interface passes them in its own way."""


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
    declaration: Declaration
    """What the registry says of it: scope, effect, route."""
    parameters: Mapping[str, Parameter]
    past_parameters: Mapping[str, Parameter] | None = None
    """Of the same operation on a view of the past; None: a view has no such operation."""
    returns: Any
    docs: Docstring
    repeatable: bool = False
    """Whether it takes a command id."""
    long: bool = False
    """Whether it reports progress."""
    lenient: bool = False
    """Whether it accepts and ignores unknown arguments."""

    needs_files: bool = False
    """Whether it needs a file or an object of its process, so that a call over a wire has to bring
    it in some other way."""

    @property
    def scope(self) -> Scope:
        """The scope that a caller needs."""
        return self.declaration.scope

    @property
    def reads_only(self) -> bool:
        """Whether it writes nothing."""
        return self.scope == "read"

    @property
    def can_skip_record(self) -> bool:
        """Whether it only reads when ``record`` is false."""
        return "record" in self.parameters

    def taking(self, *, past: bool) -> Mapping[str, Parameter]:
        """Return its parameters, live or on a view of the past."""
        return (self.past_parameters or {}) if past else self.parameters


@cache
def operations() -> Mapping[str, Operation]:
    """Return every operation that a remote interface may offer, by name."""
    declared = declarations()
    return MappingProxyType({name: _operation(name, declared[name]) for name in declared})


def _operation(name: str, declaration: Declaration) -> Operation:
    live = implementation(SyncMemory, name)
    past = implementation(SyncView, name) if hasattr(SyncView, name) else None
    names = inspect.signature(live).parameters
    return Operation(
        name=name,
        declaration=declaration,
        parameters=_parameters(name, live, declaration),
        past_parameters=None if past is None else _parameters(name, past, declaration),
        returns=_returned(typing.get_type_hints(live, _names(live))["return"]),
        docs=docstring(live),
        repeatable="command_id" in names,
        long="progress" in names,
        needs_files=any(names[each].default is REQUIRED for each in declaration.local),
        lenient=any(each.kind is inspect.Parameter.VAR_KEYWORD for each in names.values()),
    )


def _returned(annotation: Any) -> Any:
    """Return the type of a result, of a list as a plain tuple."""
    if typing.get_origin(annotation) is not results.ResultList:
        return annotation
    return types.GenericAlias(tuple, (*typing.get_args(annotation), ...))


def _parameters(
    operation: str, call: Callable[..., Any], declaration: Declaration
) -> Mapping[str, Parameter]:
    hints = typing.get_type_hints(call, _names(call))
    descriptions = {
        **docstring(implementation(SyncMemory, operation)).arguments,
        **docstring(call).arguments,
    }
    unspoken = {*UNSPOKEN, *declaration.local}
    return MappingProxyType(
        {
            name: Parameter(
                name=name,
                type=SPOKEN.get((operation, name), SPOKEN.get(("*", name), hints[name])),
                default=declaration.remote_defaults.get(name, given.default),
                description=descriptions.get(name, ""),
            )
            for name, given in inspect.signature(call).parameters.items()
            if name not in unspoken and given.kind is not inspect.Parameter.VAR_KEYWORD
        }
    )


def _names(call: Callable[..., Any]) -> dict[str, Any]:
    """Return the names that annotations may use: some are imported for type checkers only."""
    results_by_name = {name: getattr(results, name) for name in results.__all__}
    late = (composing.MemberSpec, connecting.Assertion, PlottedBacktest, Policy)
    return {
        **results_by_name,
        **{each.__name__: each for each in late},
        **getattr(call, "__globals__", {}),
    }
