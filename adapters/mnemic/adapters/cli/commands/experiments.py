"""Commands for experiments: what-if, backtest, tune; and policy, which shows or adopts one."""

from __future__ import annotations

import json
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

from attrs import evolve
from cyclopts import Parameter
from rich.text import Text

from mnemic.adapters.cli.commands.origins import chosen
from mnemic.adapters.cli.invocation.context import Invocation, Run, RunnerOption, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.kernel.errors import FieldRefused, PolicyRefused, StoreFailed

if TYPE_CHECKING:
    from mnemic.kernel.policy import Policy
    from mnemic.kernel.results import Tuning


def what_if(
    decision: str,
    /,
    *,
    policy: Path | None = None,
    query: str | None = None,
    frame: str | None = None,
    top_k: int | None = None,
    without: tuple[str, ...] = (),
    run: Run,
) -> int:
    """Answer a recorded recall again with something changed, next to the recorded answer.

    The memory is read as it was then; only what is given here differs. Nothing is written.

    Args:
        decision: A recorded recall, like d45; `mnemic log` lists them.
        policy: A file with another policy, see `mnemic policy`.
        query: Another question; an empty one means no question.
        frame: Another frame.
        top_k: Another limit.
        without: As though the blocks of source=NAME, actor=NAME or block=ID had not been in memory;
            repeat for more, since=DATE and until=DATE limit when they were recorded.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import experiments

    with run.memory(read_only=True) as memory:
        other = None if policy is None else read_policy(policy, memory.policy)
        result = memory.what_if(
            decision,
            policy=other,
            query=query,
            frame=frame,
            top_k=top_k,
            without=chosen(memory, without) if without else None,
        )
    run.show(result, Text(plain(result.summary)), *experiments.supposed(result))
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
    runner: RunnerOption = "auto",
    rows: Path | None = None,
    run: Run,
) -> int:
    """Answer past recalls again under other policies, and score them by what happened afterwards.

    ```
    mnemic policy > steady.json
    mnemic backtest steady.json --plot steady.png
    mnemic policy adopt steady.json
    ```

    It is a single step on the memory as it was, not a forecast: read the notes below the table.

    Args:
        policies: Files with other policies, see `mnemic policy`; each is named after its file.
        from_: Active hour of the first recalls that count.
        to: Active hour of the last ones.
        objective: The measure that decides the best policy: the right order (ndcg), something
            useful found (hit), or the average usefulness of blocks (reward).
        horizon: Active hours after a recall in which later events still count as its outcome; 24
            if not given.
        seed: The seed of the resampling for the intervals.
        plot: Draw the objective over active hours into this file: .png, .svg or .pdf (an extra).
        runner: Where recalls are answered: in this process, on all processors (processes), on a
            cluster (ray, an extra); auto: on all processors where that pays.
        rows: A file that keeps answers, so that the same command goes on after an interruption.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import experiments

    if plot is not None:
        from mnemic.adapters.inprocess.replay.plots import drawable

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
            runner=runner,
            rows=rows,
        )
    run.show(result, *experiments.tested(result))
    if plot is not None:
        result.plot(plot)
    return Exit.OK


def tune(
    *,
    frame: str | None = None,
    parameters: tuple[Literal["weights", "rates", "top_k"], ...] = ("weights", "rates", "top_k"),
    place_cost: float = 0.1,
    horizon: float = 24.0,
    evaluations: int = 300,
    seed: int = 0,
    out: Path | None = None,
    runner: RunnerOption = "auto",
    rows: Path | None = None,
    run: Run,
) -> int:
    """Propose a policy from past recalls and their outcomes, judged by later ones.

    ```
    mnemic tune --rows rows.jsonl --out tuned.json
    mnemic policy adopt tuned.json
    ```

    Nothing is adopted: the command that would is printed, if the later recalls support it.

    Args:
        frame: The frame to tune; the default frame if not given.
        parameters: What may change: the weights of the frame's signals, the rates by which memories
            fade, top_k; repeat for more, all if not given.
        place_cost: What a place in an answer has to be worth, in useful blocks; 0 to 1.
        horizon: Active hours after a recall in which later events still count as its outcome; 24
            if not given.
        evaluations: How many candidates are tried.
        seed: The seed of the search and of the intervals.
        out: Write the proposed policy to this file, for `mnemic policy adopt`.
        runner: Where recalls are answered: in this process, on all processors (processes), on a
            cluster (ray, an extra); auto: on all processors where that pays.
        rows: A file that keeps answers, so that the same command goes on after an interruption.
        run: The invocation.
    """
    from mnemic.adapters.cli.render import experiments

    with run.memory(read_only=True) as memory, run.progress("searching") as progress:
        result = memory.tune(
            frame=frame,
            parameters=parameters,
            place_cost=place_cost,
            horizon_hours=horizon,
            evaluations=evaluations,
            seed=seed,
            progress=progress,
            runner=runner,
            rows=rows,
        )
    if out is not None and result.policy is not None:
        _write(out, json.dumps(dict(result.policy), indent=2, ensure_ascii=False))
    run.show(result, *experiments.tuned(result, _adopting(result, out)))
    return Exit.OK


def _adopting(result: Tuning, out: Path | None) -> str | None:
    """Return the command that adopts a proposal; None: it is not recommended."""
    if not result.is_better:
        return None
    if out is not None:
        return f"mnemic policy adopt {shlex.quote(str(out))}"
    return "mnemic tune ... --out tuned.json, with the same options; mnemic policy adopt tuned.json"


def _write(path: Path, text: str) -> None:
    """Write a file of text.

    Raises:
        StoreFailed: It cannot be written.
    """
    try:
        path.write_text(f"{text}\n", "utf-8")
    except OSError as error:
        raise StoreFailed(
            f"cannot write {path}: {error.strerror}",
            recovery="Name a file that can be written.",
            path=str(path),
        ) from error


def policy(
    action: Literal["show", "adopt"] = "show",
    file: Path | None = None,
    /,
    *,
    command_id: str | None = None,
    run: Run,
) -> int:
    """Show the policy in force as JSON, or adopt another from a file.

    A file contains one JSON object. Fields that it leaves out keep their values in force, so that
    {"top_k": 8} is a policy; without a name it takes that of the file.

    Args:
        action: show, or adopt.
        file: The file to adopt.
        command_id: An idempotency key: an adoption repeated with the same key is done once.
        run: The invocation.
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
    """Put the policy in a file in force from now on, as `policy adopt` does.

    Args:
        file: The file to adopt, see `mnemic policy`.
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    adopted, before = _adopted(run, file, command_id)
    run.show_document(json.loads(adopted.body), _adoption(adopted, before))
    return Exit.OK


def calibrate(*, command_id: str | None = None, run: Run) -> int:
    """Fit the probabilities of recalls to the outcomes reported so far, and adopt the policy.

    Args:
        command_id: An idempotency key: a command repeated with the same key is done once.
        run: The invocation.
    """
    with run.memory() as memory, run.progress("calibrating"):
        result = memory.calibrate(command_id=command_id)
    run.show(result, Text(plain(result.summary)))
    return Exit.OK


def _adopted(run: Invocation, file: Path, command_id: str | None) -> tuple[Policy, Policy]:
    """Adopt the policy in a file, and return it with the previous one."""
    with run.memory() as memory:
        before = memory.policy
        return memory.adopt_policy(read_policy(file, before), command_id=command_id), before


def _adoption(adopted: Policy, before: Policy) -> Text:
    answer = "In force already:" if adopted.id == before.id else "Adopted"
    return Text(plain(f"{answer} {adopted.name} ({adopted.id})."))


def _by_name(files: Sequence[Path], in_force: Policy) -> dict[str, Policy]:
    """Return the policies in files, each by the name of its file.

    Raises:
        FieldRefused: Two files have the same name, or one has the name of the recorded policy.
    """
    from mnemic.kernel.results import RECORDED

    found: dict[str, Policy] = {}
    for file in files:
        if file.stem == RECORDED:
            raise FieldRefused(
                f"no policy can have the name {RECORDED!r}",
                recovery="Rename the file: in the table that name is used for what was recorded.",
                field="policies",
            )
        if file.stem in found:
            raise FieldRefused(
                f"two policies have the name {file.stem!r}",
                recovery="Give the files different names.",
                field="policies",
            )
        found[file.stem] = read_policy(file, in_force)
    return found


def read_policy(file: Path, in_force: Policy) -> Policy:
    """Return the policy in a file; fields that it leaves out are taken from the one in force.

    Raises:
        InputUnreadable: The file does not exist, or cannot be read.
        PolicyRefused: It contains no policy.
    """
    from mnemic.adapters.importers import InputUnreadable
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
        raise PolicyRefused(f"{file} contains no JSON object", recovery="See `mnemic policy`.")
    whole = {**json.loads(in_force.body), "name": file.stem, **given}
    # Evolved, so that its body is written in canonical form, for any spelling of the file.
    return evolve(Policy.parse(json.dumps(whole)))
