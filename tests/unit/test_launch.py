# SPDX-License-Identifier: Apache-2.0
"""Starting real, tiny processes, waiting for them, and leaving nothing of them behind."""

from __future__ import annotations

import os
import resource
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

from suite import launch as launch_module
from suite.launch import Outcome, launch
from suite.stack import ROOT
from suite.watch import VARIABLE, Watch

WITH_PIDFD = pytest.mark.parametrize("pidfd", [True, False], ids=["pidfd", "without pidfd"])


def run(folder: Path, script: str, timeout_s: float = 20.0, end=None, **environ: str) -> Outcome:
    with Watch(environ) as watch:
        return launch(
            ["/bin/sh", "-c", script],
            folder=folder,
            environment={"PATH": os.environ["PATH"]},
            spawn_s=time.monotonic(),
            timeout_s=timeout_s,
            watch=watch,
            end=end,
        )


def without_pidfd(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(pid: int) -> int:
        raise OSError(38, "Function not implemented")

    monkeypatch.setattr(os, "pidfd_open", missing)


def alive(pid: int) -> bool:
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def ends(pid: int, within_s: float = 5.0) -> bool:
    deadline = time.monotonic() + within_s
    while alive(pid) and time.monotonic() < deadline:
        time.sleep(0.01)
    return not alive(pid)


def written(path: Path, within_s: float = 5.0) -> list[int]:
    """Return the PIDs in a file once its writer has written a whole line of them."""
    deadline = time.monotonic() + within_s
    while not (path.exists() and path.read_text().endswith("\n")) and time.monotonic() < deadline:
        time.sleep(0.01)
    return [int(word) for word in path.read_text().split()]


@WITH_PIDFD
@pytest.mark.parametrize("code", [0, 1, 64, 255])
def test_the_exit_code_is_told(tmp_path, monkeypatch, code, pidfd):
    """Fault: a failed worker looks like one that went through, or as if a signal had ended it."""
    if not pidfd:
        without_pidfd(monkeypatch)
    outcome = run(tmp_path, f"exit {code}")
    assert (outcome.exit_code, outcome.signal, outcome.ended_by) == (code, None, "itself")


@WITH_PIDFD
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGSEGV, signal.SIGTERM])
def test_the_signal_is_told(tmp_path, monkeypatch, number, pidfd):
    """Fault: a worker that the kernel killed has exit code -9, or counts as killed by us."""
    if not pidfd:
        without_pidfd(monkeypatch)
    outcome = run(tmp_path, f"ulimit -c 0; kill -{int(number)} $$")
    assert (outcome.exit_code, outcome.signal, outcome.ended_by) == (None, int(number), "itself")


@WITH_PIDFD
def test_the_timeout_kills_the_whole_group(tmp_path, monkeypatch, pidfd):
    """Fault: the worker is killed and its children go on, on the GPU and the cores of the next sample."""
    if not pidfd:
        without_pidfd(monkeypatch)
    script = "sh -c 'sleep 60 & echo $$ $! > pids; wait' & wait"
    begin = time.monotonic()
    outcome = run(tmp_path, script, timeout_s=0.6)
    assert 0.55 < time.monotonic() - begin < 5
    assert (outcome.exit_code, outcome.signal, outcome.ended_by) == (None, signal.SIGKILL, "timeout")
    child, grandchild = written(tmp_path / "pids")
    assert ends(child) and ends(grandchild) and not alive(outcome.pid)


#: An engine's client: for a while it makes a container, then it waits for that to be removed.
CLIENT = """
touch making; sleep 0.5; rm making; touch container
while [ ! -e removed ]; do sleep 0.02; done
exit 137
"""


def test_an_engines_client_is_not_killed_while_it_makes_a_container(tmp_path):
    """Fault: podman is killed between making and starting: a process and a mount stay, which it does not know of."""
    asked = []

    def end() -> None:
        asked.append((tmp_path / "container").exists())
        if asked[-1]:
            (tmp_path / "removed").touch()

    outcome = run(tmp_path, CLIENT, timeout_s=0.1, end=end)
    assert (outcome.ended_by, outcome.exit_code, outcome.signal) == ("timeout", 137, None)
    assert not (tmp_path / "making").exists() and asked[0] is False and asked[-1] is True
    # The time is that of the sample, not of what it took to end it.
    assert outcome.ended_s - outcome.spawn_s < 0.4


def test_an_engines_client_that_does_not_end_is_killed(tmp_path, monkeypatch):
    """Fault: a hung daemon's client holds Ctrl-C for ever."""
    monkeypatch.setattr(launch_module, "GENTLE_S", 0.5)
    asked: list[float] = []
    outcome = run(tmp_path, CLIENT, timeout_s=0.1, end=lambda: asked.append(time.monotonic()))
    assert (outcome.exit_code, outcome.signal) == (None, signal.SIGKILL) and len(asked) >= 2


def test_what_ended_by_itself_is_not_ended(tmp_path):
    """Fault: an engine is asked to remove a container after every sample."""
    assert run(tmp_path, "exit 3", end=lambda: pytest.fail("asked")).exit_code == 3


def test_a_worker_that_will_not_end_is_killed(tmp_path):
    """Fault: SIGTERM is sent and its end waited for; a framework that hangs holds up the run for ever."""
    outcome = run(tmp_path, "trap '' TERM INT HUP; while :; do sleep 60; done", timeout_s=0.3)
    assert (outcome.signal, outcome.ended_by) == (signal.SIGKILL, "timeout")
    assert outcome.ended_s - outcome.spawn_s < 5


def test_what_a_worker_leaves_behind_is_killed(tmp_path):
    """Fault: a child that outlives its worker measures along with the next sample."""
    outcome = run(tmp_path, "sleep 60 & echo $! > pids; exit 3")
    assert (outcome.exit_code, outcome.ended_by) == (3, "itself")
    [child] = written(tmp_path / "pids")
    assert ends(child)


def test_the_time_limit_counts_from_the_spawn(tmp_path):
    """Fault: the limit begins anew wherever the request was written."""
    with Watch({}) as watch:
        spawn_s = time.monotonic() - 19.7
        outcome = launch(
            ["sleep", "5"], folder=tmp_path, environment=os.environ, spawn_s=spawn_s, timeout_s=20.0, watch=watch
        )
    assert outcome.ended_by == "timeout" and outcome.spawn_s == spawn_s
    assert 19.9 < outcome.ended_s - spawn_s < 23


def test_the_end_is_noticed_at_once(tmp_path):
    """Fault: the end is found by a poll, whose period is then part of every wall time."""
    late = []
    for number in range(5):
        folder = tmp_path / str(number)
        folder.mkdir()
        outcome = run(folder, "cat /proc/uptime > /dev/null; sleep 0.03")
        late.append(outcome.ended_s - outcome.executing_s - 0.03)
        assert outcome.spawn_s < outcome.executing_s < outcome.ended_s
    assert 0 < min(late) < 0.03


@WITH_PIDFD
def test_waiting_takes_no_time_of_a_core(tmp_path, monkeypatch, pidfd):
    """Fault: the parent polls, and takes a core from the worker that it times."""
    if not pidfd:
        without_pidfd(monkeypatch)
    before = resource.getrusage(resource.RUSAGE_SELF)
    outcome = run(tmp_path, "sleep 0.8")
    after = resource.getrusage(resource.RUSAGE_SELF)
    assert outcome.ended_s - outcome.spawn_s > 0.75
    assert after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime < 0.1
    assert after.ru_nvcsw - before.ru_nvcsw < 60  # how often it woke up


@WITH_PIDFD
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_us_ends_the_worker(tmp_path, monkeypatch, number, pidfd):
    """Fault: Ctrl-C waits for the end of a sample, or leaves the worker behind."""
    if not pidfd:
        without_pidfd(monkeypatch)
    threading.Timer(0.3, os.kill, (os.getpid(), number)).start()
    outcome = run(tmp_path, "sleep 60 & echo $! > pids; wait")
    assert outcome.ended_by == f"interrupt: signal {number.name}" and outcome.signal == signal.SIGKILL
    assert outcome.ended_s - outcome.spawn_s < 5
    [child] = written(tmp_path / "pids")
    assert ends(child) and not alive(outcome.pid)


def test_the_death_of_a_parent_ends_the_worker(tmp_path):
    """Fault: make is killed and the worker measures on."""
    parent = subprocess.Popen(["sleep", "60"])
    threading.Timer(0.2, parent.kill).start()
    try:
        outcome = run(tmp_path, "sleep 60", **{VARIABLE: str(parent.pid)})
    finally:
        parent.kill()
        parent.wait()
    assert outcome.ended_by == f"interrupt: process {parent.pid}, which started this run, has ended"
    assert outcome.ended_s - outcome.spawn_s < 5 and not alive(outcome.pid)


def test_ctrl_c_at_the_terminal_does_not_reach_the_worker(tmp_path):
    """Fault: the worker shares our group or session: it dies of the terminal's SIGINT and counts as crashed."""
    run(tmp_path, "cut -d ' ' -f 1,5,6 /proc/$$/stat")
    pid, group, session = (tmp_path / "stdout.txt").read_text().split()
    assert pid == group == session


def test_our_own_death_ends_the_worker(tmp_path):
    """Fault: the suite is killed with SIGKILL, which nobody can catch, and its worker measures on."""
    program = (
        "import sys, time, pathlib; from suite.launch import launch; from suite.watch import Watch\n"
        "with Watch({}) as watch:\n"
        "    launch(['/bin/sh', '-c', 'echo $$ > pids; exec sleep 60'], folder=pathlib.Path(sys.argv[1]),\n"
        "           environment={'PATH': '/usr/bin:/bin'}, spawn_s=time.monotonic(), timeout_s=60, watch=watch)\n"
    )
    suite = subprocess.Popen([sys.executable, "-c", program, str(tmp_path)], cwd=ROOT)
    try:
        [worker] = written(tmp_path / "pids", within_s=15)
        assert alive(worker)
    finally:
        suite.kill()
        suite.wait()
    assert ends(worker)


def test_a_worker_sees_its_folder_and_its_environment_only(tmp_path, monkeypatch):
    """Fault: a variable of ours reaches the framework, or what a worker says is lost or mixed up."""
    monkeypatch.setenv("TF_XLA_FLAGS", "ours")
    run(tmp_path, "env; pwd -P; cat; echo said; echo cried >&2")
    said = (tmp_path / "stdout.txt").read_text().splitlines()
    assert said[-2:] == [str(tmp_path.resolve()), "said"]
    assert {line.partition("=")[0] for line in said[:-2]} <= {"PATH", "PWD", "OLDPWD", "SHLVL", "_"}
    assert (tmp_path / "stderr.txt").read_text() == "cried\n"


def test_a_worker_does_not_read_our_input(tmp_path):
    """Fault: a framework that asks something takes what was typed for us, or waits for it."""
    read, write = os.pipe()
    os.write(write, b"typed\n")
    os.close(write)
    kept = os.dup(0)
    os.dup2(read, 0)
    try:
        run(tmp_path, "cat")
    finally:
        os.dup2(kept, 0)
        os.close(kept)
        os.close(read)
    assert (tmp_path / "stdout.txt").read_text() == ""


@WITH_PIDFD
def test_nothing_stays_open(tmp_path, monkeypatch, pidfd):
    """Fault: each sample leaves descriptors or a zombie, until a long run has no more."""
    if not pidfd:
        without_pidfd(monkeypatch)
    before = sorted(os.listdir("/proc/self/fd"))  # noqa: PTH208
    outcomes = [run(tmp_path, "exit 0"), run(tmp_path, "sleep 60", timeout_s=0.1)]
    assert sorted(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    assert not any(Path(f"/proc/{outcome.pid}").exists() for outcome in outcomes)
