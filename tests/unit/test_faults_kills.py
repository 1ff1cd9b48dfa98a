# SPDX-License-Identifier: Apache-2.0
"""A process that is killed at any moment loses at most the sample in flight."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from suite import collect, journal, rows
from suite.collecting import collect_all
from suite.errors import SuiteError
from suite.exits import Exit
from suite.stack import ROOT
from tests.cut import ALL, the_run
from tests.resuming import STACK, begin, go_on, lines

#: Begins a replayed run, or goes on with one, and sends itself SIGKILL at one moment: before a line is written, when
#: a part of it is there, when it is whole, when the disk has it, or when a table is half written.
CHILD = """
import os, signal, sys
from pathlib import Path
from suite import journal
from tests.resuming import begin, go_on

where, out, line, moment = sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
write, fsync, count = os.write, os.fsync, [0]
name = lambda descriptor: Path(f"/proc/self/fd/{descriptor}").readlink().name

def die():
    os.kill(os.getpid(), signal.SIGKILL)

def writes(descriptor, data):
    if name(descriptor) != journal.SAMPLES or data == b"\\n":
        return write(descriptor, data)
    count[0] += 1
    if count[0] == line and moment == "before":
        die()
    if count[0] == line and moment == "torn":
        write(descriptor, data[: len(data) // 2])
        die()
    if count[0] == line and moment == "but its end":
        write(descriptor, data[:-1])
        die()
    return write(descriptor, data)

def syncs(descriptor):
    if name(descriptor) == journal.SAMPLES and count[0] == line and moment == "written":
        die()
    if moment == "table" and ".table." in name(descriptor):
        die()
    if moment == "run.json" and ".run.json" in name(descriptor):
        die()
    fsync(descriptor)
    if name(descriptor) == journal.SAMPLES and count[0] == line and moment == "kept":
        die()

os.write, os.fsync = writes, syncs
print((begin if where == "begin" else go_on)(out).code.name)
"""


def child(where: str, out: Path, line: int, moment: str) -> int:
    """Run a child as above; return how it ended."""
    command = [sys.executable, "-c", CHILD, where, str(out), str(line), moment]
    return subprocess.run(command, cwd=ROOT, capture_output=True, check=False).returncode


MOMENTS = ("before", "torn", "but its end", "written", "kept")


@pytest.mark.parametrize("seed", range(6))
def test_a_run_that_is_killed_again_and_again(uncut, tmp_path, seed):
    """Fault: SIGKILL at some moment loses more than the sample in flight, or leaves what nothing can go on with."""
    chance = random.Random(seed)
    moments = [MOMENTS[seed % len(MOMENTS)], *(chance.choice((*MOMENTS, "table")) for _ in range(2))]
    assert child("begin", tmp_path, chance.randint(1, 6), moments[0]) == -signal.SIGKILL
    folder = the_run(tmp_path)
    for moment in moments[1:]:
        before = {sample.id for sample in journal.read_samples(folder)[0]}
        # A later session takes at least its own probe, and what is missing.
        line = chance.randint(1, 2)
        assert child("resume", folder, line, moment) == -signal.SIGKILL, (moments, line)
        samples, notes = journal.read_samples(folder)
        assert before <= {sample.id for sample in samples}, "what was there is there"
        assert len(notes) <= 1 and all(note.endswith("torn") for note in notes)
        assert collect_all([folder], None, lambda _: None) is Exit.DONE
    assert go_on(folder).code is Exit.DONE
    run, samples, notes = collect.derive(folder)
    assert notes == [] and rows.missing(run, samples) == 0
    assert Counter(each["id"] for each in lines(folder)).most_common(1)[0][1] == 1
    assert [each["order"] for each in lines(folder)] == list(range(len(samples)))
    assert {row.count.text() for row in rows.cell_rows(run, samples)} == {"2/2 ok"}


@pytest.mark.parametrize("moment", MOMENTS)
def test_a_kill_loses_at_most_the_sample_in_flight(tmp_path, moment):
    """Fault: lines wait in a buffer of the process; a line is kept that was not whole."""
    assert child("begin", tmp_path, 4, moment) == -signal.SIGKILL
    samples, notes = journal.read_samples(the_run(tmp_path))
    assert len(samples) == (4 if moment in ("but its end", "written", "kept") else 3)
    assert notes == (["samples.jsonl line 4 skipped: torn"] if moment == "torn" else [])


def test_a_kill_before_the_run_is_recorded_leaves_no_run(tmp_path):
    """Fault: a folder without its run.json is taken for a run, or stops collect for those beside it."""
    assert child("begin", tmp_path, 99, "run.json") == -signal.SIGKILL
    folder = the_run(tmp_path)
    assert collect.run_folders(tmp_path) == []
    with pytest.raises(SuiteError) as caught:
        go_on(folder)
    assert caught.value.exit_code is Exit.USAGE
    good = begin(tmp_path).folder
    assert collect.run_folders(tmp_path) == [good]


def test_a_kill_while_tables_are_written_leaves_none_that_is_half(tmp_path):
    """Fault: an empty table.md looks like a run without results."""
    assert child("begin", tmp_path, 99, "table") == -signal.SIGKILL
    folder = the_run(tmp_path)
    assert not list(folder.glob("table*"))
    assert collect_all([folder], None, lambda _: None) is Exit.DONE
    assert len(journal.read_samples(folder)[0]) == ALL


def test_a_kill_from_outside_at_any_time(tmp_path):
    """Fault: as above, at moments that nobody has thought of."""
    chance = random.Random(20240229)
    folder = None

    def size() -> int:
        return sum(path.stat().st_size for path in tmp_path.glob(f"{STACK}/*/{journal.SAMPLES}"))

    command = [sys.executable, "-c", CHILD]
    for _ in range(5):
        words = ["resume", str(folder)] if folder else ["begin", str(tmp_path)]
        process = subprocess.Popen([*command, *words, "99", "never"], cwd=ROOT, stderr=subprocess.DEVNULL)
        before, end = size(), time.monotonic() + 30
        # It has begun to write; from here on a moment of chance.
        while time.monotonic() < end and process.poll() is None and size() <= before:
            time.sleep(0.002)
        time.sleep(chance.uniform(0, 0.15))
        process.kill()
        process.wait()
        folder = the_run(tmp_path)
        assert collect_all([folder], None, lambda _: None) is Exit.DONE
    assert go_on(folder).code is Exit.DONE
    run, samples, notes = collect.derive(folder)
    assert notes == [] and rows.missing(run, samples) == 0
    assert Counter(each["id"] for each in lines(folder)).most_common(1)[0][1] == 1
