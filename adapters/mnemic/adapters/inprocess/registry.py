"""The registry of operations: ``@operation`` declares one, on the method that implements it.

A declaration adds what the signature and the docstring do not say: the scope that a caller needs,
the effect on the log, and where HTTP has it. Every interface is derived from the declared methods
of ``SyncMemory``.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection, Mapping
from types import CodeType
from typing import Any, Final, Literal, TypeAlias, TypeVar, get_args

from attrs import field, frozen

from mnemic.kernel.values import Value

Scope: TypeAlias = Literal["read", "write", "admin"]
SCOPES: Final[tuple[Scope, ...]] = get_args(Scope)
"""Each includes the ones before it."""
Group: TypeAlias = Literal[
    "Blocks",
    "Edges",
    "Recall",
    "Decisions",
    "Compositions",
    "Upkeep",
    "The past",
    "Spaces",
    "Server",
]
GROUPS: Final[tuple[Group, ...]] = get_args(Group)
"""The headings under which operations are described, in order."""

Function = TypeVar("Function", bound=Callable[..., Any])
Class = TypeVar("Class", bound=type)
_ATTRIBUTE: Final = "__mnemic_operation__"
_implementing: Final[list[type]] = []
"""The class that implements the operations, which is imported after this module."""


@frozen
class Declaration(Value):
    """What the decorator ``@operation`` says of a method. The method itself stays as it is."""

    route: str
    """HTTP method and path; ``.`` is the path of the space. Arguments that are not in the path are
    in the query of a GET or a DELETE, and in a JSON object otherwise."""
    group: Group
    scope: Scope = "read"
    """The scope that a caller needs: ``read`` writes nothing, and repeating it has no consequences;
    ``admin`` affects the whole space or all that a source wrote, takes texts and keys out of it,
    cannot be undone, or makes a source more trusted than it was."""
    destructive: bool = field(default=False, kw_only=True)
    """Whether it may remove something from the present, or replace it: a connect may displace a
    weaker edge, a consolidation archives repeated texts, another zone or embedder takes the place
    of the former one. Pending work that an operation consolidates on the side does not count."""
    same_twice: bool = field(default=False, kw_only=True)
    """Whether repeating it at once changes nothing. Of an operation that only reads, always so."""
    status: int = field(default=200, kw_only=True)
    """The HTTP status of success."""
    makes: str | None = field(default=None, kw_only=True)
    """The field of the result with the id of what was made, which has a path of its own."""
    local: Collection[str] = field(default=(), kw_only=True)
    """Parameters that name files or objects of this process, which remote callers cannot give."""
    other_space: str | None = field(default=None, kw_only=True)
    """The parameter that names another space, in which the caller needs ``admin`` too."""
    remote_defaults: Mapping[str, Any] = field(factory=dict, kw_only=True)
    """Defaults of remote callers, by parameter, where they differ from those in the process."""

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.route.partition(" ")[0]

    @property
    def path(self) -> str:
        """The HTTP path."""
        return self.route.partition(" ")[2]

    def __call__(self, function: Function) -> Function:
        """Declare a function as an operation."""
        setattr(function, _ATTRIBUTE, self)
        return function


operation = Declaration


def implements_operations(of: Class) -> Class:
    """Make a class the one whose declared methods are the operations of every interface."""
    _implementing[:] = [of]
    return of


def implementing_class() -> type:
    """Return the class that implements the operations."""
    return _implementing[0]


def declarations() -> Mapping[str, Declaration]:
    """Return the declaration of every operation, by name, sorted by name."""
    of = implementing_class()
    found = {name: declared(of, name) for name in sorted(dir(of))}
    return {
        name: each
        for name, each in found.items()
        if each is not None and implementation(of, name).__name__ == name  # not an alias
    }


def declared(of: type, name: str) -> Declaration | None:
    """Return the declaration of an operation or of an alias; None: it is neither.

    A method inherits the declaration of the one that it overrides.
    """
    for each in of.__mro__:
        found = vars(each).get(name)
        if isinstance(found, property | staticmethod) or inspect.isfunction(found):
            declaration: Declaration | None = getattr(_plain(found), _ATTRIBUTE, None)
            if declaration is not None:
                return declaration
    return None


def members(of: type) -> Mapping[str, Any]:
    """Return the attributes of a class and of its bases as they are stored, sorted by name."""
    found: dict[str, Any] = {}
    for each in reversed(of.__mro__):
        found.update(vars(each))
    return dict(sorted(found.items()))


def parameters(function: Callable[..., Any]) -> tuple[str, ...]:
    """Return the names of a function's parameters, but for those that collect others.

    A signature would have them too; making that of every operation takes a part of each start.
    """
    code: CodeType = inspect.unwrap(function).__code__
    return code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]


def implementation(of: type, name: str) -> Callable[..., Any]:
    """Return the function of an operation, or the one behind the property of that name."""
    return _plain(inspect.getattr_static(of, name))


def _plain(found: Any) -> Callable[..., Any]:
    if isinstance(found, property):
        found = found.fget
    elif isinstance(found, staticmethod):
        found = found.__func__
    call: Callable[..., Any] = inspect.unwrap(found)
    return call
