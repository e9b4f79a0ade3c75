"""Results of ``what-if``, ``backtest`` and ``tune`` as tables and lines for a terminal."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rich.box import SIMPLE_HEAD
from rich.console import Group, RenderableType
from rich.table import Table
from rich.text import Text

from mnemic.adapters.cli.invocation.context import plain
from mnemic.adapters.cli.render.tables import short_id, table, words

if TYPE_CHECKING:
    from mnemic.kernel.results import (
        Backtest,
        Estimate,
        Gap,
        Move,
        PolicyScore,
        Tuning,
        WhatIf,
    )

STYLES = {"entered": "green", "left": "red", "moved": "yellow", "stayed": "dim"}
SHIFTS_SHOWN = 3


def supposed(result: WhatIf) -> Iterator[RenderableType]:
    """Draw two answers side by side: the rank of each block then, its rank now, and why."""
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
    """Draw policies next to each other, with the caveats to read before trusting the numbers."""
    yield Text(
        f"{result.decisions} decisions answered again, {result.judged} judged within "
        f"{result.horizon_hours:g} active hours"
    )
    drawn = Table(
        box=SIMPLE_HEAD,
        pad_edge=False,
        padding=(0, 1, 0, 0),
        header_style="bold",
        show_edge=False,
    )
    drawn.add_column("policy", overflow="fold")
    for column in ("ndcg", "hit", "reward", f"{result.objective} gap", "bounds", "judged"):
        drawn.add_column(column, no_wrap=True, justify="right" if column == "judged" else "left")
    for score in result.scores:
        drawn.add_row(*_row(score, result.objective, best=score == result.best))
    yield drawn
    for caveat in result.caveats:
        yield Text(f"· {plain(caveat)}", style="dim")


def tuned(result: Tuning, adopting: str | None) -> Iterator[RenderableType]:
    """Draw a proposed policy with what supports it.

    Args:
        result: The result of a search.
        adopting: The command that adopts the policy; None: it is not recommended.
    """
    yield Text(plain(result.summary))
    if result.changes:
        drawn = table("number", "in force", "proposed", right=("in force", "proposed"))
        for change in result.changes:
            drawn.add_row(change.name, f"{change.before:g}", f"{change.after:g}")
        yield drawn
    if result.gap is not None and result.fitted is not None:
        yield Text(
            f"later recalls: {result.gap.summary} useful blocks per answer, {result.later} recalls "
            f"in {result.sessions} sessions, effective sample {result.effective:.0f}\n"
            f"earlier recalls, which it was chosen by: {result.fitted.summary}, {result.earlier}"
        )
    for caveat in result.caveats:
        yield Text(f"· {plain(caveat)}", style="dim")
    if adopting is not None:
        yield Text.assemble("To adopt it: ", (plain(adopting), "bold"))


def _row(score: PolicyScore, objective: str, *, best: bool) -> Iterator[RenderableType]:
    yield Text(plain(score.name), style="bold" if best else "")
    for name in ("ndcg", "hit", "reward"):
        answer = score.estimate(name)
        yield "-" if answer is None else _measured(f"{answer.mean:.3f}", _span(answer))
    gap = score.gap(objective)
    yield "-" if gap is None else _measured(f"{gap.mean:+.3f}", _signed_span(gap))
    found = score.estimate(objective)
    yield "-" if found is None else f"{found.floor:.3f}\nto {found.ceiling:.3f}"
    yield f"{score.coverage:.0%}"


def _measured(mean: str, span: str | None) -> Text:
    """Draw a mean above its interval; next to each other they would not fit into 80 columns."""
    return Text(mean) if span is None else Text.assemble(mean, "\n", (span, "dim"))


def _span(found: Estimate) -> str | None:
    if found.low is None or found.high is None:
        return None
    return f"{found.low:.2f}-{found.high:.2f}"


def _signed_span(found: Gap) -> str | None:
    """Return the interval of a gap, with three digits, to show whether it contains 0."""
    if found.low is None or found.high is None:
        return None
    return f"{found.low:+.3f} to {found.high:+.3f}"
