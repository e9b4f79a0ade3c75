"""The payload of a memory, as mem0 calls its fields, and the block that holds it.

Metadata is that of the block, so that recalls can filter by it. What mnemic uses the same name for,
and what has a place of its own in a result, is kept in the value of the record.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any, Final

from mnemic.adapters.integrations.mem0.arguments import IDS, ids_of
from mnemic.adapters.integrations.records import (
    METADATA,
    Put,
    scope_of,
    valid_names,
    value_of,
)
from mnemic.kernel.decisions.learning import MESSAGE
from mnemic.kernel.model.identity import SCOPE_KEYS, normalised
from mnemic.kernel.results import Block
from mnemic.kernel.roles import role_named
from mnemic.kernel.scope import KEY

ROOT: Final = "mem0"
PREFIX: Final = f"{ROOT}/"
SOURCE_ID: Final = "source_id"
"""Metadata of an imported block: its id in the source."""
_BLOCK: Final = METADATA | {KEY, *SCOPE_KEYS}
_TIMES: Final = ("created_at", "updated_at")
_PROMOTED: Final = (*IDS, "actor_id", "role", "attributed_to", "expiration_date")
"""Fields of a result that are there if the payload has them."""
RESERVED: Final = _BLOCK | {*_TIMES, "role", "actor_id", "attributed_to", "data", "hash"}
"""Fields of a payload that are not metadata of the block."""
_NO_METADATA: Final = frozenset({"data", "hash", *_TIMES, *_PROMOTED, "text_lemmatized", "id"})


def is_own(block: Block) -> bool:
    """Return whether the facade wrote a block."""
    metadata = block.metadata or {}
    return str(metadata.get(KEY, "")).startswith(PREFIX) and "since" in metadata


def put_of(payload: Mapping[str, Any]) -> Put:
    """Return a payload as a record."""
    text: str = payload["data"]
    value = {key: payload[key] for key in payload if key in RESERVED - {"data", "hash"}}
    if normalised(text) != text or not text:
        value["data"] = text
    fields: dict[str, Any] = {
        "scope": {ours: payload[name] for name, ours in IDS.items() if name in payload},
        "role": role_named(payload.get("role")),
        **valid_names(author=payload.get("actor_id")),
    }
    if text.strip():
        fields["category"] = MESSAGE
    metadata = {key: payload[key] for key in payload if key not in RESERVED and key not in IDS}
    return Put(value=value, text=text if text.strip() else None, fields=fields, metadata=metadata)


def payload_of(block: Block) -> dict[str, Any]:
    """Return the payload of a block, also of one that the facade did not write."""
    metadata = block.metadata or {}
    kept: dict[str, Any] = dict.fromkeys(_TIMES, block.created_at)
    if is_own(block):
        kept = value_of(block)
    elif block.author is not None:
        kept["actor_id"] = block.author
    role = {} if is_own(block) or "role" not in metadata else {"role": metadata["role"]}
    own = {key: each for key, each in metadata.items() if key not in RESERVED}
    return {"data": block.content or "", **own, **role, **kept, **ids_of(scope_of(block))}


def item_of(memory_id: str, payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a memory as ``get`` does."""
    text = payload["data"]
    own = {key: each for key, each in payload.items() if key not in _NO_METADATA}
    if own.get(SOURCE_ID) == memory_id:
        del own[SOURCE_ID]
    found: dict[str, Any] = {
        "id": memory_id,
        "memory": text,
        "hash": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
        "metadata": own or None,
        "score": None,
        **{name: payload.get(name) for name in _TIMES},
    }
    return found | {name: payload[name] for name in _PROMOTED if name in payload}
