"""Decisions about a space as a whole: its first events, policy, embedder, sessions and erasure."""

from __future__ import annotations

from typing import Final

from mnemic.kernel.decision import Decision, single
from mnemic.kernel.errors import EmbedderMismatch, FieldRefused, SessionState
from mnemic.kernel.events import (
    EmbedderAdopted,
    EmbedderIdentity,
    PolicyAdopted,
    SessionEnded,
    SessionStarted,
    SpaceErased,
    SpaceOpened,
)
from mnemic.kernel.model.identity import SessionId
from mnemic.kernel.model.texts import Salt
from mnemic.kernel.policy import Policy
from mnemic.kernel.reading import Reading
from mnemic.kernel.validation import checked_name

NONCE_SIZE: Final = 16
SALT_SIZE: Final = 32
"""Bytes, of which every one should be random."""


def decide_open(reading: Reading, policy: Policy, *, nonce: bytes, salt: bytes) -> Decision[None]:
    """Decide the first events of a log; none if it has events.

    Args:
        reading: The state before the command.
        policy: The policy to begin with.
        nonce: ``NONCE_SIZE`` random bytes, which make the hash chain unique.
        salt: ``SALT_SIZE`` random bytes, the key of the space's block ids.

    Raises:
        FieldRefused: The nonce or the salt has another size.
    """
    for name, value, size in (("nonce", nonce, NONCE_SIZE), ("salt", salt, SALT_SIZE)):
        if len(value) != size:
            raise FieldRefused(f"{name} must have {size} bytes, got {len(value)}", field=name)
    if reading.version >= 0:
        return single(None)
    opened = SpaceOpened(nonce=nonce.hex(), salt=Salt(value=salt))
    return Decision((opened, PolicyAdopted(policy_id=policy.id, body=policy.body)), None)


def decide_adopt_policy(reading: Reading, policy: Policy) -> Decision[None]:
    """Put a policy in force from here on; no event if it is already."""
    if reading.version >= 0 and reading.policy.id == policy.id:
        return single(None)
    return single(PolicyAdopted(policy_id=policy.id, body=policy.body))


def check_embedder(
    adopted: EmbedderIdentity | None, given: EmbedderIdentity, *, recovery: str | None = None
) -> None:
    """Refuse an embedder that a space was not built with.

    Args:
        adopted: The embedder in force.
        given: The one to use.
        recovery: The remedy to name; None: the usual one.

    Raises:
        EmbedderMismatch: The two differ; names both.
    """
    if adopted is not None and adopted != given:
        raise EmbedderMismatch(
            f"the space holds vectors of {adopted.name} ({adopted.dimension}-d), "
            f"not of {given.name} ({given.dimension}-d)",
            recovery=recovery,
            adopted=adopted.name,
            given=given.name,
        )


def decide_adopt_embedder(reading: Reading, embedder: EmbedderIdentity) -> Decision[None]:
    """Search with the vectors of an embedder from here on; no event if it is in force.

    The caller sees to it that every promoted block has a vector of it (``decide_stage_vectors``):
    a block without one is found by its words alone.
    """
    return single(None if reading.embedder == embedder else EmbedderAdopted(embedder=embedder))


def decide_start_session(reading: Reading, session: SessionId) -> Decision[SessionId]:
    """Begin a session: active time passes from here on.

    Args:
        reading: The state before the command.
        session: Its id, which no other session of the space ever had.

    Returns:
        As the result: the id.

    Raises:
        FieldRefused: The id is no short text.
        SessionState: A session with this id is open.
    """
    checked_name("session", session)
    if session in reading.open_sessions():
        raise SessionState(f"session {session} is open", session_id=session)
    return Decision((SessionStarted(session_id=session),), session)


def decide_end_session(reading: Reading, session: SessionId) -> Decision[SessionId]:
    """End a session.

    Returns:
        As the result: its id.

    Raises:
        SessionState: It has ended already, or never began.
    """
    if session not in reading.open_sessions():
        raise SessionState(f"session {session} has ended already", session_id=session)
    return Decision((SessionEnded(session_id=session),), session)


def decide_erase_space(reading: Reading) -> Decision[None]:
    """Destroy all payloads of the space; no event if they are destroyed already."""
    return Decision(() if reading.is_erased else (SpaceErased(),), None, erase_all=True)
