"""Decisions: pure functions from a state and a command to events.

Rules of this package:

1. ``decide_…(reading, …) -> Decision(events, result)``. It refuses by raising, returns no event if
   there is nothing to change, and modifies nothing.
2. Time, ids and vectors are arguments. Nothing here reads a clock or calls a model.
3. The event lists everything that was displaced, skipped, refused or deferred by a limit.

What is exported is imported when it is first asked for.
"""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType
from typing import TYPE_CHECKING, Any

from mnemic.kernel.decision import Decision
from mnemic.kernel.late import late_export

if TYPE_CHECKING:
    from mnemic.kernel.decisions.archiving import (
        decide_erase,
        decide_forget,
        decide_forget_many,
        decide_learn_many,
        decide_quarantine,
        decide_revise,
        decide_rezone,
    )
    from mnemic.kernel.decisions.batch_connect import decide_connects
    from mnemic.kernel.decisions.composing import (
        Composition,
        LabelSpec,
        MemberSpec,
        decide_compose,
        decide_label,
        decide_retract,
    )
    from mnemic.kernel.decisions.connecting import Assertion, decide_connect, decide_disconnect
    from mnemic.kernel.decisions.curating import decide_curate
    from mnemic.kernel.decisions.feedback import Feedback, decide_outcome
    from mnemic.kernel.decisions.learning import Lesson, decide_fresh, decide_learn
    from mnemic.kernel.decisions.promotion import (
        Candidate,
        decide_promotion,
        decide_relink,
        decide_stage_vectors,
    )
    from mnemic.kernel.decisions.recalling import Asked, Found, decide_recall
    from mnemic.kernel.decisions.reverting import decide_revert
    from mnemic.kernel.decisions.reverting_selection import decide_revert_selection
    from mnemic.kernel.decisions.space import (
        decide_adopt_embedder,
        decide_adopt_policy,
        decide_end_session,
        decide_erase_space,
        decide_open,
        decide_start_session,
    )

__all__ = [
    "Asked",
    "Assertion",
    "Candidate",
    "Composition",
    "Decision",
    "Feedback",
    "Found",
    "LabelSpec",
    "Lesson",
    "MemberSpec",
    "decide_adopt_embedder",
    "decide_adopt_policy",
    "decide_compose",
    "decide_connect",
    "decide_connects",
    "decide_curate",
    "decide_disconnect",
    "decide_end_session",
    "decide_erase",
    "decide_erase_space",
    "decide_forget",
    "decide_forget_many",
    "decide_fresh",
    "decide_label",
    "decide_learn",
    "decide_learn_many",
    "decide_open",
    "decide_outcome",
    "decide_promotion",
    "decide_quarantine",
    "decide_recall",
    "decide_relink",
    "decide_retract",
    "decide_revert",
    "decide_revert_selection",
    "decide_revise",
    "decide_rezone",
    "decide_stage_vectors",
    "decide_start_session",
]


def __getattr__(name: str) -> Any:
    return late_export(name, globals(), exported=__all__, modules=_modules())


def _modules() -> Iterator[ModuleType]:
    """Import and yield the modules; those that most processes need come first."""
    from mnemic.kernel.decisions import learning, promotion, recalling, space

    yield from (learning, promotion, recalling, space)
    from mnemic.kernel.decisions import (
        archiving,
        batch_connect,
        composing,
        connecting,
        curating,
        feedback,
        reverting,
        reverting_selection,
    )

    yield from (archiving, batch_connect, composing, connecting, curating, feedback)
    yield from (reverting, reverting_selection)
