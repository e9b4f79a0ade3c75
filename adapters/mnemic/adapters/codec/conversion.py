"""The converter of events and payloads, which is made when it is first needed.

Reading a log as this release writes it takes no converter (``fast_decoding``), and so neither does
opening a memory: cattrs is imported with the first event that is written, or read thoroughly.
"""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from cattrs import Converter


@cache
def converter() -> Converter:
    """Return the one converter for every event and every payload of text."""
    from mnemic.adapters.codec.conversion_rules import new_converter

    return new_converter()


@cache
def unknown_field() -> type[Exception]:
    """Return the class of the error about a field that this release does not know."""
    from cattrs import ForbiddenExtraKeysError

    return ForbiddenExtraKeysError
