"""Campaign: a process that writes on several threads is forked at any moment."""
# ruff: noqa: S311 - chance is seeded, not secret

from __future__ import annotations

import json
import os
import random
import select
import signal
import threading
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from typing import Final

from attrs import frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.kernel.errors import MnemicError
from tests.crash.writers import child
from tests.torture.figures import Effort, Figures
from tests.torture.file_faults import spread
from tests.torture.invariants import Findings

ROUNDS: Final = 60
FORKS: Final = 8
"""Children of one parent."""
THREADS: Final = 2
LIMIT_S: Final = 20.0
"""A child that has not answered by then hangs."""
PAUSE_MAX_S: Final = 0.03
LEARNED: Final = 10
"""Commands of a child that opens the file again."""
STORES: Final = ("sqlite", "encrypted", "memory")
EMBEDDER: Final = HashEmbedder(8)


@frozen
class Round:
    """One parent and its children."""

    folder: Path
    seed: int
    store: str

    @property
    def keys(self) -> Path | None:
        """The file of keys; None: the store is not encrypted."""
        return self.folder / "keys.db" if self.store == "encrypted" else None

    def opened(self, actor: str = "parent") -> SyncMemory:
        """Open the memory of this round, or an empty one in memory."""
        place = MemoryStore() if self.store == "memory" else self.folder / "agent.db"
        return SyncMemory.open(place, embedder=EMBEDDER, keys=self.keys, actor=actor)


def campaign(folder: Path, effort: Effort) -> Figures:
    """Fork writing parents, and check what their children do and what is in the files."""
    rounds = [
        Round(folder / f"round-{number}", effort.seed * 10_000 + number, STORES[number % 3])
        for number in range(effort.of(ROUNDS, least=len(STORES)))
    ]
    found = Findings()
    slowest_ms = 0
    for each in spread(played, rounds):
        slowest_ms = max(slowest_ms, each.counts["slowest fork"])
        found.add(each)
    counts = found.counts
    return Figures(
        promise="A fork of a writing process leaves the child no open store, and the parent all.",
        facts={
            "parents": counts["parents"],
            "forks": counts["forks"],
            "children that closed what they had": counts["close"],
            "children that were refused and told why": counts["use"],
            "children that opened the file again": counts["open again"],
            "children that ended without closing": counts["end"],
            "children that hung": counts["hung"],
            "parents killed before their children": counts["killed"],
            "slowest fork, ms": slowest_ms,
            "commands acknowledged": counts["acknowledged"],
            "commands lost": counts["lost"],
        },
        failures=tuple(found.wrong),
    )


def played(game: Round) -> Findings:
    """Run one parent with its children, and look for what was acknowledged to each."""
    game.folder.mkdir()
    found, chance = Findings(), random.Random(game.seed)
    is_killed = game.store != "memory" and chance.random() < 1 / 3
    told = game.folder / "told"
    parent = child(lambda: _parent(game, told))
    if is_killed:
        time.sleep(chance.uniform(0.1, 0.6))
        os.kill(parent, signal.SIGKILL)
    status = os.waitpid(parent, 0)[1]
    place = f"{game.store}, seed {game.seed}"
    found.expect(right=is_killed or status == 0, otherwise=f"{place}: the parent failed")
    found.counts["parents"] += 1
    found.counts["killed"] += is_killed
    lines = [json.loads(line) for line in _whole_lines(told)]
    for line in lines:
        _count(line, found, place)
    if game.store != "memory":
        _check(game, [line["learned"] for line in lines if "learned" in line], found, place)
    return found


def _count(line: Mapping[str, str], found: Findings, place: str) -> None:
    found.counts["acknowledged"] += "learned" in line
    if "child" in line:
        found.counts["forks"] += 1
        found.counts[line["child"]] += line["answer"] == EXPECTED[line["child"]]
        found.counts["hung"] += line["answer"] == "hung"
        found.counts["slowest fork"] = max(found.counts["slowest fork"], int(line["fork_ms"]))
        found.expect(
            right=line["answer"] == EXPECTED[line["child"]],
            otherwise=f"{place}: {line['child']}: {line['answer']}",
        )


def _check(game: Round, learned: list[str], found: Findings, place: str) -> None:
    try:
        with game.opened() as memory:
            known = {block.content for block in memory.blocks(limit=1000).items}
            found.expect(right=memory.verify().sound, otherwise=f"{place}: not sound")
    except MnemicError as error:
        found.wrong.append(f"{place}: {error!r}")
        return
    lost = [text for text in learned if text not in known]
    found.counts["lost"] += len(lost)
    found.expect(right=not lost, otherwise=f"{place}: lost {len(lost)}, {lost[:3]}")


# --- the parent ---------------------------------------------------------------------------------


def _parent(game: Round, told: Path) -> None:
    """Write on several threads and fork; what is acknowledged and answered goes to *told*."""
    chance = random.Random(game.seed)
    lines = os.open(told, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)

    def tell(**facts: str) -> None:
        os.write(lines, f"{json.dumps(facts)}\n".encode())

    def learn_again(number: int) -> str:
        with game.opened(actor=f"child {number}") as memory:
            for each in range(LEARNED):
                memory.learn(f"child {number} learned {each}")
                tell(learned=f"child {number} learned {each}")
        return "learned"

    with game.opened() as memory, _writing(memory, tell):
        acts: Mapping[str, Callable[[int], object]] = {
            "close": lambda _: memory.close(),
            "use": lambda _: memory.learn("refused"),
            "open again": learn_again,
            "end": lambda _: "ends",
        }
        names = [name for name in acts if game.store != "memory" or name != "open again"]
        for number in range(FORKS):
            time.sleep(chance.uniform(0, PAUSE_MAX_S))
            name = chance.choice(names)
            answer, fork_s = _answer_of_child(partial(acts[name], number))
            tell(child=name, answer=answer, fork_ms=str(round(1000 * fork_s)))


EXPECTED: Final = {
    "close": "None",
    "use": "store-failed: the memory was opened before this process was forked",
    "open again": "learned",
    "end": "ends",
}


@contextmanager
def _writing(memory: SyncMemory, tell: Callable[..., None]) -> Generator[None]:
    """Learn and recall without a pause, on several threads."""
    stopping = threading.Event()

    def write(thread: int) -> None:
        number = 0
        while not stopping.is_set():
            text = f"thread {thread} learned {number}"
            memory.learn(text)
            tell(learned=text)
            number += 1
            if number % 10 == 0:
                memory.recall(text)

    threads = [threading.Thread(target=write, args=(each,)) for each in range(THREADS)]
    for each in threads:
        each.start()
    try:
        yield
    finally:
        stopping.set()
        for each in threads:
            each.join()


def _answer_of_child(act: Callable[[], object]) -> tuple[str, float]:
    """Return what *act* returns in a forked child, or raises, and how long the fork took."""
    ear, mouth = os.pipe()
    begun = time.monotonic()
    pid = os.fork()
    if pid == 0:
        with suppress(BaseException):
            os.write(mouth, _outcome(act).encode())
        os._exit(0)
    fork_s = time.monotonic() - begun
    os.close(mouth)
    ready, _, _ = select.select([ear], [], [], LIMIT_S)
    answer = os.read(ear, 10_000).decode() if ready else "hung"
    os.close(ear)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    return answer, fork_s


def _outcome(act: Callable[[], object]) -> str:
    try:
        return str(act())
    except MnemicError as error:
        return f"{error.code}: {error.message.partition(',')[0]}"
    except BaseException as error:  # noqa: BLE001 - a forked child must never return
        return repr(error)


def _whole_lines(told: Path) -> list[str]:
    if not told.exists():
        return []
    return [
        line for line in told.read_text("utf-8").splitlines(keepends=True) if line.endswith("\n")
    ]
