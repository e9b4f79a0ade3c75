"""Random histories around marked words; then some are erased, and every byte on the disk is read.

A mark is a made-up word that stands in one block and nowhere else: in its content, tags, author,
thread and metadata, in notes and reasons about it, in previews of compositions that it took part
in. What is looked for afterwards: each mark, its stem, both in UTF-16, each payload of the block
as it was stored (its vectors are among them), the keys of its MACs, and the key that locked it.
Nothing may be found in the store, its write-ahead log and free pages, checkpoints, locks, the file
of keys, a later export and a later copy; with keys not even in a backup that was made before.
"""

from __future__ import annotations

import random
import re
import shutil
import sqlite3
from base64 import b64decode
from binascii import Error as NotBase64
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing
from pathlib import Path

from attrs import define, field, frozen

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.opening import open_store
from mnemic.kernel.errors import MnemicError, Refused
from mnemic.kernel.results import Receipt
from mnemic.projections.lexical.analysis import terms
from mnemic.projections.lexical.languages.words import analysed
from tests.torture.figures import Effort, Figures

HISTORIES = 200
STEPS = 40
MARKS_EACH = 8
NEEDLE_MIN = 6
"""Bytes: shorter ones may occur by chance."""
SYLLABLES = "zor vex mulq drin hupf kyl wexa jor quon blith tarv ghoz".split()
PLAIN = "amber birch cedar delta ember fjord grove heron inlet jetty kelp lagoon moor".split()
_SECRETS = "SELECT owner, secret FROM keys JOIN secrets USING (id)"
_BASE64 = re.compile(rb'"([A-Za-z0-9+/]{8,}={0,2})"')


@frozen(kw_only=True)
class Secret:
    """One block that is to be erased, and the words that only it contains."""

    block: str
    marks: tuple[str, ...]
    carried: tuple[str, ...] = ()
    """Author, thread and metadata of the block that it revises: words of its own too."""


@define
class History:
    """One memory that runs random commands."""

    path: Path
    keys: Path | None
    chance: random.Random
    memory: SyncMemory
    secrets: list[Secret] = field(factory=list)
    others: list[str] = field(factory=list)
    decisions: list[str] = field(factory=list)
    receipts: list[Receipt] = field(factory=list)
    said: set[str] = field(factory=set)
    """Every mark."""

    def live(self, steps: int) -> None:
        """Run one command after another."""
        operations = [self._learn] * 3 + [self._hide] * 2 + [self._recall, self._connect] * 2
        operations += [self._score, self._compose, self._consolidate, self._part, self._revise]
        self.memory.start_session()
        self._learn()
        self._hide()
        for _ in range(steps):
            try:
                self.chance.choice(operations)()
            except Refused:
                continue  # an archived end, an edge that is there already, ...
        self.memory.consolidate()
        self.memory.checkpoint()

    def _marks(self) -> tuple[str, ...]:
        """Return words that occur nowhere else."""
        found: list[str] = []
        while len(found) < MARKS_EACH:
            word = "".join(self.chance.choices(SYLLABLES, k=5)) + "ations"
            if word not in self.said:
                self.said.add(word)
                found.append(word)
        return tuple(found)

    def _said(self) -> str:
        return " ".join(self.chance.choices(PLAIN, k=6))

    def _hide(self) -> None:
        marks = self._marks()
        block = self.memory.learn(
            f"{self._said()} {marks[0]} {marks[1]}",
            tags=[marks[2]],
            author=marks[3],
            thread=marks[4],
            metadata={"of": marks[5]},
            command_id=f"hidden {len(self.secrets)}",
        ).block_id
        self.secrets.append(Secret(block=block, marks=marks, carried=marks[3:6]))

    def _learn(self) -> None:
        number = len(self.others)
        self.others.append(self.memory.learn(f"{self._said()} {number}").block_id)

    def _recall(self) -> None:
        found = self.memory.recall(" ".join(self.chance.choices(PLAIN, k=2)), top_k=4)
        if found.decision_id is not None:
            self.decisions.append(found.decision_id)
            self.receipts.append(self.memory.receipt(found.decision_id))

    def _connect(self) -> None:
        one, other = self.chance.choice(self.secrets), self.chance.choice(self.others)
        self.memory.connect(
            one.block,
            other,
            self.chance.choice(["supports", "contradicts"]),
            note=f"noted {one.marks[6]}",
            if_exists="update",
            command_id=f"noted {self.chance.random()}",
        )

    def _part(self) -> None:
        one, other = self.chance.choice(self.secrets), self.chance.choice(self.others)
        self.memory.disconnect(one.block, other, reason=f"since {one.marks[6]}")

    def _score(self) -> None:
        one, other = self.chance.choice(self.secrets), self.chance.choice(self.others)
        self.memory.outcome([one.block, other], self.chance.random())

    def _compose(self) -> None:
        one, other = self.chance.choice(self.secrets), self.chance.choice(self.others)
        self.memory.compose(
            [{"block_id": one.block, "role": "primary", "preview": one.marks[7]}, other],
            query=self._said(),
        )

    def _consolidate(self) -> None:
        self.memory.consolidate()

    def _revise(self) -> None:
        one, marks = self.chance.choice(self.secrets), self._marks()
        said = f"{self._said()} {marks[0]} {marks[1]}"
        block = self.memory.revise(one.block, said, f"for {one.marks[6]}").block_id
        self.secrets.append(Secret(block=block, marks=marks, carried=one.carried))


@define
class Searched:
    """What has been read, and what should not have been found."""

    where: str = ""
    """Which history it is."""
    counts: Counter[str] = field(factory=Counter)
    failures: list[str] = field(factory=list)

    def look(self, folder: Path, needles: Mapping[bytes, str], when: str) -> None:
        """Record which of *needles* occur in any file of *folder*."""
        found: list[str] = []
        for file in sorted(folder.rglob("*")):
            if file.is_file():
                stored = file.read_bytes()
                self.counts["files searched"] += 1
                self.counts["bytes searched"] += len(stored)
                hay = stored + _decoded(stored)
                found += [f"{what} in {file.name}" for each, what in needles.items() if each in hay]
        self.counts["erasure hits"] += len(found)
        self.expect(f"{when}, what is found", found, [])

    def expect(self, what: str, found: object, expected: object) -> None:
        """Record a difference from what is expected."""
        if found != expected:
            self.failures.append(f"{self.where}: {what}: {found!r:.300}")


def _decoded(stored: bytes) -> bytes:
    """Return the decoded base64 in a file of lines."""
    if not stored.startswith(b"{"):
        return b""
    return b"\n".join(_parts(stored))


def _parts(stored: bytes) -> Iterator[bytes]:
    for part in _BASE64.findall(stored):
        try:
            yield b64decode(part, validate=True)
        except NotBase64:
            continue


def needles_of(history: History, secrets: list[Secret] | None) -> dict[bytes, str]:
    """Return every byte string that must be gone once *secrets* are erased; None: the space."""
    wanted = None if secrets is None else {each.block for each in secrets}
    found: dict[bytes, str] = {}
    others = [each for each in history.secrets if wanted is not None and each.block not in wanted]
    alive = {mark for other in others for mark in other.carried}
    for secret in history.secrets if secrets is None else secrets:
        for mark in {*secret.marks, *secret.carried} - alive:
            for word in {mark, *terms(mark), *analysed(mark).others}:
                found[word.encode()] = f"{word!r}"
                found[word.encode("utf-16-le")] = f"{word!r} in UTF-16"
    with closing(open_store(history.path, read_only=True, keys=history.keys)) as store:
        for _, rows in store.log("default").read():
            for row in rows:
                if wanted is None or not wanted.isdisjoint(row.owners):
                    place = f"of payload {row.version}.{row.slot}"
                    found[row.key] = f"the key {place}"
                    found[row.data] = f"the bytes {place}"
    if history.keys is not None:
        with closing(sqlite3.connect(history.keys)) as table:
            for owner, key in table.execute(
                "SELECT owner, secret FROM keys JOIN secrets USING (id)"
            ):
                if wanted is None or owner in wanted:
                    found[key] = f"the key of {owner!r}"
    return {each: what for each, what in found.items() if len(each) >= NEEDLE_MIN}


def campaign(folder: Path, effort: Effort) -> Figures:
    """Run, erase and search, history by history."""
    searched = Searched()
    for number in range(effort.of(HISTORIES, least=4)):
        place = folder / str(number)
        place.mkdir()
        searched.where = f"seed {effort.seed}, history {number}"
        chance = random.Random(f"{effort.seed} {number}")  # noqa: S311 - seeded, not secret
        try:
            _lived(place, chance, number, searched)
        except MnemicError as error:
            searched.expect("it failed", error, None)
        searched.counts["histories"] += 1
        if number % 20 == 19:
            effort.tell(f"{number + 1} histories")
    names = ("histories", "blocks erased", "spaces erased", "files searched", "bytes searched")
    return Figures(
        promise="Erased text is in no file of the store, and with keys in no backup either.",
        facts={name: searched.counts[name] for name in (*names, "erasure hits")},
        failures=tuple(searched.failures),
    )


def _lived(folder: Path, chance: random.Random, number: int, searched: Searched) -> None:
    """Run one history, and erase in it. Every second is encrypted, every fifth erased whole."""
    live, before, after = (folder / name for name in ("live", "before", "after"))
    for each in (live, before, after):
        each.mkdir()
    path, keys = live / "agent.db", live / "agent.keys" if number % 2 else None
    with ExitStack() as stack:
        memory, witness = (stack.enter_context(_opened(path, keys)) for _ in range(2))
        history = History(path, keys, chance, memory)
        history.live(STEPS)
        witness.blocks()
        doomed = history.secrets[:: 1 + number % 3]
        whole = number % 5 == 4
        needles = needles_of(history, None if whole else doomed)
        _back_up(path, before / "agent.db")
        shutil.copytree(live / "agent.db.checkpoints", before / "agent.db.checkpoints")
        _expect_needles(searched, live, needles, keys)
        _erase(searched, memory, None if whole else doomed)
        for handle in (memory, witness):
            _expect_erased(searched, handle, doomed)
        _expect_decisions(searched, history)
        searched.look(live, needles, "still open")
        if not whole:
            memory.export(after / "export.jsonl")
            memory.fork("copy", into=after / "copy.db")
        _back_up(path, after / "backup.db")
    searched.look(live, needles, "closed")
    searched.look(after, needles, "in copies made after")
    if keys is not None:
        searched.look(before, needles, "in the backup made before")
        with _opened(before / "agent.db", keys) as restored:
            _expect_erased(searched, restored, doomed)
        searched.look(before, needles, "in that backup, restored")


def _opened(path: Path, keys: Path | None) -> SyncMemory:
    return SyncMemory.open(path, embedder=HashEmbedder(32), keys=keys, synchronous="normal")


def _back_up(path: Path, to: Path) -> None:
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(to)) as target:
        source.backup(target)


def _erase(searched: Searched, memory: SyncMemory, doomed: list[Secret] | None) -> None:
    """Erase some blocks, or the space."""
    if doomed is None:
        searched.expect("files left", memory.erase_space("default").left, ())
        searched.counts["spaces erased"] += 1
        return
    for secret in doomed:
        searched.expect("files left", memory.erase(secret.block).left, ())
    searched.counts["blocks erased"] += len(doomed)


def _expect_needles(
    searched: Searched, folder: Path, needles: Mapping[bytes, str], keys: Path | None
) -> None:
    """Expect to find what there is to find: a search that finds nothing before proves nothing."""
    stored = b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())
    found = [what for each, what in needles.items() if each in stored]
    if keys is not None:
        locks = [what for what in needles.values() if what.startswith("the key of '")]
        searched.expect("found under lock, beside keys", set(found) - {*locks}, set())
        searched.expect("keys not found", set(locks) - {*found}, set())
    else:
        payloads = {what for what in needles.values() if what.startswith("the ")}
        searched.expect("payloads not found", payloads - {*found}, set())


def _expect_erased(searched: Searched, memory: SyncMemory, doomed: list[Secret]) -> None:
    checked = memory.verify()
    searched.expect("verified", (checked.sound, checked.problem), (True, None))
    then = memory.as_of(version=memory.status().version - 1)
    for secret in doomed:
        contents = (memory.block(secret.block).content, then.block(secret.block).content)
        searched.expect(f"block {secret.block} says", contents, (None, None))


def _expect_decisions(searched: Searched, history: History) -> None:
    """Expect that decisions made before can still be checked."""
    for receipt in history.receipts:
        check = history.memory.verify_receipt(receipt)
        searched.expect(f"receipt {receipt.decision_id}", check.verdict, "confirmed")
    for decision in history.decisions:
        replayed = history.memory.replay(decision)
        answer = (replayed.outcome in {"reproduced", "sealed"}, replayed.recombines)
        searched.expect(f"replay of {decision}: {replayed.outcome}", answer, (True, True))
