# SPDX-License-Identifier: Apache-2.0
"""Phases: named intervals of a sample's wall time, each with its own begin and end.

A phase is never "since the previous mark": what lies between two phases belongs to neither and shows up
as ``untimed`` on the host side.
"""

import contextlib
import os
import stat

import clock


class Phases(object):
    """Measures phases and tells the parent of each, when it begins and when it has ended."""

    def __init__(self, channel):
        self._channel = channel
        self.last_end_s = None

    @contextlib.contextmanager
    def measure(self, name):
        """Time the body as one interval of phase ``name``; a phase may have several intervals.

        The begin is told before its clock is read and the end after, so that telling is not timed; the
        begin is what names the phase in which a worker was killed.
        """
        before = said()
        self._channel.send("phase_begin", name=name)
        begin = clock.now()
        try:
            yield
        finally:
            end = clock.now()
            self.last_end_s = end
            self._channel.send("phase", name=name, begin_s=begin, end_s=end, stderr_bytes=[before, said()])


def said():
    """Return how many bytes stderr holds, which tells what was logged in a phase; None for a pipe."""
    status = os.fstat(2)
    return status.st_size if stat.S_ISREG(status.st_mode) else None
