"""A database is opened, made into a store, or refused and left unchanged."""

from __future__ import annotations

import os
from collections.abc import Callable, Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from urllib.parse import urlsplit

import psycopg
import pytest
from eventsourcing.postgres import PostgresAggregateRecorder, PostgresDatastore

from mnemic.adapters.embedders.hashing import HashEmbedder
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.stores.addresses import parsed
from mnemic.adapters.stores.opening import open_store
from mnemic.adapters.stores.postgres import PostgresStore
from mnemic.kernel.errors import (
    Closed,
    MnemicError,
    NotAStore,
    SpaceNotFound,
    StoreBusy,
    StoreFailed,
    StoreTooNew,
    ViewReadOnly,
)
from mnemic.specs.contracts.log_entries import (
    EMPTY,
    bare,
    contents,
    payload,
    records,
)
from tests.adapters.inprocess.engine.forked_children import in_child, is_refused, writing

Edit = Callable[..., None]
SECRET = "pass/word %&"  # noqa: S105
LISTED = """SELECT relname FROM pg_class WHERE relkind = 'r' AND relnamespace =
    to_regnamespace(quote_ident(%s)) ORDER BY relname"""


@pytest.fixture
def admin(server: str) -> Generator[psycopg.Connection]:
    with closing(psycopg.connect(server, autocommit=True)) as connection:
        yield connection


def tables(admin: psycopg.Connection, address: str) -> list[str]:
    return [name for (name,) in admin.execute(LISTED, (parsed(address).schema,))]


# --- making -------------------------------------------------------------------------------------


def test_a_schema_is_made_with_the_tables_of_a_store(
    address: str, admin: psycopg.Connection
) -> None:
    with closing(open_store(address)) as store:
        assert store.spaces() == ()
    assert tables(admin, address) == ["commands", "format", "payloads", "spaces", "stored_events"]


def test_an_existing_empty_schema_is_used(address: str, admin: psycopg.Connection) -> None:
    schema = parsed(address).schema
    admin.execute(f'CREATE SCHEMA "{schema}"'.encode())
    with closing(PostgresStore(address)) as store:
        store.log("home").append(records(0, 1), (), after=store.log("home").head())
    with closing(PostgresStore(address)) as store:
        assert store.spaces() == ("home",)


def test_concurrent_creation_makes_the_store_once(address: str) -> None:
    def make(number: int) -> None:
        with closing(PostgresStore(address)) as store:
            store.log(f"space {number % 3}")

    with ThreadPoolExecutor(8) as pool:
        list(pool.map(make, range(16)))
    with closing(PostgresStore(address)) as store:
        assert store.spaces() == ("space 0", "space 1", "space 2")


def test_two_schemas_of_one_database_are_two_stores(address: str, server: str) -> None:
    with (
        closing(PostgresStore(address)) as one,
        closing(PostgresStore(server, schema=f"{parsed(address).schema} too")) as two,
    ):
        one.log("home").append(records(0, 1), (), after=one.log("home").head())
        with one.log("home").write_lock(), two.log("home").write_lock():
            two.log("home").append(records(0, 2, author="b"), (), after=two.log("home").head())
        assert contents(one.log("home")) == bare(records(0, 1))
        assert contents(two.log("home")) == bare(records(0, 2, author="b"))
        two.recorder.datastore.rows(b"SELECT 1")
    with closing(psycopg.connect(server, autocommit=True)) as admin:
        admin.execute(f'DROP SCHEMA "{parsed(address).schema} too" CASCADE'.encode())


def test_the_library_reads_the_events_with_a_recorder_of_its_own(
    server: str, admin: psycopg.Connection
) -> None:
    # It writes the name of a type without quotes, so the schema has a plain one.
    place = dict(part.split("=") for part in urlsplit(server).query.split("&"))
    theirs = PostgresDatastore(
        "postgres",
        place["host"],
        "5432",
        "postgres",
        "",
        schema="plain",
        originator_id_type="text",
    )
    with theirs, closing(PostgresStore(server, schema="plain")) as store:
        store.log("home").append(records(0, 3), (), after=store.log("home").head())
        found = PostgresAggregateRecorder(theirs).select_events("1")
        assert store.recorder.select_events("1") == found
    admin.execute("DROP SCHEMA plain CASCADE")
    assert [(each.originator_version, each.topic, each.state[32:]) for each in found] == list(
        records(0, 3)
    )


# --- refusing -----------------------------------------------------------------------------------


def test_a_schema_of_another_program_is_left_unchanged(
    address: str, admin: psycopg.Connection
) -> None:
    schema = parsed(address).schema
    admin.execute(f'CREATE SCHEMA "{schema}"'.encode())
    admin.execute(f'CREATE TABLE "{schema}".customers (id int)'.encode())
    for _ in range(2):
        with pytest.raises(NotAStore) as caught:
            PostgresStore(address)
        assert "?schema=" in caught.value.recovery
        admin.execute(f'CREATE TABLE IF NOT EXISTS "{schema}".format (what text)'.encode())
    assert tables(admin, address) == ["customers", "format"]


def test_a_store_of_a_later_release_is_refused(address: str, edit: Edit) -> None:
    PostgresStore(address).close()
    edit("UPDATE format SET version = 3")
    with pytest.raises(StoreTooNew) as caught:
        PostgresStore(address)
    assert caught.value.facts["format"] == 3


def test_missing_tables_are_reported(store: PostgresStore, edit: Edit) -> None:
    log = store.log("home")
    log.append(records(0, 1), (), after=log.head())
    edit("DROP TABLE spaces")
    with pytest.raises(NotAStore):
        log.append(records(1, 1), (), after=log.head())


def test_a_missing_database_is_named(address: str) -> None:
    with pytest.raises(StoreFailed) as caught:
        PostgresStore(address.replace("/postgres?", "/nowhere?"))
    assert "createdb" in caught.value.recovery
    assert "nowhere" in caught.value.message


def test_an_unreachable_server_is_named() -> None:
    with pytest.raises(StoreFailed) as caught:
        PostgresStore("postgresql://ines:geheim@127.0.0.1:1/db")
    assert "whether the server runs" in caught.value.recovery
    assert "127.0.0.1" in caught.value.message
    assert "geheim" not in str(caught.value.to_dict())


def test_an_unknown_connection_option_is_refused_and_leaves_nothing() -> None:
    with pytest.raises(NotAStore) as caught:
        PostgresStore("postgresql://ann@db/agents?answer_tiemout=5")
    assert "answer_tiemout" in caught.value.message
    assert caught.value.recovery == "Correct the address."


def test_a_database_that_cannot_hold_every_text_is_refused(
    address: str, admin: psycopg.Connection
) -> None:
    admin.execute("CREATE DATABASE narrow ENCODING 'LATIN1' LOCALE 'C' TEMPLATE template0")
    try:
        with pytest.raises(StoreFailed) as caught:
            PostgresStore(address.replace("/postgres?", "/narrow?"))
        assert "UTF8" in caught.value.recovery
    finally:
        admin.execute("DROP DATABASE narrow")


@pytest.fixture
def guarded(admin: psycopg.Connection, address: str) -> Generator[str]:
    """Return the address of a store that needs a password and that its user may not change."""
    PostgresStore(address).close()
    row = admin.execute("SHOW hba_file").fetchone()
    assert row is not None
    rules = os.open(row[0], os.O_RDWR)
    with open(rules, "r+", encoding="utf-8") as file:  # noqa: PTH123
        before = file.read()
        file.seek(0)
        file.write(f"local all guarded scram-sha-256\n{before}")
    schema = parsed(address).schema
    admin.execute(
        f"CREATE ROLE guarded LOGIN CONNECTION LIMIT 2 PASSWORD '{SECRET}';"
        f'GRANT USAGE ON SCHEMA "{schema}" TO guarded;'
        f'GRANT SELECT ON ALL TABLES IN SCHEMA "{schema}" TO guarded;'
        "SELECT pg_reload_conf()".encode()
    )
    yield address.replace("//postgres:@", "//guarded:pass%2Fword%20%25%26@")
    admin.execute("DROP OWNED BY guarded; DROP ROLE guarded")
    with open(row[0], "w", encoding="utf-8") as file:  # noqa: PTH123
        file.write(before)
    admin.execute("SELECT pg_reload_conf()")


def raised(address: str) -> MnemicError:
    with pytest.raises(MnemicError) as caught, closing(PostgresStore(address)) as store:
        store.log("home")
    answer = f"{caught.value.to_dict()} {caught.value} {caught.value.__cause__}"
    for hidden in (SECRET, "pass%2Fword", "wrong"):
        assert hidden not in answer
    return caught.value


def test_the_error_for_a_wrong_password_does_not_contain_it(guarded: str) -> None:
    error = raised(guarded.replace("pass%2Fword", "wrong"))
    assert (error.code, "PGPASSWORD" in error.recovery) == ("store-failed", True)


def test_a_user_without_rights_may_read_and_not_write(guarded: str, address: str) -> None:
    assert "Let the user use the schema" in raised(guarded).recovery
    with closing(PostgresStore(address)) as store:
        store.log("home").append(records(0, 2), [payload(0)], after=store.log("home").head())
    with closing(PostgresStore(guarded, read_only=True)) as store:
        assert len(contents(store.log("home"))) == 2
    with closing(PostgresStore(guarded)) as store:
        assert store.spaces() == ("home",)
        with pytest.raises(StoreFailed):
            store.log("home").append(records(2, 1), (), after=store.log("home").head())


def test_too_many_connections_are_reported(guarded: str) -> None:
    with (
        closing(PostgresStore(guarded, read_only=True)) as one,
        closing(PostgresStore(guarded, read_only=True)) as two,
    ):
        assert one.spaces() == two.spaces() == ()
        with pytest.raises(StoreBusy) as caught:
            PostgresStore(guarded, read_only=True)
    assert "max_connections" in caught.value.recovery


# --- reading only, and the end ------------------------------------------------------------------


def test_a_reader_does_not_create_a_missing_store(address: str, admin: psycopg.Connection) -> None:
    with pytest.raises(StoreFailed) as caught:
        PostgresStore(address, read_only=True)
    assert "mnemic learn" in caught.value.recovery
    assert tables(admin, address) == []


def test_a_reader_writes_nothing(address: str, store: PostgresStore) -> None:
    store.log("home").append(records(0, 2), [payload(0)], after=store.log("home").head())
    with closing(PostgresStore(address, read_only=True)) as reading:
        log = reading.log("home")
        assert len(contents(log)) == 2
        with pytest.raises(ViewReadOnly):
            log.append(records(2, 1), (), after=log.head())
        with pytest.raises(ViewReadOnly), log.write_lock():
            pass
        with pytest.raises(SpaceNotFound):
            reading.log("other")
        with pytest.raises(psycopg.errors.ReadOnlySqlTransaction):
            reading.recorder.add_space("other")  # and if it tried, the server would refuse


def test_a_closed_store_is_closed(store: PostgresStore) -> None:
    log = store.log("home")
    store.close()
    for ask in (store.spaces, log.head, lambda: list(log.read()), lambda: log.command("a")):
        with pytest.raises(Closed):
            ask()
    with pytest.raises(Closed):
        log.append(records(0, 1), (), after=log.head())
    with pytest.raises(Closed), log.write_lock():
        pass


def test_a_commit_waits_for_the_disk_unless_configured_otherwise(address: str) -> None:
    asked = b"SELECT current_setting('synchronous_commit')"
    said = {}
    for synchronous in ("full", "normal"):
        for options in (
            "",
            "&options=-csynchronous_commit%3Doff",
            "&options=-csynchronous_commit%3Dlocal",
        ):
            with closing(PostgresStore(address + options, synchronous=synchronous)) as store:
                said[synchronous, options[-3:]] = store.recorder.datastore.rows(asked)[0][0]
    assert said == {
        ("full", ""): "on",
        ("full", "off"): "on",
        ("full", "cal"): "local",
        ("normal", ""): "off",
        ("normal", "off"): "off",
        ("normal", "cal"): "off",
    }


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a child is forked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads
def test_a_store_used_after_a_fork_is_refused_in_the_child_only(
    store: PostgresStore,
) -> None:
    log = store.log("home")
    log.append(records(0, 1), (), after=log.head())
    child = os.fork()
    if not child:
        try:
            log.head()
        except StoreFailed as error:
            os._exit(7 if "after the fork" in error.recovery else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 7
    log.append(records(1, 1), (), after=log.head())
    assert contents(log) == bare(records(0, 2))


# --- tables of vectors of an earlier release ----------------------------------------------------

VECTOR_TABLES = (
    """CREATE TABLE vector_heads (space integer PRIMARY KEY, version bigint NOT NULL,
        digest bytea NOT NULL, embedder text NOT NULL, counts jsonb NOT NULL)""",
    """CREATE TABLE vectors (space integer NOT NULL, version bigint NOT NULL,
        slot integer NOT NULL, embedding bytea NOT NULL, PRIMARY KEY (space, version, slot),
        FOREIGN KEY (space, version, slot) REFERENCES payloads ON DELETE CASCADE)""",
    """CREATE FUNCTION begin_vectors_again() RETURNS trigger LANGUAGE plpgsql AS
        $$ BEGIN DELETE FROM vector_heads WHERE space = NEW.id; RETURN NULL; END $$""",
    """CREATE TRIGGER begin_vectors_again AFTER UPDATE ON spaces
        FOR EACH ROW WHEN (NEW.version < OLD.version) EXECUTE FUNCTION begin_vectors_again()""",
    "INSERT INTO vectors SELECT space, version, slot, data FROM payloads",
)
OURS = ["commands", "format", "payloads", "spaces", "stored_events"]
THEIRS = sorted([*OURS, "vector_heads", "vectors"])


@pytest.fixture
def with_vectors(address: str, edit: Edit) -> str:
    """Return the address of a store whose vectors an earlier release kept on the server."""
    with closing(PostgresStore(address)) as store:
        store.log("default").append(records(0, 2), [payload(0), payload(1)], after=EMPTY)
    edit(*VECTOR_TABLES)
    return address


def test_tables_of_vectors_are_dropped_by_the_first_opening_for_writing(
    with_vectors: str, admin: psycopg.Connection
) -> None:
    with closing(PostgresStore(with_vectors, read_only=True)) as store:
        assert store.log("default", create=False).head().version == 1
    assert tables(admin, with_vectors) == THEIRS
    with closing(PostgresStore(with_vectors)) as store:
        assert tables(admin, with_vectors) == OURS
        log = store.log("default")
        log.append(records(2, 1), [payload(2)], after=log.head(), erase_all=True)
        assert contents(store.log("default")) == bare(records(0, 3))


def test_an_erasure_deletes_vectors_that_another_user_of_the_server_holds_open(
    with_vectors: str, admin: psycopg.Connection
) -> None:
    count = f'SELECT count(*) FROM "{parsed(with_vectors).schema}".vectors'.encode()  # noqa: S608
    with closing(psycopg.connect(parsed(with_vectors).conninfo)) as reader:
        reader.execute(count)  # and its transaction stays open
        with closing(PostgresStore(with_vectors)) as store:
            log = store.log("default")
            log.append(records(2, 1), [payload(2)], after=log.head(), erase_all=True)
        assert tables(admin, with_vectors) == THEIRS
    assert admin.execute(count).fetchone() == (0,)
    PostgresStore(with_vectors).close()
    assert tables(admin, with_vectors) == OURS


def test_the_option_of_an_earlier_release_is_refused(address: str) -> None:
    with pytest.raises(NotAStore, match="vectors"):
        PostgresStore(f"{address}&vectors=server")


@pytest.mark.skipif(not hasattr(os, "fork"), reason="children are forked")
@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of a fork beside threads
def test_a_memory_is_out_of_use_in_a_child_at_once_while_the_parent_writes(
    store: PostgresStore,
) -> None:
    with SyncMemory.open(store, embedder=HashEmbedder(8)) as memory:
        log = store.log("default")
        ended = log.hear(lambda: None)  # a thread listens from now on
        with writing(memory):
            assert [in_child(memory.close) for _ in range(5)] == ["None"] * 5
            assert [in_child(store.close) for _ in range(5)] == ["None"] * 5
            assert is_refused(in_child(lambda: memory.learn("a fact")))
        ended()
        assert memory.verify().sound
