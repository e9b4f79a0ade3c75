"""The application: its commands, the options they share, and the way out."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Sequence
from importlib.metadata import version as release
from itertools import islice
from pathlib import Path
from typing import Annotated

from cyclopts import App, CycloptsError, Group, Parameter, UnknownOptionError

from mnemic.adapters.cli import (
    access,
    comparing,
    completions,
    connecting,
    doctor,
    exchanging,
    experiments,
    explaining,
    keyring,
    ledger,
    mcp_serving,
    moving,
    past,
    reading,
    referencing,
    relating,
    serving,
    sessions,
    upkeep,
    writing,
)
from mnemic.adapters.cli.composed_graph import composed_graph
from mnemic.adapters.cli.failures import INTERRUPTION, Exit, failure, misuse
from mnemic.adapters.cli.ingest import ingest
from mnemic.adapters.cli.invocation import (
    SPACE,
    STANDARD_INPUT,
    Invocation,
    RetrieverName,
    VectorsName,
    invocation,
    wants_traceback,
)
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.stores.addresses import address_of
from mnemic.adapters.tokens import CounterName

ABOUT = """
Event-sourced memory for AI agents, replayable to any active hour.

A first walk:

    mnemic learn "Ines moved the demo to Thursday." --tag demo
    mnemic ingest notes.md chat.txt
    mnemic recall "When is the demo?" --explain
    mnemic outcome --decision d4 --signal 0.9
    mnemic as-of --version 3 recall "When is the demo?"
    mnemic replay d4
    mnemic verify

Time is counted in active hours: it passes inside sessions only, so one of these commands by itself
costs none; `mnemic session` begins one. Ids may be shortened to 8 characters. Every command takes
--json.
"""
EXITS = """
Exit codes:

    0   done
    1   refused: nothing was written, or not everything
    2   the command line is wrong
    3   conflict with another writer
    4   damage, or a file that is no store
    5   unavailable: a file, a disk, a lock, a model
    70  a bug of mnemic; 130 interrupted; 141 nobody reads the output

Errors stand on standard error and say what to do next.
"""

VALUED = frozenset(
    {
        "--db",
        "--keys",
        "--space",
        "--actor",
        "--session",
        "--embedder",
        "--tokens",
        "--retriever",
        "--vectors",
    }
)
FLAGS = frozenset({"--json"})
"""Options of every command, with and without a value; see ``launch``."""

app = App(
    name="mnemic",
    help=ABOUT,
    help_epilogue=EXITS,
    help_format="markdown",
    version_flags=[],
    print_error=False,
    exit_on_error=False,
    result_action="return_value",
    default_parameter=Parameter(negative_iterable=(), show_default=False),
)
for title, commands in {
    "Remember": (
        ingest,
        writing.learn,
        writing.learn_many,
        writing.revise,
        writing.rezone,
        writing.forget,
        writing.erase,
        writing.erase_space,
    ),
    "Ask": (reading.recall, referencing.reference, writing.outcome),
    "Connect": (
        connecting.connect,
        connecting.connects,
        connecting.connect_by_query,
        connecting.disconnect,
        relating.pending_connections,
    ),
    "Compose": (
        ledger.compose,
        ledger.label,
        ledger.retract_label,
        ledger.ledger,
        ledger.composition,
        ledger.composed_with,
        ledger.frontier,
        composed_graph,
    ),
    "Look": (
        reading.status,
        reading.blocks,
        reading.block,
        reading.edges,
        reading.log,
        reading.history,
        reading.guide,
    ),
    "Compare": (relating.compare, relating.analogies, relating.near_duplicates),
    "Look back": (
        explaining.explain,
        explaining.why_not,
        past.replay,
        comparing.timeline,
        comparing.diff,
    ),
    "Suppose": (experiments.what_if, experiments.backtest, experiments.policy),
    "Carry away": (exchanging.receipt, exchanging.export, exchanging.import_, exchanging.fork),
    "Keep safe": (moving.backup, moving.restore, moving.salvage, moving.migrate),
    "Keep in order": (
        upkeep.consolidate,
        upkeep.curate,
        upkeep.verify,
        upkeep.checkpoints,
        keyring.keys,
        doctor.doctor,
    ),
    "Move on, or back": (comparing.revert, upkeep.reembed),
}.items():
    group = Group.create_ordered(title)
    for place, each in enumerate(commands):
        app.command(each, group=group, sort_key=place)
    if past.replay in commands:
        past.as_of.meta.group = group
        app.command(past.as_of.meta, name="as-of")

ALIASES: dict[str, Callable[..., int]] = {
    "adopt-policy": experiments.adopt_policy,
    "checkpoint": upkeep.checkpoint,
    "deep-reference": referencing.reference,
    "dream": upkeep.consolidate,
    "drop-checkpoints": upkeep.drop_checkpoints,
    "end-session": sessions.end,
    "import-space": exchanging.import_,
    "replay-all": past.replay_all,
    "start-session": sessions.start,
    "verify-receipt": exchanging.verify_receipt,
}
"""Verbs of the library that stand above under another name: whoever knows them may write them."""
for name, same in ALIASES.items():
    app.command(same, name=name, show=False)

sessions.session.group = Group.create_ordered("Let time pass")
app.command(sessions.session)
SERVE = Group.create_ordered("Serve")
access.token.group = SERVE
app.command(access.token)
app.command(serving.serve, group=SERVE)
app.command(mcp_serving.mcp, group=SERVE)

OTHER = Group.create_ordered("Other")
app["--help"].group = OTHER
app.meta.suppress_keyboard_interrupt = False
app.meta.group_parameters = Group.create_ordered("Options of every command")


@app.command(name="--version", group=OTHER)
def version() -> int:
    """Say which release this is."""
    print(release("mnemic"))  # noqa: T201 - this is what was asked for
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
    print(completions.script(app, shell, nested={"as-of": past.as_of}))  # noqa: T201
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
    vectors: Annotated[VectorsName, Parameter(env_var="MNEMIC_VECTORS")] = "process",
    as_json: Annotated[bool, Parameter(name="--json", negative=())] = False,
) -> int:
    """Run one command.

    Args:
        tokens: The command.
        db: The store: one SQLite file, or postgresql://user@host/database (an extra). A password
            belongs in PGPASSWORD or a password file, since others can see the words of a command.
        keys: The file of keys that lock all words of the store; see `mnemic keys`. It is made with
            the first of them. Without, words stand open.
        space: Which of the store's memories.
        actor: Who acts, as the log should name it; cli if not given.
        session: Which open session to go on with, so that active hours pass; see `mnemic session`.
        embedder: The model of a new space, which it keeps: bundled if not given, or minilm (an
            extra), which is slower and hears paraphrases better.
        counter: How budgets are counted: estimate (four characters to a token), or exactly, in
            o200k_base or another encoding (an extra). A replay needs the counter of its decision.
        retriever: How near vectors are found: exact, by looking at all; or ann, by the graphs that
            a host has left beside the store. For a single question that is the slower way.
        vectors: Where the vectors of open spaces are held: in this process; or on the server of a
            PostgreSQL store alone, which is slower and takes less memory. Answers are the same.
        as_json: Print one JSON document (log, history: one per line), errors too.
    """
    run = invocation(
        address_of(db),
        keys=keys,
        space=space,
        actor=actor,
        session=session,
        embedder=embedder,
        counter=counter,
        retriever=retriever,
        vectors=vectors,
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


def main(tokens: Sequence[str] | None = None) -> int:
    """Run the command line, and return its exit code.

    Args:
        tokens: What stands behind the program's name; None: what this process was given.
    """
    given = _arranged(sys.argv[1:] if tokens is None else tokens)
    try:
        exit_code: int | None = app.meta(given)
        sys.stdout.flush()
    except CycloptsError as error:
        return _misused(error, _plainly(given))
    except KeyboardInterrupt:
        return _plainly(given).fail(INTERRUPTION)
    except BrokenPipeError:
        return _reader_gone()
    return exit_code or Exit.OK


def _arranged(tokens: Sequence[str]) -> list[str]:
    """Return the command line as cyclopts reads it right.

    Options of every command may stand anywhere, and come to the front: behind a command of two
    levels they are found only if that is complete, not in ``as-of --version 3 --json``. A lone
    hyphen is no option but standard input, and goes behind ``--``.
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


def _plainly(given: Sequence[str]) -> Invocation:
    """Return an invocation that only reports; the command line may not have been read at all."""
    return invocation(Path(), space="", as_json="--json" in given)


def _misused(error: CycloptsError, run: Invocation) -> int:
    error.verbose = False
    chain = [word for word in error.command_chain or () if word != app.name[0]]
    hint = " Text that begins with a hyphen goes behind --." * isinstance(error, UnknownOptionError)
    return run.fail(misuse(str(error), command=" ".join(chain), hint=hint))


def _reader_gone() -> int:
    """Leave quietly: Python would flush into the closed pipe once more on its way out."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
    os.close(nowhere)
    return Exit.NO_READER
