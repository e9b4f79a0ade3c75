"""Commands that suppose: what-if, backtest, and policy, to see the numbers and adopt others."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from attrs import evolve
from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.cli.failures import Exit
from mnemic.adapters.cli.invocation import Invocation, Run, plain
from mnemic.kernel.errors import FieldRefused, PolicyRefused

if TYPE_CHECKING:
    from mnemic.kernel.policy import Policy


def what_if(
    decision: str,
    /,
    *,
    policy: Path | None = None,
    query: str | None = None,
    frame: str | None = None,
    top_k: int | None = None,
    run: Run,
) -> int:
    """Answer a recorded recall again with something about it changed, beside what it was.

    The memory is taken as it stood then; only what is given here is otherwise. Nothing is written.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        policy: A file of other numbers, see `mnemic policy`.
        query: Another question; an empty one asks nothing.
        frame: Another frame.
        top_k: Another limit.
        run: This invocation.
    """
    from mnemic.adapters.cli import trials

    with run.memory(read_only=True) as memory:
        other = None if policy is None else read_policy(policy, memory.policy)
        result = memory.what_if(decision, policy=other, query=query, frame=frame, top_k=top_k)
    run.show(result, Text(plain(result.summary)), *trials.supposed(result))
    if not run.as_json:
        for warning in result.warnings:
            run.warn(warning)
    return Exit.OK


def backtest(
    *policies: Path,
    from_: Annotated[float | None, Parameter(name="--from")] = None,
    to: float | None = None,
    objective: Literal["ndcg", "hit", "reward"] = "ndcg",
    horizon: float = 24.0,
    seed: int = 0,
    plot: Path | None = None,
    run: Run,
) -> int:
    """Answer past recalls again under other policies, and score them by what happened afterwards.

    ```
    mnemic policy > steady.json
    mnemic backtest steady.json --plot steady.png
    mnemic policy adopt steady.json
    ```

    It is one step on the memory as it stood, no forecast: read what stands below the table.

    Args:
        policies: Files of other numbers, see `mnemic policy`; each goes by the name of its file.
        from_: Active hour of the first recalls that count.
        to: Of the last ones.
        objective: What the best is best at: the right order (ndcg), something that served (hit),
            or how well blocks served on average (reward).
        horizon: Active hours after a recall in which something still speaks of it; 24 if not
            given.
        seed: Of the resampling behind the intervals.
        plot: Draw the objective over active hours into this file: .png, .svg or .pdf (an extra).
        run: This invocation.
    """
    from mnemic.adapters.cli import trials

    if plot is not None:
        from mnemic.adapters.plots import drawable

        drawable(plot)
    with run.memory(read_only=True) as memory, run.progress("answering again") as progress:
        result = memory.backtest(
            _by_name(policies, memory.policy),
            from_=from_,
            to=to,
            objective=objective,
            horizon_hours=horizon,
            seed=seed,
            progress=progress,
        )
    run.show(result, *trials.tested(result))
    if plot is not None:
        result.plot(plot)
    return Exit.OK


def policy(
    action: Literal["show", "adopt"] = "show",
    file: Path | None = None,
    /,
    *,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Show the policy in force as JSON, or adopt another from a file.

    A file holds one JSON object. Fields that it leaves out stay as they are in force, so that
    {"top_k": 8} is a policy; without a name it takes that of the file.

    Args:
        action: show, or adopt.
        file: What to adopt.
        command_id: A name for the adoption; repeated under it, it is done once.
        run: This invocation.
    """
    if action == "show":
        with run.memory(read_only=True) as memory:
            body = json.loads(memory.policy.body)
        run.show_document(body, Text(json.dumps(body, indent=2, ensure_ascii=False)))
        return Exit.OK
    if file is None:
        raise FieldRefused(
            "no policy was named", recovery="Name a file: mnemic policy adopt FILE.", field="file"
        )
    adopted, before = _adopted(run, file, command_id)
    document = {"policy_id": adopted.id, "name": adopted.name, "before": before.id}
    changed = {"changed": adopted.id != before.id}
    run.show_document(document | changed, _adoption(adopted, before))
    return Exit.OK


def adopt_policy(file: Path, /, *, command_id: str | None = None, run: Run) -> int:
    """Let the numbers in a file be in force from here on, as `policy adopt` does.

    Args:
        file: What to adopt, see `mnemic policy`.
        command_id: A name for this command; repeated under it, it is done once.
        run: This invocation.
    """
    adopted, before = _adopted(run, file, command_id)
    run.show_document(json.loads(adopted.body), _adoption(adopted, before))
    return Exit.OK


def _adopted(run: Invocation, file: Path, command_id: str | None) -> tuple[Policy, Policy]:
    """Adopt the policy in a file, and return it with the one before."""
    with run.memory() as memory:
        before = memory.policy
        return memory.adopt_policy(read_policy(file, before), command_id=command_id), before


def _adoption(adopted: Policy, before: Policy) -> Text:
    told = "In force already:" if adopted.id == before.id else "Adopted"
    return Text(plain(f"{told} {adopted.name} ({adopted.id})."))


def _by_name(files: Sequence[Path], in_force: Policy) -> dict[str, Policy]:
    """Return the policies of files, each by the name of its file.

    Raises:
        FieldRefused: Two files go by one name, or one by that of what was recorded.
    """
    from mnemic.kernel.results import RECORDED

    found: dict[str, Policy] = {}
    for file in files:
        if file.stem == RECORDED:
            raise FieldRefused(
                f"no policy can go by the name {RECORDED!r}",
                recovery="Call the file otherwise: what was recorded goes by that name in the "
                "table.",
                field="policies",
            )
        if file.stem in found:
            raise FieldRefused(
                f"two policies go by the name {file.stem!r}",
                recovery="Call the files by different names.",
                field="policies",
            )
        found[file.stem] = read_policy(file, in_force)
    return found


def read_policy(file: Path, in_force: Policy) -> Policy:
    """Return the policy in a file; what it leaves out is as in the one in force.

    Raises:
        InputUnreadable: The file is not there, or cannot be read.
        PolicyRefused: It holds no policy.
    """
    from mnemic.adapters.ingestion import InputUnreadable
    from mnemic.kernel.policy import Policy

    try:
        text = file.read_text("utf-8-sig")
    except OSError as error:
        raise InputUnreadable(f"cannot read {file}: {error.strerror}", path=str(file)) from error
    except UnicodeDecodeError as error:
        raise InputUnreadable(f"{file} is not UTF-8", path=str(file)) from error
    try:
        given = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise PolicyRefused(f"{file} is not JSON: {error}") from error
    if not isinstance(given, dict):
        raise PolicyRefused(f"{file} holds no JSON object", recovery="See `mnemic policy`.")
    whole = {**json.loads(in_force.body), "name": file.stem, **given}
    # Evolved, so that its body is written the one canonical way, whatever the file looks like.
    return evolve(Policy.parse(json.dumps(whole)))
