"""Measures speed, memory and event-loop stalls of one memory as it grows to 100,000 blocks.

The life of ``synthetic_life.py``, at three lengths: 10,000, 100,000 and 1,000,000 events hold
1,000, 10,000 and 100,000 blocks of 256 dimensions, the longest one 450,000 edges at some time.
Missing files are generated first, some ten minutes for the longest; they stay in ``.tmp/replay``
and are copied before anything is written. Ours is the whole public operation, durable in the log.

Targets at the largest size, each relative to something of the same run:

* a recall, exact: at most 1.5 times one product of its vector with all others, which numpy cannot
  compute faster; at most 20 ms, by graphs (``ann``) 10; a sweep (``curate``): at most 1 s
* erasing one block: at most 100 durable learns; another thread that writes meanwhile waits at most
  50 ms longer for it than for a learn
* ``consolidate`` of 50 new blocks, embedding apart: at most 1.5 times one float32 product of 50
  with all vectors, both in processor time, which is less affected by other programs; also as a
  multiple of the product with the active blocks, which are all that it compares with
* memory beyond an interpreter that has imported everything, without what is mapped from a file:
  at most 150 MB, opened from a checkpoint, and 450 folded
* a checkpoint after 1,000 more events: at most .3 s of processor time
* on an event loop no task waits more than 20 ms, whatever the memory is doing. The time that the
  threads of this process were queued for a processor is subtracted, where Linux reports it: that is
  caused by the machine. ``idle`` is the wait of a task while nothing is done
* a recall, a learn and a connect: less than in proportion to the blocks

Medians; questions are synthetic words of the space.
"""

from __future__ import annotations

import argparse
import asyncio
import gc
import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import suppress
from datetime import datetime
from functools import partial
from itertools import cycle, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import synthetic_life
from attrs import Factory, asdict, define, frozen
from numpy.typing import NDArray
from pictures import growth_drawn
from recall import Timed
from replay import ROOT, Found, lived, median, short, timed

from mnemic.adapters.ann.library import obstacle
from mnemic.adapters.inprocess import Memory, SyncMemory
from mnemic.adapters.system.clocks import ManualClock
from mnemic.kernel.results import Status
from mnemic.projections.retrieval.approximate_search import spans

T = TypeVar("T")
Matrix = NDArray[Any]

LENGTHS = (10_000, 100_000, 1_000_000)
QUESTIONS = 60
WARM_UP = 10
BATCH = 50
"""Blocks that one consolidation promotes."""
ROUNDS = 9
LATER = 1000
"""Events between two checkpoints."""
BEAT = 0.001
"""Seconds between two runs of the heartbeat task."""
LATE = 20.0
"""Milliseconds that a task may wait."""
HELD = 50.0
"""Milliseconds that other writers may wait for an erasure."""
LOOKED_BACK = 50_000
"""Versions whose decisions are replayed during the measurement of stalls."""
PAGE = 4096
MEMORY = {"opened": 150.0, "folded": 450.0}
"""Most megabytes of a memory, by how it was opened."""
OPERATIONS = ("recall", "recorded", "learn", "connect")
ASLEEP = 0.2
"""Seconds after a product in which threads of BLAS may still spin and slow the next measurement."""


@frozen(kw_only=True)
class Operations:
    """Medians at one size, in milliseconds."""

    blocks: int
    recall: float
    recorded: float
    learn: float
    connect: float


# --- spaces ---------------------------------------------------------------------------------


def copied(path: Path, folder: Path) -> Path:
    """Return a new copy of a space and of its checkpoints, to be written to."""
    copy = Path(tempfile.mkdtemp(dir=folder)) / path.name
    shutil.copy(path, copy)
    beside = path.with_name(f"{path.name}.checkpoints")
    if beside.is_dir():
        shutil.copytree(beside, copy.with_name(f"{copy.name}.checkpoints"), dirs_exist_ok=True)
    with SyncMemory.open(copy, embedder=synthetic_life.embedder(), clock=ManualClock()) as memory:
        if not any(each.state == "valid" for each in memory.checkpoints()):
            memory.checkpoint()
    return copy


def awoken(memory: SyncMemory, clock: ManualClock) -> None:
    """Set the clock to an hour after the last event."""
    recorded_at = memory.status().recorded_at
    assert recorded_at is not None
    clock.set(datetime.fromisoformat(recorded_at))
    clock.advance(hours=1)


def lessons(count: int, events: int, number: int) -> list[dict[str, Any]]:
    """Return new sentences in the words of the space."""
    texts = synthetic_life.questions(count, events=events)
    return [{"content": f"{text} {number} {place}"} for place, text in enumerate(texts)]


def worked(act: Callable[..., T], *given: Any) -> tuple[T, float]:
    """Return the result of *act* and its processor time in seconds, all threads."""
    start = time.process_time()
    found = act(*given)
    return found, time.process_time() - start


# --- speed ----------------------------------------------------------------------------------


def speed(path: Path, events: int) -> tuple[Operations, list[Found]]:
    """Run the operations on a copy, and return their medians and further measurements."""
    clock = ManualClock()
    embedder = Timed(synthetic_life.embedder(), clock=time.process_time)
    with SyncMemory.open(path, embedder=embedder, clock=clock) as memory:
        awoken(memory, clock)
        with memory.session():
            operations = _operations(memory, clock, events)
            found = list(_consolidations(memory, embedder, events))
        clock.advance(hours=1)
        _, seconds = timed(memory.curate)
        found.append(Found(what="curate", value=seconds, unit="s", limit=1))
        memory.checkpoint()
        memory.learn_many(lessons(LATER, events, ROUNDS))
        _, seconds = worked(memory.checkpoint)
        again = f"a checkpoint after {LATER:,} more events"
        found.append(Found(what=again, value=seconds, unit="s of CPU", limit=0.3))
        found.extend(_recall_over_product(memory, events))
        found.extend(_erasures(memory, operations.learn))
    return operations, found


def _recall_over_product(memory: SyncMemory, events: int) -> Iterator[Found]:
    """Compare a recall with one float32 product of a vector with all others, by turns."""
    status = memory.status()
    rows = np.random.default_rng(1).random(
        (status.active + status.archived, synthetic_life.DIMENSION), np.float32
    )
    ours, product = [], []
    for question in synthetic_life.questions(QUESTIONS, events=events):
        ours.append(worked(partial(memory.recall, question, top_k=10, record=False))[1])
        product.append(worked(np.matmul, rows, rows[0])[1])
        time.sleep(ASLEEP)
    yield Found(what="one product of a question", value=1000 * median(product), unit="ms")
    yield Found(what="a recall over it", value=ratio(ours, product), unit="times", limit=1.5)


def _erasures(memory: SyncMemory, learn_ms: float) -> Iterator[Found]:
    """Erase blocks one by one, and let another thread learn meanwhile."""
    other = memory.session_handle(actor="another")
    seconds, waits, ordinary = [], [], []
    for number, block in enumerate(memory.blocks(status="active", limit=ROUNDS).items):
        ordinary.append(timed(other.learn, f"before erasure {number}")[1])
        ended = threading.Event()
        learned: list[float] = []

        def learn(number: int, ended: threading.Event, learned: list[float]) -> None:
            while not ended.is_set():
                text = f"during erasure {number}, text {len(learned)}"
                learned.append(timed(other.learn, text)[1])

        thread = threading.Thread(target=learn, args=(number, ended, learned))
        thread.start()
        try:
            seconds.append(timed(memory.erase, block.id)[1])
        finally:
            ended.set()
            thread.join()
        waits.append(max(learned))
    yield Found(what="erasing a block", value=1000 * median(seconds), unit="ms")
    over = 1000 * median(seconds) / learn_ms
    yield Found(what="  over a learn", value=over, unit="times", limit=100)
    held = 1000 * (median(waits) - median(ordinary))
    yield Found(what="  other writers wait for", value=held, unit="ms", limit=HELD)


def _operations(memory: SyncMemory, clock: ManualClock, events: int) -> Operations:
    questions = synthetic_life.questions(QUESTIONS + WARM_UP, events=events)

    def each(act: Callable[[str], object]) -> float:
        seconds = []
        for question in questions:
            clock.advance(microseconds=1000)
            seconds.append(timed(act, question)[1])
        return 1000 * median(seconds[WARM_UP:])

    recall = each(lambda question: memory.recall(question, top_k=10, record=False))
    recorded = each(lambda question: memory.recall(question, top_k=10))
    learn = each(lambda question: memory.learn(f"{question} once more"))
    blocks = [
        block.id for block in memory.blocks(status="active", limit=QUESTIONS + WARM_UP + 1).items
    ]
    pairs = dict(zip(questions, pairwise(blocks), strict=True))
    connect = each(lambda question: memory.connect(*pairs[question], relation="supports"))
    return Operations(
        blocks=memory.status().active,
        recall=recall,
        recorded=recorded,
        learn=learn,
        connect=connect,
    )


def _consolidations(memory: SyncMemory, embedder: Timed, events: int) -> Iterator[Found]:
    """Promote batches, alternating with plain products of as many vectors."""
    memory.consolidate()
    status = memory.status()
    shape = status.active + status.archived, synthetic_life.DIMENSION
    rows = np.random.default_rng(1).random(shape, np.float32)
    product, active, ours = [], [], []
    for number in range(ROUNDS):
        memory.learn_many(lessons(BATCH, events, number))
        product.append(plain(rows))
        active.append(plain(rows[: status.active]))
        time.sleep(ASLEEP)
        embedder.seconds = 0.0
        done, seconds = worked(memory.consolidate)
        assert done.promoted == BATCH
        ours.append(seconds - embedder.seconds)
    yield Found(what=f"consolidate of {BATCH}", value=1000 * median(ours), unit="ms")
    yield Found(what=f"  one product with {len(rows):,}", value=1000 * median(product), unit="ms")
    yield Found(what="  over the product", value=ratio(ours, product), unit="times", limit=1.5)
    yield Found(what="  over that with the active", value=ratio(ours, active), unit="times")


def plain(rows: Matrix) -> float:
    """Return what one product of a batch with *rows* costs, at its best of three."""
    return min(worked(np.matmul, rows[:BATCH], rows.T)[1] for _ in range(3))


def ratio(ours: Sequence[float], theirs: Sequence[float]) -> float:
    """Return the median of the pairwise ratios."""
    return median([mine / other for mine, other in zip(ours, theirs, strict=True)])


def by_graphs(path: Path, events: int) -> Iterator[Found]:
    """Measure recalls with graphs over the vectors, once all graphs are built."""
    if (trouble := obstacle()) is not None:
        print(f"no graphs: {trouble}", file=sys.stderr)
        return
    clock, questions = ManualClock(), synthetic_life.questions(QUESTIONS + WARM_UP, events=events)
    with SyncMemory.open(
        path, embedder=synthetic_life.embedder(), clock=clock, retriever="ann"
    ) as memory:
        awoken(memory, clock)
        while not _is_covered(memory.status()):
            memory.recall(questions[0], record=False)
            time.sleep(BEAT)
        seconds = [
            timed(partial(memory.recall, each, top_k=10, record=False))[1] for each in questions
        ]
    value = 1000 * median(seconds[WARM_UP:])
    yield Found(what="a recall, ann", value=value, unit="ms", limit=10)


# --- room -----------------------------------------------------------------------------------


def resident() -> int:
    """Return the bytes of this process that are in memory and not mapped from a file."""
    _, whole, shared, *_ = map(int, Path("/proc/self/statm").read_text().split())
    return (whole - shared) * PAGE


def child(kind: str, path: Path, events: int) -> dict[str, float]:
    """Open in this fresh process, recall, and return its memory and the time of a collection."""
    with SyncMemory.open(":memory:", embedder=synthetic_life.embedder()) as small:
        small.learn("Everything is imported by now.")
        small.consolidate()
        small.recall("everything")
    bare = resident()
    memory = SyncMemory.open(
        path,
        embedder=synthetic_life.embedder(),
        clock=ManualClock(),
        read_only=True,
        checkpoints=None if kind == "opened" else False,
    )
    with memory:
        for question in synthetic_life.questions(WARM_UP, events=events):
            memory.recall(question, top_k=10, record=False)
        gc.collect()
        return {"bytes": resident() - bare, "collection": timed(gc.collect)[1]}


def in_child(kind: str, path: Path, events: int) -> Any:
    """Return the measurements of a child process of some kind."""
    arguments = ["--child", kind, "--space", str(path), "--events", str(events)]
    done = subprocess.run(  # noqa: S603 - this very program
        [sys.executable, __file__, *arguments], stdout=subprocess.PIPE, check=True
    )
    return json.loads(done.stdout)


def room(path: Path, events: int, kinds: Sequence[str]) -> Iterator[Found]:
    """Measure memory in fresh processes."""
    for kind in kinds:
        taken: dict[str, float] = in_child(kind, path, events)
        limit = MEMORY[kind]
        yield Found(what=f"memory, {kind}", value=taken["bytes"] / 1e6, unit="MB", limit=limit)
        pause = 1000 * taken["collection"]
        yield Found(what="  a full collection", value=pause, unit="ms")


# --- stalls ---------------------------------------------------------------------------------


@define
class Heart:
    """Task that is scheduled every millisecond, and its longest waits."""

    waits: list[float] = Factory(list)
    ours: list[float] = Factory(list)
    """The same without the time that our threads were queued for a processor."""
    beats: bool = True

    async def beat(self) -> None:
        """Run until it is stopped."""
        last, before = time.perf_counter(), queueing()
        while self.beats:
            await asyncio.sleep(BEAT)
            now, after = time.perf_counter(), queueing()
            wait = now - last - BEAT
            self.waits.append(wait)
            self.ours.append(max(0.0, wait - queued(before, after)))
            last, before = time.perf_counter(), after


def queueing() -> dict[str, int]:
    """Return the nanoseconds that each thread of this process was queued for a processor."""
    found = {}
    for task in Path("/proc/self/task").glob("*/schedstat"):
        with suppress(OSError):  # a thread that has just ended
            found[task.parent.name] = int(task.read_text().split()[1])
    return found


def queued(before: dict[str, int], after: dict[str, int]) -> float:
    """Return the seconds that threads were queued in between."""
    return sum(after[task] - before[task] for task in before.keys() & after.keys()) / 1e9


async def beside(what: str, act: Awaitable[Any]) -> list[Found]:
    """Run the heartbeat task while *act* is awaited, and return its longest waits."""
    heart = Heart()
    beating = asyncio.create_task(heart.beat())
    await asyncio.sleep(10 * BEAT)
    heart.waits.clear()
    heart.ours.clear()
    await act
    heart.beats = False
    await beating
    limit = None if what == "idle" else LATE
    return [
        Found(what=f"  {what}", value=1000 * max(heart.ours), unit="ms", limit=limit),
        Found(what="    with the machine's part", value=1000 * max(heart.waits), unit="ms"),
    ]


async def stalls(path: Path, events: int) -> list[Found]:
    """Measure stalls of an event loop during long operations."""
    clock, embedder = ManualClock(), synthetic_life.embedder()
    found = await beside("idle", asyncio.sleep(1))
    memory = Memory.open(path, embedder=embedder, clock=clock)
    found.extend(await beside("opening", memory.__aenter__()))
    try:
        await memory.run(awoken, clock)
        await memory.start_session()
        question, *more = synthetic_life.questions(QUESTIONS, events=events)
        found.extend(await beside("first recall", memory.recall(question)))
        found.extend(await beside("recalls", _all([memory.recall(each) for each in more])))
        await memory.learn_many(lessons(4 * BATCH, events, ROUNDS))
        found.extend(await beside("consolidate", memory.consolidate()))
        clock.advance(hours=1)
        await memory.end_session()
        found.extend(await beside("curate", memory.curate()))
        found.extend(await beside("checkpoint", memory.checkpoint()))
        after = max(0, events - 4 * LOOKED_BACK)
        replayed = memory.replay_all(after=after, upto=after + LOOKED_BACK)
        found.extend(await beside("replay_all", replayed))
        policy = await memory.run(attrgetter("policy"))
        hour = (await memory.status()).hour
        tested = memory.backtest(policy, from_=0.7 * hour, to=0.75 * hour)
        found.extend(await beside("backtest", tested))
    finally:
        found.extend(await beside("close", memory.close()))
    return found


async def graph_stalls(path: Path, events: int) -> list[Found]:
    """Measure stalls while graphs are built during recalls, then loaded, and searched."""
    if (trouble := obstacle()) is not None:
        print(f"no graphs: {trouble}", file=sys.stderr)
        return []
    found: list[Found] = []
    for what in ("graphs built, swapped in", "graphs loaded, swapped in"):
        clock = ManualClock()
        async with Memory.open(
            path, embedder=synthetic_life.embedder(), clock=clock, retriever="ann"
        ) as memory:
            await memory.run(awoken, clock)
            questions = synthetic_life.questions(QUESTIONS, events=events)
            await _all([memory.recall(each, record=False) for each in questions[:WARM_UP]])
            found.extend(await beside(what, _covered(memory, questions)))
            asked = [memory.recall(each, record=False) for each in questions]
            found.extend(await beside("  recalls by graphs", _all(asked)))
    return found


async def _covered(memory: Memory, questions: Sequence[str]) -> None:
    """Recall until all graphs are built."""
    for question in cycle(questions):
        await memory.recall(question, record=False)
        if _is_covered(await memory.status()):
            return


def _is_covered(status: Status) -> bool:
    """Return whether all graphs are built."""
    assert status.search is not None
    assert not any("no graph" in each for each in status.alerts), status.alerts
    return status.search.graphs == len(spans(status.search.vectors))


async def _all(acts: Sequence[Awaitable[Any]]) -> None:
    for act in acts:
        await act


# --- growth ---------------------------------------------------------------------------------


def growth(sizes: Sequence[Operations]) -> Iterator[Found]:
    """Compare the largest size with the smallest."""
    first, last = sizes[0], sizes[-1]
    times = last.blocks / first.blocks
    yield Found(what=f"growth, {first.blocks:,} to {last.blocks:,}", value=times, unit="times")
    for name in OPERATIONS:
        before, after = getattr(first, name), getattr(last, name)
        yield Found(what=f"  {name}", value=after / before, unit="times", limit=times)


# --- the program ----------------------------------------------------------------------------


def measured(options: argparse.Namespace, folder: Path) -> Iterator[Found]:
    """Measure everything, one after the other."""
    sizes: list[Operations] = []
    found: list[Found] = []
    used = folder
    for events in [*(each for each in LENGTHS if each < options.events), options.events]:
        used = copied(lived(place(options, events), events), folder)
        operations, found = speed(used, events)
        sizes.append(operations)
        yield Found(
            what=f"{operations.blocks:,} blocks: a recall", value=operations.recall, unit="ms"
        )
        for name in ("recorded", "learn", "connect"):
            yield Found(what=f"  {name}", value=getattr(operations, name), unit="ms")
    yield Found(what="a recall, exact", value=sizes[-1].recall, unit="ms", limit=20)
    yield from by_graphs(used, options.events)
    yield from found
    yield from growth(sizes)
    if options.plot is not None:
        medians = {name: [getattr(each, name) for each in sizes] for name in OPERATIONS}
        growth_drawn(options.plot, [each.blocks for each in sizes], medians)
    fresh = copied(place(options, options.events), folder)
    yield from room(fresh, options.events, tuple(MEMORY))
    yield Found(what="longest wait of a task, during", value=LATE, unit="ms")
    for stall in in_child("stalls", fresh, options.events):
        yield Found(**stall)


def place(options: argparse.Namespace, events: int) -> Path:
    """Return the path of the space of this length."""
    root: Path = options.root
    return root / f"space-{short(events)}.db"


def main() -> None:
    """Generate missing spaces, measure, print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    add = parser.add_argument
    add("--events", type=int, default=LENGTHS[-1], help="length of the longest life")
    add("--root", type=Path, default=ROOT, help="where the spaces stand, or are to stand")
    add("--plot", type=Path, help="draw the growth here")
    add("--json", type=Path, help="write what was found here, too")
    add("--child", choices=("opened", "folded", "stalls"), help=argparse.SUPPRESS)
    add("--space", type=Path, help=argparse.SUPPRESS)
    add("--check", action="store_true", help="fail where a goal is missed")
    options = parser.parse_args()
    if options.child == "stalls":
        stalled = asyncio.run(stalls(options.space, options.events))
        stalled += asyncio.run(graph_stalls(options.space, options.events))
        print(json.dumps([asdict(each) for each in stalled]))
        return
    if options.child is not None:
        print(json.dumps(child(options.child, options.space, options.events)))
        return
    print(f"{'':34}{'found':>12} {'':12}{'goal':8}")
    lines: list[Found] = []
    with tempfile.TemporaryDirectory() as name:
        for found in measured(options, Path(name)):
            print(f"{found.what:34}{found.value:>12,.3f} {found.unit:12}{found.goal}", flush=True)
            lines.append(found)
    if options.json is not None:
        answer = {"events": options.events, "found": [asdict(each) for each in lines]}
        options.json.write_text(json.dumps(answer, indent=2))
    missed = [each.what.strip() for each in lines if each.missed]
    if options.check and missed:
        sys.exit(f"missed: {', '.join(missed)}")


if __name__ == "__main__":
    main()
