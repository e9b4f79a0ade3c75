"""The example's host prints the expected output, and its components satisfy the contracts."""

from __future__ import annotations

import custom_host
import pytest

from mnemic.kernel.ports import Analyst, Embedder
from mnemic.specs.contracts import AnalystContract, EmbedderContract


class TestTrigrams(EmbedderContract):
    def embedder(self) -> Embedder:
        return custom_host.Trigrams()


class TestHarbourmaster(AnalystContract):
    def analyst(self) -> Analyst:
        return custom_host.Harbourmaster()


def test_the_host_keeps_the_log_of_a_watch(capsys: pytest.CaptureFixture[str]) -> None:
    custom_host.main()
    answer = capsys.readouterr().out
    for sentence in (
        ", by mate, 2026-01-05] The forward pump leaks; the carpenter has been told.",
        "  bergen: We moored at Bergen",
        "The pump now: The forward pump is tight again.",
        "The pump 2 hours into the watch: The forward pump leaks",
        "Reproduced d9",
    ):
        assert sentence in answer
