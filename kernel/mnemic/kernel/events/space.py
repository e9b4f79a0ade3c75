"""Events of a space as a whole: its policy, its embedder, its sessions."""

from __future__ import annotations

from attrs import frozen

from mnemic.kernel.model.identity import PolicyId, SessionId, digest
from mnemic.kernel.model.texts import Erased, Salt
from mnemic.kernel.values import Value


@frozen(kw_only=True)
class SpaceOpened(Value):
    """The first event of every log. Its nonce makes the hash chain of every space unique."""

    nonce: str
    """32 random hex characters."""
    salt: Salt | Erased


@frozen(kw_only=True)
class PolicyAdopted(Value):
    policy_id: PolicyId
    body: str
    """The policy's canonical JSON, as adopted; its digest is the id."""


@frozen(kw_only=True)
class EmbedderIdentity(Value):
    """Identity of the model that made a vector. Two identities never share a space's index."""

    name: str
    dimension: int
    weights: str = ""
    """Digest of the weights, 16 hex characters, or empty where the model has none."""

    @property
    def id(self) -> str:
        """Digest of the three fields, 16 hex characters."""
        return digest(f"{self.name}\n{self.dimension}\n{self.weights}".encode())


@frozen(kw_only=True)
class EmbedderAdopted(Value):
    embedder: EmbedderIdentity


@frozen(kw_only=True)
class SpaceErased(Value):
    """Every payload of the space is destroyed with this event."""


@frozen(kw_only=True)
class SessionStarted(Value):
    session_id: SessionId


@frozen(kw_only=True)
class SessionEnded(Value):
    session_id: SessionId


@frozen(kw_only=True)
class LostPayload(Value):
    """A payload that is missing although it was not erased."""

    version: int
    """Version of the event that names it."""
    slot: int
    """Index among the payloads of that event, from 0."""


@frozen(kw_only=True)
class LossAccepted(Value):
    """Payloads are lost, and the log continues without them: they are shown as lost from here on.

    ``salvage`` writes it into a copy on request.
    """

    payloads: tuple[LostPayload, ...]
