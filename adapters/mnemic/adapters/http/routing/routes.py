"""Routes: method and path of each operation, as its declaration gives them."""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from types import MappingProxyType

from attrs import frozen

from mnemic.adapters.access import EVERY_SPACE
from mnemic.adapters.inprocess.registry import GROUPS
from mnemic.adapters.remote.operations import Operation, operations
from mnemic.kernel.errors import FieldRefused

ROOT = "/v1"
SPACE = f"{ROOT}/spaces/{{space}}"
UNREACHABLE = frozenset({".", "..", EVERY_SPACE})
"""Names that a client would take for relative path segments, and the wildcard of token scopes."""


@frozen(kw_only=True)
class Route:
    """The HTTP route of one operation."""

    operation: Operation

    @property
    def method(self) -> str:
        """The HTTP method."""
        return self.operation.declaration.method

    @property
    def path(self) -> str:
        """The path, from the root of the server."""
        path = self.operation.declaration.path
        return SPACE + path[1:] if path.startswith(".") else path

    @property
    def status(self) -> int:
        """Of a successful response."""
        return self.operation.declaration.status

    @property
    def in_path(self) -> tuple[str, ...]:
        """Names of the arguments in the path, except the space."""
        return tuple(name for name in re.findall(r"{(\w+)}", self.path) if name != "space")

    @property
    def of_space(self) -> bool:
        """Whether the operation belongs to one space."""
        return self.path.startswith(SPACE)

    @property
    def by_query(self) -> bool:
        """Whether the other arguments are in the query."""
        return self.method in {"GET", "DELETE"}


@cache
def routes() -> Mapping[str, Route]:
    """Return the route of every operation, by its name; grouped, and by path within a group."""
    found = [Route(operation=each) for each in operations().values()]
    found.sort(key=lambda route: (GROUPS.index(route.operation.declaration.group), route.path))
    return MappingProxyType({route.operation.name: route for route in found})


def check_name(space: str) -> None:
    """Refuse a name by which no client could reach the space, or no token could name it alone.

    Raises:
        FieldRefused: It has surrounding white space, or is a relative path segment or the wildcard.
    """
    if space != space.strip() or space in UNREACHABLE:
        raise FieldRefused(
            f"a space cannot be called {space!r:.200} here",
            recovery="Give a name without white space around it that is more than dots, and not *.",
            field="space",
        )
