"""Commands that read the past: as-of and replay."""

from __future__ import annotations

from typing import Annotated, Literal

from attrs import evolve
from cyclopts import App, CycloptsError, Parameter
from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli import derived
from mnemic.adapters.cli.commands import (
    history as history_commands,
)
from mnemic.adapters.cli.commands import (
    ledger,
    origins,
    queries,
    similarity,
)
from mnemic.adapters.cli.invocation.conditions import conditions
from mnemic.adapters.cli.invocation.conditions import scope as named
from mnemic.adapters.cli.invocation.context import (
    Flag,
    Point,
    Run,
    RunnerOption,
    VersionOption,
)
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.kernel.errors import FieldRefused

REPLAY_EXITS = {
    "reproduced": Exit.OK,
    "sealed": Exit.OK,
    "differs": Exit.CORRUPT,
    "lost": Exit.CORRUPT,
}

as_of = App(name="as-of", version_flags=[], print_error=False, exit_on_error=False)
for query in (
    queries.status,
    queries.blocks,
    queries.block,
    queries.edges,
    queries.log,
    queries.history,
    history_commands.timeline,
    history_commands.diff,
    ledger.ledger,
    ledger.composition,
    ledger.composed_with,
    ledger.frontier,
    origins.descent,
    similarity.analogies,
    similarity.compare,
    similarity.near_duplicates,
    similarity.pending_connections,
):
    as_of.command(query)


@as_of.meta.default
def to_point(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    hour: float | None = None,
    version: VersionOption = None,
    at: str | None = None,
    decision: str | None = None,
    now: str | None = None,
    run: Run,
) -> int:
    """Query the memory as it was: name one point, then a query. Nothing is written.

    ```
    mnemic as-of --hour 12.5 recall "When is the demo?"
    mnemic as-of --decision d45 status
    ```

    Queries are recall, reference and every command that lists or compares; the default is status.

    Args:
        tokens: The query, as a command of its own.
        hour: Active hours: everything up to and including it, decay evaluated at it.
        version: A version of the log.
        at: A wall-clock instant, ISO 8601: the last version recorded by then.
        decision: What a recorded recall read, like d45.
        now: Count ages from this instant, ISO 8601, instead of the point's own.
        run: The invocation.
    """
    if tokens and tokens[0] not in as_of and not tokens[0].startswith("-"):
        derived.add_commands(as_of, {}, past=True)
    point = Point(hour=hour, version=version, at=at, decision=decision, now=now)
    try:
        command, bound, injected = as_of.parse_args(tokens or ("status",))
    except CycloptsError as error:  # it only knows the arguments after as-of
        error.command_chain = (as_of.name[0], *(error.command_chain or ()))
        raise
    looking = dict.fromkeys(injected, evolve(run, point=point))
    exit_code: int | None = command(*bound.args, **bound.kwargs, **looking)
    return exit_code or Exit.OK


@as_of.command
def recall(
    query: str | None = None,
    /,
    *,
    frame: str | None = None,
    top_k: int | None = None,
    budget: int | None = None,
    where: tuple[str, ...] = (),
    scope: tuple[str, ...] = (),
    asked_by: str | None = None,
    min_probability: float | None = None,
    suggest: Flag = False,
    detail: Literal["core", "full"] = "full",
    explain: Flag = False,
    text: Flag = False,
    run: Run,
) -> int:
    """Show what a recall would have returned at that point.

    Args:
        query: The question.
        frame: Which signals count: answer, attention, self, task, short_term or world; the
            policy's default frame if not given.
        top_k: Maximum number of blocks.
        budget: Maximum number of tokens of the prompt-ready text.
        where: key=value, or a filter as JSON, as in `mnemic recall`; repeat for more.
        scope: Only blocks of user=NAME, agent=NAME or run=NAME; repeat for more.
        asked_by: The asker, a name or role: "I" in the question refers to the asker; the user of
            the scope if not given.
        min_probability: Leave out blocks that bear on the question with a smaller probability; 0 to
            1, the frame's floor if not given.
        suggest: Name up to three pairs that were worth connecting.
        detail: How much --json prints: core leaves out what only explains the answer.
        explain: Show what each signal adds to each score, and what was left out.
        text: Print the prompt-ready text alone.
        run: The invocation.
    """
    queries.check_text(run, text=text, explain=explain)
    with run.looking_back(quietly=text) as view:
        result = view.recall(
            query,
            frame=frame,
            top_k=top_k,
            token_budget=budget,
            where=conditions(where),
            scope=named(scope),
            asked_by=asked_by,
            min_probability=min_probability,
            suggest=suggest,
        )
    queries.show_recall(run, result, explain=explain, detail=detail, text=text)
    return Exit.OK


@as_of.command
def reference(query: str, /, *, depth: int = 20, run: Run) -> int:
    """Weigh what memory held about a question or a claim at that point.

    Args:
        query: The question or claim.
        depth: Maximum number of memories found by the question itself, 5 to 50.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import references

    with run.looking_back() as view:
        result = view.deep_reference(query, depth=depth)
    run.show(result, *references.referenced(result))
    return Exit.OK


as_of.command(reference, name="deep-reference", show=False)


def replay(
    decision: str | None = None,
    /,
    *,
    all_: Annotated[bool, Parameter(name="--all", negative=())] = False,
    after: VersionOption = None,
    upto: VersionOption = None,
    without: tuple[str, ...] = (),
    runner: RunnerOption = "auto",
    explain: Flag = False,
    run: Run,
) -> int:
    """Compute a recorded recall again from the state it read, and compare; or every one.

    Exit code 4 if a result differs from the record.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        all_: Every recorded recall.
        after: With --all: only those after this version.
        upto: With --all: only those up to this version.
        without: With --all: as though the blocks of source=NAME, actor=NAME or block=ID had not
            been in memory; shows which recalls would have come out otherwise.
        runner: With --all: where recalls are computed, see `mnemic backtest`.
        explain: Show what each signal adds to each score, and what was left out.
        run: The invocation.
    """
    if all_ == (decision is not None):
        raise FieldRefused(
            "name one decision, or --all of them",
            recovery="Give an id like d45, which `mnemic log` lists, or --all; not both.",
            field="decision",
        )
    if decision is not None and ((after, upto) != (None, None) or without):
        raise FieldRefused(
            "--after, --upto and --without do not apply to a single decision",
            recovery="Leave them out, or give --all instead of a decision; `mnemic what-if` takes "
            "--without.",
            field="decision",
        )
    if decision is None:
        return replay_all(after=after, upto=upto, without=without, runner=runner, run=run)
    from mnemic.adapters.cli.render import tables

    with run.memory(read_only=True) as memory:
        result = memory.replay(decision)
    drawn: list[RenderableType] = [Text(result.summary)]
    if result.differences:
        drawn.append(tables.differences(result.differences))
    if result.recall is not None:
        drawn.extend(tables.recalled(result.recall, explained=explain))
    run.show(result, *drawn)
    return REPLAY_EXITS[result.outcome]


def replay_all(
    *,
    after: VersionOption = None,
    upto: VersionOption = None,
    without: tuple[str, ...] = (),
    runner: RunnerOption = "auto",
    run: Run,
) -> int:
    """Compute every recorded recall again and compare, as `replay --all` does.

    Args:
        after: Only those after this version.
        upto: Only those up to this version.
        without: As though the blocks of source=NAME, actor=NAME or block=ID had not been in memory;
            shows which recalls would have come out otherwise.
        runner: Where recalls are computed, see `mnemic backtest`.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import tables

    with run.memory(read_only=True) as memory, run.progress("replaying") as progress:
        result = memory.replay_all(
            after=after,
            upto=upto,
            without=origins.chosen(memory, without) if without else None,
            progress=progress,
            runner=runner,
        )
    drawn: list[RenderableType] = [Text(result.summary)]
    for each in result.differences:
        drawn += [Text(each.summary), tables.differences(each.differences)]
    run.show(result, *drawn)
    return Exit.OK if result.is_exact or without else Exit.CORRUPT
