"""Opening a space: which store, which models, and the first events of a new log."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol, runtime_checkable

from attrs import frozen

from mnemic.adapters.analysts.absent import NoAnalyst
from mnemic.adapters.analysts.rules import RulesAnalyst
from mnemic.adapters.ann.files import GraphFolder
from mnemic.adapters.ann.graphs import (
    GraphBuilder,
    Graphs,
    Retriever,
    wanted_graphs,
)
from mnemic.adapters.checkpoints.directory import CheckpointDirectory, Wanted, checkpoint_directory
from mnemic.adapters.inprocess.engine.analysis import TimedAnalyst
from mnemic.adapters.inprocess.engine.caller import Caller
from mnemic.adapters.inprocess.engine.command_executor import CommandExecutor
from mnemic.adapters.inprocess.engine.commands import Command
from mnemic.adapters.inprocess.engine.log_state import LogState
from mnemic.adapters.inprocess.engine.session_handle import SessionHandle
from mnemic.adapters.stores.encryption_consistency import check_unmixed
from mnemic.adapters.stores.logs.staged_spaces import has_space
from mnemic.adapters.stores.opening import Address, open_store
from mnemic.adapters.system.clocks import SystemClock
from mnemic.adapters.system.collector import collector_at_rest
from mnemic.adapters.system.entropy import SystemEntropy
from mnemic.adapters.transfer.copies.copying import CopyContext
from mnemic.kernel.decision import Decision
from mnemic.kernel.decisions.space import NONCE_SIZE, SALT_SIZE, check_embedder, decide_open
from mnemic.kernel.errors import FieldRefused, PointOutOfRange, PolicyRefused
from mnemic.kernel.events import EmbedderIdentity
from mnemic.kernel.model.tokens import EstimatedTokens
from mnemic.kernel.model.vectors import DIMENSION_MAX
from mnemic.kernel.policy import DEFAULT, Policy
from mnemic.kernel.ports import (
    Analyst,
    Clock,
    Embedder,
    Entropy,
    Extractor,
    Log,
    Store,
    TokenCounter,
)
from mnemic.kernel.timestamps import Instant
from mnemic.kernel.validation import checked_name
from mnemic.projections.retrieval.recall_method import RecallMethod
from mnemic.projections.vectors.index import VectorIndex
from mnemic.projections.view import View

TIMEOUT_MAX_S = 86_400
EXTRACTOR_TIMEOUT_S = 120.0
"""How long an extractor with a model may take over one window of messages."""


@runtime_checkable
class _ErasureAwareStore(Protocol):
    """An encrypted store. Its keys may record erasures, made in another copy, that a log lacks."""

    def accounted(self, space: str, copy_context: CopyContext, *, read_only: bool) -> Log:
        """Return the log of *space* with an event for every such erasure.

        Args:
            space: The space's name.
            copy_context: Actor and clock of these events.
            read_only: Whether nothing may be written.
        """
        ...


@frozen(kw_only=True)
class Models(RecallMethod):
    """The models that a host configures in addition to the store."""

    embedder: Embedder | None
    """None: a model shipped with mnemic, loaded when first needed."""
    coming: Embedder | None = None
    """The embedder of a re-embedding in progress; in use from the event that adopts it."""
    others: tuple[Embedder, ...] = ()
    """Embedders that were in force earlier; they embed new questions about the past."""
    analyst: Analyst | None
    """None: blocks are not analysed."""
    extractor: Extractor | None = None
    """The extractor of ``add`` where none is named; None: nothing is extracted."""
    extractor_timeout_s: float = EXTRACTOR_TIMEOUT_S


@collector_at_rest()
def open_space(  # one parameter for each thing that a host may configure
    path: Address | Store,
    *,
    space: str,
    policy: Policy | None,
    clock: Clock | None,
    entropy: Entropy | None,
    actor: str,
    synchronous: str,
    read_only: bool,
    checkpoints: Wanted = None,
    retriever: Retriever = "exact",
    keys: str | Path | None = None,
) -> tuple[Store | None, SessionHandle]:
    """Return an open space, and its store if it was opened here and is to be closed with it.

    Raises:
        NotAStore, StoreTooNew, StoreFailed, LogCorrupt: The store cannot be opened, or the log
            cannot be folded.
        FieldRefused, PolicyRefused: An argument is invalid.
        SpaceNotFound: The space does not exist, and opening read-only does not create it.
    """
    if not isinstance(space, str) or not space.strip():
        checked_name("space", space)  # refused before a file is created
    checked_name("actor", actor)
    graphs = wanted_graphs(retriever)
    if policy is not None and not isinstance(policy, Policy):
        raise PolicyRefused(f"not a policy: {policy!r:.100}")
    store, owned = _store(path, synchronous=synchronous, read_only=read_only, keys=keys)
    copy_context = CopyContext(
        clock=clock or SystemClock(), entropy=entropy or SystemEntropy(), actor=actor
    )
    try:
        if not (read_only or has_space(store, space)):
            checked_name(
                "space", space
            )  # an existing space is opened even if its name is not valid now
            check_unmixed(store, space)
        opened = handle_on(
            _log(store, space, copy_context, read_only=read_only),
            clock=copy_context.clock,
            entropy=copy_context.entropy,
            actor=actor,
            read_only=read_only,
            store=store,
        )
        log_state = opened.log_state
        place = checkpoint_directory(store, checkpoints, read_only=read_only)
        _keep_checkpoints(log_state, place)
        _keep_graphs(log_state, place, graphs)
        log_state.restore()
        if log_state.version < 0:
            _write_first_events(opened, policy or DEFAULT)
        if log_state.checkpoint_writer is not None:
            log_state.checkpoint_writer.settle()
    except BaseException:
        if owned:
            store.close()
        raise
    return (store if owned else None), opened


def handle_on(
    log: Log,
    *,
    clock: Clock,
    entropy: Entropy,
    actor: str,
    read_only: bool = False,
    store: Store | None = None,
) -> SessionHandle:
    """Return the first session handle on a log; its state is loaded when it is first needed.

    Args:
        log: The log.
        clock: The wall clock.
        entropy: Source of random bytes.
        actor: The name to record as actor in the log.
        read_only: Whether nothing may be written, and damage ends the fold without an error.
        store: The store of the log, where forks are created too.
    """
    log_state = LogState(log, entropy=entropy, read_only=read_only)
    caller = Caller(space=log.name, actor=actor, clock=clock, entropy=entropy, read_only=read_only)
    return SessionHandle(log_state, CommandExecutor(log_state), caller, store=store)


def _store(
    path: Address | Store,
    *,
    synchronous: str,
    read_only: bool,
    keys: str | Path | None,
) -> tuple[Store, bool]:
    """Return the store, and whether it was opened here."""
    if keys is not None and not isinstance(keys, str | Path):
        raise FieldRefused(f"keys must be the path of a file, got {keys!r:.100}", field="keys")
    if isinstance(path, str | Path):
        file = None if keys is None else Path(keys)
        opened = open_store(path, synchronous=synchronous, read_only=read_only, keys=file)
        return opened, True
    if not callable(getattr(path, "log", None)):
        raise FieldRefused(f"neither a path nor a store: {path!r:.100}", field="path")
    if keys is not None:
        raise FieldRefused(
            "keys can only be given with an address, and this store is open already",
            recovery="Pass EncryptedStore(store, KeyTable(keys)), or the address.",
            field="keys",
        )
    return path, False


def _log(store: Store, space: str, copy_context: CopyContext, *, read_only: bool) -> Log:
    """Return the log of *space*; that of an encrypted store with an event for every erasure."""
    if isinstance(store, _ErasureAwareStore):
        return store.accounted(space, copy_context, read_only=read_only)
    return store.log(space, create=not read_only)


def _keep_checkpoints(log_state: LogState, place: CheckpointDirectory | None) -> None:
    """Set up the checkpoint writer of the space, if there is a directory for checkpoints."""
    if place is not None:
        from mnemic.adapters.checkpoints.writer import CheckpointWriter

        log_state.loader.checkpoint_writer = CheckpointWriter(
            log_state.log,
            place,
            fold_lock=log_state.lock,
            state=lambda: log_state.state,
            head=lambda: log_state.head,
            payloads=lambda: log_state.payload_count,
        )


def _keep_graphs(
    log_state: LogState, place: CheckpointDirectory | None, wanted: Graphs | None
) -> None:
    """Set up the graphs over the vectors of the space, in files next to the checkpoints."""

    def folder() -> GraphFolder | None:
        genesis = log_state.log.digest_at(0)
        if place is None or genesis is None:
            return None
        return GraphFolder(place, space=log_state.log.name, genesis=genesis)

    def index() -> VectorIndex | None:
        snapshot = log_state.published.snapshot
        return None if snapshot.embedder is None else snapshot.state.indexes.get(snapshot.embedder)

    log_state.graphs = GraphBuilder(wanted, index=index, folder=folder)


def _write_first_events(opened: SessionHandle, policy: Policy) -> None:
    """Write the first events, unless another process has done so meanwhile.

    Raises:
        LogCorrupt, StoreTooNew: The first event cannot be read.
        PointOutOfRange: There are no events, and the space is opened read-only.
    """
    if opened.log_state.damage is not None:
        raise opened.log_state.damage
    if opened.read_only:
        raise PointOutOfRange(f"space {opened.log.name!r} is empty", point="version", head=-1)

    def decide(view: View, _: Instant) -> Decision[None]:
        entropy = opened.caller.entropy
        nonce, salt = entropy.token(NONCE_SIZE), entropy.token(SALT_SIZE)
        return decide_open(view, policy, nonce=nonce, salt=salt)

    opened.execute(Command("open", {}), decide)


def models(
    space: SessionHandle,
    *,
    embedder: Embedder | None,
    embedders: Sequence[Embedder],
    analyst: Analyst | None,
    analyst_timeout_s: float,
    extractor: Extractor | None = None,
    extractor_timeout_s: float = EXTRACTOR_TIMEOUT_S,
    tokens: TokenCounter | None,
) -> Models:
    """Return the models of a host, after checking that they fit the space.

    Raises:
        EmbedderMismatch: The space was built with another embedder than the one given.
        FieldRefused: One of them is not a model of its kind, or its name is not valid in a log,
            or the time limit is invalid.
    """
    if embedder is not None:
        check_identity(embedder)
        check_embedder(space.snapshot().embedder, embedder.identity)
    if isinstance(embedders, str) or not isinstance(embedders, Sequence):
        raise FieldRefused(
            f"embedders must be a list of embedders, got {embedders!r:.100}", field="embedders"
        )
    for each in embedders:
        check_identity(each)
    if tokens is not None:
        checked_name("name of the token counter", getattr(tokens, "name", None))
    return Models(
        embedder=embedder,
        others=tuple(embedders),
        analyst=_analyst(analyst, analyst_timeout_s),
        extractor=_extractor(extractor),
        extractor_timeout_s=_timeout("extractor_timeout_s", extractor_timeout_s),
        tokens=tokens or EstimatedTokens(),
    )


def _analyst(given: Analyst | None, timeout_s: float) -> Analyst | None:
    """Return the analyst to use: the rules by default, any other one with a time limit.

    Raises:
        FieldRefused: It is not an analyst, or the limit is invalid.
    """
    _timeout("analyst_timeout_s", timeout_s)
    if given is None:
        return RulesAnalyst()  # takes microseconds, so it needs no time limit
    if isinstance(given, NoAnalyst):
        return None
    if not callable(getattr(given, "analyse", None)):
        raise FieldRefused(
            f"not an analyst: {given!r:.100}",
            recovery="Pass an analyst, None for the rules, or NoAnalyst() for no analysis.",
            field="analyst",
        )
    checked_name("name of the analyst", getattr(given, "name", None))
    return TimedAnalyst(given, timeout_s)


def _extractor(given: Extractor | None) -> Extractor | None:
    """Return the host's extractor, checked.

    Raises:
        FieldRefused: It is not an extractor.
    """
    if given is None:
        return None
    wanted = {"name": str, "model": str, "prompt": str, "window": int, "compares": bool}
    fits = all(type(getattr(given, name, None)) is kind for name, kind in wanted.items())
    if not fits or not callable(getattr(given, "extract", None)):
        raise FieldRefused(
            f"not an extractor: {given!r:.100}",
            recovery="Pass a ChatExtractor, or an object with name, model, prompt, window, "
            "compares and extract; None for none.",
            field="extractor",
        )
    for name in filter(None, (given.name, given.model, given.prompt)):
        checked_name("name of the extractor", name)
    return given


def _timeout(name: str, timeout_s: float) -> float:
    """Return a time limit, checked.

    Raises:
        FieldRefused: It is no number, or out of range.
    """
    is_number = isinstance(timeout_s, int | float) and not isinstance(timeout_s, bool)
    if not is_number or not 0 < timeout_s <= TIMEOUT_MAX_S:
        raise FieldRefused(
            f"{name} must be a number above 0 and at most {TIMEOUT_MAX_S}, got {timeout_s!r}",
            field=name,
        )
    return timeout_s


def check_identity(embedder: Embedder) -> None:
    """Refuse an embedder whose identity cannot be recorded in the log.

    Raises:
        FieldRefused: It has no identity, or a field of it has the wrong type or is out of range.
    """
    identity = getattr(embedder, "identity", None)
    if not isinstance(identity, EmbedderIdentity):
        raise FieldRefused(f"not an embedder: {embedder!r:.100}", field="embedder")
    checked_name("name of the embedder", identity.name)
    fits = type(identity.dimension) is int and 1 <= identity.dimension <= DIMENSION_MAX
    if not fits or not isinstance(identity.weights, str):
        raise FieldRefused(f"not the identity of an embedder: {identity}", field="embedder")
