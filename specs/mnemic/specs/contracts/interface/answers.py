"""Conversion of answers and refusals of any interface to one form for comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from typing import Any

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.policy import Policy


def plain(answer: Any) -> Any:
    """Return the answer of an interface as JSON values, with results and policies as objects.

    Raises:
        TypeError: It contains something that JSON cannot represent.
    """
    return json.loads(json.dumps(answer, default=_document, allow_nan=False))


def _document(answer: Any) -> Any:
    if isinstance(answer, Policy):
        return json.loads(answer.body)
    to_dict = getattr(answer, "to_dict", None)
    if to_dict is None:
        raise TypeError(f"JSON cannot hold {answer!r:.100}")
    return to_dict()


def raised(document: Mapping[str, Any]) -> MnemicError:
    """Return the error that a remote interface reported, in its own class if its code is known.

    Args:
        document: ``code``, ``detail``, ``recovery`` and the facts, as ``MnemicError.to_dict`` has
            them.
    """
    facts = dict(document)
    code, detail, recovery = (str(facts.pop(name, "")) for name in ("code", "detail", "recovery"))
    known = {error.code: error for error in _family(MnemicError)}
    found = known.get(code, MnemicError)(detail, recovery=recovery, **facts)
    if found.code != code:
        found.code = code  # type: ignore[misc]  # a code of the interface itself
    return found


def _family(error: type[MnemicError]) -> Iterator[type[MnemicError]]:
    yield error
    for narrower in error.__subclasses__():
        yield from _family(narrower)
