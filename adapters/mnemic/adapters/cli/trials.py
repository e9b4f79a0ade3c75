"""What ``what-if`` and ``backtest`` found, as tables and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from mnemic.adapters.cli.drawings import short_id, table, words
from mnemic.adapters.cli.invocation import plain
from mnemic.kernel.results import Backtest, Move, PolicyScore, WhatIf

STYLES = {"entered": "green", "left": "red", "moved": "yellow", "stayed": "dim"}
SHIFTS_SHOWN = 3


def supposed(result: WhatIf) -> Iterator[RenderableType]:
    """Draw two answers side by side: where each block stood, where it would stand, and why."""
    drawn = table("was", "now", "id", "score", "would be", "memory", right=("was", "now"))
    for move in result.moves:
        drawn.add_row(
            _place(move.rank_before),
            _place(move.rank_after),
            short_id(move.block_id),
            _score(move.score_before),
            _score(move.score_after),
            Group(words(move.content), Text(_why(move), style=STYLES[move.change])),
        )
    yield drawn


def _place(rank: int | None) -> str:
    return "" if rank is None else str(rank)


def _score(score: float | None) -> str:
    return "" if score is None else f"{score:.3f}"


def _why(move: Move) -> str:
    shifts = [shift.summary for shift in move.shifts[:SHIFTS_SHOWN] if shift.apart]
    return f"{move.change}: {', '.join(shifts) if shifts else move.cause}"


def tested(result: Backtest) -> Iterator[RenderableType]:
    """Draw policies beside each other, and what there is to know before trusting the numbers."""
    yield Text(
        f"{result.decisions} decisions answered again, {result.judged} judged within "
        f"{result.horizon_hours:g} active hours"
    )
    drawn = table(
        "policy",
        "ndcg",
        "hit",
        "reward",
        f"{result.objective} gap",
        "bounds",
        "judged",
        right=("judged",),
    )
    for score in result.scores:
        drawn.add_row(*_row(score, result.objective, best=score == result.best))
    yield drawn
    for caveat in result.caveats:
        yield Text(f"· {plain(caveat)}", style="dim")


def _row(score: PolicyScore, objective: str, *, best: bool) -> Iterator[RenderableType]:
    yield Text(plain(score.name), style="bold" if best else "")
    for name in ("ndcg", "hit", "reward"):
        yield str(score.estimate(name) or "-")
    yield str(score.gap(objective) or "-")
    found = score.estimate(objective)
    yield "-" if found is None else f"{found.floor:.3f} to {found.ceiling:.3f}"
    yield f"{score.coverage:.0%}"
