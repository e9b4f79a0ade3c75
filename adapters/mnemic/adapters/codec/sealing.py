"""Payloads as rows next to the log, and the marks in the log that authenticate them.

A mark is the id of a payload (16 characters) and a MAC over its kind, its owners and its bytes (22
characters). The MAC's key is stored in the row and erased with it, so that after an erasure the
mark reveals nothing about the text, not even to a reader who guesses it correctly.

Whether a missing payload was erased or lost is not decided here: that takes the rest of the log.
"""

from __future__ import annotations

from binascii import b2a_base64
from collections.abc import Callable, Mapping
from hashlib import blake2b

import orjson

from mnemic.adapters.codec.compiled_readers import Open, Readers
from mnemic.adapters.codec.conversion import converter
from mnemic.adapters.codec.fast_construction import draft
from mnemic.kernel.errors import KeysMissing
from mnemic.kernel.model.identity import BLOCK_ID_LENGTH
from mnemic.kernel.model.texts import (
    ERASED,
    AnalysisText,
    AnswerText,
    BlockText,
    CompositionText,
    Embedding,
    LabelText,
    MemberText,
    Payload,
    Question,
    Remark,
    Salt,
)
from mnemic.kernel.ports import Entropy, PayloadRow

KINDS: Mapping[type[Payload], str] = {
    Salt: "salt",
    BlockText: "block-text",
    Embedding: "embedding",
    AnalysisText: "analysis-text",
    Remark: "remark",
    Question: "question",
    MemberText: "member-text",
    CompositionText: "composition-text",
    LabelText: "label-text",
    AnswerText: "answer-text",
}
"""The permanent name of each kind of payload in a MAC."""

ID_BYTES = 12
KEY_BYTES = 16
MAC_BYTES = 16
OWNERS_MAX = 2
LOCKED = b"mnemic-locked-1:"
"""Prefix of the ``key`` column of an encrypted row; see ``stores.encrypted.cipher``."""
EVENT = "e"
"""Prefix of the name of an event, as the owner of its own payloads."""

_Read = Callable[[bytes, tuple[str, ...]], Payload]
"""Takes the bytes of a payload and its owners."""

_ID_LENGTH = 16
_MARK_LENGTH = 38
_URL_SAFE = bytes.maketrans(b"+/", b"-_")


class Sealer:
    """Turns payloads into marks and rows.

    Args:
        entropy: Source of ids and keys.
    """

    def __init__(self, entropy: Entropy) -> None:
        self._entropy = entropy

    def seal(self, payload: Payload, *, version: int, slot: int) -> tuple[str, PayloadRow]:
        """Return the mark for *payload* and the row that keeps its bytes.

        Args:
            payload: Without owners it belongs to the event alone.
            version: Of the event that holds it.
            slot: Its position among the payloads of that event, from 0.
        Raises:
            ValueError: It is erased already, or has more than two owners.
            orjson.JSONEncodeError: A text is not Unicode (lone surrogates).
        """
        kind = KINDS.get(type(payload))
        if kind is None:
            raise ValueError(f"{type(payload).__name__} cannot be sealed")
        if len(payload.of) > OWNERS_MAX:
            raise ValueError(f"a payload has one or two owners, not {payload.of!r}")
        random = self._entropy.token(ID_BYTES + KEY_BYTES)
        row = PayloadRow(
            version=version,
            slot=slot,
            id=_text(random[:ID_BYTES]),
            key=random[ID_BYTES:],
            owners=payload.of or (itself(version),),
            data=self._data(payload),
        )
        return row.id + _mac(kind, row.key, row.owners, row.data), row

    def _data(self, payload: Payload) -> bytes:
        match payload:
            case Embedding():
                return payload.packed
            case Salt():
                return payload.value
            case _:
                return orjson.dumps(converter().unstructure(payload))


def opener(payload: type[Payload]) -> Open:
    """Return what decodes payloads of one kind, given a mark and its row, or None if erased.

    The function raises:

    * ``ValueError``: The mark is malformed, or does not authenticate the row.
    * ``KeysMissing``: The row is encrypted, and was not decrypted before.
    * ``cattrs.ForbiddenExtraKeysError``: There is a field that this release does not know.
    """
    if payload not in _OPENERS:
        read = _BARE.get(payload) or _worded(payload)
        _OPENERS[payload] = _opener(KINDS[payload], read)
    return _OPENERS[payload]


_OPENERS: dict[type[Payload], Open] = {}


def _opener(kind: str, read: _Read) -> Open:
    def opened(mark: str, row: PayloadRow | None) -> Payload:
        if row is None:
            payload_id(mark)
            return ERASED
        version, _, identity, key, of, data = row
        if mark != identity + _mac(kind, key, of, data) or len(mark) != _MARK_LENGTH:
            if key.startswith(LOCKED):
                raise KeysMissing("the space is encrypted, and no keys were given", version=version)
            raise ValueError(f"payload {identity} does not match its MAC")
        if of[0][:1] == EVENT and of == (itself(version),):
            of = ()
        return read(data, of)

    return opened


def _worded(payload: type[Payload]) -> _Read:
    """Return the reader of a payload that is stored as JSON of its fields."""
    quick = Readers().worded(payload)

    def read(data: bytes, of: tuple[str, ...]) -> Payload:
        try:
            found: Payload = quick(data, of)
        except Exception:  # noqa: BLE001 - the converter says what is wrong
            fields = orjson.loads(data)
            fields["of"] = of
            found = converter().structure(fields, payload)
        return found

    return read


def _embedding(data: bytes, of: tuple[str, ...]) -> Payload:
    found = _EmbeddingDraft()
    found.of, found.packed = of, data
    found.__class__ = Embedding
    embedding: Embedding = found
    return embedding


def _salt(data: bytes, of: tuple[str, ...]) -> Payload:
    return Salt(value=data, of=of)


_EmbeddingDraft = draft(Embedding)
_BARE: Mapping[type[Payload], _Read] = {Embedding: _embedding, Salt: _salt}
"""Readers of the payloads that are plain bytes."""


def payload_id(mark: str) -> str:
    """Return the id of the payload that *mark* refers to.

    Raises:
        ValueError: *mark* is malformed.
    """
    if type(mark) is not str or len(mark) != _MARK_LENGTH:
        raise ValueError(f"{mark!r:.50} is no mark of a payload")
    return mark[:_ID_LENGTH]


def itself(version: int) -> str:
    """Return the owner name of a payload that belongs only to the event at *version*."""
    return f"{EVENT}{version}"


def is_event(owner: str) -> bool:
    """Return whether *owner* is the name of an event, and not of a block.

    One block id in some thousands consists of an e and digits alone; no log is so long that its
    versions have as many.
    """
    return len(owner) < BLOCK_ID_LENGTH and owner[:1] == EVENT and owner[1:].isdigit()


def _mac(kind: str, key: bytes, owners: tuple[str, ...], data: bytes) -> str:
    # A JSON list is self-delimiting, so no two (kind, owners, data) make one message.
    message = orjson.dumps((kind, *owners)) + data
    # BLAKE2b takes a key by design and costs less than half of HMAC-SHA-256 on short messages.
    return _text(blake2b(message, digest_size=MAC_BYTES, key=key).digest())


def _text(data: bytes) -> str:
    """Return *data* as base64 in the alphabet for URLs, without padding."""
    return b2a_base64(data, newline=False).translate(_URL_SAFE, b"=").decode("ascii")
