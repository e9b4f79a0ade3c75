"""Ids and their derivation, and the canonical order of a pair."""

from __future__ import annotations

import hashlib
import hmac
import unicodedata
from json.encoder import encode_basestring
from typing import Final, NewType

BlockId = NewType("BlockId", str)
"""16 hex characters."""
DecisionId = NewType("DecisionId", str)
"""``d`` and the version of the decision in its log."""
CompositionId = NewType("CompositionId", str)
"""An id chosen by the caller, or ``c`` and the version of the composition in its log."""
LabelId = NewType("LabelId", str)
"""``l`` and the version of the label in its log."""
SessionId = NewType("SessionId", str)
CommandId = NewType("CommandId", str)
PolicyId = NewType("PolicyId", str)
"""16 hex characters of the SHA-256 of the policy's bytes as adopted."""

BLOCK_ID_LENGTH = 16
VERSION_DIGITS_MAX = 18
"""Larger than the version of any real log, and within 64 bits."""


def normalised(content: str) -> str:
    """Return *content* in NFC and stripped: the form that its id is computed from.

    Case and inner white space count: texts that differ only in them are compared as statements.

    Source: DOMAIN section 3.
    """
    return unicodedata.normalize("NFC", content).strip()


def block_id(
    content: str,
    *,
    salt: bytes,
    author: str | None = None,
    metadata: str | None = None,
    message: tuple[str | None, str] | None = None,
) -> BlockId:
    """Return the id of a block in the space with *salt*.

    The salt gives equal texts different ids in different spaces. It also prevents a guess of an
    erased text from being confirmed with the log alone.

    Args:
        content: Its text.
        salt: The space's salt.
        author: Who said it.
        metadata: Canonical JSON of its metadata.
        message: Of a message, its thread, and its id or its place.

    Source: DOMAIN section 3.
    """
    parts = [normalised(content), author, metadata, *(() if message is None else message)]
    # The JSON of a list; setting up an encoder takes three times as long.
    body = ",".join(["null" if part is None else encode_basestring(part) for part in parts])
    return _keyed(f"[{body}]", salt)


def content_id(content: str, *, salt: bytes) -> BlockId:
    """Return the id that releases before 0.5.0 gave a block: of its case-folded content alone."""
    return _keyed(" ".join(unicodedata.normalize("NFC", content).casefold().split()), salt)


def _keyed(text: str, salt: bytes) -> BlockId:
    digest = hmac.digest(salt, text.encode("utf-8", "surrogatepass"), "sha256")
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
    """Return the id of the composition at *version* for which the caller gave no id."""
    return CompositionId(f"c{version}")


def composition_version(composition: object) -> int | None:
    """Return the version that *composition* names, or None if the caller chose the id."""
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


SCOPE_KEYS: Final = ("user", "agent", "run")
"""Whom a block may belong to: stored as metadata, and so part of its identity."""


def short(identifier: str) -> str:
    """Return the first 8 characters of an id, as shown in texts."""
    return identifier[:8]


def pair(a: BlockId, b: BlockId) -> tuple[BlockId, BlockId]:
    """Return the pair of two blocks in canonical order."""
    return (a, b) if a <= b else (b, a)
