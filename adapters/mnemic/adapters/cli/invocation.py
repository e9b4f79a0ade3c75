"""One run of the command line: which memory, which terminal, which form of output."""

from __future__ import annotations

import json
import os
import re
import sys
import unicodedata
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from attrs import asdict, field, frozen
from cyclopts import Parameter, Token
from rich.console import Console, RenderableType
from rich.text import Text

from mnemic.adapters.cli.failures import Failure, NotConfirmed
from mnemic.adapters.embedders.shipped import EmbedderName
from mnemic.adapters.stores.addresses import Address, told
from mnemic.adapters.tokens import CounterName

if TYPE_CHECKING:
    from mnemic.adapters.inprocess import SyncMemory
    from mnemic.adapters.inprocess.queries import Queries
    from mnemic.adapters.inprocess.snapshot import SyncView
    from mnemic.kernel.results import Result

Progress = Callable[[int, int], None]
"""Called with what is done and what there is to do."""

REORDERING = frozenset("\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")
"""Characters that let text read otherwise than it is written."""

STANDARD_INPUT = "-"
SPACE = "default"
"""The space that is meant if none is named."""
RetrieverName = Literal["exact", "ann"]
VectorsName = Literal["process", "server"]
"""How near vectors are found. ``auto`` would always be exact here: a process that asks a single
question never gets back the time that taking up graphs takes."""


class Stream(Console):
    """A console that lets ``main`` find out that nobody reads any more."""

    def on_broken_pipe(self) -> None:
        """Raise what was caught; rich would leave with exit code 1."""
        raise  # noqa: PLE0704 - called while the error is handled


@frozen(kw_only=True)
class Point:
    """A point of the past, as it was named on the command line."""

    hour: float | None = None
    version: int | None = None
    at: str | None = None
    decision: str | None = None
    now: str | None = None
    """Where ages are counted from, if not from the point."""


@frozen(kw_only=True)
class Invocation:
    """The options that every command shares, and the two streams."""

    path: Address
    """The store: its file, or the address of a server, which may hold a password."""
    keys: Path | None = None
    """The file of keys that lock its words; None: they stand open."""
    space: str
    actor: str | None = None
    """Who acts; None: the command line."""
    session: str | None = None
    """Which open session to go on with; None: none."""
    embedder: EmbedderName | None = None
    """None: the one that the space was built with."""
    counter: CounterName = "estimate"
    """How tokens are counted."""
    retriever: RetrieverName = "exact"
    """``ann``: by the graphs that stand beside the file. None is ever built."""
    vectors: VectorsName = "process"
    """``server``: on that of the store, and not in this process."""
    as_json: bool = False
    point: Point | None = None
    """From where one looks; None: from now."""
    out: Console = field(factory=lambda: Stream(highlight=False))
    err: Console = field(factory=lambda: Stream(stderr=True, highlight=False))

    # --- the memory -------------------------------------------------------------------------

    @contextmanager
    def memory(
        self, *, making: bool = False, read_only: bool = False, warning: bool = True
    ) -> Generator[SyncMemory]:
        """Open the memory, for a ``with`` block.

        Args:
            making: Whether the file and the space are made if they are not there.
            read_only: Whether nothing may be written; then a damaged log opens up to its damage.
            warning: Whether that is said.

        Raises:
            StoreFailed: There is no such file.
            PointOutOfRange: There is no such space in it.
            SessionState: The session to go on with is not open, or somebody else began it.
        """
        from mnemic.adapters.cli.opening import opened

        with opened(self, making=making, read_only=read_only, warning=warning) as memory:
            yield memory

    @contextmanager
    def looking(self) -> Generator[Queries]:
        """Open what is asked, for a ``with`` block: the memory as it is, or as it was."""
        if self.point is None:
            with self.memory(read_only=True) as memory:
                yield memory
        else:
            with self.looking_back() as view:
                yield view

    @contextmanager
    def looking_back(self) -> Generator[SyncView]:
        """Open the memory as it was, for a ``with`` block, and say where that is.

        Raises:
            FieldRefused: Not exactly one point of the past was named.
            PointOutOfRange, DecisionNotFound: There is no such point.
        """
        with self.memory(read_only=True) as memory:
            view = memory.as_of(**asdict(self.point or Point()))
            if not self.as_json:
                told = f"As of version {view.version}, {view.hour:.3f} active hours"
                self.out.print(Text(told, "bold"))
            yield view

    def is_there(self) -> bool:
        """Say whether there is a file; what a server holds is seen when it is asked."""
        if not isinstance(self.path, Path):
            return True
        try:
            return self.path.exists()
        except OSError:  # a name that no file can have
            return False

    @property
    def store(self) -> str:
        """The store as it may be told: the file's whole path, or the address without a password."""
        return str(self.path.resolve()) if isinstance(self.path, Path) else told(self.path)

    # --- the terminal -----------------------------------------------------------------------

    def show(self, result: Result, *drawn: RenderableType) -> None:
        """Print a result: as JSON, as *drawn*, or as its one line of summary."""
        self.show_document(result.to_dict(), *(drawn or (Text(plain(result.summary)),)))

    def show_all(self, results: Sequence[Any], *drawn: RenderableType) -> None:
        """Print several results: as the items of one object in JSON, or as *drawn*."""
        from mnemic.adapters.wire.documents import document_of

        self.show_document(document_of(results), *drawn)

    def show_document(self, document: Mapping[str, Any], *drawn: RenderableType) -> None:
        """Print *document* as JSON, or else what is *drawn*."""
        if self.as_json:
            self.write_json(document)
        else:
            for each in drawn:
                # A sentence that goes into a pipe stays on its line, so that grep can find it.
                self.out.print(each, soft_wrap=isinstance(each, Text) and not self.out.is_terminal)

    def write_json(self, document: Mapping[str, Any]) -> None:
        """Print one JSON document on a line of its own."""
        print(_json(document, self.out.encoding), file=self.out.file)

    def tell(self, sentence: str) -> None:
        """Print a remark for people beside the output."""
        self._tell(Text(plain(sentence), style="dim"))

    def warn(self, sentence: str) -> None:
        """Print a warning beside the output."""
        if self.as_json:
            print(_json({"warning": sentence}, self.err.encoding), file=self.err.file)
        else:
            self._tell(Text.assemble(("warning ", "yellow"), plain(sentence)))

    def fail(self, failure: Failure) -> int:
        """Print a failure beside the output, and return its exit code."""
        if self.as_json:
            print(_json(failure.facts, self.err.encoding), file=self.err.file)
            return failure.exit
        code, detail = (plain(str(failure.facts[key])) for key in ("code", "detail"))
        self._tell(Text.assemble(("error ", "bold red"), (code, "bold"), f": {detail}"))
        recovery = plain(str(failure.facts["recovery"]))
        if recovery:
            self._tell(Text(recovery, style="dim"))
        return failure.exit

    def _tell(self, sentence: Text) -> None:
        """Print a sentence beside the output, unbroken unless a person is looking."""
        self.err.print(sentence, soft_wrap=not self.err.is_terminal)

    def confirm(self, sentence: str, *, word: str) -> None:
        """Have a person confirm by a word what cannot be undone.

        Args:
            sentence: What would be done.
            word: What there is to type.

        Raises:
            NotConfirmed: Something else was typed, or nobody is there to type.
        """
        if self.as_json or not (sys.stdin.isatty() and self.err.is_terminal):
            raise NotConfirmed("nobody is here to confirm it")
        self._tell(Text.assemble(("careful ", "bold yellow"), plain(sentence)))
        self.err.print(Text(f"Type {plain(word)} to go on: "), end="")
        if sys.stdin.readline().strip() != word:
            raise NotConfirmed("it was not confirmed", recovery="Nothing was written.")

    @contextmanager
    def progress(self, doing: str) -> Generator[Progress]:
        """Show a bar beside the output while a ``with`` block works; on a terminal only.

        Args:
            doing: What is being done, in a word or two.
        """
        if self.as_json or not self.err.is_terminal:
            yield lambda *_: None
            return
        from rich.progress import BarColumn, MofNCompleteColumn, TextColumn, TimeRemainingColumn
        from rich.progress import Progress as Bars

        columns = (
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            TimeRemainingColumn(),
        )
        with Bars(*columns, console=self.err, transient=True) as bars:
            task = bars.add_task(doing, total=None)
            yield lambda done, todo: bars.update(task, completed=done, total=todo)


Run = Annotated[Invocation, Parameter(parse=False)]
"""The parameter of a command that takes the invocation; not an option of its own."""
Flag = Annotated[bool, Parameter(negative=())]
"""An option that is there or not, without a --no-… twin."""


def _version(_: object, tokens: Sequence[Token]) -> int:
    """Return a version; a fraction is none, and rounding it would name another."""
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
    vectors: VectorsName = "process",
    as_json: bool,
) -> Invocation:
    """Return an invocation on the streams of this process; what they cannot encode is replaced."""
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
        vectors=vectors,
        as_json=as_json,
    )


def wants_traceback() -> bool:
    """Whether whoever runs this looks for a bug."""
    return bool(os.environ.get("MNEMIC_TRACEBACK"))


def plural(count: int, noun: str) -> str:
    """Return ``1 edge``, ``2 edges``."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def plain(words: str) -> str:
    """Return *words* on one line, without characters that would steer a terminal."""
    return "".join(
        "\N{REPLACEMENT CHARACTER}" if _steers(character) else character
        for character in " ".join(words.split())
    )


def _steers(character: str) -> bool:
    return unicodedata.category(character) in {"Cc", "Cs"} or character in REORDERING


def _json(document: Mapping[str, Any], encoding: str) -> str:
    ascii_only = not encoding.lower().startswith("utf")
    return json.dumps(document, ensure_ascii=ascii_only, default=str)
