"""Payloads under lock: what is stored in their place, and how they come back.

Rules of this module:

1. A locked row keeps its place, id and owners. In ``key`` stands its label: a mark, which keys it
   takes to open it, and a checksum, so that damage is not taken for another key. In ``data`` stand
   a nonce and the ciphertext of the payload and of the key of its MAC: whoever has the row without
   its keys cannot even test a guess.
2. The key of a row is derived from the keys of all its owners: each of them takes it along.
3. What a row is (id, version, slot, owners) is authenticated with it, so no row can stand for
   another. The space is not named: a fork locks its rows anew, under keys of its own.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from typing import Final

import orjson
from attrs import field, frozen
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from mnemic.adapters.codec.sealing import LOCKED
from mnemic.kernel.ports import PayloadRow

SECRET_BYTES: Final = 32
"""AES-256."""
NAME_BYTES: Final = 12
NONCE_BYTES: Final = 12
"""As GCM likes it best. Source: NIST SP 800-38D, 8.2.2."""
CHECK_BYTES: Final = 4
_PURPOSE: Final = b"mnemic payload, AES-256-GCM"
_NAMED: Final = b"mnemic key name"


class Damaged(Exception):
    """A label or a ciphertext is not what was written. Never leaves the adapter."""


@frozen
class Key:
    """A secret and what labels call it."""

    name: bytes
    """A digest of the secret, and of whose it is: it tells nothing of 256 random bits, and vouches
    for both."""
    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls, space: int, owner: str) -> Key:
        """Return a key that nobody had before, for one owner in a space."""
        secret = os.urandom(SECRET_BYTES)  # never of a host's own entropy, which tests may seed
        return cls(name_of(secret, space, owner), secret)


def name_of(secret: bytes, space: int, owner: str) -> bytes:
    """Return what labels call the key with this secret, of this owner."""
    return blake2b(
        secret + orjson.dumps((space, owner)), digest_size=NAME_BYTES, person=_NAMED
    ).digest()


def is_locked(label: bytes) -> bool:
    """Say whether what stands in the place of a key is a label."""
    return label.startswith(LOCKED)


# --- payloads -----------------------------------------------------------------------------------


def locked(row: PayloadRow, keys: Sequence[Key]) -> PayloadRow:
    """Return what is stored in the place of *row*.

    Args:
        row: A payload, as the codec made it.
        keys: Of all its owners, one at least.
    """
    about = _about(row)
    nonce = os.urandom(NONCE_BYTES)
    plain = len(row.key).to_bytes(1, "big") + row.key + row.data
    data = nonce + opened_by(keys).encrypt(nonce, plain, about)
    return row._replace(key=_label(keys, about), data=data)


def names(row: PayloadRow) -> tuple[bytes, ...]:
    """Return which keys it takes to open a locked row: one of each owner, in their order.

    Raises:
        Damaged: The label is not what was written.
    """
    found = _named(row.key, _about(row))
    if len(found) != max(1, len(row.owners)):
        raise Damaged("a label names keys of others")
    return found


def unlocked(row: PayloadRow, cipher: AESGCM) -> PayloadRow:
    """Return the payload that stands locked in *row*.

    Raises:
        Damaged: It is not what was written.
    """
    try:
        plain = cipher.decrypt(row.data[:NONCE_BYTES], row.data[NONCE_BYTES:], _about(row))
    except (InvalidTag, ValueError) as error:
        raise Damaged("a payload is not what was locked") from error
    size = 1 + plain[0]
    return row._replace(key=plain[1:size], data=plain[size:])


def opened_by(keys: Sequence[Key]) -> AESGCM:
    """Return the cipher that takes all of *keys*, in the order of the label."""
    material = b"".join(key.secret for key in keys)
    derived = HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=_PURPOSE)
    return AESGCM(derived.derive(material))


# --- labels -------------------------------------------------------------------------------------


def _about(row: PayloadRow) -> bytes:
    return orjson.dumps((row.id, row.version, row.slot, *row.owners))


def _label(keys: Sequence[Key], about: bytes) -> bytes:
    label = LOCKED + b"".join(key.name for key in keys)
    return label + _check(label, about)


def _named(label: bytes, about: bytes) -> tuple[bytes, ...]:
    body = label[len(LOCKED) : -CHECK_BYTES]
    sound = body and len(body) % NAME_BYTES == 0 and is_locked(label)
    if not sound or label[-CHECK_BYTES:] != _check(label[:-CHECK_BYTES], about):
        raise Damaged("a label is not what was written")
    return tuple(body[at : at + NAME_BYTES] for at in range(0, len(body), NAME_BYTES))


def _check(label: bytes, about: bytes) -> bytes:
    return blake2b(label + about, digest_size=CHECK_BYTES).digest()
