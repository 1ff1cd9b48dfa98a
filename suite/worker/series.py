# SPDX-License-Identifier: Apache-2.0
"""The warm series: the same compiled call again and again, each call clocked, the whole clocked around.

Two clocks, because one can lie: a call that returns before its work is done makes the single clocks small,
and the outer one, closed by a drain, long.
"""

import contextlib
import gc
import time

import clock
import limits

#: Drains probed: at most so many, at least 3, and no more after so long. The smallest of them is used: work
#: left over makes every such drain long, a busy machine only some.
PROBES = 15
PROBE_SECONDS = 0.1
#: Work left over shows in every round, a neighbour's burst in one: further rounds only where one shows something.
ROUNDS = 3
QUIET_SECONDS = 15e-6
#: A call of the sizes at which microseconds matter has long ended after this rest.
REST_SECONDS = 0.005


def measure(adapter, calls, seconds):
    """Run the warm series.

    Parameters
    ----------
    adapter
        Anything with ``execute()`` and ``drain()``.
    calls
        How many calls; None in a pilot, which has to find out.
    seconds
        A pilot goes on for this long, and at least 3 calls.

    Returns
    -------
    dict
        ``calls_s``: each call's time in order; ``outer_s``: begin of the first call to end of the final
        drain; ``scalar``: the last call's; ``throttlings``: how often a CPU quota stopped the process meanwhile.
    """
    adapter.drain()  # its own first use is not what closes the series
    execute, now = adapter.execute, clock.now
    times = []
    append = times.append
    scalar = None
    with undisturbed():
        stopped = limits.throttlings()
        begin = now()
        until = begin + seconds
        while (len(times) < calls) if calls is not None else (len(times) < 3 or now() < until):
            before = now()
            scalar = execute()
            append(now() - before)
        adapter.drain()
        outer = now() - begin
        stopped = limits.throttlings() - stopped
    return {"calls_s": times, "outer_s": outer, "scalar": scalar, "throttlings": stopped}


@contextlib.contextmanager
def undisturbed():
    """Hold off Python's collector: a collection inside a 0.2 ms call is not the framework's time."""
    was_enabled = gc.isenabled()
    gc.collect()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()


def drains(adapter):
    """Return how long a drain takes right after a call's clock has stopped, and how long after a rest.

    Both follow a call, so that both find the same caches; what the first takes more is work that the call
    had left behind.

    Returns
    -------
    dict
        ``late_drain_s`` and ``idle_drain_s``: the smallest of each, in seconds, of the round in which they differ
        least. Where the adapter can ask the device (``pending()``), ``pending``: after how many of ``probed`` calls
        work was outstanding.
    """
    best = None
    for _ in range(ROUNDS):
        late = _smallest(adapter.drain, adapter.execute)
        idle = _smallest(adapter.drain, lambda: (adapter.execute(), time.sleep(REST_SECONDS)))
        if best is None or late - idle < best[0] - best[1]:
            best = (late, idle)
        if late - idle <= QUIET_SECONDS:
            break
    out = {"late_drain_s": best[0], "idle_drain_s": best[1]}
    if getattr(adapter, "pending", None) is not None:
        out.update(pending=sum(_left_pending(adapter) for _ in range(PROBES)), probed=PROBES)
    return out


def _left_pending(adapter):
    """Tell whether the device has work left the moment a call has returned: a drain of few microseconds hides it."""
    adapter.execute()
    return bool(adapter.pending())


def _smallest(function, before):
    """Return the smallest time of ``function``, called again and again, each time after ``before``."""
    times = []
    until = clock.now() + PROBE_SECONDS
    while len(times) < 3 or (len(times) < PROBES and clock.now() < until):
        before()
        times.append(_timed(function))
    return min(times)


def _timed(function):
    before = clock.now()
    function()
    return clock.now() - before
