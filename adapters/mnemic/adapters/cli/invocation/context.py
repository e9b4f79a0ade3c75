"""The context of one run of the command line: its memory, terminal and output format."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import asdict, field, frozen
from cyclopts import Parameter, Token
from rich.console import Console, RenderableType
from rich.text import Text

from mnemic.adapters.cli.invocation.failures import Failure, NotConfirmed
from mnemic.adapters.cli.invocation.options import MemoryOptions, RetrieverName
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.stores.addresses import Address
from mnemic.adapters.tokens import CounterName
from mnemic.kernel.rendering import escaped, json_escaped
from mnemic.kernel.values import Value
from mnemic.kernel.visible import HIDDEN

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.adapters.inprocess.queries import Queries
    from mnemic.adapters.inprocess.view import SyncView
    from mnemic.kernel.results import Result

Progress = Callable[[int, int], None]
"""Called with the units done and the units to do."""

_SURROGATES = re.compile("[\ud800-\udfff]")
_UNPRINTABLE = re.compile(f"{HIDDEN.pattern}|{_SURROGATES.pattern}")

STANDARD_INPUT = "-"


class Stream(Console):
    """A console that raises on a broken pipe, so that ``main`` can handle it."""

    def on_broken_pipe(self) -> None:
        """Re-raise the caught error; rich would exit with code 1."""
        raise  # noqa: PLE0704 - called while the error is handled


@frozen(kw_only=True)
class Point(Value):
    """A point in the past, as named on the command line."""

    hour: float | None = None
    version: int | None = None
    at: str | None = None
    decision: str | None = None
    now: str | None = None
    """The instant from which ages are counted, if not the point's own."""


@frozen(kw_only=True)
class Invocation(MemoryOptions):
    """The options that every command shares, and the two streams."""

    as_json: bool = False
    point: Point | None = None
    """The point in the past to read at; None: now."""
    out: Console = field(factory=lambda: Stream(highlight=False, emoji=False))
    err: Console = field(factory=lambda: Stream(stderr=True, highlight=False, emoji=False))

    # --- the memory -------------------------------------------------------------------------

    @contextmanager
    def memory(
        self,
        *,
        making: bool = False,
        read_only: bool = False,
        asking: bool = False,
        warning: bool = True,
        extracting: bool = False,
    ) -> Generator[SyncMemory]:
        """Open the memory, for a ``with`` block.

        Args:
            making: Whether the file and the space are created if they do not exist.
            asking: Whether the command only asks, although its answer may be recorded: then a
                session of the environment that has ended is no reason to refuse.
            read_only: Whether nothing may be written; then a damaged log opens up to its damage.
            warning: Whether such damage is reported as a warning.
            extracting: Whether the configured extractor is needed; its libraries take long to load.

        Raises:
            StoreFailed: There is no such file.
            PointOutOfRange: There is no such space in it.
            SessionState: The session to continue is not open, or another actor began it.
        """
        from mnemic.adapters.cli.invocation.extractors import chat_extractor
        from mnemic.adapters.cli.invocation.opening import opened

        warn = self.warn if warning else None
        with ExitStack() as stack:
            extractor = chat_extractor(self) if extracting and not read_only else None
            if extractor is not None:
                stack.enter_context(extractor)
            with self.progress("opening"):
                memory = stack.enter_context(
                    opened(
                        self,
                        making=making,
                        read_only=read_only,
                        asking=asking,
                        warn=warn,
                        extractor=extractor,
                    )
                )
            yield memory

    @contextmanager
    def looking(self) -> Generator[Queries]:
        """Open the memory for reading, for a ``with`` block: now, or at the point in the past."""
        if self.point is None:
            with self.memory(read_only=True) as memory:
                yield memory
        else:
            with self.looking_back() as view:
                yield view

    @contextmanager
    def looking_back(self, *, quietly: bool = False) -> Generator[SyncView]:
        """Open the memory at the point in the past, for a ``with`` block, and print that point.

        Args:
            quietly: Do not print it.

        Raises:
            FieldRefused: Not exactly one point in the past was named.
            PointOutOfRange, DecisionNotFound: There is no such point.
        """
        from mnemic.adapters.cli.invocation.opening import check_hour

        with self.memory(read_only=True) as memory:
            point = self.point or Point()
            view = memory.as_of(**asdict(point))
            check_hour(memory, point.hour)
            if not (self.as_json or quietly):
                answer = f"As of version {view.version}, {view.hour:.3f} active hours"
                self.out.print(Text(answer, "bold"))
            yield view

    # --- the terminal -----------------------------------------------------------------------

    def show(self, result: Result, *drawn: RenderableType) -> None:
        """Print a result: as JSON, as *drawn*, or as its one line of summary."""
        self.show_document(result.to_dict(), *(drawn or (Text(plain(result.summary)),)))

    def show_all(self, results: Sequence[Any], *drawn: RenderableType) -> None:
        """Print several results: as the items of one object in JSON, or as *drawn*."""
        from mnemic.adapters.remote.documents import document_of

        self.show_document(document_of(results), *drawn)

    def show_document(self, document: Mapping[str, Any], *drawn: RenderableType) -> None:
        """Print *document* as JSON, or else print *drawn*."""
        if self.as_json:
            self.write_json(document)
        else:
            for each in drawn:
                # A sentence written to a pipe is not wrapped, so that grep can find it.
                self.out.print(each, soft_wrap=isinstance(each, Text) and not self.out.is_terminal)

    def write_json(self, document: Mapping[str, Any]) -> None:
        """Print one JSON document on one line."""
        print(_json(document, self.out.encoding), file=self.out.file)

    def write_text(self, text: str) -> None:
        """Print a text that others will read, a model for example, as it is."""
        print(text, file=self.out.file)

    def remark(self, sentence: str) -> None:
        """Print a remark for people on standard error."""
        self._print_aside(Text(plain(sentence), style="dim"))

    def warn(self, sentence: str) -> None:
        """Print a warning on standard error."""
        if self.as_json:
            print(_json({"warning": sentence}, self.err.encoding), file=self.err.file)
        else:
            self._print_aside(Text.assemble(("warning ", "yellow"), plain(sentence)))

    def fail(self, failure: Failure) -> int:
        """Print a failure on standard error, and return its exit code."""
        if self.as_json:
            print(_json(failure.facts, self.err.encoding), file=self.err.file)
            return failure.exit
        code, detail = (plain(str(failure.facts[key])) for key in ("code", "detail"))
        self._print_aside(Text.assemble(("error ", "bold red"), (code, "bold"), f": {detail}"))
        recovery = plain(str(failure.facts["recovery"]))
        if recovery:
            self._print_aside(Text(recovery, style="dim"))
        return failure.exit

    def _print_aside(self, sentence: Text) -> None:
        """Print a sentence on standard error, wrapped only if that is a terminal."""
        self.err.print(sentence, soft_wrap=not self.err.is_terminal)

    def confirm(self, sentence: str, *, word: str, option: str) -> None:
        """Ask a person to confirm an irreversible operation by typing a word.

        Args:
            sentence: What will be done.
            word: The word to type.
            option: What a script gives instead.

        Raises:
            NotConfirmed: Something else was typed, or there is no interactive terminal.
        """
        if self.as_json or not (sys.stdin.isatty() and self.err.is_terminal):
            raise NotConfirmed(
                "it cannot be confirmed without a terminal",
                recovery=f"Run it in a terminal, or give {option}.",
            )
        self._print_aside(Text.assemble(("careful ", "bold yellow"), plain(sentence)))
        self.err.print(Text(f"Type {plain(word)} to continue: "), end="")
        if sys.stdin.readline().strip() != word:
            raise NotConfirmed("it was not confirmed")

    @contextmanager
    def progress(self, doing: str) -> Generator[Progress]:
        """Show a progress bar on standard error during a long ``with`` block; on a terminal only.

        Args:
            doing: A label of one or two words.
        """
        if self.as_json or not self.err.is_terminal:
            yield lambda *_: None
            return
        from mnemic.adapters.cli.invocation.progress import LateBar

        with LateBar(self.err, doing) as bar:
            yield bar


Run = Annotated[Invocation, Parameter(parse=False)]
"""The parameter through which a command receives the invocation; not a command-line option."""
Flag = Annotated[bool, Parameter(negative=())]
"""A boolean option without a --no-… counterpart."""


RunnerOption = Literal["auto", "inprocess", "processes", "ray"]
"""Where recalls are answered again."""


def _version(_: object, tokens: Sequence[Token]) -> int:
    """Parse a version; a fraction is refused, since rounding it would name another version."""
    (token,) = tokens
    if re.fullmatch(r"[+-]?[0-9]{1,15}", token.value) is None:
        raise ValueError(f"a version is a whole number, not {token.value!r}")
    return int(token.value)


Version = Annotated[int, Parameter(converter=_version)]
"""A version of the log on the command line."""
VersionOption = Annotated[int | None, Parameter(converter=_version)]


def invocation(
    path: Address,
    *,
    keys: Path | None = None,
    space: str,
    actor: str | None = None,
    session: str | None = None,
    embedder: EmbedderName | None = None,
    counter: CounterName = "estimate",
    retriever: RetrieverName = "exact",
    chat_url: str | None = None,
    chat_model: str | None = None,
    given: frozenset[str] = frozenset(),
    as_json: bool,
) -> Invocation:
    """Return an invocation on the standard streams, which replace characters they cannot encode."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="replace")
    return Invocation(
        path=path,
        keys=keys,
        space=space,
        actor=actor,
        session=session,
        embedder=embedder,
        counter=counter,
        retriever=retriever,
        chat_url=chat_url,
        chat_model=chat_model,
        given=given,
        as_json=as_json,
    )


def wants_traceback() -> bool:
    """Return whether MNEMIC_TRACEBACK asks for tracebacks."""
    return bool(os.environ.get("MNEMIC_TRACEBACK"))


def plural(count: int, noun: str) -> str:
    """Return ``1 edge``, ``2 edges``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def plain(text: str) -> str:
    """Return a sentence of mnemic on one line, with hidden and control characters replaced."""
    return _UNPRINTABLE.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split()))


def shown(text: str) -> str:
    """Return what a caller wrote on one line, escaped as in every text (``kernel.rendering``).

    White space is collapsed: a table has no room for it.
    """
    return escaped(_SURROGATES.sub("\N{REPLACEMENT CHARACTER}", " ".join(text.split())))


def _json(document: Mapping[str, Any], encoding: str) -> str:
    ascii_only = not encoding.lower().startswith("utf")
    return json_escaped(json.dumps(document, ensure_ascii=ascii_only, default=str))
