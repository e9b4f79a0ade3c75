"""Commands that look back: as-of and replay."""

from __future__ import annotations

from typing import Annotated

from attrs import evolve
from cyclopts import App, CycloptsError, Parameter
from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli import comparing, ledger, reading, relating
from mnemic.adapters.cli.conditions import conditions
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Point, Run, VersionOption
from mnemic.kernel.errors import FieldRefused

REPLAY_EXITS = {"reproduced": Exit.OK, "sealed": Exit.OK, "differs": Exit.CORRUPT}

as_of = App(name="as-of", version_flags=[], print_error=False, exit_on_error=False)
for query in (
    reading.status,
    reading.blocks,
    reading.block,
    reading.edges,
    reading.log,
    reading.history,
    comparing.timeline,
    comparing.diff,
    ledger.ledger,
    ledger.composition,
    ledger.composed_with,
    ledger.frontier,
    relating.analogies,
    relating.compare,
    relating.near_duplicates,
    relating.pending_connections,
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
    """See the memory as it was: name one point, then ask. Nothing is written.

    ```
    mnemic as-of --hour 12.5 recall "When is the demo?"
    mnemic as-of --decision d45 status
    ```

    Questions are recall, reference and every command that lists or compares; without one it is
    status.

    Args:
        tokens: The question, as a command of its own.
        hour: Active hours: everything up to and including it, decay evaluated at it.
        version: A version of the log.
        at: A wall-clock instant, ISO 8601: the last version recorded by then.
        decision: What a recorded recall read, like d45.
        now: Count ages from this instant, ISO 8601, instead of the point's own.
        run: This invocation.
    """
    point = Point(hour=hour, version=version, at=at, decision=decision, now=now)
    try:
        command, bound, injected = as_of.parse_args(tokens or ("status",))
    except CycloptsError as error:  # it knows the words behind as-of only
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
    frame: str = "attention",
    top_k: int | None = None,
    budget: int | None = None,
    where: tuple[str, ...] = (),
    suggest: Flag = False,
    explain: Flag = False,
    run: Run,
) -> int:
    """Show what a recall would have returned there.

    Args:
        query: What is asked.
        frame: Which signals count: attention, self, task, short_term or world.
        top_k: Most blocks.
        budget: Most tokens of the prompt-ready text.
        where: key=value; repeat for more.
        suggest: Name up to three pairs that were worth connecting.
        explain: Show what each signal adds to each score, and what was left out.
        run: This invocation.
    """
    with run.looking_back() as view:
        result = view.recall(
            query,
            frame=frame,
            top_k=top_k,
            token_budget=budget,
            where=conditions(where),
            suggest=suggest,
        )
    reading.show_recall(run, result, explain=explain)
    return Exit.OK


@as_of.command
def reference(query: str, /, *, depth: int = 20, run: Run) -> int:
    """Weigh what memory held about a question or a claim there.

    Args:
        query: What is asked, or claimed.
        depth: Most memories that the question itself may find, 5 to 50.
        run: This invocation.
    """
    from mnemic.adapters.cli import weights

    with run.looking_back() as view:
        result = view.deep_reference(query, depth=depth)
    run.show(result, *weights.referenced(result))
    return Exit.OK


as_of.command(reference, name="deep-reference", show=False)


def replay(
    decision: str | None = None,
    /,
    *,
    all_: Annotated[bool, Parameter(name="--all", negative=())] = False,
    after: VersionOption = None,
    upto: VersionOption = None,
    explain: Flag = False,
    run: Run,
) -> int:
    """Compute a recorded recall again from the state it read, and compare; or every one.

    Exit code 4 if something comes out otherwise than it was recorded.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        all_: Every recorded recall.
        after: With --all: only those behind this version.
        upto: With --all: only those up to this version.
        explain: Show what each signal adds to each score, and what was left out.
        run: This invocation.
    """
    if all_ == (decision is not None):
        raise FieldRefused(
            "name one decision, or --all of them",
            recovery="Give an id like d45, which `mnemic log` lists, or --all; not both.",
            field="decision",
        )
    if decision is not None and (after, upto) != (None, None):
        raise FieldRefused(
            "one decision has no stretch",
            recovery="Leave out --after and --upto, or give --all instead of a decision.",
            field="decision",
        )
    if decision is None:
        return replay_all(after=after, upto=upto, run=run)
    from mnemic.adapters.cli import drawings

    with run.memory(read_only=True) as memory:
        result = memory.replay(decision)
    drawn: list[RenderableType] = [Text(result.summary)]
    if result.differences:
        drawn.append(drawings.differences(result.differences))
    if result.recall is not None:
        drawn.extend(drawings.recalled(result.recall, explained=explain))
    run.show(result, *drawn)
    return REPLAY_EXITS[result.outcome]


def replay_all(*, after: VersionOption = None, upto: VersionOption = None, run: Run) -> int:
    """Compute every recorded recall again and compare, as `replay --all` does.

    Args:
        after: Only those behind this version.
        upto: Only those up to this version.
        run: This invocation.
    """
    from mnemic.adapters.cli import drawings

    with run.memory(read_only=True) as memory, run.progress("replaying") as progress:
        result = memory.replay_all(after=after, upto=upto, progress=progress)
    drawn: list[RenderableType] = [Text(result.summary)]
    for each in result.differences:
        drawn += [Text(each.summary), drawings.differences(each.differences)]
    run.show(result, *drawn)
    return Exit.OK if result.is_exact else Exit.CORRUPT
