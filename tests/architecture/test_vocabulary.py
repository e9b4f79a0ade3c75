"""Names and prose use the field's vocabulary: words and idioms that were replaced stay out."""

from __future__ import annotations

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.architecture.imports import LAYERS, ROOT, modules

# A part of an identifier, and what to say instead.
REPLACED_PARTS = {
    "allotment": "budget",
    "asides": "temporary folders",
    "breadcrumbs": "recent ids",
    "crew": "call limiter",
    "crumbs": "recent ids",
    "denials": "permissions",
    "desk": "client session, or dispatcher",
    "door": "interface",
    "doors": "interfaces",
    "doorstep": "fixture",
    "garbled": "parse errors",
    "glimpse": "pruning",
    "guests": "client sessions",
    "hindsight": "calibration",
    "judgements": "judgments",
    "keeper": "checkpoint writer, or graph builder",
    "nonsense": "event validation",
    "oaths": "invariants",
    "parcel": "transfer record",
    "recast": "unrecorded erasures",
    "retelling": "unrecorded erasures",
    "rivals": "peers",
    "scrapes": "merged metrics",
    "seat": "session handle",
    "seats": "session handles",
    "shelf": "checkpoint directory",
    "shortfall": "lost tail",
    "sidecar": "lock file",
    "spool": "temporary exports",
    "untold": "unrecorded erasures",
    "verb": "operation",
    "verbs": "operations",
    "whereabouts": "vector storage",
}
# A whole identifier, and what to say instead.
REPLACED_NAMES = {
    "Acknowledged": "DurabilityWatermark",
    "DoorContract": "InterfaceContract",
    "Folded": "LogState",
    "Gate": "Eligibility",
    "Hands": "CopyContext",
    "Held": "LocalRows",
    "Ledgered": "VersionedMap",
    "Meeting": "NeighbourCache",
    "Moment": "LogEntry, or Instant",
    "Sightings": "DetectedVectors",
    "Slice": "TableView",
    "StandIn": "LockWaiter",
    "Standing": "VersionSnapshot",
    "Stretch": "LogRange",
    "ToldLog": "ReadOnlyLog",
    "turn_if_free": "try_write_lock",
}
# A module, and what to call it instead.
REPLACED_MODULES = {
    "admission": "argument_limits",
    "answering": "packing",
    "asking": "recall_request",
    "beside": "service_endpoints",
    "blobs": "packed_bytes",
    "board": "shared_counters",
    "bodies": "event_codec",
    "caveats": "warnings",
    "clearance": "authorization",
    "deliberating": "references",
    "filing": "multimap",
    "following": "subscription",
    "front": "middleware",
    "items": "batch_items",
    "likeness": "analogies",
    "line": "fifo_lock",
    "looking": "pruning",
    "losses": "lost_payloads",
    "meeting": "neighbour_cache",
    "mixing": "encryption_consistency",
    "moments": "log_entries",
    "offers": "tool_listing",
    "pages": "mapped_arrays",
    "pairing": "match_by_query",
    "parts": "array_bundle",
    "places": "destination",
    "points": "time_points",
    "posts": "worker_slots",
    "present": "active_blocks",
    "pulses": "heartbeats",
    "rejections": "negation",
    "relays": "proxy",
    "repeats": "idempotency",
    "rerunning": "reevaluation",
    "returns": "retrieval_counts",
    "reviews": "review_history",
    "room": "degree_cap",
    "runs": "grouped_writes",
    "sense": "event_validation",
    "sequence": "threads",
    "sightings": "detected vectors",
    "standing": "snapshots",
    "succession": "supersession",
    "supposing": "what_if",
    "tallying": "backtest_scores",
    "telling": "unrecorded",
    "unfolding": "batch_connect",
    "visits": "auth_context",
    "weighing": "scoring",
    "where": "filters",
}
# An idiom of docstrings, comments, messages and pages, and what to say instead.
REPLACED_PHRASES = {
    "at all events": "in every case",
    "cannot be had": "is not available",
    "comes of it": "follows from it",
    "everybody": "all callers, or every client",
    "in vain": "without success",
    "nobody": "no caller, or no process",
    "somebody": "a user, or a caller",
    "stands in for": "replaces, or is an interface to",
    "the one who asks": "the asker",
    "took the place of": "superseded",
    "what came of": "what follows from, or the outcomes of",
    "whatever": "any, for every, or regardless of",
    "who asks": "the asker, or the caller",
    "whoever": "a user who, or a caller who",
}
# A field that clients of ``composed_graph`` know, and files in which the words mean what they say:
# the grammar of English, and a service desk.
EXEMPT_NAMES = frozenset({"CLOSED_DOORS", "closedDoors"})
EXEMPT_FILES = frozenset(
    {
        "benchmarks/planted_sets.py",
        "benchmarks/vocabulary.py",
        "examples/second_thoughts.py",
        "projections/mnemic/projections/references/claims.py",
        "projections/mnemic/projections/references/quantities.py",
        "projections/mnemic/projections/references/relations.py",
        "projections/mnemic/projections/references/vocabulary.py",
        "tests/architecture/test_vocabulary.py",
        "tests/torture/sealing.py",
    }
)
# Tables of words of natural languages.
PROSE_EXEMPT_FILES = frozenset(
    {
        "kernel/mnemic/kernel/statements/vocabulary.py",
        "projections/mnemic/projections/references/translation.py",
        "projections/mnemic/projections/references/vocabulary.py",
    }
)
GAP = r"\s+(?:#\s+)?"
"""Between two words of a phrase, which may be on two lines of a docstring or comment."""
PHRASE = re.compile(
    rf"\b(?:{'|'.join(REPLACED_PHRASES).replace(' ', GAP)})\b",
    re.IGNORECASE,
)
PART = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+")
# Tokens take time: most sources do not hold any of the words.
ANY_WORD = re.compile(f"(?i:{'|'.join(REPLACED_PARTS)})|{'|'.join(REPLACED_NAMES)}")


def replaced_in(source: str) -> list[str]:
    """Return ``line: name (say ...)`` of every replaced word among the identifiers of *source*."""
    found: list[str] = []
    if not ANY_WORD.search(source):
        return found
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.NAME or token.string in EXEMPT_NAMES:
            continue
        words = [REPLACED_NAMES.get(token.string)]
        words += [REPLACED_PARTS.get(part.lower()) for part in PART.findall(token.string)]
        found += [
            f"{token.start[0]}: {token.string} (say {word})" for word in words if word is not None
        ]
    return found


def phrases_in(text: str) -> list[str]:
    """Return ``line: phrase (say ...)`` of every replaced phrase in *text*; constants pass."""
    found: list[str] = []
    for match in PHRASE.finditer(text):
        phrase = " ".join(match[0].replace("#", "").split())
        if not phrase.isupper():
            line = text.count("\n", 0, match.start()) + 1
            found.append(f"{line}: {phrase} (say {REPLACED_PHRASES[phrase.lower()]})")
    return found


def prose() -> Iterator[Path]:
    """Yield the files whose prose is checked: the three layers, and the pages of the site."""
    for layer in ("kernel", "projections", "adapters"):
        for suffix in ("py", "toml"):
            for path in sorted((ROOT / layer).rglob(f"*.{suffix}")):
                if path.relative_to(ROOT).as_posix() not in PROSE_EXEMPT_FILES:
                    yield path
    # Decision records are not rewritten; rules.md quotes the tables of specs.
    yield from (path for path in sorted((ROOT / "docs").glob("*.md")) if path.stem != "rules")
    yield from sorted((ROOT / "docs/how-to").glob("*.md"))
    yield from sorted((ROOT / "docs/reference").rglob("*.md"))


def sources() -> Iterator[Path]:
    for folder in (*LAYERS, "tests", "benchmarks", "examples"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            if path.relative_to(ROOT).as_posix() not in EXEMPT_FILES:
                yield path


def test_no_identifier_is_a_replaced_word() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): words
        for path in sources()
        if (words := replaced_in(path.read_text(encoding="utf-8")))
    }
    assert found == {}


def test_no_module_has_a_replaced_name() -> None:
    found = {
        name: REPLACED_MODULES[name.rpartition(".")[2]]
        for name in modules()
        if name.rpartition(".")[2] in REPLACED_MODULES
    }
    assert found == {}


def test_no_prose_uses_a_replaced_phrase() -> None:
    found = {
        path.relative_to(ROOT).as_posix(): phrases
        for path in prose()
        if (phrases := phrases_in(path.read_text(encoding="utf-8")))
    }
    assert found == {}


@pytest.mark.parametrize(
    "text",
    ["Whoever writes it.", "# nobody reads", "the one who\n    # asks", "it, whatever it is"],
)
def test_a_replaced_phrase_is_found(text: str) -> None:
    assert phrases_in(text)


@pytest.mark.parametrize("text", ["NOBODY: Final = -1", "the body of a request", "who is asked"])
def test_other_prose_passes(text: str) -> None:
    assert phrases_in(text) == []


@pytest.mark.parametrize(
    ("source", "name"),
    [
        ("class Door: ...", "Door"),
        ("def by_verb(): ...", "by_verb"),
        ("SEATS = 3", "SEATS"),
        ("from a import Folded", "Folded"),
        ("log.turn_if_free()", "turn_if_free"),
    ],
)
def test_a_replaced_word_is_found(source: str, name: str) -> None:
    (found,) = replaced_in(source)
    assert name in found


@pytest.mark.parametrize("source", ["closedDoors = 1", "verbose = indoor", "'a door'  # a seat"])
def test_other_words_pass(source: str) -> None:
    assert replaced_in(source) == []
