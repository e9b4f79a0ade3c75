"""The body of a record: one line of JSON around the fields of an event.

=====  ============================================================================
``h``  active time, microseconds
``t``  wall clock, microseconds since the epoch
``c``  command id
``a``  actor; left out for the agent itself
``s``  session; left out outside of one
``e``  the event's fields by name; those equal to their default are left out
=====  ============================================================================

Keys are in this order. Bodies are hashed as they are, so equal events must be equal bytes.
"""

from __future__ import annotations

from typing import Any

import orjson

from mnemic.kernel.events import Recorded

AGENT = "agent"
"""The actor that is left out: the default of ``Recorded.actor``."""

_TYPES = {"h": int, "t": int, "c": str, "a": str, "s": str, "e": dict}
REQUIRED = frozenset("htce")


class UnknownKey(Exception):
    """An envelope has a key that this release does not know. Internal to the codec."""


def written(recorded: Recorded, event: dict[str, Any]) -> bytes:
    """Return the body for *event*: the JSON values of ``recorded.event``.

    Raises:
        orjson.JSONEncodeError: A text is not Unicode (lone surrogates), a number exceeds 64 bits.
    """
    envelope: dict[str, Any] = {
        "h": recorded.active_us,
        "t": recorded.recorded_us,
        "c": recorded.command_id,
    }
    if recorded.actor != AGENT:
        envelope["a"] = recorded.actor
    if recorded.session_id is not None:
        envelope["s"] = recorded.session_id
    envelope["e"] = event
    return orjson.dumps(envelope)


def read(body: bytes) -> dict[str, Any]:
    """Return the envelope in *body*, its event still as JSON values.

    Raises:
        UnknownKey: It has a key that this release does not know.
        ValueError, TypeError: *body* is damaged.
    """
    envelope = orjson.loads(body)
    if type(envelope) is not dict or not envelope.keys() >= REQUIRED:
        raise ValueError("a body is a JSON object with h, t, c and e")
    if (
        len(envelope) == len(REQUIRED)
        and type(envelope["h"]) is int
        and type(envelope["t"]) is int
        and type(envelope["c"]) is str
        and type(envelope["e"]) is dict
    ):
        return envelope  # the usual case; the loop below finds what is wrong with the others
    for key, value in envelope.items():
        if type(value) is not _TYPES.get(key):
            if key not in _TYPES:
                raise UnknownKey(key)
            raise TypeError(f"{key!r} of a body is no {_TYPES[key].__name__}: {value!r:.40}")
    return envelope
