"""The command-line application: its commands, the options they share, and exit handling."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from itertools import islice, takewhile
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError, UnusedCliTokensError

from mnemic.adapters.cli import completions, derived, listed, overview
from mnemic.adapters.cli.invocation.context import (
    STANDARD_INPUT,
    Invocation,
    invocation,
    wants_traceback,
)
from mnemic.adapters.cli.invocation.failures import (
    INTERRUPTION,
    Exit,
    failure,
    misuse,
)
from mnemic.adapters.cli.invocation.options import SPACE, VALUED, RetrieverName
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.stores.addresses import address_of
from mnemic.adapters.tokens import CounterName

ABOUT = """
Event-sourced memory for AI agents, replayable to any active hour.

First steps:

    mnemic learn "Ines moved the demo to Thursday." --tag demo
    mnemic ingest notes.md chat.txt
    mnemic recall "When is the demo?" --explain
    mnemic outcome --decision d4 --signal 0.9
    mnemic as-of --version 3 recall "When is the demo?"
    mnemic replay d4
    mnemic verify

Time is counted in active hours: it passes inside sessions only, so one of these commands by itself
costs none; `mnemic session` begins one. Ids may be shortened to 8 characters.
"""
PRECEDENCE = """
Options of every command, anywhere on the line. An option counts before its environment variable,
and that before the default; there is no configuration file. `mnemic doctor` shows where each value
comes from.
"""
EXITS = """
Exit codes:

    0   done
    1   refused: nothing was written, or not everything
    2   the command line is wrong
    3   conflict with another writer
    4   damage, or a file that is no store
    5   unavailable: a file, a disk, a lock, a model
    70  a bug in mnemic; 130 interrupted; 141 the output was closed early

Errors go to standard error and say what to do next.
"""

FLAGS = frozenset({"--json"})
"""Options of every command without a value; see ``launch``."""

app = App(
    name="mnemic",
    help=ABOUT,
    help_format="markdown",
    version_flags=[],
    print_error=False,
    exit_on_error=False,
    result_action="return_value",
    default_parameter=Parameter(negative_iterable=(), show_default=False),
)
groups: dict[str, Group] = {}
"""The panels of the overview, by title."""
for title, commands in listed.PANELS.items():
    groups[title] = group = Group.create_ordered(title)
    for place, (name, path) in enumerate(commands.items()):
        app.command(path, name=name, group=group, sort_key=place)
for name, path in listed.ALIASES.items():
    app.command(path, name=name, show=False)

AS_OF = "as-of"
OTHER = Group.create_ordered("Other")
app["--help"].group = OTHER
app.meta.suppress_keyboard_interrupt = False
app.meta.group_parameters = Group.create_ordered(
    "Options of every command", help_formatter=overview.fold
)
HELP_FLAGS = ("--help", "-h")


@app.command(name="--version", group=OTHER)
def version() -> int:
    """Print the release of mnemic."""
    from importlib.metadata import version as release

    print(release("mnemic"))  # noqa: T201 - this is what was asked for
    return Exit.OK


@app.command(name="help", group=OTHER)
def help_(*topic: str) -> int:
    """Show the commands of every day, all of them, the options they share, or one command.

    Args:
        topic: all, options, or a command; the commands of every day if not given.
    """
    match topic:
        case ():
            print(overview.overview())  # noqa: T201 - this is what was asked for
        case ("all",):
            import_commands()
            with derived.outlined(app, groups):
                app.help_print([])
        case ("options",):
            shared = App(
                name=app.name,
                usage="",
                help=PRECEDENCE,
                help_epilogue=EXITS,
                help_format="markdown",
                help_flags=(),
                version_flags=(),
                default_parameter=app.default_parameter,
                group_parameters=Group("Options of every command"),
            )
            shared.default(launch)
            shared.help_print([])
        case _:
            return main([*topic, "--help"])
    return Exit.OK


@app.command(name="completion", group=OTHER)
def completion(shell: completions.Shell, /) -> int:
    """Print a script that lets a shell complete commands, options and their values.

    ```
    source <(mnemic completion bash)
    mnemic completion zsh > "${fpath[1]}/_mnemic"
    mnemic completion fish > ~/.config/fish/completions/mnemic.fish
    ```

    The first of these goes into ~/.bashrc; the others are run once for each release.

    Args:
        shell: bash, zsh or fish.
    """
    from mnemic.adapters.cli.commands.time_travel import as_of

    print(completions.script(whole(), shell, nested={"as-of": as_of}))  # noqa: T201
    return Exit.OK


@app.meta.default
def launch(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    db: Annotated[str, Parameter(env_var="MNEMIC_DB", show_default=True)] = "memory.db",
    keys: Annotated[Path | None, Parameter(env_var="MNEMIC_KEYS")] = None,
    space: Annotated[str, Parameter(env_var="MNEMIC_SPACE", show_default=True)] = SPACE,
    actor: Annotated[str | None, Parameter(env_var="MNEMIC_ACTOR")] = None,
    session: Annotated[str | None, Parameter(env_var="MNEMIC_SESSION")] = None,
    embedder: Annotated[EmbedderName | None, Parameter(env_var="MNEMIC_EMBEDDER")] = None,
    counter: Annotated[
        CounterName, Parameter(name="--tokens", env_var="MNEMIC_TOKENS")
    ] = "estimate",
    retriever: Annotated[RetrieverName, Parameter(env_var="MNEMIC_RETRIEVER")] = "exact",
    chat_url: Annotated[str | None, Parameter(env_var="MNEMIC_CHAT_URL")] = None,
    chat_model: Annotated[str | None, Parameter(env_var="MNEMIC_CHAT_MODEL")] = None,
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
    given: Annotated[frozenset[str], Parameter(parse=False)] = frozenset(),
) -> int:
    """Run one command.

    Args:
        tokens: The command.
        db: The store: one SQLite file, or postgresql://user@host/database (an extra). A password
            belongs in PGPASSWORD or a password file, since others can see the words of a command.
        keys: The file of keys that encrypt all texts of the store; see `mnemic keys`. It is created
            with the first key. Without it, texts are not encrypted.
        space: The space of the store to use.
        actor: The name of the actor in the log; cli if not given.
        session: The open session to continue, so that active hours pass; see `mnemic session`.
        embedder: The model of a space that has no vectors yet, adopted with the first blocks that
            are promoted, and kept: bundled if not given, or minilm (an extra), which is slower and
            recognizes paraphrases better.
        counter: How budgets are counted: estimate (four characters to a token), or exactly, in
            o200k_base or another encoding (an extra). A replay needs the counter of its decision.
        retriever: How near vectors are found: exact, by comparing all; or ann, by graphs that a
            host has left next to the store. For a single question ann is slower.
        chat_url: The endpoint of the extractor chat, which finds facts in messages, such as
            http://localhost:11434/v1 (an extra). Its key is in MNEMIC_CHAT_KEY or OPENAI_API_KEY.
        chat_model: The model of that endpoint.
        as_json: Print one JSON document (log, history: one per line), errors too.
        given: The options of these that are on the command line.
    """
    run = invocation(
        address_of(db),
        keys=keys,
        space=space,
        actor=actor,
        session=session or None,
        embedder=embedder,
        counter=counter,
        retriever=retriever,
        chat_url=chat_url,
        chat_model=chat_model,
        given=given,
        as_json=as_json,
    )
    called, bound, injected = app.parse_args(tokens)
    try:
        exit_code: int | None = called(*bound.args, **bound.kwargs, **dict.fromkeys(injected, run))
    except Exception as error:
        if isinstance(error, CycloptsError | BrokenPipeError) or wants_traceback():
            raise
        return run.fail(failure(error))
    return exit_code or Exit.OK


def whole() -> App:
    """Return the application with a command for each operation; the first time takes long."""
    import_commands()
    derived.add_commands(app, groups)
    return app


def import_commands() -> None:
    """Import every command, so that the overview shows what each does.

    cyclopts would import one when it parses it, but as a command of ``app.meta``, whose panel its
    options would be shown in.
    """
    add_as_of()
    for name in app:
        app[name]  # pyright: ignore[reportUnusedExpression] - imports it


def add_as_of() -> None:
    """Add the command ``as-of``, which is a meta application and cannot be named by a path."""
    if AS_OF not in app:
        from mnemic.adapters.cli.commands.time_travel import as_of

        as_of.meta.group = groups["Look back"]
        app.command(as_of.meta, name=AS_OF)


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    Args:
        tokens: The arguments after the program's name; None: those of this process.
    """
    given = _reordered(sys.argv[1:] if tokens is None else tokens)
    command = _command(given)
    if command is None or command in HELP_FLAGS:
        command, given = "help", ["help"]
    if command == AS_OF:
        add_as_of()
    elif command in app:
        app[command]  # pyright: ignore[reportUnusedExpression] - see import_commands
    elif not command.startswith("-") and command not in whole():
        # An error: with --help, cyclopts would print the help of all commands.
        given = [word for word in given if word not in HELP_FLAGS]
    try:
        run, bound, injected = app.meta.parse_args(given)
        exit_code: int | None = run(
            *bound.args, **bound.kwargs, **dict.fromkeys(injected, _options(given))
        )
        sys.stdout.flush()
    except CycloptsError as error:
        return _usage_error(error, _reporter(given))
    except KeyboardInterrupt:
        return _reporter(given).fail(INTERRUPTION)
    except BrokenPipeError:
        return _reader_gone()
    return exit_code or Exit.OK


def _reordered(tokens: Sequence[str]) -> list[str]:
    """Return the command line reordered so that cyclopts parses it correctly.

    Options of every command may appear anywhere, and are moved to the front: after a two-level
    command cyclopts finds them only if that is complete, not in ``as-of --version 3 --json``. A
    lone hyphen is not an option but standard input, and is moved behind ``--``.
    """
    shared: list[str] = []
    rest: list[str] = []
    plain: list[str] = []
    words = iter(tokens)
    for word in words:
        if word == "--":
            plain += words
        elif word == STANDARD_INPUT:
            plain.append(word)
        elif word in VALUED:
            shared += [word, *islice(words, 1)]
        elif word in FLAGS or word.partition("=")[0] in VALUED:
            shared.append(word)
        else:
            rest.append(word)
    return [*shared, *rest, *(["--", *plain] if plain else [])]


def _command(given: Sequence[str]) -> str | None:
    """Return the first word of a reordered command line that is no option of every command."""
    words = iter(given)
    for word in words:
        if word in VALUED:
            next(words, None)
        elif word not in FLAGS and word.partition("=")[0] not in VALUED:
            return word
    return None


def _options(given: Sequence[str]) -> frozenset[str]:
    """Return the options of every command in a reordered command line."""
    words = (word.partition("=")[0] for word in takewhile(lambda word: word != "--", given))
    return (VALUED | FLAGS).intersection(words)


def _reporter(given: Sequence[str]) -> Invocation:
    """Return an invocation that only reports errors; the command line may not have been parsed."""
    return invocation(Path(), space="", as_json="--json" in given)


def _usage_error(error: CycloptsError, run: Invocation) -> int:
    error.verbose = False
    chain = [word for word in error.command_chain or () if word != app.name[0]]
    detail, hint = str(error), ""
    if isinstance(error, UnknownOptionError):
        hint = " Put text that begins with a hyphen after --."
    elif isinstance(error, UnusedCliTokensError) and error.unused_tokens:
        detail = f"More words than it takes, from {error.unused_tokens[0]!r} on."
        hint = " Put a text of several words in quotes."
    return run.fail(misuse(detail, command=" ".join(chain), hint=hint))


def _reader_gone() -> int:
    """Exit quietly: Python would flush into the closed pipe once more at interpreter exit."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return Exit.NO_READER
