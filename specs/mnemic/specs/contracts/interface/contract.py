"""``InterfaceContract``: tests of all operations, for every interface.

An interface is any object that has the operations of ``SyncMemory`` as plain methods, with the same
names and arguments. Other kinds of interfaces (async, over a wire, a command line) are wrapped in a
few lines for these tests. Its answers are results, or what their ``to_dict`` returns. A refusal is
raised as the error of the kernel, which `raised` makes from a document. Policies are given as
values of the kernel, receipts and lessons as plain objects, files as paths: a wrapper converts them
to the form that its interface expects.

The tests are in modules by subject; `view_queries`, `refusals` and `sample_requests` define the
requests.
"""

from __future__ import annotations

from mnemic.specs.contracts.interface.blocks import Blocks
from mnemic.specs.contracts.interface.composed_graphs import ComposedGraphs
from mnemic.specs.contracts.interface.decisions import Decisions
from mnemic.specs.contracts.interface.edges import Edges
from mnemic.specs.contracts.interface.errors_and_retries import ErrorsAndRetries
from mnemic.specs.contracts.interface.ledger import Ledgers
from mnemic.specs.contracts.interface.recalls import Recalls
from mnemic.specs.contracts.interface.time_travel import TimeTravel
from mnemic.specs.contracts.interface.transfer import Transfer
from mnemic.specs.contracts.interface.upkeep import Upkeep


class InterfaceContract(
    Blocks,
    Edges,
    Recalls,
    Ledgers,
    ComposedGraphs,
    TimeTravel,
    Decisions,
    Transfer,
    Upkeep,
    ErrorsAndRetries,
):
    """The guarantees of every operation.

    Implement ``interface``; it returns a context manager. List features that the interface does not
    support in ``lacks``.
    """
