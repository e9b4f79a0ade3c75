"""The collector of garbage is paused, and works again afterwards."""

from __future__ import annotations

import gc
import os
from threading import Event, Thread

import pytest

from mnemic.adapters.system.collector import FEW, collector_at_rest


def test_the_collector_rests_within_and_works_afterwards() -> None:
    assert gc.isenabled()
    with collector_at_rest():
        assert not gc.isenabled()
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    assert gc.isenabled()


def test_a_host_without_a_collector_keeps_it_off() -> None:
    gc.disable()
    try:
        with collector_at_rest():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()


def test_many_new_objects_are_old_afterwards() -> None:
    with collector_at_rest():
        kept = [[number] for number in range(2 * FEW)]
    assert gc.get_count()[0] < FEW
    assert gc.get_freeze_count() == 0
    assert len(kept) == 2 * FEW


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system cannot fork")
@pytest.mark.filterwarnings("ignore:.*multi-threaded.*:DeprecationWarning")
def test_a_child_that_is_forked_during_a_pause_has_its_collector() -> None:
    paused, forked = Event(), Event()

    def pause() -> None:
        with collector_at_rest():
            paused.set()
            forked.wait()

    thread = Thread(target=pause)
    thread.start()
    paused.wait()
    child = os.fork()
    if child == 0:
        os._exit(0 if gc.isenabled() else 1)
    forked.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
