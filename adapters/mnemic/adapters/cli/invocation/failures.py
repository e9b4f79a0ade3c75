"""Exit codes and the reporting of failures, without tracebacks."""

from __future__ import annotations

from enum import IntEnum

from attrs import frozen

from mnemic.kernel.errors import Conflict, Corrupt, LogCorrupt, MnemicError, Refused, Unavailable
from mnemic.kernel.values import Value


class Exit(IntEnum):
    """The exit code of a command."""

    OK = 0
    REFUSED = 1
    USAGE = 2
    CONFLICT = 3
    CORRUPT = 4
    UNAVAILABLE = 5
    INTERNAL = 70
    """A bug in mnemic. Source: EX_SOFTWARE of sysexits.h."""
    INTERRUPTED = 130
    """Source: 128 + SIGINT, as shells count."""
    NO_READER = 141
    """Standard output was closed before the end. Source: 128 + SIGPIPE."""


class NotConfirmed(Refused):
    """An irreversible operation was not confirmed."""

    code = "not-confirmed"
    status = 409
    default_recovery = "Nothing was written."


FAMILIES: tuple[tuple[type[MnemicError], Exit], ...] = (
    (Refused, Exit.REFUSED),
    (Conflict, Exit.CONFLICT),
    (Corrupt, Exit.CORRUPT),
    (Unavailable, Exit.UNAVAILABLE),
)
READ_ON = (
    "Restore a backup with `mnemic restore`, or save all that can be read with `mnemic salvage "
    "DAMAGED TO`; commands that only read still read the log before the damage, and "
    "`mnemic verify` says where that is."
)


@frozen(kw_only=True)
class Failure(Value):
    """One failure as the command line reports it."""

    exit: Exit
    facts: dict[str, object]
    """``code``, ``detail`` and ``recovery`` first, as ``MnemicError.to_dict`` gives them."""


INTERRUPTION = Failure(
    exit=Exit.INTERRUPTED,
    facts={
        "code": "interrupted",
        "detail": "stopped half-way",
        "recovery": "Run the command again to continue; what was written is kept.",
    },
)


def failure(error: Exception) -> Failure:
    """Return the report of *error*; any error that is not a ``MnemicError`` is a bug."""
    if isinstance(error, MnemicError):
        families = (code for family, code in FAMILIES if isinstance(error, family))
        facts = error.to_dict()
        if type(error) is LogCorrupt and error.recovery == error.default_recovery:
            facts["recovery"] = READ_ON
        return Failure(exit=next(families, Exit.INTERNAL), facts=facts)
    return Failure(
        exit=Exit.INTERNAL,
        facts={
            "code": "internal",
            "detail": f"{type(error).__name__}: {error}",
            "recovery": "Report this; MNEMIC_TRACEBACK=1 in the environment shows where it is.",
        },
    )


def misuse(detail: str, *, command: str, hint: str = "") -> Failure:
    """Return the report of a command line that cannot be parsed."""
    return Failure(
        exit=Exit.USAGE,
        facts={
            "code": "usage",
            "detail": detail,
            "recovery": f"Run `{' '.join(('mnemic', *command.split()))} --help`.{hint}",
        },
    )
