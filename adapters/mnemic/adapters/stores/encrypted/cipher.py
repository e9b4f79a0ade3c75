"""Encryption of payloads: what is stored in their place, and how they are decrypted.

Rules of this module:

1. An encrypted row keeps its position, id and owners. Its ``key`` column holds a label: a mark, the
   names of the keys that decrypt it, and a checksum that tells damage from the name of another
   key. Its ``data`` column holds a nonce and the ciphertext of the payload and of its MAC key:
   without the keys of a row, not even a guess at its content can be tested.
2. The key of a row is derived from the keys of all its owners, so destroying any one destroys it.
3. The identity of a row (id, version, slot, owners) is authenticated with it, so no row can be
   passed off as another. The space is not named: a fork encrypts its rows anew, under its own keys.
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

from mnemic.adapters.codec.sealing import LOCKED, itself
from mnemic.kernel.ports import PayloadRow
from mnemic.kernel.values import Value

SECRET_BYTES: Final = 32
"""Size of an AES-256 key."""
NAME_BYTES: Final = 12
"""Size of a key's name."""
NONCE_BYTES: Final = 12
"""Nonce size recommended for GCM. Source: NIST SP 800-38D, 8.2.2."""
CHECK_BYTES: Final = 4
"""Size of the checksum of a label."""
THE_SPACE = ""
"""The owner of payloads that belong to no block."""
CHECKPOINTS = "checkpoints"
"""The owner of the key that encrypts checkpoints; every erasure destroys it."""
_PURPOSE: Final = b"mnemic payload, AES-256-GCM"
_NAMED: Final = b"mnemic key name"


class Damaged(Exception):
    """A label or a ciphertext is not what was written. Internal to the encrypted store."""


@frozen
class Key(Value):
    """A secret and its name in labels."""

    name: bytes
    """A digest of secret, space and owner. It authenticates them, and reveals nothing of the 256
    random bits of the secret."""
    secret: bytes = field(repr=False)

    @classmethod
    def fresh(cls, space: int, owner: str) -> Key:
        """Return a new random key for one owner in a space."""
        secret = os.urandom(SECRET_BYTES)  # never from the entropy of a host, which tests may seed
        return cls(name_of(secret, space, owner), secret)


def name_of(secret: bytes, space: int, owner: str) -> bytes:
    """Return the name in labels of the key with this secret and owner."""
    return blake2b(
        secret + orjson.dumps((space, owner)), digest_size=NAME_BYTES, person=_NAMED
    ).digest()


def owners_of(row: PayloadRow) -> tuple[str, ...]:
    """Return the owners whose keys encrypt a payload: its blocks; without any, ``THE_SPACE``."""
    own = itself(row.version)
    return tuple(THE_SPACE if owner == own else owner for owner in row.owners) or (THE_SPACE,)


def is_encrypted(label: bytes) -> bool:
    """Return whether the value of a ``key`` column is a label."""
    return label.startswith(LOCKED)


# --- payloads -----------------------------------------------------------------------------------


def encrypted(row: PayloadRow, keys: Sequence[Key]) -> PayloadRow:
    """Return the encrypted row that is stored in place of *row*.

    Args:
        row: A payload, as the codec made it.
        keys: The keys of all its owners, at least one.
    """
    identity = _identity_of(row)
    nonce = os.urandom(NONCE_BYTES)
    plain = len(row.key).to_bytes(1, "big") + row.key + row.data
    data = nonce + cipher_of(keys).encrypt(nonce, plain, identity)
    return row._replace(key=_label(keys, identity), data=data)


def names(row: PayloadRow) -> tuple[bytes, ...]:
    """Return the names of the keys that decrypt a row: one for each owner, in the owners' order.

    Raises:
        Damaged: The label is not what was written.
    """
    found = _named(row.key, _identity_of(row))
    if len(found) != max(1, len(row.owners)):
        raise Damaged("a label names keys of other owners")
    return found


def decrypted(row: PayloadRow, cipher: AESGCM) -> PayloadRow:
    """Return *row* with its key and data decrypted.

    Args:
        row: An encrypted row.
        cipher: The cipher of its keys.

    Raises:
        Damaged: It is not what was written.
    """
    try:
        plain = cipher.decrypt(row.data[:NONCE_BYTES], row.data[NONCE_BYTES:], _identity_of(row))
    except (InvalidTag, ValueError) as error:
        raise Damaged("a payload is not what was encrypted") from error
    size = 1 + plain[0]
    return row._replace(key=plain[1:size], data=plain[size:])


def cipher_of(keys: Sequence[Key]) -> AESGCM:
    """Return the cipher derived from *keys*, at least one, in the order of the label."""
    material = b"".join(key.secret for key in keys)
    derived = HKDF(algorithm=SHA256(), length=SECRET_BYTES, salt=None, info=_PURPOSE)
    return AESGCM(derived.derive(material))


# --- labels -------------------------------------------------------------------------------------


def _identity_of(row: PayloadRow) -> bytes:
    """Return the additional data that is authenticated with a row."""
    return orjson.dumps((row.id, row.version, row.slot, *row.owners))


def _label(keys: Sequence[Key], identity: bytes) -> bytes:
    label = LOCKED + b"".join(key.name for key in keys)
    return label + _check(label, identity)


def _named(label: bytes, identity: bytes) -> tuple[bytes, ...]:
    body = label[len(LOCKED) : -CHECK_BYTES]
    sound = body and len(body) % NAME_BYTES == 0 and is_encrypted(label)
    if not sound or label[-CHECK_BYTES:] != _check(label[:-CHECK_BYTES], identity):
        raise Damaged("a label is not what was written")
    return tuple(body[at : at + NAME_BYTES] for at in range(0, len(body), NAME_BYTES))


def _check(label: bytes, identity: bytes) -> bytes:
    return blake2b(label + identity, digest_size=CHECK_BYTES).digest()
