"""The runner on Ray: one actor per processor of the cluster. Extra ``ray``, imported when used.

Each actor begins the work once, and holds what it loaded for all its tasks. The cluster is the one
that ``RAY_ADDRESS`` names, or else one on this machine that ends with the run. Ray replaces lost
actors and does their tasks again.

Actors of other machines open the store themselves: it has to be on a server, or in a file that all
of them see by the same path.
"""

from __future__ import annotations

from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, Final

from attrs import frozen

from mnemic.adapters.extras import require
from mnemic.adapters.runners.worker import Worker
from mnemic.kernel.errors import Unavailable
from mnemic.kernel.ports import Row, Task, Work

RESTARTS: Final = 3
"""How often Ray replaces an actor, and repeats a task that was lost with one."""


def require_ray() -> None:
    """Refuse to go on without Ray.

    Raises:
        Unavailable: Naming how to install it.
    """
    need = "runner 'ray' needs a package that is not installed"
    require("ray", "ray", need, instead="; or use runner 'processes'", package="ray")


@contextmanager
def on_ray(work: Work, *, workers: int | None = None) -> Generator[RayActors]:
    """Start actors for a work, for a ``with`` block; what of Ray was not running before ends too.

    Args:
        work: Sent to each actor by pickle.
        workers: How many actors, at most one per processor of the cluster; None: so many.
    """
    require_ray()
    import ray  # pyright: ignore[reportMissingImports] - no extra of a checkout needs it

    mine = not ray.is_initialized()
    if mine:
        ray.init(include_dashboard=False, log_to_driver=False, logging_level="error")
    actors: list[Any] = []
    try:
        most = max(1, int(ray.cluster_resources().get("CPU", 1)))  # more would never start
        count = min(workers or most, most)
        actor = ray.remote(num_cpus=1, max_restarts=RESTARTS, max_task_retries=RESTARTS)(Worker)
        actors += [actor.remote(work) for _ in range(count)]
        yield RayActors(tuple(actors))
    finally:
        if mine:
            ray.shutdown()
        else:
            for each in actors:
                ray.kill(each)


@frozen
class RayActors:
    """Does tasks on actors. Implements ``mnemic.kernel.ports.Runner``."""

    _actors: tuple[Any, ...]

    def run(self, tasks: Sequence[Task]) -> Iterator[tuple[int, Row]]:
        """Yield the place and the row of each task, as they are done.

        Raises:
            Unavailable: An actor was lost more than ``RESTARTS`` times.
        """
        import ray  # pyright: ignore[reportMissingImports]
        from ray.exceptions import (  # pyright: ignore[reportMissingImports]
            RayActorError,
            RayTaskError,
        )

        waiting = iter(enumerate(tasks))
        busy: dict[Any, tuple[int, Any]] = {}

        def occupy(actor: Any) -> None:
            following = next(waiting, None)
            if following is not None:
                place, task = following
                busy[actor.do.remote(task)] = place, actor

        for actor in self._actors:
            occupy(actor)
        while busy:
            (done,), _ = ray.wait(list(busy), num_returns=1)
            place, actor = busy.pop(done)
            try:
                row = ray.get(done)
            except RayTaskError as error:
                raise error.cause from None
            except RayActorError as error:
                raise Unavailable(
                    f"an actor of Ray was lost: {error}",
                    recovery="It may lack memory: use fewer workers, or runner 'inprocess'.",
                ) from error
            occupy(actor)
            yield place, row
