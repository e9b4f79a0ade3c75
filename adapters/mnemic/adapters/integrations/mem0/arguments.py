"""Arguments of mem0's calls, checked as mem0 checks them: the same errors for the same mistakes."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from datetime import date, datetime
from typing import Any, Final

from mnemic.kernel.model.identity import SCOPE_KEYS

LOGGER: Final = logging.getLogger("mnemic.mem0")
IDS: Final = {f"{name}_id": name for name in SCOPE_KEYS}
"""The part of a scope, by the argument that names it."""
IDENTITY: Final = frozenset({*IDS, "actor_id"})
"""What metadata may not say: to whom a memory belongs, and whose words it has."""
PROCEDURAL: Final = "procedural_memory"


class ValidationError(Exception):
    """An argument of ``add`` is missing or of the wrong kind; the fields are those of mem0's."""

    def __init__(
        self, message: str, error_code: str, *, details: Mapping[str, Any], suggestion: str
    ) -> None:
        super().__init__(message)
        self.message = message
        self.error_code = error_code
        self.details = dict(details)
        self.suggestion = suggestion
        self.debug_info: dict[str, Any] = {}


def checked_id(value: object, name: str) -> str | None:
    """Return the id of a user, an agent or a run, as text and stripped; None for None.

    Raises:
        ValueError: It is empty, or has white space within it.
    """
    if value is None:
        return None
    found = str(value).strip()
    if not found:
        raise ValueError(
            f"Invalid {name}: cannot be empty or whitespace-only. Provide a valid identifier."
        )
    if any(map(str.isspace, found)):
        raise ValueError(
            f"Invalid {name}: cannot contain whitespace. Provide a valid identifier without spaces."
        )
    return found


def checked_scope(given: Mapping[str, object]) -> dict[str, str]:
    """Return a scope of mnemic for ``user_id``, ``agent_id`` and ``run_id``.

    Raises:
        ValueError: See ``checked_id``.
    """
    found = {ours: checked_id(given.get(name), name) for name, ours in IDS.items()}
    return {name: value for name, value in found.items() if value is not None}


def ids_of(scope: Mapping[str, str]) -> dict[str, str]:
    """Return the arguments of mem0 that name a scope: ``user_id``, ``agent_id``, ``run_id``."""
    return {name: scope[ours] for name, ours in IDS.items() if ours in scope}


def required_scope(given: Mapping[str, object]) -> dict[str, str]:
    """Return the scope of a call of ``add``.

    Raises:
        ValueError: See ``checked_id``.
        ValidationError: It names neither a user, an agent nor a run.
    """
    scope = checked_scope(given)
    if not scope:
        raise ValidationError(
            "At least one of 'user_id', 'agent_id', or 'run_id' must be provided.",
            "VALIDATION_001",
            details={"provided_ids": dict.fromkeys(IDS)},
            suggestion="Please provide at least one identifier to scope the memory operation.",
        )
    return scope


def checked_filters(
    filters: Mapping[str, Any] | None, extra: Mapping[str, Any], call: str
) -> dict[str, Any]:
    """Return the filters of ``search`` or ``get_all``, with their ids stripped.

    Args:
        filters: As given.
        extra: Further arguments of the call.
        call: Its name.

    Raises:
        ValueError: They name no user, agent or run, or an id is an argument of its own.
    """
    misplaced = frozenset(IDS.keys() & extra.keys())
    if misplaced:
        raise ValueError(
            f"Top-level entity parameters {misplaced} are not supported in {call}(). "
            "Use filters={'user_id': '...'} instead."
        )
    found = dict(filters or {})
    found |= {name: checked_id(found[name], name) for name in IDS if name in found}
    if not IDS.keys() & found.keys():
        raise ValueError(
            "filters must contain at least one of: user_id, agent_id, run_id. "
            "Example: filters={'user_id': 'u1'}"
        )
    return found


def check_counts(*, top_k: object, threshold: object = None) -> None:
    """Check ``top_k`` and ``threshold``.

    Raises:
        ValueError: One of them is out of range, or no number.
    """
    if threshold is not None and not isinstance(threshold, int | float):
        raise ValueError("threshold must be a valid number")
    if isinstance(threshold, int | float) and not 0 <= threshold <= 1:
        raise ValueError(f"Invalid threshold: {threshold}. Must be between 0 and 1 (inclusive).")
    if top_k is not None and type(top_k) is not int:
        raise ValueError("top_k must be a valid integer")
    if type(top_k) is int and top_k < 0:
        raise ValueError(f"Invalid top_k: {top_k}. Must be a non-negative integer.")


def checked_query(query: object) -> str:
    """Return a question, stripped.

    Raises:
        ValueError: It is no text, or empty.
    """
    if not isinstance(query, str):
        raise ValueError("Invalid query: must be a non-empty string.")  # noqa: TRY004 - as mem0
    if not query.strip():
        raise ValueError("Invalid query: cannot be empty or whitespace-only.")
    return query.strip()


def checked_day(value: object) -> str | None:
    """Return an expiration date as YYYY-MM-DD; None for None.

    Raises:
        ValueError: It is no date.
    """
    if value is None:
        return None
    if isinstance(value, datetime):
        return value.date().isoformat()
    if isinstance(value, date):
        return value.isoformat()
    if not isinstance(value, str):
        raise ValueError(  # noqa: TRY004 - as mem0
            "expiration_date must be a date string in YYYY-MM-DD format."
        )
    try:
        return date.fromisoformat(value).isoformat()
    except ValueError as error:
        raise ValueError("expiration_date must be a valid date in YYYY-MM-DD format.") from error


def checked_metadata(
    metadata: Mapping[str, Any] | None, known: Mapping[str, Any]
) -> dict[str, Any]:
    """Return metadata without what it may not say, which is logged unless it is *known*."""
    given = dict(metadata or {})
    for name in IDENTITY & given.keys():
        if given.pop(name) != known.get(name):
            LOGGER.warning("metadata cannot set %s: it is ignored", name)
    return given


def check_kind(memory_type: object, scope: Mapping[str, str]) -> None:
    """Check ``memory_type``.

    Raises:
        ValidationError: There is no such type.
        NotImplementedError: It is the one that lets a model write a summary.
    """
    if memory_type is not None and memory_type != PROCEDURAL:
        raise ValidationError(
            f"Invalid 'memory_type'. Please pass {PROCEDURAL} to create procedural memories.",
            "VALIDATION_002",
            details={"provided_type": memory_type, "valid_type": PROCEDURAL},
            suggestion=f"Use '{PROCEDURAL}' to create procedural memories.",
        )
    if memory_type == PROCEDURAL and "agent" in scope:
        raise NotImplementedError("mnemic lets no model write procedural memories")


def messages_of(messages: object) -> list[Any]:
    """Return the messages of a call of ``add`` as a list.

    Raises:
        ValidationError: They are neither a text, a message nor a list.
    """
    if isinstance(messages, str):
        return [{"role": "user", "content": messages}]
    if isinstance(messages, dict):
        return [messages]
    if isinstance(messages, list):
        return messages
    valid = ["str", "dict", "list[dict]"]
    raise ValidationError(
        "messages must be str, dict, or list[dict]",
        "VALIDATION_003",
        details={"provided_type": type(messages).__name__, "valid_types": valid},
        suggestion="Convert your input to a string, dictionary, or list of dictionaries.",
    )


def texts_of(messages: list[Any]) -> Iterator[tuple[str, str, str | None]]:
    """Yield role, text and name of each message that ``add`` stores as it is.

    Those of the role ``system`` and those without a text are left out. Of a content in parts only
    the texts are kept, and not the name.
    """
    for each in messages:
        message = each if isinstance(each, Mapping) else {}
        role, content, name = (message.get(key) for key in ("role", "content", "name"))
        if isinstance(content, list):
            texts = [part["text"] for part in content if _is_text(part)]
            content, name = " ".join(texts) if texts else None, None
        if role is None or not isinstance(content, str):
            LOGGER.warning("a message without a role or a text is skipped: %.100r", each)
        elif role != "system":
            yield role, content, name or None


def _is_text(part: object) -> bool:
    return isinstance(part, Mapping) and part.get("type") == "text"
