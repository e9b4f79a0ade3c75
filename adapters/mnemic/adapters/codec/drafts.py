"""Frozen values, written down in a quarter of the time.

A frozen class sets its fields through ``object.__setattr__``, with a call for each. A draft is of
a subclass that adds no slot and forbids nothing, so the interpreter stores straight into the slots.
When all fields are set it is given the class that it is a draft of, and is frozen from then on:

    value = draft(EdgeConnected)()
    value.source = "..."
    value.__class__ = EdgeConnected

Nothing is checked and nothing filled in on the way. Only readers do this: they make millions.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import attrs


@cache
def draft(cls: type) -> Any:
    """Return the class of drafts of *cls*.

    Raises:
        TypeError: Values of *cls* have more to them than slots that are set as they are given.
    """
    fields = attrs.fields(cls)
    is_plain = all(each.init and each.converter is each.validator is None for each in fields)
    if not is_plain or hasattr(cls, "__attrs_post_init__") or cls.__dictoffset__:
        raise TypeError(f"{cls.__name__} cannot be drafted")
    # Setting and deleting share one place of a type: it is free only with both.
    freed = ("__init__", "__setattr__", "__delattr__")
    return type(
        f"{cls.__name__}Draft",
        (cls,),
        {"__slots__": (), **{name: getattr(object, name) for name in freed}},
    )
