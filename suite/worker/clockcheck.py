# SPDX-License-Identifier: Apache-2.0
"""What the instrument itself costs: the clock's resolution, and the warm series' loop around a call of nothing."""

import time

import clock
import series

CALLS = 20000


class Nothing(object):
    """Stands where an adapter does; its call does nothing."""

    def execute(self):
        return 0.0

    def drain(self):
        pass


def measure():
    """Return the instrument's figures, in seconds.

    Returns
    -------
    dict
        ``resolution_s``: as the system says; ``step_s``: the smallest step seen; ``reading_s``: what one reading
        costs; ``empty_call_s``: what a call of nothing is clocked as (median), which is in every number;
        ``loop_s``: what a clocked call of the series takes more than a bare one.
    """
    now = clock.now
    readings = [now() for _ in range(CALLS)]
    steps = [readings[k] - readings[k - 1] for k in range(1, CALLS) if readings[k] > readings[k - 1]]
    nothing = Nothing()
    timed, bare = [], []
    for _ in range(5):
        timed.append(series.measure(nothing, CALLS, 0.0))
        bare.append(_bare(nothing.execute, CALLS))
    clocked = min(each["outer_s"] for each in timed)
    calls = sorted(timed[0]["calls_s"])
    return {
        "resolution_s": time.get_clock_info("monotonic").resolution,
        "step_s": min(steps) if steps else 0.0,
        "reading_s": (readings[-1] - readings[0]) / (CALLS - 1),
        "empty_call_s": calls[len(calls) // 2],
        "loop_s": (clocked - min(bare)) / CALLS,
    }


def _bare(execute, calls):
    begin = clock.now()
    for _ in range(calls):
        execute()
    return clock.now() - begin
