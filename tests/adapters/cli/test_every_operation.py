"""Every operation of the library is a command that accepts all its arguments."""

from __future__ import annotations

import inspect

import pytest
from cyclopts import App

from mnemic.adapters.cli.application import app, whole
from mnemic.adapters.cli.commands.time_travel import as_of
from mnemic.adapters.cli.derived import add_commands
from mnemic.adapters.inprocess import SyncMemory
from mnemic.adapters.inprocess.view import SyncView

NO_COMMANDS = {
    "open": "every command opens the store as it needs it",
    "close": "and closes it",
    "session_handle": "--actor and --session of every command",
    "session": "holds a session open for a block of Python: session start, and session end",
    "to_csv": "dump",
    "to_jsonl": "dump",
    "to_markdown": "dump",
}
NOT_WRITTEN = {
    "self": "the memory",
    "progress": "drawn as a bar",
    "ignored": "what a client of the tool sends besides; a command line refuses it",
    "clock": "the system's",
    "entropy": "the system's",
    "keys": "--keys of every command",
}
CALLED = {
    "add.messages": "path",
    "ask_again.decision_id": "decision_id",
    "adopt_policy.policy": "file",
    "backtest.horizon_hours": "horizon",
    "tune.horizon_hours": "horizon",
    "compose.composition_id": "name",
    "compose.output_preview": "preview",
    "connect_by_query.source_query": "source",
    "connect_by_query.target_query": "target",
    "connects.edges": "path",
    "export.path": "file",
    "export.words": "no_words",
    "fork.space": "name",
    "import_space.actor": "--actor",
    "import_space.into": "--db",
    "import_space.path": "file",
    "import_space.space": "--space",
    "label.composition_id": "composition",
    "label.label": "said",
    "learn_many.lessons": "path",
    "outcome.composition_id": "composition",
    "reembed.embedder": "model",
    "content": "text",
    "decision_id": "decision",
    "tags": "tag",
    "token_budget": "budget",
}
"""Arguments that have another name here, by operation and name or by name alone."""


whole()
add_commands(as_of, {}, past=True)


def operations(kind: type) -> dict[str, list[str]]:
    """Return what can be called on a memory or a view, and the names of its arguments."""
    return {
        name: list(inspect.signature(call).parameters)
        for name, call in inspect.getmembers(kind, callable)
        if not name.startswith("_")
    }


def written(where: App, operation: str) -> set[str]:
    """Return the names accepted by the command of an operation, shared options included."""
    command, shared = where[operation.replace("_", "-")].default_command, app.meta.default_command
    assert command is not None
    assert shared is not None
    options = {f"--{name}" for name in inspect.signature(shared).parameters}
    return {*inspect.signature(command).parameters, *options}


def called(operation: str, argument: str) -> str:
    """Return how an argument of an operation is called here."""
    return CALLED.get(f"{operation}.{argument}", CALLED.get(argument, argument))


OPERATIONS = {
    name: given for name, given in operations(SyncMemory).items() if name not in NO_COMMANDS
}
QUERIES = {name: given for name, given in operations(SyncView).items() if name not in NO_COMMANDS}


@pytest.mark.parametrize("operation", OPERATIONS)
def test_every_operation_is_a_command_that_takes_all_its_arguments(operation: str) -> None:
    wanted = {called(operation, name) for name in OPERATIONS[operation] if name not in NOT_WRITTEN}
    assert wanted - written(app, operation) == set()


@pytest.mark.parametrize("operation", QUERIES)
def test_every_query_can_be_asked_of_the_past_with_all_its_arguments(operation: str) -> None:
    wanted = {called(operation, name) for name in QUERIES[operation] if name not in NOT_WRITTEN}
    assert wanted - written(as_of, operation) == set()


def test_the_tables_name_only_existing_operations() -> None:
    names = {f"{operation}.{name}" for operation, given in OPERATIONS.items() for name in given}
    names |= {name for given in OPERATIONS.values() for name in given}
    assert {*CALLED, *NOT_WRITTEN} - names == set()
    assert {*NO_COMMANDS} - {*operations(SyncMemory)} == set()
