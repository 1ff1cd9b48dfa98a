# SPDX-License-Identifier: Apache-2.0
"""Workers that hang, die or talk nonsense: the status is right and nothing else is harmed."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path

import pytest

from tests.integration.harness import plant

pytestmark = pytest.mark.real

#: Runs ``{what}`` in the first execution of the cell's own call.
AT_FIRST_EXECUTION = """
import contextlib, ctypes, os, signal, sys, time
import channel, phases
measure = phases.Phases.measure
@contextlib.contextmanager
def then(self, name):
    with measure(self, name):
        if name == "first_execution":
            {what}
        yield
phases.Phases.measure = then
"""


@pytest.mark.parametrize(
    ("what", "status", "code", "says"),
    [
        ("os.abort()", "crashed", "crashed", "SIGABRT"),
        ("ctypes.string_at(0)", "crashed", "crashed", "SIGSEGV"),
        ("os.kill(os.getpid(), signal.SIGKILL)", "killed", "killed", "not by coldwarm"),
        ("os._exit(3)", "crashed", "crashed", "exit code 3"),
        ("os._exit(0)", "crashed", "crashed", "exit code 0"),
        ("raise MemoryError('no room')", "oom", "out_of_memory", "MemoryError"),
        ("raise RuntimeError('no')", "crashed", "exception", "RuntimeError"),
        ("self._channel.send('x', value=float('nan'))", "crashed", "exception", "ValueError"),
        ("os.write(self._channel._descriptor, b'{\"garbage')", "crashed", "bad_events", "cannot be"),
        ("os.write(self._channel._descriptor, b'\\\\xff\\\\xfe\\\\n')", "crashed", "bad_events", "cannot be"),
        ("os.write(self._channel._descriptor, b'{\"v\": 1, \"event\": \"x\", \"t\": NaN}\\\\n')", "crashed",
         "bad_events", "NaN"),
    ],
)  # fmt: skip
def test_a_worker_that_dies_or_lies(taker, tmp_path, what, status, code, says):
    """Fault: a dead or babbling worker is taken for a finished one, or takes the run with it."""
    worker = plant(tmp_path / "worker", AT_FIRST_EXECUTION.format(what=what))
    sample = taker.take("CPU", 50, worker=worker)
    assert (sample.status, sample.reason.code) == (status, code), sample.reason
    assert says in sample.reason.text
    assert "first_execution" in sample.reason.text or code == "bad_events"
    assert sample.reason.raw_file.endswith("stderr.txt")
    assert taker.take("CPU", 50).status == "ok"


def test_a_worker_that_hangs(taker, tmp_path):
    """Fault: a hung worker holds the run for ever, or outlives its time limit."""
    worker = plant(tmp_path / "worker", AT_FIRST_EXECUTION.format(what="time.sleep(600)"))
    begin = time.monotonic()
    sample = taker.take("CPU", 50, worker=worker, timeout_s=8)
    assert time.monotonic() - begin < 12
    assert (sample.status, sample.reason.code) == ("timeout", "timeout")
    assert "first_execution" in sample.reason.text
    assert not Path(f"/proc/{sample.process['pid']}").exists()


def test_a_worker_killed_from_outside(taker, tmp_path):
    """Fault: a parent that waits for a word from a child that was SIGKILLed (perfzero)."""
    worker = plant(tmp_path / "worker", AT_FIRST_EXECUTION.format(what="time.sleep(600)"))

    def kill() -> None:
        events = tmp_path / "raw"
        while True:
            for path in events.glob("*/events.jsonl"):
                text = path.read_text()
                if "first_execution" in text:
                    pid = int(text.split('"pid": ')[1].split(",")[0])
                    os.kill(pid, 9)
                    return
            time.sleep(0.05)

    killer = threading.Thread(target=kill)
    killer.start()
    begin = time.monotonic()
    sample = taker.take("CPU", 50, worker=worker, timeout_s=60)
    killer.join()
    assert time.monotonic() - begin < 20
    assert sample.status == "killed"


def test_ten_megabytes_of_chatter(taker, tmp_path):
    """Fault: a pipe that fills up and blocks the worker; chatter that lands in the record."""
    what = "sys.stderr.write('x' * 79 + chr(10)) if False else os.write(2, (b'x' * 79 + b'\\n') * 131072)"
    sample = taker.take("CPU", 50, worker=plant(tmp_path / "worker", AT_FIRST_EXECUTION.format(what=what)))
    assert sample.status == "ok", sample.reason
    assert (tmp_path / "raw" / sample.id / "stderr.txt").stat().st_size > 10_000_000


def test_a_grandchild_does_not_outlive_the_sample(taker, tmp_path):
    """Fault: a helper process of a framework runs on beside the next sample."""
    what = "import subprocess; p = subprocess.Popen(['sleep', '600']); self._channel.send('child', pid=p.pid)"
    sample = taker.take("CPU", 50, worker=plant(tmp_path / "worker", AT_FIRST_EXECUTION.format(what=what)))
    text = taker.raw(sample, "events.jsonl")
    line = next(line for line in text.splitlines() if '"child"' in line)
    pid = int(line.split('"pid": ')[1].split(",")[0].rstrip("}"))
    time.sleep(0.2)
    state = Path(f"/proc/{pid}/stat")
    assert not state.exists() or state.read_text().split(")")[1].split()[0] == "Z"
