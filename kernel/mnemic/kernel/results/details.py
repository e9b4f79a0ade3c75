"""How much detail an answer of a recall holds: what a caller acts on, or all that explains it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias, get_args

from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from mnemic.kernel.results.recalls import RecallResult

Detail: TypeAlias = Literal["core", "full"]
"""How much an answer holds: what a caller acts on, or all that explains it as well."""
DETAILS: Final[tuple[Detail, ...]] = get_args(Detail)


def checked_detail(detail: object) -> Detail:
    """Return how much an answer is to hold; None: everything.

    Raises:
        FieldRefused: It is none of the words for it.
    """
    for each in DETAILS:
        if detail == each:
            return each
    if detail is None:
        return "full"
    raise FieldRefused(
        f"detail must be one of {', '.join(DETAILS)}, got {detail!r:.80}", field="detail"
    )


def detailed(answer: RecallResult, detail: Detail) -> RecallResult:
    """Return an answer with as much detail as requested."""
    if detail == "full":
        return answer
    from mnemic.kernel.results.core_answers import core_of  # noqa: PLC0415 - most answers are whole

    return core_of(answer)
