"""The first events of a space, its sessions, adoptions, staged vectors and erasure."""

from __future__ import annotations

import pytest
from attrs import evolve

from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.promotion import Candidate, decide_promotion, decide_stage_vectors
from mnemic.kernel.decisions.space import (
    decide_adopt_embedder,
    decide_adopt_policy,
    decide_end_session,
    decide_erase_space,
    decide_open,
    decide_start_session,
)
from mnemic.kernel.errors import EmbedderMismatch, FieldRefused, SessionState
from mnemic.kernel.events import (
    BlocksPromoted,
    EmbedderAdopted,
    EmbedderIdentity,
    SessionEnded,
    SessionStarted,
    SpaceErased,
    SpaceOpened,
    StagedVector,
    VectorsStaged,
)
from mnemic.kernel.model.identity import BlockId, SessionId
from mnemic.kernel.model.texts import Embedding, Salt
from mnemic.kernel.model.vectors import pack, quantise
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.timestamps import Instant
from tests.kernel.decisions.logs import adopted, folded, learned, promotion

NONCE, SALT = bytes(range(16)), bytes(range(32))
OPENED = SpaceOpened(nonce=NONCE.hex(), salt=Salt(value=SALT))
BEGUN = (OPENED, adopted(DEFAULT))
SESSION = SessionId("morning")
LINE = EmbedderIdentity(name="line", dimension=1)
OTHER = EmbedderIdentity(name="other", dimension=1)
VECTOR = quantise([1.0], dimension=1)
ONE = BlockId("1" * 16)
NOTHING = Decision((), None)


def test_a_log_begins_with_its_opening_and_a_policy() -> None:
    policy = Policy(name="own")
    decided = decide_open(folded(), policy, nonce=NONCE, salt=SALT)
    assert decided == Decision((OPENED, adopted(policy)), None)


def test_a_log_is_opened_once() -> None:
    assert decide_open(folded(*BEGUN), DEFAULT, nonce=NONCE, salt=SALT) == NOTHING


@pytest.mark.parametrize(
    ("nonce", "salt", "field"), [(b"short", SALT, "nonce"), (NONCE, SALT + b"0", "salt")]
)
def test_a_nonce_or_salt_of_another_size_is_refused(nonce: bytes, salt: bytes, field: str) -> None:
    with pytest.raises(FieldRefused, match=field) as refused:
        decide_open(folded(), DEFAULT, nonce=nonce, salt=salt)
    assert refused.value.facts == {"field": field}


def test_a_policy_is_adopted_unless_it_is_in_force() -> None:
    other = Policy(name="other")
    assert decide_adopt_policy(folded(*BEGUN), DEFAULT) == NOTHING
    assert decide_adopt_policy(folded(*BEGUN), other).events == (adopted(other),)
    assert decide_adopt_policy(folded(), DEFAULT).events == (adopted(DEFAULT),)


def test_a_session_starts_and_ends_once() -> None:
    started, ended = SessionStarted(session_id=SESSION), SessionEnded(session_id=SESSION)
    assert decide_start_session(folded(*BEGUN), SESSION) == Decision((started,), SESSION)
    assert decide_end_session(folded(*BEGUN, started), SESSION) == Decision((ended,), SESSION)
    with pytest.raises(SessionState, match="is open"):
        decide_start_session(folded(*BEGUN, started), SESSION)
    for log in (BEGUN, (*BEGUN, started, ended)):
        with pytest.raises(SessionState, match="has ended already"):
            decide_end_session(folded(*log), SESSION)


def test_the_id_of_a_session_is_a_short_text() -> None:
    with pytest.raises(FieldRefused):
        decide_start_session(folded(*BEGUN), SessionId(""))


def test_a_space_is_erased_once_and_its_keys_every_time() -> None:
    assert decide_erase_space(folded(*BEGUN)) == Decision((SpaceErased(),), None, erase_all=True)
    gone = folded(*BEGUN, SpaceErased())
    assert decide_erase_space(gone) == Decision((), None, erase_all=True)


def test_the_first_promotion_adopts_the_embedder_and_later_ones_must_have_it() -> None:
    at, candidate = Instant(0, 0), Candidate(number=0, vector=VECTOR)
    log = (*BEGUN, learned(ONE))
    first, chunk = decide_promotion(folded(*log), [candidate], at, embedder=LINE).events
    assert first == EmbedderAdopted(embedder=LINE)
    assert isinstance(chunk, BlocksPromoted)
    known = folded(*log, first)
    assert decide_promotion(known, [candidate], at, embedder=LINE).events == (chunk,)
    for candidates in ([candidate], []):
        with pytest.raises(EmbedderMismatch):
            decide_promotion(known, candidates, at, embedder=OTHER)


def test_no_candidates_are_promoted_by_no_event() -> None:
    decided = decide_promotion(folded(*BEGUN), [], Instant(0, 0), embedder=LINE)
    assert decided == Decision((), BlocksPromoted(promotions=()))


def test_vectors_of_another_embedder_are_staged_and_then_adopted() -> None:
    promoted = BlocksPromoted(promotions=(promotion(ONE, VECTOR),))
    view = folded(*BEGUN, EmbedderAdopted(embedder=LINE), learned(ONE), promoted)
    (staged,) = decide_stage_vectors(view, {0: VECTOR}, embedder=OTHER).events
    vector = Embedding(of=(ONE,), packed=pack(VECTOR))
    assert isinstance(staged, VectorsStaged)
    assert staged == VectorsStaged(
        embedder=OTHER,
        vectors=(
            StagedVector(block_id=ONE, vector=vector, typicality=staged.vectors[0].typicality),
        ),
    )
    assert staged.vectors[0].typicality == view.typicality({0: VECTOR}, OTHER)[0]
    assert decide_stage_vectors(view, {}, embedder=OTHER) == NOTHING
    assert decide_adopt_embedder(view, OTHER).events == (EmbedderAdopted(embedder=OTHER),)
    assert decide_adopt_embedder(view, evolve(LINE)) == NOTHING
