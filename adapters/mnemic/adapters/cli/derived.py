"""Commands of operations that have none written by hand, derived from the registry.

Required arguments are positional and the others are options, all worded as the operation words
them. Blocks may be named by the first characters of their ids, objects are given as JSON, and an
answer is shown as JSON or by its summaries.

The registry is imported only for a command that needs it: the libraries of the operations take long
to load. The overview of all commands reads what it shows from the source instead.
"""

from __future__ import annotations

import ast
import inspect
import json
import re
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import attrs
from cyclopts import App, Group, Parameter, Token
from rich.text import Text

from mnemic.adapters.cli.invocation.context import Invocation, Run, plain
from mnemic.adapters.cli.invocation.failures import Exit
from mnemic.adapters.short_ids import full_id

if TYPE_CHECKING:
    from mnemic.adapters.inprocess.queries import Queries
    from mnemic.adapters.remote import operations as remote
    from mnemic.kernel.results.shape import Result

PANELS: Final[Mapping[str, str]] = {
    "Blocks": "Remember",
    "Edges": "Connect",
    "Recall": "Ask",
    "Decisions": "Look back",
    "Compositions": "Compose",
    "Upkeep": "Maintain",
    "The past": "Trace and revert",
    "Spaces": "Maintain",
    "Server": "Other",
}
"""The panel of the overview for each heading of the registry."""
COMMAND_ID_HELP: Final = "An idempotency key: a command repeated with the same key is done once."
BLOCK_HELP: Final = "A block; the first 8 characters of its id are enough."
BLOCKS_HELP: Final = "One or several blocks; the first 8 characters of their ids are enough."
BLOCKS: Final = frozenset({"block_id", "block_ids", "other_id"})
"""Arguments that name blocks."""
ENDS: Final = frozenset({"source", "target"})
"""Arguments that do so together: the ends of an edge."""
SCALARS: Final[Mapping[str, type]] = {
    "string": str,
    "integer": int,
    "number": float,
    "boolean": bool,
}
MANY: Final = tuple[str, ...]
"""What the command line reads for a list of texts."""
SOURCES: Final = Path(__file__).parents[1] / "inprocess"


# --- which commands -------------------------------------------------------------------------------


def add_commands(app: App, groups: Mapping[str, Group], *, past: bool = False) -> None:
    """Add a command for each operation that has none.

    Args:
        app: Where to add them.
        groups: The panels of its overview, by title.
        past: Only for what can be asked of the past.
    """
    from mnemic.adapters.remote.operations import operations

    for each in operations().values():
        name = _name(each.name)
        if name not in app and not each.needs_files and (each.past_parameters or not past):
            group = groups.get(PANELS[each.declaration.group])
            app.command(command_of(each), name=name, group=group)


@contextmanager
def outlined(app: App, groups: Mapping[str, Group]) -> Generator[None]:
    """Show the derived commands in the overview of an application, for a ``with`` block."""
    added: list[str] = []
    for operation, group, summary in _outlines():
        if (name := _name(operation)) not in app:
            app.command(App(help=summary, group=groups[PANELS[group]]), name=name)
            added.append(name)
    try:
        yield
    finally:
        for name in added:
            del app[name]


def _outlines() -> Iterable[tuple[str, str, str]]:
    """Yield name, heading and summary of every operation declared in the source of the memory."""
    for path in sorted(SOURCES.rglob("*.py")):
        source = path.read_text(encoding="utf-8")
        if "@operation(" not in source:
            continue
        for node in ast.walk(ast.parse(source)):
            match node:
                case ast.FunctionDef(
                    name=name,
                    decorator_list=[*_, ast.Call(args=[_, ast.Constant(value=str(group)), *_])],
                ):
                    text = (ast.get_docstring(node) or "").partition("\n")[0]
                    yield name, group, _worded(text)
                case _:
                    pass


def _name(operation: str) -> str:
    return operation.replace("_", "-")


# --- one command ----------------------------------------------------------------------------------


def command_of(operation: remote.Operation) -> Callable[..., int]:
    """Return the command of an operation."""
    from mnemic.adapters.remote.documents import arguments_of

    def command(*placed: str, run: Invocation, **named: Any) -> int:
        given = {**_placed(operation, placed), **named}
        given = {name: value for name, value in given.items() if value is not None}
        extra = {name: given.pop(name) for name in ("command_id",) if name in given}
        with _opened(operation, run) as known:
            with run.progress(_name(operation.name)) as progress:
                if operation.long:
                    extra["progress"] = progress
                for name in sorted(_blocks(operation) & given.keys()):
                    given[name] = _full(known, given[name])
                arguments = arguments_of(operation, given, past=run.point is not None)
                found = getattr(known, operation.name)(**arguments, **extra)
            _show(run, found)
        return Exit.OK

    parameters = [_parameter(operation, each) for each in operation.parameters.values()]
    if operation.repeatable:
        parameters.append(_option("command_id", str | None, COMMAND_ID_HELP))
    parameters.append(inspect.Parameter("run", inspect.Parameter.KEYWORD_ONLY, annotation=Run))
    parameters.sort(key=lambda each: each.kind)
    command.__doc__ = _worded(f"{operation.docs.summary}\n\n{operation.docs.body}")
    command.__annotations__ = {each.name: each.annotation for each in parameters}
    vars(command)["__signature__"] = inspect.Signature(parameters)
    return command


def _opened(operation: remote.Operation, run: Invocation) -> AbstractContextManager[Queries]:
    """Open the memory, or the view that the invocation names."""
    if operation.past_parameters is not None and operation.reads_only:
        return run.looking()
    return run.memory(read_only=operation.reads_only)


def _parameter(operation: remote.Operation, of: remote.Parameter) -> inspect.Parameter:
    """Return a parameter of a command: an argument if it is required, else an option."""
    shape = _shape(operation, of)
    text = (
        (BLOCKS_HELP if of.name == "block_ids" else BLOCK_HELP)
        if of.name in _blocks(operation)
        else _worded(shape["description"])
    )
    kind = _kind(shape)
    if not of.required:
        return _option(of.name, kind | None, text)
    if kind == MANY:
        return inspect.Parameter(
            of.name,
            inspect.Parameter.VAR_POSITIONAL,
            annotation=Annotated[str, Parameter(help=text, required=True)],
        )
    return inspect.Parameter(
        of.name,
        inspect.Parameter.POSITIONAL_ONLY,
        annotation=Annotated[kind, Parameter(help=text)],
    )


def _placed(operation: remote.Operation, placed: Sequence[str]) -> dict[str, Any]:
    """Return what stands for each required argument; a list takes all that are left."""
    given: dict[str, Any] = {}
    required = [each for each in operation.parameters.values() if each.required]
    for place, each in enumerate(required[: len(placed)]):
        is_list = _kind(_shape(operation, each)) == MANY
        given[each.name] = placed[place:] if is_list else placed[place]
    return given


def _shape(operation: remote.Operation, of: remote.Parameter) -> Mapping[str, Any]:
    from mnemic.adapters.remote.schemas import Shapes

    return Shapes().parameter(operation.name, of)


def _option(name: str, kind: Any, text: str) -> inspect.Parameter:
    return inspect.Parameter(
        name,
        inspect.Parameter.KEYWORD_ONLY,
        default=None,
        annotation=Annotated[kind, Parameter(help=text, negative=())],
    )


def _kind(shape: Mapping[str, Any]) -> Any:
    """Return the type that the command line reads for a schema."""
    variants = shape.get("anyOf", (shape,))
    if any(each.get("items", {}).get("type") == "string" for each in variants):
        return MANY
    types = shape.get("type", ())
    match [each for each in ([types] if isinstance(types, str) else types) if each != "null"]:
        case [name] if name in SCALARS:
            return SCALARS[name]
        case _:
            return Annotated[dict[str, Any], Parameter(converter=_json)]


def _json(_: object, tokens: Sequence[Token]) -> Any:
    """Read an argument that is written as JSON.

    Raises:
        ValueError: It is not.
    """
    (token,) = tokens
    return json.loads(token.value)


def _blocks(operation: remote.Operation) -> frozenset[str]:
    """Return the arguments of an operation that name blocks."""
    names = operation.parameters.keys()
    return BLOCKS | ENDS if names >= ENDS else BLOCKS


def _full(known: Queries, given: Any) -> Any:
    """Return full ids in place of short ones."""
    return full_id(known, given) if isinstance(given, str) else [full_id(known, e) for e in given]


def _worded(text: str) -> str:
    """Return a text of a docstring or a schema for readers of a terminal."""
    found = re.sub(r"(?<![`\w])\*(\w+)\*", r"\1", text.replace("``", "`").strip())
    return re.sub(r"\b(?:None|null):", "if not given:", found).replace("Null:", "If not given:")


def _show(run: Invocation, found: Any) -> None:
    if isinstance(found, tuple):
        run.show_all(found, *(Text(plain(each.summary)) for each in found))
    else:
        listed = [*_listed(found), found]
        run.show(found, *(Text(plain(each.summary)) for each in listed))


def _listed(found: Result) -> Iterable[Result]:
    """Yield the results that a result lists, such as the decisions of a page."""
    from mnemic.kernel.results.shape import Result

    for field in attrs.fields(type(found)):
        value = getattr(found, field.name)
        if isinstance(value, tuple):
            yield from (each for each in value if isinstance(each, Result))
