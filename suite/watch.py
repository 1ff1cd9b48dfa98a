# SPDX-License-Identifier: Apache-2.0
"""What ends a run early: a signal, or the death of the make or nox that started it.

Both become readable descriptors, so that waiting for a worker, for Ctrl-C and for a parent is one poll.
"""

from __future__ import annotations

import os
import select
import signal
from collections.abc import Mapping
from types import FrameType, TracebackType

#: PIDs, separated by spaces, whose death ends the run: set by the Makefile and the noxfile.
VARIABLE = "COLDWARM_WATCH"

_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Watch:
    """While entered, signals do not end the process but trip the watch."""

    def __init__(self, environ: Mapping[str, str]) -> None:
        self._pids = [int(word) for word in environ.get(VARIABLE, "").split() if word.isdigit()]
        self._parents: dict[int, int] = {}
        self._cause = ""
        self._previous: dict[int, object] = {}
        self._read = self._write = -1

    def __enter__(self) -> Watch:
        self._read, self._write = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        for number in _SIGNALS:
            self._previous[number] = signal.signal(number, self._on_signal)
        for pid in self._pids:
            try:
                self._parents[os.pidfd_open(pid)] = pid
            except ProcessLookupError:
                self._cause = f"process {pid}, which started this run, has ended"
            except (
                OSError,
                OverflowError,
            ):  # no pidfd: Ctrl-C still works, a killed make is not noticed
                continue
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)  # type: ignore[arg-type]
        for descriptor in (self._read, self._write, *self._parents):
            os.close(descriptor)
        self._parents.clear()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        self._cause = self._cause or f"signal {signal.Signals(number).name}"
        os.write(self._write, b"!")

    def tripped(self) -> str:
        """Return what ended the run, or "" while nothing did."""
        if not self._cause:
            self.wait(-1, 0.0)
        return self._cause

    def wait(self, descriptor: int, timeout_s: float) -> bool:
        """Wait until ``descriptor`` (-1: none) is readable, the watch trips or the time is up.

        Returns whether the descriptor became readable. The process sleeps: a parent that polls on a timer
        would take a core from the benchmark beside it.
        """
        poller = select.poll()
        for each in (self._read, *self._parents):
            poller.register(each, select.POLLIN)
        if descriptor >= 0:
            poller.register(descriptor, select.POLLIN)
        ready = {fd for fd, _ in poller.poll(max(0.0, timeout_s) * 1000.0)}
        for fd, pid in self._parents.items():
            if fd in ready:
                self._cause = self._cause or f"process {pid}, which started this run, has ended"
        return descriptor in ready
