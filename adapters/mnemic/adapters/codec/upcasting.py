"""Reading what older releases wrote.

Rules of this module:

1. An upcaster takes the fields of an event as stored (names to JSON values) at one version and
   returns them as the next version would have stored them. It changes nothing it was given.
2. It knows no other event and no time: what version 1 did not say, it fills with what version 1
   meant.
3. Payloads are sealed: it sees their marks, may move or rename them, and keeps their order, since
   that order numbers their slots.
4. Upcasting happens on read only; stored bytes stay as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

Upcaster = Callable[[dict[str, Any]], dict[str, Any]]

UPCASTERS: Mapping[tuple[str, int], Upcaster] = {}
"""The step from (name, version) to the version after it. Every event is at its first version."""
