# SPDX-License-Identifier: Apache-2.0
"""What ends a run early, as a descriptor that one poll waits for."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import threading
import time
from collections.abc import Iterator

import pytest

from suite.watch import VARIABLE, Watch

SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@pytest.fixture
def parent() -> Iterator[subprocess.Popen[bytes]]:
    """Give a process that plays the make or nox that started the run."""
    process = subprocess.Popen(["sleep", "60"])
    yield process
    process.kill()
    process.wait()


def later(delay_s: float, what, *arguments) -> None:
    threading.Timer(delay_s, what, arguments).start()


def descriptors() -> int:
    return len(os.listdir("/proc/self/fd"))  # noqa: PTH208


def test_nothing_trips_a_watch_by_itself(parent):
    """Fault: a run that ends as interrupted for no cause."""
    for environ in ({}, {VARIABLE: ""}, {VARIABLE: str(parent.pid)}):
        with Watch(environ) as watch:
            assert watch.wait(-1, 0.01) is False
            assert watch.tripped() == ""


@pytest.mark.parametrize("number", SIGNALS)
def test_a_signal_trips_the_watch_and_ends_nothing(number):
    """Fault: Ctrl-C, kill or a closed terminal ends the process before its journal is closed."""
    with Watch({}) as watch:
        os.kill(os.getpid(), number)
        assert watch.tripped() == f"signal {number.name}"


def test_a_signal_wakes_who_waits():
    """Fault: Ctrl-C is noticed only when the sample, which may take its whole timeout, has ended."""
    with Watch({}) as watch:
        begin = time.monotonic()
        later(0.1, os.kill, os.getpid(), signal.SIGINT)
        assert watch.wait(-1, 20) is False
        assert time.monotonic() - begin < 5
        assert watch.tripped() == "signal SIGINT"


def test_the_first_cause_is_kept():
    """Fault: the second, impatient Ctrl-C or make's own SIGTERM renames the cause."""
    with Watch({}) as watch:
        for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
            os.kill(os.getpid(), number)
        assert watch.tripped() == "signal SIGTERM"
        assert watch.tripped() == "signal SIGTERM"


def test_the_death_of_a_parent_wakes_who_waits(parent):
    """Fault: make is killed and the run goes on unseen for hours."""
    with Watch({VARIABLE: str(parent.pid)}) as watch:
        begin = time.monotonic()
        later(0.1, parent.kill)
        assert watch.wait(-1, 20) is False
        assert time.monotonic() - begin < 5
        assert watch.tripped() == f"process {parent.pid}, which started this run, has ended"


def test_the_death_of_a_parent_is_found_without_waiting(parent):
    """Fault: between two samples, where nothing waits, a dead parent is not looked for."""
    with Watch({VARIABLE: str(parent.pid)}) as watch:
        assert watch.tripped() == ""
        parent.kill()
        parent.wait()
        assert f"process {parent.pid}," in watch.tripped()


def test_any_of_several_parents(parent):
    """Fault: only the first PID of the list is watched, or its words are not told apart."""
    with Watch({VARIABLE: f" {os.getppid()}  {parent.pid} "}) as watch:
        assert watch.tripped() == ""
        parent.kill()
        assert watch.wait(-1, 20) is False
        assert f"process {parent.pid}," in watch.tripped()


@pytest.mark.parametrize("reaped", [True, False])
def test_a_parent_that_was_dead_before_trips_at_once(parent, reaped):
    """Fault: make dies before the suite has come up: nobody is left to watch, so nothing ever trips."""
    parent.kill()
    if reaped:
        parent.wait()
    else:
        os.waitid(os.P_PID, parent.pid, os.WEXITED | os.WNOWAIT)
    with Watch({VARIABLE: str(parent.pid)}) as watch:
        assert f"process {parent.pid}," in watch.tripped()


@pytest.mark.parametrize("words", ["make", "-1", "0", "1.5", "$PPID"])
def test_words_that_are_no_pids_are_passed_over(words):
    """Fault: a variable that someone else set ends the run, or watches a process group."""
    with Watch({VARIABLE: words}) as watch:
        assert watch.tripped() == ""


def test_a_number_that_no_pid_can_be_is_passed_over():
    """Fault: the same, with a traceback."""
    with Watch({VARIABLE: "99999999999999"}) as watch:
        assert watch.tripped() == ""


def test_a_kernel_without_pidfd_still_has_its_signals(monkeypatch, parent):
    """Fault: OSError before the first sample on an old kernel."""

    def missing(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)
    with Watch({VARIABLE: str(parent.pid)}) as watch:
        assert watch.tripped() == ""
        os.kill(os.getpid(), signal.SIGTERM)
        assert watch.tripped() == "signal SIGTERM"


def test_a_readable_descriptor_is_told_from_a_trip(parent):
    """Fault: Ctrl-C is taken for the worker's end, or the worker's end for an interrupt."""
    read, write = os.pipe()
    try:
        with Watch({VARIABLE: str(parent.pid)}) as watch:
            assert watch.wait(read, 0.0) is False
            os.write(write, b"!")
            assert watch.wait(read, 20) is True
            assert watch.tripped() == ""
            os.read(read, 1)
            os.kill(os.getpid(), signal.SIGINT)
            assert watch.wait(read, 20) is False
            os.write(write, b"!")
            assert watch.wait(read, 20) is True
            assert watch.tripped() == "signal SIGINT"
    finally:
        os.close(read)
        os.close(write)


@pytest.mark.parametrize("timeout_s", [0.0, -5.0, 0.05])
def test_the_time_is_up_in_seconds(timeout_s):
    """Fault: milliseconds for seconds, or a deadline that has passed (negative) waits for ever."""
    with Watch({}) as watch:
        begin = time.monotonic()
        assert watch.wait(-1, timeout_s) is False
        assert max(0.0, timeout_s) * 0.9 <= time.monotonic() - begin < 2


def test_waiting_takes_no_time_of_a_core(parent):
    """Fault: the parent polls, and takes a core from the benchmark beside it."""
    with Watch({VARIABLE: str(parent.pid)}) as watch:
        begin, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
        watch.wait(-1, 0.5)
        after = resource.getrusage(resource.RUSAGE_SELF)
        assert time.monotonic() - begin > 0.45
        assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.05
        assert after.ru_nvcsw - before.ru_nvcsw < 20  # how often it woke up


def test_all_is_as_before_once_it_is_left(parent):
    """Fault: Ctrl-C stays without effect after the run, or each run leaves descriptors behind."""
    handlers, opened = [signal.getsignal(number) for number in SIGNALS], descriptors()
    with pytest.raises(RuntimeError), Watch({VARIABLE: str(parent.pid)}):
        assert [signal.getsignal(number) for number in SIGNALS] != handlers
        assert descriptors() == opened + 3
        raise RuntimeError
    assert [signal.getsignal(number) for number in SIGNALS] == handlers
    assert descriptors() == opened


def test_a_worker_does_not_inherit_the_watch(parent):
    """Fault: a worker holds the pipe open, or can trip its own parent's watch."""
    with Watch({VARIABLE: str(parent.pid)}):
        plain = subprocess.run(
            ["ls", "/proc/self/fd"], capture_output=True, text=True, check=True, close_fds=False
        )
    without = subprocess.run(["ls", "/proc/self/fd"], capture_output=True, text=True, check=True, close_fds=False)
    assert plain.stdout == without.stdout
