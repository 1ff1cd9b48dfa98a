# SPDX-License-Identifier: Apache-2.0
"""Takes readings around one sample's process, and measures what that itself costs.

The whole machine is read before the spawn and after the end. In between a thread sleeps and reads only what changes
with the load: the GPU, and the CPUs' frequency where the kernel tells it. Where there is neither, nothing wakes up: a
parent that keeps itself busy beside a CPU benchmark slows what it measures.
"""

from __future__ import annotations

import resource
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from suite.telemetry import Reading, cpu
from suite.telemetry.gpu import Gpus

#: Between two readings while a worker runs. NVML's own utilisation is over 1/6 to 1 s: more often shows no more. It
#: also is the time after the spawn at which the thread first does anything; until then it holds no lock that a fork
#: could copy in a locked state.
INTERVAL_S = 0.5

#: So long after a process NVML's utilisation may still be that process's (its window is up to 1 s; an H200 says 100 %
#: for 0.35 s). Only where another process is on the GPU does it matter whose it is, and a sample waits.
SETTLED_S = 1.0

#: How long the end of a sample waits for a reading that hangs: NVML does, for a GPU that is falling off the bus.
PATIENCE_S = 5.0


@dataclass
class Trace:
    """The readings of one sample, each with ``at_s`` (CLOCK_MONOTONIC), and what they cost.

    ``cost_s``: CPU seconds of all readings, of the thread that took those in between, and of starting it.
    """

    begin: Reading = field(default_factory=dict)
    end: Reading = field(default_factory=dict)
    between: list[Reading] = field(default_factory=list)
    cost_s: float = 0.0
    errors: list[str] = field(default_factory=list)


class Sampler:
    """Collects readings around processes, one after the other.

    Parameters
    ----------
    whole
        Reads everything that a begin and an end are compared by.
    between
        Reads what is read while the process runs; None: nothing, and no thread is started.
    interval_s
        Seconds between the readings of ``between``.
    """

    def __init__(
        self,
        whole: Callable[[], Reading],
        between: Callable[[], Reading] | None = None,
        *,
        interval_s: float = INTERVAL_S,
    ) -> None:
        self._whole = whole
        self._between = between
        self._interval_s = interval_s
        self._ended_s = float("-inf")

    @contextmanager
    def around(self) -> Iterator[Trace]:
        """Read before and after the block, and in between; the trace is complete when the block has been left.

        To be entered before the moment that counts as the spawn: the first reading may wait for ``SETTLED_S``.
        Never raises for a reading: what went wrong is in the trace's ``errors``.
        """
        trace = Trace()
        begun_s = time.thread_time()
        trace.begin = self._settled(trace)
        stop = threading.Event()
        thread = None
        if self._between is not None:
            thread = threading.Thread(
                target=self._collect,
                args=(self._between, trace, stop),
                name="coldwarm-telemetry",
                daemon=True,
            )
            thread.start()
        trace.cost_s += time.thread_time() - begun_s
        try:
            yield trace
        finally:
            begun_s = time.thread_time()
            stop.set()
            if thread is not None:
                thread.join(PATIENCE_S)
                if thread.is_alive():
                    _note(trace, f"a reading did not end within {PATIENCE_S:g} s")
            trace.end = _take(self._whole, trace)
            self._ended_s = time.monotonic()
            trace.cost_s += time.thread_time() - begun_s

    def _settled(self, trace: Trace) -> Reading:
        reading = _take(self._whole, trace)
        gpu = reading.get("gpu", {})
        left_s = self._ended_s + SETTLED_S - time.monotonic()
        if left_s > 0 and gpu.get("processes") and gpu.get("utilisation_percent", {}).get("gpu"):
            time.sleep(left_s)
            return _take(self._whole, trace)
        return reading

    def _collect(self, between: Callable[[], Reading], trace: Trace, stop: threading.Event) -> None:
        while not stop.wait(self._interval_s):
            trace.between.append(_take(between, trace))
        # All of this thread's life: its clock began with it.
        trace.cost_s += time.thread_time()


def for_machine(
    gpus: Gpus | None, index: int | None, *, root: Path = Path("/"), interval_s: float = INTERVAL_S
) -> Sampler:
    """Return the sampler of this machine and, where ``index`` names one, of one of its GPUs."""

    def of_gpu() -> Reading:
        return {} if gpus is None or index is None else {"gpu": gpus.read(index)}

    def whole() -> Reading:
        children = resource.getrusage(resource.RUSAGE_CHILDREN)
        return {
            **cpu.reading(root),
            "own_cpu_s": time.process_time(),
            "children_cpu_s": children.ru_utime + children.ru_stime,
            **of_gpu(),
        }

    def between() -> Reading:
        frequency = cpu.frequency(root)
        return {**({"frequency_mhz": frequency} if frequency else {}), **of_gpu()}

    # A GPU that does not answer once will not be worth waking up for.
    worth = cpu.frequency_varies(root) or set(of_gpu().get("gpu", ())) - {"errors"}
    return Sampler(whole, between if worth else None, interval_s=interval_s)


def _take(source: Callable[[], Reading], trace: Trace) -> Reading:
    at_s = time.monotonic()
    try:
        return {"at_s": at_s, **source()}
    # A run is not lost for a fact beside it, whatever a kernel or a driver puts into its files.
    except Exception as error:
        _note(trace, f"{type(error).__name__}: {error}")
        return {"at_s": at_s}


def _note(trace: Trace, text: str) -> None:
    if text not in trace.errors:
        trace.errors.append(text)
