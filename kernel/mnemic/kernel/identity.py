"""Names of things: ids, their derivation, and the canonical order of a pair."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from typing import NewType

BlockId = NewType("BlockId", str)
"""16 hex characters."""
DecisionId = NewType("DecisionId", str)
"""``d`` and the version at which the decision stands in its log."""
CompositionId = NewType("CompositionId", str)
"""A caller's own, or ``c`` and the version at which it stands in its log."""
LabelId = NewType("LabelId", str)
"""``l`` and the version at which the label stands in its log."""
SessionId = NewType("SessionId", str)
CommandId = NewType("CommandId", str)
PolicyId = NewType("PolicyId", str)
"""16 hex characters of the SHA-256 of the policy's bytes as adopted."""

BLOCK_ID_LENGTH = 16
VERSION_DIGITS_MAX = 18
"""More than any log will see, and within 64 bits."""


def normalised(content: str) -> str:
    """Return *content* as its identity sees it: NFC, stripped, case-folded, single spaces.

    Source: DOMAIN section 3.
    """
    return " ".join(unicodedata.normalize("NFC", content).casefold().split())


def block_id(content: str, *, salt: bytes) -> BlockId:
    """Return the id that *content* has in the space with *salt*.

    The salt keeps equal texts of two spaces apart, and makes an id of an erased text useless to
    somebody who has only a guess and the log.

    Source: DOMAIN section 3.
    """
    digest = hmac.digest(salt, normalised(content).encode("utf-8", "surrogatepass"), "sha256")
    return BlockId(digest.hex()[:BLOCK_ID_LENGTH])


def digest(data: bytes) -> str:
    """Return the first 16 hex characters of the SHA-256 of *data*."""
    return hashlib.sha256(data).hexdigest()[:16]


def decision_id(version: int) -> DecisionId:
    """Return the id of the decision recorded at *version*."""
    return DecisionId(f"d{version}")


def decision_version(decision: object) -> int | None:
    """Return the version that *decision* names, or None if it is no decision id."""
    return _version("d", decision)


def composition_id(version: int) -> CompositionId:
    """Return the id of the composition at *version*, where its caller gave none."""
    return CompositionId(f"c{version}")


def composition_version(composition: object) -> int | None:
    """Return the version that *composition* names, or None if it is a caller's own id."""
    return _version("c", composition)


def label_id(version: int) -> LabelId:
    """Return the id of the label at *version*."""
    return LabelId(f"l{version}")


def label_version(label: object) -> int | None:
    """Return the version that *label* names, or None if it is no label id."""
    return _version("l", label)


def _version(letter: str, identifier: object) -> int | None:
    if not isinstance(identifier, str):
        return None
    digits = identifier[1:]
    if identifier[:1] != letter or not (digits.isascii() and digits.isdigit()):
        return None
    if len(digits) > VERSION_DIGITS_MAX:
        return None
    return int(digits)


def short(identifier: str) -> str:
    """Return the 8 characters that texts show of an id."""
    return identifier[:8]


def pair(a: BlockId, b: BlockId) -> tuple[BlockId, BlockId]:
    """Return the unordered pair of two blocks in its one canonical order."""
    return (a, b) if a <= b else (b, a)
