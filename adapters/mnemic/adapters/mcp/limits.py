"""How much a door takes on, all of its clients together."""

from __future__ import annotations

from math import inf

from attrs import field, frozen
from attrs.validators import ge, gt

MEGABYTE = 1 << 20


@frozen(kw_only=True)
class Limits:
    """The limits of a door over HTTP; a pipe knows those of calls."""

    body_max_bytes: int = field(default=4 * MEGABYTE, validator=ge(1))
    """Of a request."""
    body_timeout_s: float = field(default=30.0, validator=gt(0))
    """Until the whole body of a request has to be there."""
    calls_max: int = field(default=16, validator=ge(1))
    """Calls that run at once."""
    waiting_max: int = field(default=128, validator=ge(0))
    """Calls that wait; the next one is told to come again."""
    call_timeout_s: float = field(default=60.0, validator=gt(0))
    """Until a call has to be answered, waiting included."""
    long_timeout_s: float = field(default=3600.0, validator=gt(0))
    """The same of verbs that take long."""
    listeners_max: int = field(default=256, validator=ge(1))
    """Streams on which clients only listen."""
    retry_after_s: int = field(default=1, validator=ge(1))
    """When whoever is sent away may come again."""


OF_A_PIPE = Limits(calls_max=1, call_timeout_s=inf, long_timeout_s=inf)
"""One client sits there, whose calls are made one after the other, and who knows how long it waits.
"""
