"""Regular expressions that are compiled when they are first used.

Compiling those of the languages takes as long as a small recall, and a process that opens a memory
to write one line needs few of them.
"""

from __future__ import annotations

import re
from typing import Any, cast


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
