"""``EmbedderContract``: one usable vector for each text, for any text."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import ClassVar

import numpy as np
import pytest

from mnemic.kernel.errors import MnemicError
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.vectors import (
    DIMENSION_MAX,
    Vector,
    cosine,
    quantise,
)
from mnemic.kernel.ports import Embedder, QuestionEmbedder
from mnemic.kernel.validation import checked_name

ORDINARY = (
    "The harbour gate opens at six.",
    "When does the gate of the harbour open?",
    "Interest rates rose by half a percent in March.",
    "Ines moved the demonstration to Thursday, since the room was taken.",
    "cranes",
)
ODD = {
    "nothing": "",
    "white space": " \t\n ",
    "a mark": "?",
    "a picture": "🧠👩‍🚀",
    "a null character": "before\x00after",
    "another script": "港の門は六時に開く",
    "text from right to left": "بوابة الميناء",
    "a mark above a letter": "e\u0301te\u0301",
    "one long word": "w" * 10_000,
    "a long story": "Once upon a time there was a gate. " * 3_000,
}
HALF = "half of a pair: \ud83d"
"""A lone surrogate: a text for Python that has no UTF-8 form."""


class EmbedderContract(ABC):
    """The guarantees of an embedder that a space relies on.

    Implement ``embedder``. If the sums of a model depend on the batch by more than the rounding of
    stored vectors, declare it in ``tolerance``; rankings may then depend on the batch too.
    """

    tolerance: ClassVar[int] = 500_000
    """Maximum change of a cosine between two calls. Nano-units; the default is the change caused by
    storing vectors as whole numbers."""

    @abstractmethod
    def embedder(self) -> Embedder:
        """Return an embedder, ready for use; always of the same model."""

    # --- identity -------------------------------------------------------------------------------

    def test_the_identity_is_valid_in_a_log(self) -> None:
        identity = self.embedder().identity
        assert isinstance(identity, EmbedderIdentity)
        assert checked_name("name", identity.name) == identity.name
        assert type(identity.dimension) is int
        assert 1 <= identity.dimension <= DIMENSION_MAX
        assert isinstance(identity.weights, str)

    def test_the_identity_depends_on_the_model_and_not_on_the_object(self) -> None:
        used, fresh = self.embedder(), self.embedder()
        before = used.identity
        used.embed(ORDINARY)
        assert used.identity == before == fresh.identity

    def test_a_question_has_one_finite_vector_of_its_own(self) -> None:
        embedder = self.embedder()
        if not isinstance(embedder, QuestionEmbedder):
            return
        for question in (*ORDINARY, *ODD.values(), HALF):
            once, again = embedder.embed_question(question), embedder.embed_question(question)
            assert once.shape == (embedder.identity.dimension,)
            assert np.isfinite(once).all()
            assert once.tolist() == again.tolist()

    # --- one row per text -----------------------------------------------------------------------

    @pytest.mark.parametrize("count", range(len(ORDINARY) + 1))
    def test_there_is_one_finite_row_of_the_promised_size_per_text(self, count: int) -> None:
        embedder = self.embedder()
        rows = np.asarray(embedder.embed(ORDINARY[:count]))
        assert rows.shape == (count, embedder.identity.dimension)
        assert rows.dtype.kind == "f"
        assert np.isfinite(rows).all()

    def test_an_ordinary_text_has_a_direction(self) -> None:
        assert [bool(vector.any()) for vector in self.vectors(ORDINARY)] == [True] * len(ORDINARY)

    @pytest.mark.parametrize("kind", ODD)
    @pytest.mark.filterwarnings("ignore")  # a warning that a text was truncated is allowed
    def test_an_odd_text_has_a_row_among_ordinary_ones(self, kind: str) -> None:
        among = self.vectors((ORDINARY[0], ODD[kind], ORDINARY[1]))
        self.agree([among[0], among[2]], self.vectors(ORDINARY[:2]))

    def test_a_lone_surrogate_is_embedded_or_refused_with_a_recovery(self) -> None:
        try:
            rows = self.vectors((HALF,))
        except MnemicError as refusal:
            assert refusal.recovery  # noqa: PT017 - both are allowed
        else:
            assert len(rows) == 1

    # --- reproducibility ------------------------------------------------------------------------

    def test_a_text_has_the_same_vector_in_every_call_and_instance(self) -> None:
        embedder = self.embedder()
        first, again = (_stored(embedder, ORDINARY) for _ in range(2))
        self.agree(first, again)
        self.agree(first, self.vectors(ORDINARY))

    def test_a_vector_does_not_depend_on_the_batch_it_came_in(self) -> None:
        embedder = self.embedder()
        together = _stored(embedder, ORDINARY)
        alone = [_stored(embedder, (text,))[0] for text in ORDINARY]
        many = _stored(embedder, (*ORDINARY, *ORDINARY * 40))[: len(ORDINARY)]
        self.agree(alone, together)
        self.agree(many, together)

    def test_a_vector_does_not_depend_on_its_position_in_the_batch(self) -> None:
        backwards = self.vectors(ORDINARY[::-1])
        self.agree(backwards[::-1], self.vectors(ORDINARY))

    def test_the_same_text_twice_in_a_batch_has_the_same_vector(self) -> None:
        one, _, other = self.vectors((ORDINARY[0], ORDINARY[2], ORDINARY[0]))
        self.agree([one], [other])

    # --- comparing ------------------------------------------------------------------------------

    def vectors(self, texts: Sequence[str]) -> list[Vector]:
        """Return the vectors that a space would store for *texts*."""
        return _stored(self.embedder(), texts)

    def agree(self, found: Sequence[Vector], expected: Sequence[Vector]) -> None:
        """Require that the cosines of *found* equal those of *expected* within the tolerance."""
        for one, same in zip(found, expected, strict=True):
            moved = [abs(cosine(one, other) - cosine(same, other)) for other in expected]
            assert max(moved) <= self.tolerance


def _stored(embedder: Embedder, texts: Sequence[str]) -> list[Vector]:
    dimension = embedder.identity.dimension
    return [quantise(row, dimension=dimension) for row in embedder.embed(list(texts))]
