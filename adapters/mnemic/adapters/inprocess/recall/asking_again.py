"""The operation ``ask_again``: the question of a past decision, answered at another point."""

from __future__ import annotations

from attrs import evolve

from mnemic.adapters.inprocess.engine.embedding import question_vector
from mnemic.adapters.inprocess.engine.opening import Models
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.inprocess.recall import decision_records
from mnemic.adapters.inprocess.recall.computing import computing
from mnemic.kernel.errors import DecisionSealed
from mnemic.kernel.model.texts import Question
from mnemic.kernel.results import RecallResult
from mnemic.projections.retrieval import recorded_recalls
from mnemic.projections.retrieval.request import answer
from mnemic.projections.view import View


def ask_again(space: SessionHandle, models: Models, view: View, identifier: str) -> RecallResult:
    """Return the answer of *view* to the request of a past decision; nothing is recorded.

    Raises:
        DecisionNotFound: No recorded recall has this id.
        DecisionSealed: Its question has been erased.
        FrameUnknown: The policy of the view has no such frame.
        EmbedderMismatch, VectorRefused: Another embedder is in force, which the host does not have.
    """
    recorded, event = decision_records.decision(space, identifier)
    if not isinstance(event.asked, Question):
        raise DecisionSealed(f"the question of decision {identifier} is erased")
    request = evolve(
        recorded_recalls.request_of(recorded, event), explored=None, near=None, statistics=()
    )
    adopted = view.embedder
    vector = recorded_recalls.vector_of(event)
    if vector is None or adopted is None or event.embedder_id != adopted.id:
        vector = question_vector(adopted, request, models)
    with computing():
        return answer(view, request, vector, models).result
