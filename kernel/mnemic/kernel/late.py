"""Late loading: what is imported, compiled or computed at its first use.

Compiling the regular expressions of the languages takes as long as a small recall, and a process
that opens a memory to write one line needs few of them.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast


def late_export(
    name: str, into: dict[str, Any], *, exported: Container[str], modules: Iterable[ModuleType]
) -> Any:
    """Return an export of a package, for its ``__getattr__``.

    Args:
        name: What is asked for.
        into: The names of the package, which the export is added to.
        exported: All names that it exports.
        modules: Its modules, which are imported one by one until one defines the name.

    Raises:
        AttributeError: The package does not export the name.
    """
    if name in exported:
        for module in modules:
            if name in vars(module):
                into[name] = vars(module)[name]
                return into[name]
    raise AttributeError(f"module {into['__name__']!r} has no attribute {name!r}")


def late_pattern(pattern: str, flags: re.RegexFlag = re.NOFLAG) -> re.Pattern[str]:
    """Return what ``re.compile`` does, without compiling it yet.

    An error in the expression is raised at the first use. The functions of ``re`` that take a
    compiled pattern do not accept it; its own methods have to be called.
    """
    return cast("re.Pattern[str]", _LatePattern(pattern, flags))


class _LatePattern:
    """A pattern whose attributes become those of the compiled one as they are needed."""

    def __init__(self, pattern: str, flags: re.RegexFlag) -> None:
        self.pattern = pattern
        self._flags = flags

    def __getattr__(self, name: str) -> Any:
        compiled = self.__dict__.get("_compiled")
        if compiled is None:  # threads that are here at once compile the same
            compiled = self._compiled = re.compile(self.pattern, self._flags)
        found = getattr(compiled, name)
        setattr(self, name, found)  # from now on as quick as an attribute of the compiled pattern
        return found


if TYPE_CHECKING:
    # Protocols ask for properties, and to a type checker a cached one is none.
    late_property = property
else:

    class _LateProperty:
        """``functools.cached_property`` without its lock, as it is from Python 3.12 on.

        The lock takes twice the time of everything else. Without it, threads that are here at once
        compute the same value, and either may stay.
        """

        def __init__(self, compute: Callable[[Any], Any]) -> None:
            self._compute = compute
            self._name = compute.__name__
            self.__doc__ = compute.__doc__

        def __get__(self, of: Any, kind: type | None = None) -> Any:
            if of is None:
                return self
            value = of.__dict__[self._name] = self._compute(of)
            return value

    late_property = _LateProperty
