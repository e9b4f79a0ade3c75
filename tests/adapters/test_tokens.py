"""Exact token counts, and their use in a decision and its replay."""

from __future__ import annotations

import subprocess
import sys
from typing import Any

import pytest

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.extras import pip_install
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.tokens import BpeTokens, Encoding, counter_named
from mnemic.kernel.errors import FieldRefused, RecipeRetired
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.ports import TokenCounter

pytest.importorskip("bpe_openai", reason="needs the extra tokens")

# A module that is None in sys.modules counts as not there.
WITHOUT = """
import sys
sys.modules["bpe_openai"] = None
from mnemic.adapters.tokens import BpeTokens
from mnemic.kernel.errors import Unavailable
try:
    BpeTokens()
except Unavailable as refusal:
    print(refusal.message, refusal.recovery, sep="|", end="")
"""
LATE = """
import sys
from mnemic.adapters.tokens import BpeTokens
tokens = BpeTokens()
print("bpe_openai" in sys.modules, tokens.count("hello world"), "bpe_openai" in sys.modules, end="")
"""


def printed(program: str) -> str:
    child = subprocess.run(
        [sys.executable, "-B", "-W", "error", "-c", program],
        capture_output=True,
        check=True,
        text=True,
    )
    assert child.stderr == ""
    return child.stdout


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        (" ", 1),
        ("hello world", 2),
        ("The demo moved to Thursday.", 6),
        ("<|endoftext|>", 7),
        ("🙂", 1),
        ("\x00", 1),
        ("\ud800", 1),
        ("a long story " * 10_000, 30_001),
    ],
)
def test_a_text_has_as_many_tokens_as_the_model_reads(text: str, tokens: int) -> None:
    assert BpeTokens("o200k_base").count(text) == tokens


def test_encodings_count_differently_and_have_distinct_names() -> None:
    text = "Größenverhältnisse 张伟 0123456789"
    encodings: tuple[Encoding, ...] = ("cl100k_base", "o200k_base", "voyage3_base")
    assert [(each.name, each.count(text)) for each in map(BpeTokens, encodings)] == [
        ("bpe/cl100k_base", 17),
        ("bpe/o200k_base", 13),
        ("bpe/voyage3_base", 22),
    ]


def test_an_unknown_encoding_is_refused() -> None:
    unknown: Any = "r50k_base"
    with pytest.raises(FieldRefused) as refused:
        BpeTokens(unknown)
    assert refused.value.recovery == "Choose from cl100k_base, o200k_base, voyage3_base."


def test_counters_have_names_that_a_setting_may_hold() -> None:
    assert counter_named("estimate").name == EstimatedTokens.name
    assert counter_named("cl100k_base").name == "bpe/cl100k_base"


def test_the_library_is_loaded_at_the_first_count() -> None:
    assert printed(LATE) == "False 2 True"


def test_a_missing_package_is_named_with_the_extra_that_brings_it() -> None:
    assert printed(WITHOUT) == (
        "the package bpe_openai, which counts tokens, is not installed"
        f"|Install it: {pip_install('tokens')}; or count by estimate."
    )


def opened(store: MemoryStore, tokens: TokenCounter | None) -> SyncMemory:
    return SyncMemory.open(store, embedder=HashEmbedder(), tokens=tokens)


def test_a_decision_is_replayed_with_the_counter_of_its_record_and_no_other() -> None:
    store = MemoryStore()
    with opened(store, BpeTokens()) as memory:
        for number in range(6):
            memory.learn(f"harbour note {number}: " + "x0y1" * number * 4)
        found = memory.recall("harbour", top_k=6, token_budget=90)
        decision = str(found.decision_id)
        assert found.tokens == BpeTokens().count(found.text) <= 90
        assert memory.replay(decision).outcome == "reproduced"
    with opened(store, None) as memory:
        by_estimate = memory.recall("harbour", top_k=6, token_budget=90, record=False)
        assert len(by_estimate.blocks) > len(found.blocks)
        with pytest.raises(RecipeRetired) as refused:
            memory.replay(decision)
    assert refused.value.recovery == "Open the space with the token counter 'bpe/o200k_base'."
    with opened(store, BpeTokens("cl100k_base")) as memory, pytest.raises(RecipeRetired):
        memory.replay(decision)
    with opened(store, BpeTokens()) as memory:
        assert memory.replay(decision).outcome == "reproduced"
