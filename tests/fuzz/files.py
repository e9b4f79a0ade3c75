"""Fuzzed files: exports, tokens, checkpoints, stores, texts."""

from __future__ import annotations

from collections.abc import Callable, Generator
from contextlib import contextmanager
from functools import cache, partial
from pathlib import Path
from tempfile import TemporaryDirectory

import orjson
from attrs import frozen
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.importers.sources import read
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer.exports.archive import Packed, Unpacking
from tests.fuzz.bounded import Attempt, Target
from tests.fuzz.sample import SPACE, filled, opened
from tests.fuzz.values import changed


@frozen
class Written:
    """The files that a memory has written, as bytes."""

    lines: bytes
    vectors: bytes
    archive: bytes
    tokens: bytes
    store: bytes
    checkpoint: dict[str, bytes]
    """The content of its files, by name: the manifest, and the arrays."""


@cache
def written() -> Written:
    """Return the files of a filled memory, written once."""
    with TemporaryDirectory() as name:
        folder = Path(name)
        with SyncMemory.open(
            folder / "agent.db",
            embedder=HashEmbedder(),
            clock=ManualClock(),
            entropy=SeededEntropy("files"),
        ) as memory:
            filled(memory)
            memory.checkpoint()
            memory.export(folder / "all.jsonl")
        ring = Keyring.open(folder / "tokens", entropy=SeededEntropy("ring"))
        ring.create("ines", {"*": "admin"})
        ring.create("bert", {"notes": "read"}, "2100-01-01")
        with Packed(folder / "all.jsonl") as packed:
            archive = b"".join(packed)
        return Written(
            lines=(folder / "all.jsonl").read_bytes(),
            vectors=(folder / "all.jsonl.vectors").read_bytes(),
            archive=archive,
            tokens=ring.path.read_bytes(),
            store=(folder / "agent.db").read_bytes(),
            checkpoint={
                file.name: file.read_bytes()
                for file in sorted((folder / "agent.db.checkpoints").iterdir())
            },
        )


def checkpoint_file(files: Written, *, ending: str) -> bytes:
    """Return the content of a checkpoint's file, by how its name ends."""
    return next(stored for name, stored in files.checkpoint.items() if name.endswith(ending))


def from_written(of: Callable[[Written], bytes]) -> SearchStrategy[bytes]:
    """Return a strategy for changed bytes of files that are written at the first draw."""
    return st.deferred(lambda: changed([of(written())]))


@st.composite
def swapped(draw: st.DrawFn) -> bytes:
    """Draw an export with reordered lines, or with one changed line."""
    lines = written().lines.splitlines(keepends=True)
    a, b = (draw(st.integers(0, len(lines) - 1)) for _ in range(2))
    match draw(st.integers(0, 3)):
        case 0:
            lines[a], lines[b] = lines[b], lines[a]
        case 1:
            lines[a] = lines[b]
        case 2:
            del lines[a]
        case _:
            lines[a] = draw(changed([lines[a]]))
    return b"".join(lines)


@contextmanager
def importing(folder: Path) -> Generator[Attempt]:
    """Import files of lines; a refused import has created no space."""
    path = folder / "all.jsonl"
    (folder / "all.jsonl.vectors").write_bytes(written().vectors)

    def attempt(given: bytes) -> None:
        path.write_bytes(given)
        into = MemoryStore()
        try:
            SyncMemory.import_space(path, into, space=SPACE)
        finally:
            assert SPACE not in into.spaces() or into.log(SPACE).head().version in {
                -1,
                last_version(),
            }

    yield attempt


def last_version() -> int:
    """Return the last version of the sound export."""
    return int(orjson.loads(written().lines.partition(b"\n")[0])["data"]["version"])


@contextmanager
def unpacking(folder: Path) -> Generator[Attempt]:
    """Unpack archives, as received over a wire; only two files with fixed names are created."""
    numbers = iter(range(1_000_000))

    def attempt(given: bytes) -> None:
        place = folder / str(next(numbers))
        place.mkdir()
        try:
            with Unpacking(place) as it:
                for start in range(0, len(given), 700):
                    it.feed(given[start : start + 700])
                it.finish()
        finally:
            names = {path.name for path in place.iterdir()}
            assert names <= {"export.jsonl", "export.jsonl.vectors"}
            assert all(path.name.isdigit() for path in folder.iterdir())

    yield attempt


@contextmanager
def letting_in(folder: Path) -> Generator[Attempt]:
    """Authenticate with damaged token files; all requests are refused."""
    path = folder / "tokens"
    path.touch(mode=0o600)

    def attempt(given: bytes) -> None:
        path.write_bytes(given)
        Keyring.open(path).admit("mnemic_00000000_" + "A" * 43)

    yield attempt


@contextmanager
def reopening(folder: Path, *, damaged: str) -> Generator[Attempt]:
    """Open a sound store with a damaged checkpoint; answers must not change.

    Args:
        folder: Where to put it.
        damaged: How the name of the changed file ends.
    """
    (folder / "agent.db").write_bytes(written().store)
    (folder / "agent.db.checkpoints").mkdir()
    with SyncMemory.open(folder / "agent.db", read_only=True, checkpoints=False) as memory:
        sound = memory.status().version, memory.blocks()

    def attempt(given: bytes) -> None:
        for name, stored in written().checkpoint.items():
            changed = given if name.endswith(damaged) else stored
            (folder / "agent.db.checkpoints" / name).write_bytes(changed)
        with SyncMemory.open(folder / "agent.db", read_only=True) as memory:
            status, blocks = memory.status(), memory.blocks()
        assert (status.version, blocks) == sound

    yield attempt


@contextmanager
def storing(folder: Path) -> Generator[Attempt]:
    """Open changed store files."""

    def attempt(given: bytes) -> None:
        path = folder / "agent.db"
        path.write_bytes(given)
        with SyncMemory.open(
            path, embedder=HashEmbedder(), read_only=True, checkpoints=False
        ) as memory:
            memory.blocks()
            memory.recall("gate", record=False)
            memory.verify()

    yield attempt


CHAT = orjson.dumps(
    [
        {
            "id": "c1",
            "title": "Yard",
            "current_node": "b",
            "mapping": {
                "a": {"id": "a", "parent": None, "children": ["b"], "message": None},
                "b": {
                    "id": "b",
                    "parent": "a",
                    "children": [],
                    "message": {
                        "author": {"role": "user"},
                        "content": {"parts": ["hi"]},
                        "create_time": 1767225600.0,
                    },
                },
            },
        }
    ]
)
"""One conversation, as a service exports it."""
TEXTS = (
    b"---\ntitle: Yard\ntags: [a, b]\ndate: 2026-03-01\n---\n# Gate\n\nIt sticks\n\n```\nx\n```\n",
    b"[12/03/2026, 09:04:11] Ines: The gate sticks.\n[12/03/2026, 09:05:00] Bert: Oil.\nAgain.\n",
    b"2026-03-12 09:04 - Ines: The gate\n2026-03-13 10:00 - Bert: yes\n",
    b'{"content": "The gate", "tags": ["a"], "created_at": "2026-03-01"}\n{"content": "oil"}\n',
    (
        b'[{"role": "user", "content": "The gate"}, {"role": "assistant", "content": [{"type":'
        b' "text", "text": "oil"}], "timestamp": 1767225600}]'
    ),
    (
        b'[{"uuid": "c1", "name": "Yard", "chat_messages": [{"sender": "human", "text": "hi",'
        b' "created_at": "2026-03-01T00:00:00Z"}]}]'
    ),
    CHAT,
    b"The gate sticks. The oil is in the shed.\n\nTea is at four.\n",
)
SUFFIXES = (".md", ".txt", ".json", ".jsonl", "", ".log")


@contextmanager
def reading(folder: Path) -> Generator[Attempt]:
    """Read files as ``mnemic ingest`` does, and learn their contents."""
    with opened(MemoryStore()) as memory:

        def attempt(given: tuple[bytes, str]) -> None:
            path = folder / f"input{given[1]}"
            path.write_bytes(given[0])
            for sitting in read(path):
                memory.learn_many([each.lesson or {} for each in sitting.items])

        yield attempt


TARGETS = {
    "files of lines, imported": Target(
        inputs=st.deferred(swapped) | from_written(lambda it: it.lines), opened=importing
    ),
    "archives of exports": Target(inputs=from_written(lambda it: it.archive), opened=unpacking),
    "files of tokens": Target(
        inputs=from_written(lambda it: it.tokens), opened=letting_in, mixed=False
    ),
    **{
        f"checkpoints: {ending}": Target(
            inputs=from_written(partial(checkpoint_file, ending=ending)),
            opened=partial(reopening, damaged=ending),
            mixed=False,
        )
        for ending in (".checkpoint", ".arrays")
    },
    "stores": Target(inputs=from_written(lambda it: it.store), opened=storing),
    "texts to read": Target(
        inputs=st.tuples(changed(TEXTS) | st.binary(max_size=200), st.sampled_from(SUFFIXES)),
        opened=reading,
    ),
}
"""By name."""
