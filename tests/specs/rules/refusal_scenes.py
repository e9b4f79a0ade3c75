"""Scenes for rows of refusals that steps at the interface cannot express: files, models, clashes.

A scene is a context manager that prepares a situation and yields the call that is refused.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, closing, contextmanager
from functools import partial
from pathlib import Path
from typing import Any

from mnemic.adapters.access import Keyring
from mnemic.adapters.embedders.hashing import HashEmbedder, ScriptedEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.logs.chain import EMPTY
from mnemic.adapters.stores.logs.write_lock import WriteLock
from mnemic.adapters.stores.memory import MemoryStore
from mnemic.adapters.stores.sqlite import SQLiteStore
from mnemic.adapters.system.clocks import ManualClock
from mnemic.adapters.system.entropy import SeededEntropy
from mnemic.adapters.transfer import backup as backups
from mnemic.kernel import events as happened
from mnemic.kernel.decisions.learning import Lesson, decide_learn
from mnemic.kernel.events import Event, Recorded
from mnemic.kernel.model import identity
from mnemic.kernel.model.identity import CommandId
from mnemic.kernel.model.texts import BlockText, Salt
from mnemic.kernel.policy import Policy
from mnemic.kernel.ports import Record
from mnemic.projections.retrieval.recipes import recipe
from mnemic.projections.state.apply import apply
from mnemic.projections.state.state import State
from mnemic.projections.view import live

Call = Callable[[], Any]
Scene = Callable[[Path], AbstractContextManager[Call]]
SPACE = b"a space of its own"


def opened(path: Path | SQLiteStore, **given: Any) -> SyncMemory:
    """Open a file with fixed models and clocks, independent of the machine."""
    usual: dict[str, Any] = {
        "embedder": HashEmbedder(8),
        "entropy": SeededEntropy("scene"),
        **given,
    }
    return SyncMemory.open(path, clock=ManualClock(), synchronous="normal", **usual)


def store(path: Path) -> None:
    """Create a file with one active block."""
    with opened(path) as memory:
        memory.learn("a fact")
        memory.consolidate()


def change(path: Path, statement: str) -> None:
    """Change a file by executing SQL directly."""
    with closing(sqlite3.connect(path)) as connection, connection:
        connection.execute(statement)


@contextmanager
def collision(_: Path) -> Generator[Call]:
    """Another text has the id that the new one would get."""
    events: list[Event] = [happened.SpaceOpened(nonce="0" * 32, salt=Salt(value=SPACE))]
    block = identity.block_id("new", salt=SPACE)
    events.append(happened.BlockLearned(block_id=block, text=BlockText(of=(block,), content="old")))
    state = State()
    for version, event in enumerate(events):
        apply(
            state,
            Recorded(
                version=version,
                active_us=0,
                recorded_us=0,
                command_id=CommandId("c"),
                event=event,
            ),
        )
    yield partial(decide_learn, live(state, active_us=0, instant_us=0), Lesson(content="new"))


@contextmanager
def broken_model(path: Path) -> Generator[Call]:
    with opened(path, embedder=ScriptedEmbedder({"a": (float("nan"), 0.0)}, 2)) as memory:
        memory.learn("a")
        yield memory.consolidate


@contextmanager
def another_model(path: Path) -> Generator[Call]:
    store(path)
    yield partial(opened, path, embedder=HashEmbedder(16))


@contextmanager
def retired_recipe(_: Path) -> Generator[Call]:
    yield partial(recipe, "recall-0")


@contextmanager
def full_inbox(path: Path) -> Generator[Call]:
    """A writer of a zone that is not trusted has used up its share of the inbox."""
    with opened(path, policy=Policy(inbox_zone_max=1, auto_consolidate=False)) as memory:
        mailbox = memory.session_handle(actor="mailbox", zone="untrusted")
        mailbox.learn("one")
        yield partial(mailbox.learn, "another")


@contextmanager
def read_only(path: Path) -> Generator[Call]:
    store(path)
    with opened(path, read_only=True) as memory:
        yield partial(memory.learn, "another fact")


@contextmanager
def missing_space(path: Path) -> Generator[Call]:
    store(path)
    yield lambda: opened(path, space="elsewhere", read_only=True)


@contextmanager
def slower_writer(path: Path) -> Generator[Call]:
    """A record for a version that the log has already."""
    with closing(SQLiteStore(path)) as store:
        log = store.log("default")
        first = Record(0, "t", b"first")
        head = log.append([first], (), after=log.head())
        yield partial(log.append, [first], (), after=head)


@contextmanager
def another_history(path: Path) -> Generator[Call]:
    """A log that another one has replaced since it was read."""
    first, other = Record(0, "t", b"first"), Record(0, "t", b"another")
    with closing(MemoryStore()) as one, closing(SQLiteStore(path)) as two:
        head = one.log("default").append([first], (), after=EMPTY)
        log = two.log("default")
        log.append([other], (), after=EMPTY)
        yield lambda: list(log.read(head))


@contextmanager
def lost_text(path: Path) -> Generator[Call]:
    store(path)
    change(path, "DELETE FROM payloads WHERE version > 1")
    yield partial(opened, path)


@contextmanager
def changed_byte(path: Path) -> Generator[Call]:
    store(path)
    change(path, "UPDATE stored_events SET state = state || X'21' WHERE originator_version = 2")
    yield partial(opened, path)


@contextmanager
def file_of_words(path: Path) -> Generator[Call]:
    path.write_text("Dear diary, today nothing was stored here at all. " * 100, encoding="utf-8")
    yield partial(opened, path)


@contextmanager
def format_of_tomorrow(path: Path) -> Generator[Call]:
    store(path)
    change(path, "PRAGMA user_version = 1000")
    yield partial(opened, path)


@contextmanager
def full_disk(path: Path) -> Generator[Call]:
    with closing(SQLiteStore(path)) as store, opened(store) as memory:
        memory.learn("a fact")
        with store.recorder.datastore.get_connection(commit=True) as connection:
            connection.cursor().execute("PRAGMA max_page_count = 1")
        yield partial(memory.learn, "and so on " * 3000)


@contextmanager
def held_file(path: Path) -> Generator[Call]:
    with closing(WriteLock(path)) as one, closing(WriteLock(path, patience_s=0.0)) as two:

        def take_a_turn() -> None:
            with two.write_lock():
                pass

        with one.write_lock():
            yield take_a_turn


@contextmanager
def no_folder(path: Path) -> Generator[Call]:
    yield partial(opened, path / "nowhere" / "agent.db")


@contextmanager
def deleted_file(path: Path) -> Generator[Call]:
    store(path)
    path.unlink()
    yield partial(opened, path)


@contextmanager
def linked_file(path: Path) -> Generator[Call]:
    store(path)
    path.with_name("other.db").hardlink_to(path)
    yield partial(opened, path)


@contextmanager
def no_place_for_checkpoints(path: Path) -> Generator[Call]:
    store(path)
    with opened(path, checkpoints=False) as memory:
        yield memory.checkpoint


@contextmanager
def cut_export(path: Path) -> Generator[Call]:
    """The last line of an exported log is missing."""
    store(path)
    copied = path.with_name("log.ndjson")
    with opened(path) as memory:
        memory.export(copied)
    lines = copied.read_bytes().splitlines(keepends=True)
    copied.write_bytes(b"".join(lines[:-1]))
    yield partial(SyncMemory.import_space, copied, path.with_name("other.db"))


@contextmanager
def changed_backup(path: Path) -> Generator[Call]:
    """A backup has an additional byte."""
    store(path)
    kept = path.with_name("kept.db")
    backups.backup(path, kept, clock=ManualClock())
    kept.write_bytes(kept.read_bytes() + b"x")
    yield partial(backups.restore, kept, path.with_name("other.db"))


@contextmanager
def forgotten_keys(path: Path) -> Generator[Call]:
    """Texts are encrypted, and no keys are given."""
    with opened(path, keys=path.with_name("agent.keys")) as memory:
        memory.learn("a secret")
    yield partial(opened, path)


@contextmanager
def needless_keys(path: Path) -> Generator[Call]:
    """Texts are not encrypted, and keys are given."""
    store(path)
    yield partial(opened, path, keys=path.with_name("agent.keys"))


def keyring(path: Path) -> Keyring:
    """Open the token file with fixed clocks, independent of the machine."""
    return Keyring.open(path, clock=ManualClock(), entropy=SeededEntropy("scene"))


@contextmanager
def revoked_token(path: Path) -> Generator[Call]:
    ring = keyring(path)
    token, secret = ring.create("ines", {"notes": "admin"})
    ring.revoke(token.id)
    yield partial(ring.admit, secret)


@contextmanager
def reader_who_writes(path: Path) -> Generator[Call]:
    token, _ = keyring(path).create("ines", {"notes": "read"})
    yield partial(token.require, "notes", "write")


@contextmanager
def second_of_the_name(path: Path) -> Generator[Call]:
    ring = keyring(path)
    ring.create("ines", {"notes": "read"})
    yield partial(ring.create, "ines", {"notes": "write"})


@contextmanager
def token_of_nobody(path: Path) -> Generator[Call]:
    yield partial(keyring(path).revoke, "0" * 8)


@contextmanager
def widened_scope(path: Path) -> Generator[Call]:
    """A token file was edited to widen a scope."""
    ring = keyring(path)
    _, secret = ring.create("ines", {"notes": "read"})
    path.write_bytes(path.read_bytes().replace(b'"read"', b'"admin"'))
    yield partial(ring.admit, secret)


@contextmanager
def left_out_detail(path: Path) -> Generator[Call]:
    """An answer that holds what a caller acts on, of which the reasons are read."""
    store(path)
    with opened(path) as memory:
        answer = memory.recall("a fact", detail="core")
        yield lambda: answer.blocks[0].contributions


SCENES: dict[str, Scene] = {
    "collision": collision,
    "broken-model": broken_model,
    "another-model": another_model,
    "retired-recipe": retired_recipe,
    "full-inbox": full_inbox,
    "read-only": read_only,
    "missing-space": missing_space,
    "slower-writer": slower_writer,
    "another-history": another_history,
    "changed-byte": changed_byte,
    "lost-text": lost_text,
    "file-of-words": file_of_words,
    "format-of-tomorrow": format_of_tomorrow,
    "full-disk": full_disk,
    "held-file": held_file,
    "no-folder": no_folder,
    "deleted-file": deleted_file,
    "linked-file": linked_file,
    "no-place-for-checkpoints": no_place_for_checkpoints,
    "cut-export": cut_export,
    "changed-backup": changed_backup,
    "forgotten-keys": forgotten_keys,
    "needless-keys": needless_keys,
    "left-out-detail": left_out_detail,
    "revoked-token": revoked_token,
    "reader-who-writes": reader_who_writes,
    "second-of-the-name": second_of_the_name,
    "token-of-nobody": token_of_nobody,
    "widened-scope": widened_scope,
}
