"""Base classes of the facades: ``SyncMemory`` offered in other ways, with the same operations.

A facade gets every operation that the registry knows and that it does not define itself when its
class is created. Type checkers cannot follow that, so the tables below name the operations for
them, each once for all facades; a test holds the tables equal to the registry.
"""

from __future__ import annotations

import inspect
from abc import ABC, abstractmethod
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Concatenate, Generic, ParamSpec, TypeVar, overload

from mnemic.adapters.inprocess.queries import Queries
from mnemic.adapters.inprocess.registry import declared
from mnemic.adapters.inprocess.sync import SyncMemory
from mnemic.adapters.inprocess.view import SyncView

P = ParamSpec("P")
T = TypeVar("T")


class Facade(ABC):
    """A class with the operations of another one, each carried out in its own way."""

    def __init_subclass__(cls, *, of: type[Queries] | None = None) -> None:
        """Add the operations of a class, except those that are defined here.

        Args:
            of: ``SyncMemory`` or ``SyncView``; None: no operations are added.
        """
        super().__init_subclass__()
        for name in () if of is None else dir(of):
            if declared(SyncMemory, name) is not None and not hasattr(cls, name):
                setattr(cls, name, cls._offered(inspect.getattr_static(of, name)))

    @staticmethod
    @abstractmethod
    def _offered(call: Callable[..., Any]) -> Callable[..., Any]:
        """Return the method that offers an operation: same signature and docstring."""


class SyncFacade(Facade):
    """A facade whose operations return their results."""


class AsyncFacade(Facade):
    """A facade whose operations are awaited."""


class Offered(Generic[P, T]):
    """An operation of a facade, for type checkers: awaited on an ``AsyncFacade``."""

    def __init__(self, call: Callable[Concatenate[Any, P], T]) -> None: ...

    @overload
    def __get__(self, face: SyncFacade, of: object = None) -> Callable[P, T]: ...
    @overload
    def __get__(
        self, face: AsyncFacade, of: object = None
    ) -> Callable[P, Coroutine[Any, Any, T]]: ...
    @overload
    def __get__(self, face: None, of: type[SyncFacade]) -> Callable[Concatenate[Any, P], T]: ...
    @overload
    def __get__(
        self, face: None, of: type[AsyncFacade]
    ) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]: ...
    def __get__(self, face: object, of: object = None) -> Any: ...


class _QueryTable:
    """Operations that a view has too."""

    if TYPE_CHECKING:
        analogies = Offered(Queries.analogies)
        block = Offered(Queries.block)
        blocks = Offered(Queries.blocks)
        compare = Offered(Queries.compare)
        composed_with = Offered(Queries.composed_with)
        composition = Offered(Queries.composition)
        decisions = Offered(Queries.decisions)
        descent = Offered(Queries.descent)
        diff = Offered(Queries.diff)
        edges = Offered(Queries.edges)
        facts = Offered(Queries.facts)
        frontier = Offered(Queries.frontier)
        history = Offered(Queries.history)
        ledger = Offered(Queries.ledger)
        log = Offered(Queries.log)
        near_duplicates = Offered(Queries.near_duplicates)
        pending_connections = Offered(Queries.pending_connections)
        sources = Offered(Queries.sources)
        status = Offered(Queries.status)
        subgraph = Offered(Queries.subgraph)
        timeline = Offered(Queries.timeline)
        trajectory = Offered(Queries.trajectory)


class ViewTable(_QueryTable):
    """The operations of ``SyncView``."""

    if TYPE_CHECKING:
        ask_again = Offered(SyncView.ask_again)
        deep_reference = Offered(SyncView.deep_reference)
        recall = Offered(SyncView.recall)


class MemoryTable(_QueryTable):
    """The operations of ``SyncMemory``, except those whose parameters differ between facades."""

    if TYPE_CHECKING:
        add = Offered(SyncMemory.add)
        adopt_extraction = Offered(SyncMemory.adopt_extraction)
        adopt_policy = Offered(SyncMemory.adopt_policy)
        ask_again = Offered(SyncMemory.ask_again)
        backtest = Offered(SyncMemory.backtest)
        calibrate = Offered(SyncMemory.calibrate)
        checkpoint = Offered(SyncMemory.checkpoint)
        checkpoints = Offered(SyncMemory.checkpoints)
        compose = Offered(SyncMemory.compose)
        composed_graph = Offered(SyncMemory.composed_graph)
        connect = Offered(SyncMemory.connect)
        connect_by_query = Offered(SyncMemory.connect_by_query)
        connects = Offered(SyncMemory.connects)
        consolidate = Offered(SyncMemory.consolidate)
        curate = Offered(SyncMemory.curate)
        deep_reference = Offered(SyncMemory.deep_reference)
        disconnect = Offered(SyncMemory.disconnect)
        dream = Offered(SyncMemory.dream)
        drop_checkpoints = Offered(SyncMemory.drop_checkpoints)
        end_session = Offered(SyncMemory.end_session)
        erase = Offered(SyncMemory.erase)
        erase_many = Offered(SyncMemory.erase_many)
        erase_space = Offered(SyncMemory.erase_space)
        explain = Offered(SyncMemory.explain)
        forget = Offered(SyncMemory.forget)
        forget_many = Offered(SyncMemory.forget_many)
        fork = Offered(SyncMemory.fork)
        label = Offered(SyncMemory.label)
        learn = Offered(SyncMemory.learn)
        learn_many = Offered(SyncMemory.learn_many)
        outcome = Offered(SyncMemory.outcome)
        quarantine = Offered(SyncMemory.quarantine)
        re_extract = Offered(SyncMemory.re_extract)
        recall = Offered(SyncMemory.recall)
        receipt = Offered(SyncMemory.receipt)
        replay = Offered(SyncMemory.replay)
        replay_all = Offered(SyncMemory.replay_all)
        retract_label = Offered(SyncMemory.retract_label)
        revert = Offered(SyncMemory.revert)
        revert_source = Offered(SyncMemory.revert_source)
        revise = Offered(SyncMemory.revise)
        rezone = Offered(SyncMemory.rezone)
        start_session = Offered(SyncMemory.start_session)
        tune = Offered(SyncMemory.tune)
        verify = Offered(SyncMemory.verify)
        verify_receipt = Offered(SyncMemory.verify_receipt)
        what_if = Offered(SyncMemory.what_if)
        why_not = Offered(SyncMemory.why_not)
