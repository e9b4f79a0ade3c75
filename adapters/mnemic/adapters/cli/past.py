"""Commands that look back: as-of and replay."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Annotated

from attrs import frozen
from cyclopts import App, CycloptsError, Parameter
from rich.console import RenderableType
from rich.text import Text

from mnemic.adapters.cli import reading
from mnemic.adapters.cli.conditions import conditions
from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Flag, Invocation, Run, VersionOption
from mnemic.adapters.cli.ledger import Size, show_frontier, show_ledger
from mnemic.kernel.errors import FieldRefused

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.snapshot import SyncView

REPLAY_EXITS = {"reproduced": Exit.OK, "sealed": Exit.OK, "differs": Exit.CORRUPT}


@frozen(kw_only=True)
class Point:
    """A point of the past, as it was named on the command line."""

    invocation: Invocation
    hour: float | None
    version: int | None
    at: str | None
    decision: str | None

    @contextmanager
    def view(self) -> Generator[SyncView]:
        """Open the memory as it was, for a ``with`` block, and say where that is.

        Raises:
            FieldRefused: Not exactly one point was named.
            PointOutOfRange, DecisionNotFound: There is no such point.
        """
        with self.invocation.memory(read_only=True) as memory:
            view = memory.as_of(
                hour=self.hour, version=self.version, at=self.at, decision=self.decision
            )
            if not self.invocation.as_json:
                self.invocation.out.print(
                    Text(f"As of version {view.version}, {view.hour:.3f} active hours", "bold")
                )
            yield view


Then = Annotated[Point, Parameter(parse=False)]
"""The parameter of a command that takes the point; not an option of its own."""

as_of = App(name="as-of", version_flags=[], print_error=False, exit_on_error=False)


@as_of.meta.default
def to_point(
    *tokens: Annotated[str, Parameter(show=False, allow_leading_hyphen=True)],
    hour: float | None = None,
    version: VersionOption = None,
    at: str | None = None,
    decision: str | None = None,
    run: Run,
) -> int:
    """See the memory as it was: name one point, then ask. Nothing is written.

    ```
    mnemic as-of --hour 12.5 recall "When is the demo?"
    mnemic as-of --decision d45 status
    ```

    Args:
        tokens: The question, as a command of its own.
        hour: Active hours: everything up to and including it, decay evaluated at it.
        version: A version of the log.
        at: A wall-clock instant, ISO 8601: the last version recorded by then.
        decision: What a recorded recall read, like d45.
        run: This invocation.
    """
    point = Point(invocation=run, hour=hour, version=version, at=at, decision=decision)
    try:
        command, bound, injected = as_of.parse_args(tokens)
    except CycloptsError as error:  # it knows the words behind as-of only
        error.command_chain = (as_of.name[0], *(error.command_chain or ()))
        raise
    exit_code: int | None = command(*bound.args, **bound.kwargs, **dict.fromkeys(injected, point))
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
    explain: Flag = False,
    then: Then,
) -> int:
    """Show what a recall would have returned there.

    Args:
        query: What is asked.
        frame: Which signals count: attention, self, task, short_term or world.
        top_k: Most blocks.
        budget: Most tokens of the prompt-ready text.
        where: key=value; repeat for more.
        explain: Show what each signal adds to each score, and what was left out.
        then: The point.
    """
    with then.view() as view:
        result = view.recall(
            query, frame=frame, top_k=top_k, token_budget=budget, where=conditions(where)
        )
    reading.show_recall(then.invocation, result, explain=explain)
    return Exit.OK


@as_of.command
def reference(query: str, /, *, depth: int = 20, then: Then) -> int:
    """Weigh what memory held about a question or a claim there.

    Args:
        query: What is asked, or claimed.
        depth: Most memories that the question itself may find, 5 to 50.
        then: The point.
    """
    from mnemic.adapters.cli import weights

    with then.view() as view:
        result = view.deep_reference(query, depth=depth)
    then.invocation.show(result, *weights.referenced(result))
    return Exit.OK


@as_of.default
@as_of.command
def status(*, then: Then) -> int:
    """Show the counts, the clock and what was in force; also without a command.

    Args:
        then: The point.
    """
    with then.view() as view:
        reading.show_status(then.invocation, view)
    return Exit.OK


@as_of.command
def block(block_id: str, /, *, then: Then) -> int:
    """Show one block with its edges.

    Args:
        block_id: The block; 8 characters of its id are enough.
        then: The point.
    """
    with then.view() as view:
        reading.show_block(then.invocation, view, block_id)
    return Exit.OK


@as_of.command
def log(*, after: int | None = None, limit: int = 50, of: str | None = None, then: Then) -> int:
    """List the events up to there.

    Args:
        after: Begin behind this version; -1 is the beginning.
        limit: Most events, 1 to 1000.
        of: Only those that changed this block or one of its edges.
        then: The point.
    """
    with then.view() as view:
        reading.show_log(then.invocation, view, after=after, limit=limit, of=of)
    return Exit.OK


@as_of.command
def ledger(
    composition: str | None = None,
    /,
    *,
    of: str | None = None,
    limit: int = 10,
    then: Then,
) -> int:
    """List what had been composed, or show one composition and what had been said of it.

    Args:
        composition: Show this one.
        of: List those that this block took part in, and what it was composed with.
        limit: Most compositions, 1 to 1000.
        then: The point.
    """
    with then.view() as view:
        show_ledger(then.invocation, view, composition, of=of, limit=limit)
    return Exit.OK


@as_of.command
def timeline(*, bins: int = 24, after: int | None = None, limit: int = 20, then: Then) -> int:
    """Draw when everything up to there had happened.

    Args:
        bins: Into how many equal stretches the active hours are cut, 1 to 1000.
        after: List the sessions that started behind this version.
        limit: Most sessions, 1 to 1000.
        then: The point.
    """
    from mnemic.adapters.cli import chronicles

    with then.view() as view:
        result = view.timeline(bins=bins, after=after, limit=limit)
    then.invocation.show(result, *chronicles.timeline(result))
    return Exit.OK


@as_of.command
def frontier(
    *,
    mode: str = "default",
    tag: tuple[str, ...] = (),
    limit: int = 10,
    size: Size = 2,
    explain: Flag = False,
    then: Then,
) -> int:
    """List blocks that had never been composed and looked worth it.

    Args:
        mode: default, or classic: the scores that clients of composed_graph know.
        tag: A member must have this tag, or one in its namespace; repeat for more.
        limit: Most candidates, 1 to 1000.
        size: How many blocks at a time: 2, 3, 4 or any.
        explain: Show what each score is made of.
        then: The point.
    """
    with then.view() as view:
        found = view.frontier(mode=mode, tags=tag, limit=limit, size=size)
    show_frontier(then.invocation, found, explain=explain)
    return Exit.OK


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
        return _replay_all(run, after=after, upto=upto)
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


def _replay_all(run: Invocation, *, after: int | None, upto: int | None) -> int:
    from mnemic.adapters.cli import drawings

    with run.memory(read_only=True) as memory, run.progress("replaying") as progress:
        result = memory.replay_all(after=after, upto=upto, progress=progress)
    drawn: list[RenderableType] = [Text(result.summary)]
    for each in result.differences:
        drawn += [Text(each.summary), drawings.differences(each.differences)]
    run.show(result, *drawn)
    return Exit.OK if result.is_exact else Exit.CORRUPT
