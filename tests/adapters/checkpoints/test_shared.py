"""Checkpoints that hosts share: in a bucket (here a folder of objects), and in the database."""

from __future__ import annotations

import os
import sys
import tempfile
import threading
from collections.abc import Callable, Generator, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, closing
from pathlib import Path
from subprocess import run
from threading import Barrier
from typing import Any

import psycopg
import pytest

from mnemic.adapters.checkpoints import inspection, published, writer
from mnemic.adapters.checkpoints.array_file import Torn
from mnemic.adapters.checkpoints.bucket import Bucket
from mnemic.adapters.checkpoints.directory import SharedCheckpoints, beside
from mnemic.adapters.checkpoints.files import Folder
from mnemic.adapters.checkpoints.layout import FormatUnknown
from mnemic.adapters.checkpoints.objects import Objects
from mnemic.adapters.checkpoints.published import ABANDONED_S, Document, PublishedCheckpoints
from mnemic.adapters.checkpoints.writer import CheckpointWriter
from mnemic.adapters.cluster.moving import move
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.adapters.system import folders
from mnemic.adapters.system.folders import own_name
from mnemic.kernel.errors import FieldRefused, StoreFailed, StoreFull
from mnemic.projections.state.state import FOLD_VERSION
from tests.adapters.checkpoints.states import checkpoint_writer_of, restored, space_of, told
from tests.adapters.stores.postgres import server as servers

EMBEDDER = HashEmbedder(8)
PRIVATE_TEXT = "the locker opens with 4711"
KILLED = 9


class Hosts:
    """Hosts of one store, each with a cache of its own, and the objects that they share."""

    def __init__(self, address: str, at: str, folder: Path) -> None:
        self.address, self.at, self.folder = address, at, folder
        self._stack = ExitStack()

    def opened(self, name: str, **host: Any) -> SyncMemory:
        """Open the space as the host *name* does."""
        host.setdefault("checkpoints", SharedCheckpoints(at=self.at, cache=self.folder / name))
        memory = SyncMemory.open(self.address, embedder=EMBEDDER, **host)
        return self._stack.enter_context(closing(memory))

    def objects(self) -> Objects:
        """Return the objects of the space."""
        if self.at == "database":
            store = self._stack.enter_context(closing(PostgresStore(self.address)))
            return store.checkpoint_objects()("default")
        with self.opened("reader", checkpoints=False) as memory:
            return self.objects_of(memory)

    def objects_of(self, memory: SyncMemory) -> Objects:
        """Return the objects in the bucket of the space that a memory has open."""
        genesis = space_of(memory).log.digest_at(0)
        assert genesis is not None
        return Bucket(self.at, own_name("default", genesis))

    def close(self) -> None:
        self._stack.close()


class Later:
    """Objects as they are after an hour."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects

    def __getattr__(self, name: str) -> Any:
        return getattr(self._objects, name)

    def ages(self) -> dict[str, float]:
        return {name: age_s + 2 * ABANDONED_S for name, age_s in self._objects.ages().items()}


@pytest.fixture(scope="module")
def server() -> Generator[str]:
    with servers.SHARED.served() as made:
        yield made


@pytest.fixture
def bucket(tmp_path: Path) -> Iterator[Hosts]:
    """Hosts of a store in a file, which share a bucket."""
    made = Hosts(str(tmp_path / "agent.db"), (tmp_path / "bucket").as_uri(), tmp_path)
    yield made
    made.close()


@pytest.fixture(params=["bucket", "database"])
def hosts(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Hosts]:
    if request.param == "bucket":
        yield request.getfixturevalue("bucket")
        return
    with servers.schema(request.getfixturevalue("server")) as address:
        made = Hosts(address, "database", tmp_path)
        yield made
        made.close()


def learned(memory: SyncMemory, first: int, count: int = 20) -> None:
    memory.learn_many([f"Fact {number} of a long life." for number in range(first, first + count)])


def text_in(objects: Objects) -> bool:
    return any(PRIVATE_TEXT.encode() in (objects.get(name) or b"") for name in objects.ages())


def test_a_host_that_never_had_a_space_opens_it_from_what_another_published(hosts: Hosts) -> None:
    leader = hosts.opened("one")
    learned(leader, 0)
    leader.checkpoint()
    leader.learn("A fact behind the checkpoint.")
    follower = hosts.opened("two")
    assert restored(follower) == leader.status().version - 1
    assert told(follower) == told(leader)
    assert follower.status().alerts == ()
    assert [each.state for each in follower.checkpoints()] == ["valid", "valid"]
    reader = hosts.opened("three", read_only=True)
    assert restored(reader) == restored(follower)


def test_the_next_checkpoint_costs_the_chunks_that_changed(bucket: Hosts) -> None:
    leader = bucket.opened("one")
    for round_ in range(3):
        learned(leader, 20 * round_)
        leader.checkpoint()
    objects = bucket.objects()
    documents = [name for name in objects.ages() if "checkpoint" in name]
    assert len(documents) == 2  # the newest, and one in case that it is damaged
    assert restored(bucket.opened("two")) == leader.status().version


def test_a_late_publisher_harms_no_newer_checkpoint(hosts: Hosts) -> None:
    late, leader = hosts.opened("late"), hosts.opened("one")
    learned(late, 0)
    old = late.checkpoint()
    learned(leader, 20)
    leader.checkpoint()
    file = hosts.folder / "late" / old.name
    PublishedCheckpoints(space_of(late).log, hosts.objects()).publish(file, lambda: None)
    assert restored(hosts.opened("two")) == leader.status().version


def test_erased_text_stays_in_nothing_that_is_shared(hosts: Hosts) -> None:
    leader, follower = hosts.opened("one"), hosts.opened("two")
    block = leader.learn(PRIVATE_TEXT).block_id
    learned(leader, 0)
    leader.checkpoint()
    objects = hosts.objects()
    assert text_in(objects)
    is_anybody = hosts.at == "database"  # which deletes them with the text
    with hosts.opened("three", **({"checkpoints": False} if is_anybody else {})) as eraser:
        eraser.erase(block)
    assert not objects.ages()
    assert follower.status().alerts == ()
    leader.checkpoint()
    follower.status()
    assert not text_in(objects)
    if is_anybody:
        with hosts.opened("five", checkpoints=None) as told_nothing:
            assert restored(told_nothing) is None
            assert "valid" in [each.state for each in told_nothing.checkpoints()]
    assert [each.state for each in hosts.opened("four").checkpoints()] == ["valid", "valid"]


def test_what_is_published_while_text_is_erased_is_removed(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, eraser = hosts.opened("one"), hosts.opened("two")
    block = leader.learn(PRIVATE_TEXT).block_id
    publish = PublishedCheckpoints.publish

    def late(self: PublishedCheckpoints, file: Path, check: Callable[[], None]) -> None:
        eraser.erase(block)
        publish(self, file, check)

    monkeypatch.setattr(PublishedCheckpoints, "publish", late)
    checkpoint_writer_of(leader).write()
    assert not hosts.objects().ages()


def test_a_publisher_that_is_killed_half_way_leaves_nothing_that_is_used(hosts: Hosts) -> None:
    leader = hosts.opened("one")
    learned(leader, 0)
    program = f"""
import os
from pathlib import Path
from mnemic.adapters.checkpoints.directory import SharedCheckpoints
from mnemic.adapters.checkpoints import published
from mnemic.adapters.cluster.moving import move
from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
shared = SharedCheckpoints(at={hosts.at!r}, cache=Path({str(hosts.folder / "killed")!r}))
published.CHUNK_BYTES, published._ZEROS = 4096, bytes(4096)
memory = SyncMemory.open({hosts.address!r}, embedder=HashEmbedder(8), checkpoints=shared)
published.Document.stored = property(lambda self: os._exit({KILLED}))
memory.checkpoint()
"""
    assert run([sys.executable, "-c", program], env=os.environ, check=False).returncode == KILLED
    objects = hosts.objects()
    assert {Path(name).suffix for name in objects.ages()} == {".chunk"}
    assert restored(hosts.opened("two")) is None
    leader.checkpoint()
    assert restored(hosts.opened("three")) == leader.status().version
    left = objects.ages()
    assert len(left) > 2, "chunks of a publisher that may be at work stay"
    later: Any = Later(objects)
    PublishedCheckpoints(space_of(leader).log, later).sweep(erased=-1)
    assert len(objects.ages()) == 2, "an hour later they do not"


@pytest.mark.parametrize(
    ("harm", "problem"),
    [
        ("damaged", "is damaged"),
        ("missing", "is missing"),
        ("cut", "it is damaged"),
        ("foreign", "it is of another log"),
        ("newer", "format 2; this release knows 1"),
    ],
)
def test_what_cannot_be_used_is_named_and_the_log_is_folded(
    bucket: Hosts, harm: str, problem: str, tmp_path: Path
) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    leader.checkpoint()
    objects = bucket.objects()
    (document,) = (name for name in objects.ages() if "checkpoint" in name)
    (chunk,) = (name for name in objects.ages() if "chunk" in name)
    stored = objects.get(document)
    assert stored is not None
    match harm:
        case "damaged":
            objects.put(chunk, (objects.get(chunk) or b"")[:-1] + b"?")
        case "missing":
            objects.remove([chunk])
        case "cut":
            objects.put(document, stored[:-1])
        case "foreign":
            with SyncMemory.open(
                tmp_path / "other.db", embedder=EMBEDDER, checkpoints=tmp_path / "other"
            ) as other:
                learned(other, 0)
                other.checkpoint()
                (file,) = (tmp_path / "other").glob("*.checkpoint")
            objects.put(document, Document(file.read_bytes(), 0, ()).stored)
        case _:
            objects.put(document, _of_format_2(Document.read(stored)))
    follower = bucket.opened("two")
    assert restored(follower) is None
    assert told(follower) == told(leader)
    (alert,) = follower.status().alerts
    assert problem in alert
    states = [each.state for each in follower.checkpoints()]
    assert len(states) == 1
    assert states != ["valid"]


def _of_format_2(document: Document) -> bytes:
    published.FORMAT, known = 2, published.FORMAT
    try:
        return document.stored
    finally:
        published.FORMAT = known


def test_a_document_of_other_bytes_is_refused() -> None:
    stored = Document(b"manifest", 1, ("",)).stored
    assert Document.read(stored) == Document(b"manifest", 1, ("",))
    for other in (b"", stored[:40], b"x" + stored[1:], stored + b"x"):
        with pytest.raises(Torn):
            Document.read(other)
    with pytest.raises(FormatUnknown):
        Document.read(_of_format_2(Document.read(stored)))


def test_a_place_that_does_not_answer_costs_the_folding_of_the_log(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)

    def fail(*_: object) -> None:
        raise StoreFailed("the bucket is gone")

    monkeypatch.setattr(Bucket, "ages", fail)
    follower = bucket.opened("two")
    assert told(follower) == told(leader)
    assert "the bucket is gone" in follower.status().alerts[0]
    with pytest.raises(StoreFailed, match="the bucket is gone"):
        follower.checkpoint()


def test_a_host_fetches_again_only_what_it_lacks(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    leader.checkpoint()
    follower = bucket.opened("two")
    follower.close()
    learned(leader, 20)
    leader.checkpoint()
    log, fetched = space_of(leader).log, list[str]()
    folder = Folder(bucket.folder / "two", space="default", genesis=log.digest_at(0) or b"")
    get = Bucket.get

    def counted(self: Bucket, name: str) -> bytes | None:
        fetched.append(name)
        return get(self, name)

    monkeypatch.setattr(Bucket, "get", counted)
    checkpoints = PublishedCheckpoints(log, bucket.objects())
    first = checkpoints.fetched(folder, least=0, mode=0o600)
    assert first is not None
    fetched.clear()
    assert checkpoints.fetched(folder, least=0, mode=0o600) == first
    assert not [name for name in fetched if "chunk" in name]
    assert checkpoints.fetched(folder, least=10**6, mode=0o600) is None


def test_encrypted_checkpoints_are_shared_encrypted(bucket: Hosts) -> None:
    keys = bucket.folder / "keys"
    leader = bucket.opened("one", keys=keys)
    block = leader.learn(PRIVATE_TEXT).block_id
    learned(leader, 0)
    leader.checkpoint()
    objects = bucket.objects_of(leader)
    assert not text_in(objects)
    follower = bucket.opened("two", keys=keys)
    assert restored(follower) == leader.status().version
    assert told(follower) == told(leader)
    follower.erase(block)
    assert not objects.ages()


def test_a_space_that_is_moved_away_leaves_no_checkpoint(server: str, tmp_path: Path) -> None:
    with servers.schema(server) as source, servers.schema(server) as target:
        hosts = Hosts(source, "database", tmp_path)
        with hosts.opened("one") as leader:
            learned(leader, 0)
            leader.checkpoint()
        objects = hosts.objects()
        assert objects.ages()
        move(source, "default", target)
        assert not objects.ages()
        hosts.close()


def test_what_was_damaged_or_lost_is_published_again(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(published, "CHUNK_BYTES", 4096)
    monkeypatch.setattr(published, "_ZEROS", bytes(4096))
    leader = bucket.opened("one")
    learned(leader, 0, 100)
    leader.checkpoint()
    objects = bucket.objects()
    for name in objects.ages():
        if name.endswith(".chunk"):
            objects.put(name, b"damaged")
    assert restored(bucket.opened("two")) is None
    leader.learn("One more.")
    leader.checkpoint()
    assert restored(bucket.opened("three")) == leader.status().version
    objects.remove([name for name in objects.ages() if name.endswith(".chunk")])
    leader.checkpoint()
    assert restored(bucket.opened("four")) == leader.status().version


def test_chunks_that_another_host_removes_meanwhile_are_put_again(bucket: Hosts) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    checkpoint = leader.checkpoint()
    objects = bucket.objects_of(leader)
    objects.remove(objects.ages())
    checkpoints = PublishedCheckpoints(space_of(leader).log, _Swept(objects))
    checkpoints.publish(bucket.folder / "one" / checkpoint.name, lambda: None)
    assert restored(bucket.opened("two")) == checkpoint.version


class _Swept:
    """Objects from which the first chunks are removed when a checkpoint is put."""

    def __init__(self, objects: Objects) -> None:
        self._objects = objects
        self.shown = objects.shown
        self._swept = False

    def ages(self) -> dict[str, float]:
        return self._objects.ages()

    def get(self, name: str) -> bytes | None:
        return self._objects.get(name)

    def put(self, name: str, data: bytes) -> None:
        if not (self._swept or name.endswith(".chunk")):
            self._swept = True
            self._objects.remove(list(self._objects.ages()))
        self._objects.put(name, data)

    def remove(self, names: Iterable[str]) -> None:
        self._objects.remove(names)


def test_a_chunk_that_was_on_its_way_when_text_was_erased_does_not_stay(
    hosts: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = hosts.opened("one")
    block = leader.learn(PRIVATE_TEXT).block_id
    learned(leader, 0)
    objects = hosts.objects()
    kind, put, erased = type(objects), type(objects).put, list[object]()

    def late(self: Objects, name: str, data: bytes) -> None:
        if not erased:
            erased.append(leader.erase(block))
        put(self, name, data)

    monkeypatch.setattr(kind, "put", late)
    assert checkpoint_writer_of(leader).write() is None
    assert not objects.ages()


def test_hosts_of_another_release_keep_their_checkpoints_for_an_hour(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    with monkeypatch.context() as newer:
        for module in (inspection, writer):
            newer.setattr(module, "FOLD_VERSION", FOLD_VERSION + 1)
        with bucket.opened("newer") as other:
            other.checkpoint()
    leader.learn("One more.")
    leader.checkpoint()
    objects = bucket.objects()
    assert len([name for name in objects.ages() if "checkpoint" in name]) == 2
    with monkeypatch.context() as newer:
        for module in (inspection, writer):
            newer.setattr(module, "FOLD_VERSION", FOLD_VERSION + 1)
        with bucket.opened("newest") as other:
            assert restored(other) == leader.status().version - 1
    later: Any = Later(objects)
    PublishedCheckpoints(space_of(leader).log, later).sweep(erased=-1)
    assert len([name for name in objects.ages() if "checkpoint" in name]) == 1


def test_what_another_host_may_be_publishing_stays_for_an_hour(bucket: Hosts) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    leader.checkpoint()
    objects = bucket.objects()
    objects.remove([name for name in objects.ages() if name.endswith(".chunk")])
    checkpoints = PublishedCheckpoints(space_of(leader).log, objects)
    assert checkpoints.newest() == -1
    checkpoints.sweep(erased=-1, at_once=True)
    assert len(objects.ages()) == 1
    later: Any = Later(objects)
    PublishedCheckpoints(space_of(leader).log, later).sweep(erased=-1)
    assert not objects.ages()


def test_no_temporary_folder_is_needed(bucket: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = bucket.opened("one", keys=bucket.folder / "keys")
    learned(leader, 0)
    leader.checkpoint()
    monkeypatch.setattr(tempfile, "tempdir", str(bucket.folder / "nowhere"))
    follower = bucket.opened("two", keys=bucket.folder / "keys")
    assert restored(follower) == leader.status().version
    assert [each.state for each in follower.checkpoints()] == ["valid", "valid"]


def test_a_space_is_opened_while_another_process_clears_the_cache(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    leader.checkpoint()

    def removed(file: Path, pieces: Iterable[bytes], mode: int) -> None:
        folders.draft(file, pieces, mode)
        file.unlink()

    monkeypatch.setattr("mnemic.adapters.checkpoints.files.draft", removed)
    follower = bucket.opened("two")
    assert told(follower) == told(leader)
    monkeypatch.undo()
    gone = bucket.folder / "three" / "gone.arrays"
    monkeypatch.setattr(Folder, "array_files", lambda _: [gone])
    assert restored(bucket.opened("three")) == leader.status().version


def test_a_checkpoint_that_another_process_finishes_is_not_swept(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, other = bucket.opened("one"), bucket.opened("one")
    learned(leader, 0)
    array_files = Folder.array_files

    def later(self: Folder) -> list[Path]:
        monkeypatch.undo()
        learned(other, 20)
        other.checkpoint()
        return array_files(self)

    monkeypatch.setattr(Folder, "array_files", later)
    checkpoint_writer_of(leader).settle()
    states = {each.state for each in other.checkpoints()}
    assert states == {"valid"}


def test_what_is_damaged_here_is_fetched_again(bucket: Hosts) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    leader.checkpoint()
    bucket.opened("two").close()
    (arrays,) = (bucket.folder / "two").glob("*.arrays")
    arrays.write_bytes(bytes(arrays.stat().st_size))
    assert restored(bucket.opened("two")) == leader.status().version


def test_the_cache_keeps_what_is_of_other_spaces_for_a_day(bucket: Hosts) -> None:
    leader = bucket.opened("one")
    leader.learn(PRIVATE_TEXT)
    leader.checkpoint()
    bucket.opened("two").close()
    cache = bucket.folder / "two"
    kept = {file.name for file in cache.iterdir()}
    bucket.opened("two", space="other").close()
    assert {file.name for file in cache.iterdir()} >= kept
    foreign = cache / "of-another-program.arrays"
    foreign.write_bytes(b"")
    for file in cache.iterdir():
        os.utime(file, (0, 0))
    bucket.opened("two", space="other").close()
    assert not {file.name for file in cache.iterdir()} & kept
    assert foreign.exists()


def test_closing_fails_for_no_checkpoint(bucket: Hosts, monkeypatch: pytest.MonkeyPatch) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)

    def fail(*_: object) -> None:
        raise StoreFailed("the log cannot be read")

    monkeypatch.setattr(CheckpointWriter, "destroy", fail)
    leader.close()
    assert not [each for each in threading.enumerate() if each.name == "mnemic-checkpoint"]


def test_a_bucket_that_cannot_be_opened_costs_the_folding_of_the_log(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    hosts = Hosts(str(tmp_path / "agent.db"), (tmp_path / "file" / "bucket").as_uri(), tmp_path)
    with hosts.opened("one") as leader:
        block = leader.learn(PRIVATE_TEXT).block_id
        leader.erase(block)
        assert leader.status().alerts
        with pytest.raises(StoreFailed) as caught:
            leader.checkpoint()
        assert "AWS" not in str(caught.value.recovery)
    with hosts.opened("one") as leader:
        assert len(leader.blocks()) == 1
    hosts.close()


def test_a_bucket_that_takes_nothing_is_named_by_the_status(
    bucket: Hosts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise StoreFull("the bucket is full")

    monkeypatch.setattr(Bucket, "put", fail)
    monkeypatch.setattr(writer, "PUBLISHED_EVERY", 1)
    leader = bucket.opened("one")
    learned(leader, 0)
    thread = checkpoint_writer_of(leader)._thread  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
    assert thread is not None
    thread.join()
    assert leader.status().alerts == ("no checkpoint could be published: the bucket is full",)
    with pytest.raises(StoreFull):
        leader.checkpoint()
    with bucket.opened("one", checkpoints=bucket.folder / "one") as without:
        assert restored(without) is not None, "it was written here all the same"


def test_an_error_of_a_bucket_names_the_variables_of_its_provider(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.delenv("AZURE_STORAGE_ACCOUNT_NAME", raising=False)
    with pytest.raises(StoreFailed) as caught:
        Bucket("az://bucket/prefix", "owner").ages()
    assert "AZURE_STORAGE_ACCOUNT_NAME" in str(caught.value.recovery)
    assert "AWS" not in str(caught.value.recovery)


def test_objects_are_aged_by_the_clock_of_their_bucket(bucket: Hosts) -> None:
    leader = bucket.opened("one")
    learned(leader, 0)
    leader.checkpoint()
    objects = bucket.objects()
    for file in (bucket.folder / "bucket").rglob("*.*"):
        os.utime(file, (0, 3 * ABANDONED_S))
    assert max(objects.ages().values()) == 0
    objects.put("later", b"")
    assert min(age_s for name, age_s in objects.ages().items() if name != "later") > ABANDONED_S


def test_a_cache_that_cannot_be_made_is_refused_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    hosts = Hosts(str(tmp_path / "agent.db"), (tmp_path / "bucket").as_uri(), tmp_path / "file")
    with pytest.raises(StoreFailed, match="file") as caught:
        hosts.opened("one/of/two")
    assert "--checkpoint-cache" in str(caught.value.recovery)
    hosts.close()


def test_a_bucket_serves_a_space_wherever_it_is_moved(server: str, tmp_path: Path) -> None:
    at = (tmp_path / "bucket").as_uri()
    with servers.schema(server) as source, servers.schema(server) as target:
        before, after = Hosts(source, at, tmp_path), Hosts(target, at, tmp_path)
        with before.opened("one") as leader:
            learned(leader, 0)
            version = leader.checkpoint().version
        move(source, "default", target)
        follower = after.opened("two")
        assert restored(follower) == version
        follower.erase(follower.blocks()[0].id)
        assert not after.objects_of(follower).ages()
        before.close()
        after.close()


def test_nothing_is_published_of_a_space_that_has_just_been_moved_away(
    server: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish = PublishedCheckpoints.publish

    def late(self: PublishedCheckpoints, file: Path, check: Callable[[], None]) -> None:
        move(source, "default", target)
        publish(self, file, check)

    monkeypatch.setattr(PublishedCheckpoints, "publish", late)
    with servers.schema(server) as source, servers.schema(server) as target:
        hosts = Hosts(source, "database", tmp_path)
        leader = hosts.opened("one")
        learned(leader, 0)
        checkpoint_writer = checkpoint_writer_of(leader)
        with pytest.raises(StoreFailed, match="does not hold the space any more"):
            checkpoint_writer.write()
        place = checkpoint_writer._place()  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        assert place is not None
        assert place.newest() == -1
        assert not place.drop()
        hosts.close()


def test_hosts_that_begin_at_once_prepare_the_database_once(server: str) -> None:
    with servers.schema(server) as address, ExitStack() as stack, ThreadPoolExecutor(8) as threads:
        stores = [stack.enter_context(closing(PostgresStore(address))) for _ in range(8)]
        begin = Barrier(len(stores))

        def prepare(store: PostgresStore) -> None:
            store.has_checkpoints()
            begin.wait()
            store.checkpoint_objects()

        assert [*threads.map(prepare, stores)] == [None] * len(stores)


def test_places_that_are_none_are_refused(tmp_path: Path, server: str) -> None:
    for at in (
        "database",
        "s4://bucket",
        "s3://",
        "s3://[",
        "s3://key@bucket",
        "s3://bucket?secret=1",
    ):
        with pytest.raises(FieldRefused):
            SyncMemory.open(tmp_path / "a.db", embedder=EMBEDDER, checkpoints=at)
    assert not beside(tmp_path / "a.db").exists()
    with servers.schema(server) as address:
        SyncMemory.open(address, embedder=EMBEDDER, checkpoints=False).close()
        with psycopg.connect(server) as connection:
            query = "SELECT count(*) FROM pg_tables WHERE tablename = 'checkpoints'"
            found = connection.execute(query)
            assert found.fetchone() == (0,), "no table before it is asked for"
