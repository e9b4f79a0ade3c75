"""The events and fields that this release knows, as one digest.

A checkpoint holds what its release made of a log. One that knows other events or fields may have
folded what this release would refuse, so its checkpoints are not used: the log is folded instead,
and ends at the first event that is too new.
"""

from __future__ import annotations

from functools import cache
from hashlib import blake2b

import attrs

from mnemic.adapters.codec.registry import TOPICS, UPCASTERS
from mnemic.adapters.codec.sealing import KINDS
from mnemic.kernel import events
from mnemic.kernel.policy import Frame, Policy

DIGEST_BYTES = 8


@cache
def vocabulary() -> str:
    """Return the digest of all topics, and of all fields of events, payloads and policies.

    Returns:
        16 hex digits.
    """
    parts = [each for each in vars(events).values() if isinstance(each, type) and attrs.has(each)]
    names = [*TOPICS, *(f"{name}.{version}" for name, version in UPCASTERS)]
    for cls in (*parts, *KINDS, Policy, Frame):
        names += [f"{cls.__name__}/{name}" for name in attrs.fields_dict(cls)]
    stored = "\n".join(sorted(names)).encode()
    return blake2b(stored, digest_size=DIGEST_BYTES).hexdigest()
