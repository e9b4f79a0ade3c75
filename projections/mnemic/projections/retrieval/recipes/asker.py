"""The asker of a question, and the side of a conversation that its pronouns refer to."""

from __future__ import annotations

import numpy as np
from attrs import frozen
from numpy.typing import NDArray

from mnemic.kernel.questions.aggregates import aggregate
from mnemic.kernel.questions.pronouns import person
from mnemic.kernel.roles import COUNTERPARTS, ROLES, role_named
from mnemic.kernel.values import Value
from mnemic.projections.blocks.threads import NOBODY, Threads

Ints = NDArray[np.int64]
Bools = NDArray[np.bool_]


@frozen(kw_only=True)
class Side(Value):
    """One side of a conversation."""

    role: int
    """Its role, as a place in ``ROLES``."""
    author: int = NOBODY
    """The number of its author; ``NOBODY``: it has no texts under a name."""
    is_named: bool = False
    """Whether the side has a name; then texts of others in the same role are not its own."""

    def spoke(self, sequence: Threads, documents: Ints) -> Bools:
        """Return which of *documents* this side said."""
        author = sequence.author[documents]
        found: Bools = sequence.role[documents] == self.role
        if self.is_named:
            found &= ~sequence.has_name(author)
        if self.author != NOBODY:
            found |= author == self.author
        return found


def asked_side(sequence: Threads, question: str, asked_by: str | None) -> Side | None:
    """Return the side that the pronouns of a question refer to; None: neither.

    Args:
        sequence: Authors and roles of the texts.
        question: The question; that for a summary refers to both sides.
        asked_by: Name or role of the asker; None: a user without a name.
    """
    meant = person(question)
    if meant is None or aggregate(question) == "summary":
        return None
    own = role_named(asked_by)
    role = own or "user"
    if meant == "second":
        other = COUNTERPARTS.get(role)
        return None if other is None else Side(role=ROLES.index(other))
    if asked_by is None or own is not None:
        return Side(role=ROLES.index(role))
    return Side(role=ROLES.index(role), author=sequence.author_called(asked_by), is_named=True)
