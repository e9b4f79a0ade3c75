"""Terminal report of the fortnight: its sessions, its questions, and what changed."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from attrs import Factory, define, frozen
from rich.box import SIMPLE_HEAD
from rich.console import Console, Group, JustifyMethod, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView
from mnemic.kernel.model.identity import short
from mnemic.kernel.results import RecallResult, ReplayResult, ScoredBlock, Verification

WIDTH_MAX = 100

RESEND = "How long does a gauge wait before it resends a reading?"
SPIKES = "What causes the 04:10 jumps at Tannery Bridge?"
EVERYTHING: Any = {"top_k": 1000, "token_budget": 1_000_000}
"""Limits under which an answer holds every candidate."""
REASONED = 2
"""Blocks of an answer that are printed with their reasons."""
SEEN = 0.0005
"""The least change of a contribution that is visible at three decimals."""

COUNTED = {"learn": "learned", "recall": "asked", "outcome": "scored"}
FIGURES = {"#", "score", "hour", "wall", "active", *COUNTED.values()}
"""Columns that hold figures."""

Ranks = dict[str, tuple[int, ScoredBlock]]
"""Rank and block by id."""


@define
class Sitting:
    """One session of the diary, and its totals."""

    name: str
    began: datetime
    hour_began: float
    ended: datetime
    hour_ended: float = 0.0
    done: Counter[str] = Factory(Counter)
    curated: list[str] = Factory(list)


@frozen
class Asked:
    """One question of the diary, and the decision that answered it."""

    at: datetime
    query: str
    answer: RecallResult


def tell(
    memory: SyncMemory, sittings: Sequence[Sitting], asked: Mapping[str, Asked], store: Path
) -> int:
    """Print all chapters, and return the exit code."""
    terminal = Console(highlight=False)
    chapter = Chapters(Console(highlight=False, width=min(terminal.width, WIDTH_MAX))).tell
    chapter("A fortnight at the river, as it was lived", lived(memory, sittings))
    chapter(f"Asked today: {RESEND}", reasons(memory.recall(RESEND, record=False)))
    chapter("The same question, each time it was asked", askings(asked.values(), RESEND))
    for query, hour in ((RESEND, 1.0), (SPIKES, 15.0)):
        past = memory.as_of(hour=hour)
        title = f"{query}\n   As of active hour {hour:g} (version {past.version}) against today"
        chapter(title, Comparison(memory, past, query).told())
    chapter(
        "An answer as an agent reads it, with what speaks against it", prompt(asked["q-spike-2"])
    )
    chapter("What Easter cost", holiday(memory, asked["q-resend-2"], asked["q-resend-3"]))
    found = [memory.replay(each.answer.decision_id or "") for each in asked.values()]
    chapter("Every answer of the fortnight, computed again", replays(found))
    verified = memory.verify()
    chapter("The store", (memory.status().summary, verified.summary, look(store)))
    return exit_code(found, verified)


def exit_code(found: Iterable[ReplayResult], verified: Verification) -> int:
    """Return 0 if every answer was reproduced and the chain is sound."""
    return int(not (verified.sound and all(each.outcome == "reproduced" for each in found)))


# --- telling it -----------------------------------------------------------------------------


def lived(memory: SyncMemory, sittings: Sequence[Sitting]) -> Iterator[RenderableType]:
    """Yield a table of the sessions."""
    done = sum((sitting.done for sitting in sittings), Counter[str]())
    wall = sittings[-1].ended - sittings[0].began
    yield Text(
        f"{done['learn']} memories, {done['recall']} questions, {done['outcome']} outcomes and "
        f"{done['revise']} corrections in {len(sittings)} sessions. {wall.days} days went by on "
        f"the wall; only the {memory.status().hour:.2f} hours inside sessions count as active.\n"
    )
    drawn = table("session", "began", "wall", "active", *COUNTED.values())
    before: Sitting | None = None
    for sitting in sittings:
        if before is not None and sitting.began - before.ended > timedelta(days=2):
            drawn.add_row(*away(before, sitting), style="yellow")
        drawn.add_row(
            sitting.name,
            f"{sitting.began:%d %b %H:%M}",
            span(sitting.ended - sitting.began),
            f"{sitting.hour_ended - sitting.hour_began:.2f} h",
            *(str(sitting.done[kind] or "") for kind in COUNTED),
        )
        before = sitting
    yield drawn
    for sitting in sittings:
        for summary in sitting.curated:
            yield Text(f"{sitting.ended:%d %b}  {summary}", style="dim")


def away(before: Sitting, after: Sitting) -> tuple[str, ...]:
    """Return the row of a break between two sessions."""
    wall, active = after.began - before.ended, after.hour_began - before.hour_ended
    return ("(away)", f"{before.ended:%d %b %H:%M}", span(wall), f"{active:.2f} h")


def span(time: timedelta) -> str:
    """Return a length of time in words."""
    hours, minutes = divmod(time.seconds // 60, 60)
    return f"{time.days} d {hours} h" if time.days else f"{hours} h {minutes:02d}"


def reasons(result: RecallResult) -> Iterator[RenderableType]:
    """Yield the best blocks of an answer and the contributions of the signals to their scores."""
    drawn = table("#", "id", "score", "memory, and where its score comes from")
    for rank, block in enumerate(result.blocks[:REASONED], start=1):
        parts = Table(box=None, show_header=False, pad_edge=False, padding=(0, 1, 0, 0))
        for reason in block.contributions:
            parts.add_row(
                reason.signal,
                Text("█" * round(reason.contribution * 60), style="green", no_wrap=True),
                f"{reason.contribution:.3f}",
                Text(f"= {reason.value:.3f} × {reason.weight:.2f}", style="dim"),
            )
        cells = Group(block.content, parts)
        drawn.add_row(str(rank), short(block.id), f"{block.score:.3f}", cells)
    yield drawn


def askings(asked: Iterable[Asked], query: str) -> Iterator[RenderableType]:
    """Yield a table of the times a question was asked, with the first block of each answer."""
    drawn = table("when", "hour", "decision", "score", "came first")
    for each in asked:
        if each.query == query:
            best = each.answer.blocks[0]
            drawn.add_row(
                f"{each.at:%d %b %H:%M}",
                f"{each.answer.hour:.2f}",
                each.answer.decision_id,
                f"{best.score:.3f}",
                best.content,
            )
    yield drawn


def prompt(asked: Asked) -> Iterator[RenderableType]:
    """Yield an answer in the form that an agent gets for its prompt."""
    yield Text(f"{asked.at:%d %b %H:%M}  {asked.query}", style="italic")
    yield Text(asked.answer.text)


def holiday(memory: SyncMemory, *asked: Asked) -> Iterator[RenderableType]:
    """Yield how the best answer changed in the days between two recalls, and what did not."""
    block = asked[0].answer.blocks[0]
    past = [memory.as_of(version=each.answer.version).block(block.id) for each in asked]
    scored = [ranked(each.answer)[block.id][1] for each in asked]
    wall_hours = (asked[1].at - asked[0].at) / timedelta(hours=1)
    yield Text(block.content)
    drawn = table("", "before", "after")
    for name, values in (
        ("on the wall", [f"{each.at:%a %d %b %H:%M}" for each in asked]),
        ("active hours", [f"{each.answer.hour:.2f}" for each in asked]),
        ("strength, by active hours", figures(past, "recency")),
        ("recency, by age in days", figures(scored, "recency_score")),
    ):
        drawn.add_row(name, *values)
    yield drawn
    lost = past[0].recency * math.exp(-past[0].decay_rate * wall_hours)
    yield Text(
        "A recall looks at recency, as a quarter of each score; what is forgotten is decided by "
        f"strength. Had the {wall_hours:.0f} hours on the wall counted, it would be {lost:.3f}."
    )


def figures(rows: Iterable[object], name: str) -> list[str]:
    """Return one figure of several values, to three decimals."""
    return [f"{getattr(row, name):.3f}" for row in rows]


def replays(found: Sequence[ReplayResult]) -> Iterator[RenderableType]:
    """Yield the number of decisions that were reproduced, and each that was not."""
    same = sum(each.outcome == "reproduced" for each in found)
    yield Text(f"{same} of {len(found)} recorded answers reproduced: same blocks, same scores.")
    for each in found:
        if each.outcome != "reproduced":
            yield Text(each.summary, style="red")


# --- what changed, and why ------------------------------------------------------------------


@frozen
class Comparison:
    """One question at two points: a view of the past, and now."""

    memory: SyncMemory
    past: SyncView
    query: str

    def told(self) -> Iterator[RenderableType]:
        """Yield the blocks that left the answer, that stayed and that are new, and why."""
        then, now = self.past.recall(self.query), self.memory.recall(self.query, record=False)
        ranks_then = ranked(self.past.recall(self.query, **EVERYTHING))
        ranks_now = ranked(self.memory.recall(self.query, record=False, **EVERYTHING))
        drawn = table("", "id", "memory, and what happened to it")
        for block in then.blocks:
            if block.id not in now.block_ids:
                drawn.add_row("left", *row(block, self._why_left(block, ranks_now)), style="red")
        for rank, block in enumerate(now.blocks, start=1):
            if block.id in then.block_ids:
                drawn.add_row("stays", *row(block, since(rank, block, ranks_then)))
            else:
                why = self._why_new(rank, block, ranks_then)
                drawn.add_row("new", *row(block, why), style="green")
        yield drawn

    def _why_left(self, block: ScoredBlock, now: Ranks) -> str:
        if block.id in now:
            rank, still = now[block.id]
            return f"outranked, now #{rank}: {moved(block, still)}"
        steps = []
        existing = self.memory.block(block.id)
        while existing.superseded_by is not None:
            steps.append(f"on {self._last_day(existing.id)} by {short(existing.superseded_by)}")
            existing = self.memory.block(existing.superseded_by)
        if not steps:
            return f"archived: {existing.archive_reason}"
        return f"superseded {', and that '.join(steps)}"

    def _last_day(self, block_id: str) -> str:
        """Return the day on which something last happened to a block."""
        return day(self.memory.history(of=block_id, limit=1)[0].recorded_at)

    def _why_new(self, rank: int, block: ScoredBlock, then: Ranks) -> str:
        learned = self.memory.block(block.id).learned_version
        if learned > self.past.version:
            return f"#{rank}, learned since, on {day(block.created_at or '')}"
        return since(rank, block, then) if block.id in then else f"#{rank}, no match then"


def ranked(result: RecallResult) -> Ranks:
    """Return every block of an answer by id, with its rank."""
    return {block.id: (rank, block) for rank, block in enumerate(result.blocks, start=1)}


def since(rank: int, block: ScoredBlock, then: Ranks) -> str:
    """Return how a block moved from its earlier rank."""
    rank_then, was = then[block.id]
    return f"#{rank_then} then, #{rank} now: {moved(was, block)}"


def moved(was: ScoredBlock, now: ScoredBlock) -> str:
    """Return the change of a score and the signals that made most of it."""
    pairs = zip(was.contributions, now.contributions, strict=True)
    deltas = [(after.contribution - before.contribution, after.signal) for before, after in pairs]
    deltas.sort(key=lambda delta: -abs(delta[0]))
    parts = [f"{signal} {delta:+.3f}" for delta, signal in deltas[:2] if abs(delta) >= SEEN]
    return f"{was.score:.3f} → {now.score:.3f} ({', '.join(parts) or 'as good as unchanged'})"


def row(block: ScoredBlock, why: str) -> tuple[str, Group]:
    """Return the cells of a block: its text, and below it the reason."""
    words = Text(block.content, no_wrap=True, overflow="ellipsis")
    return short(block.id), Group(words, Text(why, style="dim"))


def day(moment: str) -> str:
    """Return the day of an ISO 8601 date and time."""
    return f"{datetime.fromisoformat(moment):%d %b}"


# --- the terminal ---------------------------------------------------------------------------


def table(*columns: str) -> Table:
    """Return an empty table; the last column takes the rest of the line."""
    drawn = Table(
        box=SIMPLE_HEAD, pad_edge=False, show_edge=False, header_style="bold", padding=(0, 1, 0, 0)
    )
    for column in columns:
        justify: JustifyMethod = "right" if column in FIGURES else "left"
        drawn.add_column(column, justify=justify, no_wrap=column != columns[-1])
    return drawn


class Chapters:
    """Numbered chapters on a console."""

    def __init__(self, console: Console) -> None:
        self._console = console
        self._told = 0

    def tell(self, title: str, told: Iterable[RenderableType]) -> None:
        """Print one chapter."""
        self._told += 1
        self._console.print(Text(f"\n{self._told}. {title}", style="bold cyan"))
        for each in told:
            self._console.print(Padding(each, (0, 0, 0, 3), expand=False))


def look(store: Path) -> Text:
    """Return the commands for inspecting the store."""
    here = Path.cwd()
    name = store.relative_to(here) if store.is_relative_to(here) else store
    return Text(f"Look around: mnemic --db {name} log", style="dim")
