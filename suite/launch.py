# SPDX-License-Identifier: Apache-2.0
"""Start one worker process, wait for it with a deadline, and leave nothing of it behind."""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import subprocess
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from suite.watch import Watch

#: Seconds that an engine's client has to end by itself.
GENTLE_S = 5.0
_PR_SET_PDEATHSIG = 1
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass(frozen=True)
class Outcome:
    """How a worker's process went. Clock readings are CLOCK_MONOTONIC in seconds."""

    spawn_s: float
    executing_s: float
    ended_s: float
    pid: int
    exit_code: int | None
    signal: int | None
    ended_by: str
    """ "itself", "timeout" or "interrupt: <cause>"."""


class Launcher(Protocol):
    """Runs one worker and says how it went: :func:`launch`, or a replay of recorded samples."""

    def __call__(
        self,
        argv: Sequence[str],
        *,
        folder: Path,
        environment: Mapping[str, str],
        spawn_s: float,
        timeout_s: float,
        watch: Watch,
        words: str = "",
        end: Callable[[], None] | None = None,
    ) -> Outcome:
        """Run ``argv``; see :func:`launch`."""
        ...


def launch(
    argv: Sequence[str],
    *,
    folder: Path,
    environment: Mapping[str, str],
    spawn_s: float,
    timeout_s: float,
    watch: Watch,
    words: str = "",
    end: Callable[[], None] | None = None,
) -> Outcome:
    """Run ``argv`` in a process group of its own and wait for its end.

    Its stdout and stderr go to ``<words>stdout.txt`` and ``<words>stderr.txt`` in ``folder``. It is killed, with its
    whole group, when ``timeout_s`` is over or the watch trips; the kernel kills it when this process dies.

    Parameters
    ----------
    spawn_s
        The moment that the request names as the spawn: read by the caller just before this call.
    end
        Ends what an engine's client started, so that the client then ends by itself; it is killed where it has not
        ``GENTLE_S`` later, or when this returns after that.
        Killed while it creates a container, podman leaves a process and a mount that it knows nothing of any more.
    """
    ended_by = ""
    parent = os.getpid()
    with (folder / f"{words}stdout.txt").open("wb") as out, (folder / f"{words}stderr.txt").open("wb") as err:
        # Popen returns once exec has succeeded: what lies before is the engine's, what follows the
        # interpreter's.
        process = subprocess.Popen(
            list(argv),
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=err,
            cwd=folder,
            env=dict(environment),
            start_new_session=True,
            preexec_fn=lambda: _die_with(parent),
        )
        executing_s = time.monotonic()
        try:
            ended_by = _wait(process, spawn_s + timeout_s, watch)
            ended_s = time.monotonic()
        finally:
            if end is not None and ended_by != "itself":
                _end_by(process, end)
            _end_group(process)
    code = process.returncode
    return Outcome(
        spawn_s=spawn_s,
        executing_s=executing_s,
        ended_s=ended_s,
        pid=process.pid,
        exit_code=code if code >= 0 else None,
        signal=-code if code < 0 else None,
        ended_by=ended_by,
    )


def _die_with(parent: int) -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it died between fork and prctl
        os._exit(1)


def _wait(process: subprocess.Popen[bytes], deadline_s: float, watch: Watch) -> str:
    try:
        descriptor = os.pidfd_open(process.pid)
    except OSError:
        return _wait_without_pidfd(process, deadline_s, watch)
    try:
        while True:
            if watch.wait(descriptor, deadline_s - time.monotonic()):
                process.wait()
                return "itself"
            cause = watch.tripped()
            if cause:
                return f"interrupt: {cause}"
            if time.monotonic() >= deadline_s:
                return "timeout"
    finally:
        os.close(descriptor)


def _wait_without_pidfd(process: subprocess.Popen[bytes], deadline_s: float, watch: Watch) -> str:
    # Kernels before 5.3: look ten times a second, which costs a benchmark less than 0.1 % of a core.
    while process.poll() is None:
        watch.wait(-1, 0.1)
        if watch.tripped():
            return f"interrupt: {watch.tripped()}"
        if time.monotonic() >= deadline_s:
            return "timeout"
    return "itself"


def _end_by(process: subprocess.Popen[bytes], end: Callable[[], None]) -> None:
    until_s = time.monotonic() + GENTLE_S
    while process.poll() is None and time.monotonic() < until_s:
        end()  # again: a container that is only being created is not there yet
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(0.3)


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """Kill what is left of the worker's process group and reap the worker."""
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
