# SPDX-License-Identifier: Apache-2.0
"""A disk that is full or broken, a process that is killed, a file that lies: at every step, and what is left then."""

from __future__ import annotations

import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from suite import cli, collect, journal, rows, usable
from suite.collecting import collect_all
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Interval, Pair, Sample, Warm
from suite.stack import ROOT
from tests.resuming import STACK, begin, copied, go_on, lines

#: The samples of a replayed run of tests.resuming.
ALL = 11


@pytest.fixture(scope="module")
def uncut(tmp_path_factory):
    """A run that nothing has disturbed."""
    return begin(tmp_path_factory.mktemp("uncut")).folder


@pytest.fixture
def folder(uncut, tmp_path):
    """A copy of it."""
    return copied(uncut, tmp_path / STACK / uncut.name)


def the_run(out: Path) -> Path:
    [found] = (out / STACK).iterdir()
    return found


def check_kept(folder: Path, count: int, wanted: Path) -> None:
    """Check that so many samples were kept whole, that the tables show them, and that the run can be finished."""
    samples, notes = journal.read_samples(folder)
    assert notes == [] and len(samples) == count
    assert (folder / journal.SAMPLES).read_bytes()[-1:] in (b"", b"\n")
    table = (folder / collect.TABLE_MD).read_text()
    assert f"PARTIAL: the run ended before {ALL - count} of {ALL} samples were taken" in " ".join(table.split())
    assert go_on(folder).code is Exit.DONE
    run, samples, notes = collect.derive(folder)
    assert notes == [] and rows.missing(run, samples) == 0
    assert Counter(s.id for s in samples if ".session-" not in s.id) == Counter(p.id for p in run.plan.planned)
    assert {row.count.status for row in rows.cell_rows(run, samples)} == {"ok"}


class Disk:
    """Stands before os.write and os.fsync of one run's journal and lets the disk fail at one line."""

    def __init__(self, monkeypatch, call: str, code: int, at: int, part: int = 0) -> None:
        self.write, self.fsync, self.lines = os.write, os.fsync, 0
        self.call, self.code, self.at, self.part = call, code, at, part
        monkeypatch.setattr(os, "write", self._write)
        monkeypatch.setattr(os, "fsync", self._fsync)

    def _fail(self) -> OSError:
        return OSError(self.code, os.strerror(self.code))

    def _write(self, descriptor: int, data: bytes) -> int:
        if not _is_journal(descriptor):
            return self.write(descriptor, data)
        self.lines += 1
        if self.call == "write" and self.lines == self.at:
            self.write(descriptor, data[: self.part])
            raise self._fail()
        return self.write(descriptor, data)

    def _fsync(self, descriptor: int) -> None:
        if self.call == "fsync" and self.lines == self.at and _is_journal(descriptor):
            raise self._fail()
        self.fsync(descriptor)


def _is_journal(descriptor: int) -> bool:
    return Path(f"/proc/self/fd/{descriptor}").readlink().name == journal.SAMPLES


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
@pytest.mark.parametrize("call", ["write", "fsync"])
@pytest.mark.parametrize("at", [1, 2, 3, 7, ALL])
def test_a_journal_that_cannot_be_written(uncut, tmp_path, monkeypatch, capsys, call, code, at):
    """Fault: half a line, or a line of which nobody knows whether the disk has it, stays; or the run goes on."""
    disk = Disk(monkeypatch, call, code, at, part=57)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    monkeypatch.undo()
    folder = the_run(tmp_path)
    assert disk.lines == at, "nothing is written after the failure"
    assert caught.value.exit_code is Exit.CELLS_FAILED
    planned = journal.read_run(folder).plan.planned[at - 1]
    cause = f"sample {planned.id} cannot be kept: {os.strerror(code)}"
    assert caught.value.what == f"{folder / journal.SAMPLES}: {cause}"
    assert "collect" in caught.value.next_step
    assert f"make bench STACK={STACK} RESUME={folder}" in capsys.readouterr().err.splitlines()
    check_kept(folder, at - 1, uncut)


def test_a_line_that_cannot_be_taken_back_is_torn(uncut, tmp_path, monkeypatch):
    """Fault: the failure to take half a line back hides the failure to write it, as an internal error."""
    Disk(monkeypatch, "write", errno.EIO, 5, part=57)

    def broken(descriptor: int, size: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "ftruncate", broken)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    monkeypatch.undo()
    assert caught.value.exit_code is Exit.CELLS_FAILED
    folder = the_run(tmp_path)
    assert journal.read_samples(folder)[1] == ["samples.jsonl line 5 skipped: torn"]
    assert "torn" in (folder / collect.TABLE_MD).read_text()
    assert go_on(folder).code is Exit.DONE
    assert [each["order"] for each in lines(folder)] == list(range(ALL + 1))


def test_the_disk_takes_a_line_in_pieces(tmp_path, monkeypatch):
    """Fault: a write that takes a part only, as it may, is taken for the whole."""
    write = os.write
    monkeypatch.setattr(os, "write", lambda descriptor, data: write(descriptor, data[:1000]))
    ended = begin(tmp_path)
    monkeypatch.undo()
    assert ended.code is Exit.DONE
    samples, notes = journal.read_samples(ended.folder)
    assert len(samples) == ALL and notes == []


@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_tables_that_cannot_be_written(uncut, tmp_path, monkeypatch, code):
    """Fault: a complete run ends in a traceback because its tables did not fit."""
    fsync = os.fsync

    def broken(descriptor: int) -> None:
        if ".table." in Path(f"/proc/self/fd/{descriptor}").readlink().name:
            raise OSError(code, os.strerror(code))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    monkeypatch.undo()
    folder = the_run(tmp_path)
    assert caught.value.exit_code is Exit.CELLS_FAILED
    assert "the tables cannot be written" in caught.value.what and os.strerror(code) in caught.value.what
    assert not list(folder.glob(".table*")) and not list(folder.glob("table*"))
    assert collect_all([folder], None, lambda _: None) is Exit.DONE
    assert len(journal.read_samples(folder)[0]) == ALL


def test_a_run_whose_own_record_cannot_be_written(tmp_path, monkeypatch):
    """Fault: samples are measured into a folder that no reader takes for a run."""

    def broken(descriptor: int) -> None:
        raise OSError(errno.EIO, os.strerror(errno.EIO))

    monkeypatch.setattr(os, "fsync", broken)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    monkeypatch.undo()
    assert caught.value.exit_code is Exit.NOT_PREPARED and "Input/output error" in caught.value.what
    assert not list(the_run(tmp_path).rglob("*.json*"))


#: What a sample's folder needs, and the call that makes it.
PLACES = ("folder", "cache", "request.json", "events.jsonl", "outcome.json")


@pytest.mark.parametrize("place", PLACES)
@pytest.mark.parametrize("at", [1, 4, ALL])
def test_a_sample_whose_files_cannot_be_made(uncut, tmp_path, monkeypatch, place, at):
    """Fault: a disk that fills up between two samples ends the run as an internal error, exit 70."""
    mkdir, opened, count = Path.mkdir, Path.open, Counter()

    def full(path: Path) -> bool:
        sample = path if place == "folder" else path.parent
        if sample.parent.name != journal.RAW or (place != "folder" and path.name != place):
            return False
        count[sample.name] += 1
        return len(count) == at

    def no_folder(self, *args, **more):
        if place == "folder" and full(self):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        if place == "cache" and full(self.parent):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return mkdir(self, *args, **more)

    def no_file(self, mode="r", *args, **more):
        if place not in ("folder", "cache") and "w" in mode and full(self):
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(self))
        return opened(self, mode, *args, **more)

    monkeypatch.setattr(Path, "mkdir", no_folder)
    monkeypatch.setattr(Path, "open", no_file)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    monkeypatch.undo()
    folder = the_run(tmp_path)
    assert caught.value.exit_code is Exit.CELLS_FAILED
    assert str(folder / journal.RAW) in caught.value.what and "No space left on device" in caught.value.what
    assert "cannot be taken" in caught.value.what and "collect" in caught.value.next_step
    check_kept(folder, at - 1, uncut)


def test_a_worker_that_cannot_be_started_ends_the_run_in_words(uncut, tmp_path, monkeypatch):
    """Fault: an environment that was deleted in mid-run, or a machine without room for a process, is exit 70."""
    from suite.replay import Replay

    call, count = Replay.__call__, [0]

    def gone(self, argv, **rest):
        count[0] += 1
        if count[0] == 4:
            raise OSError(errno.EAGAIN, os.strerror(errno.EAGAIN))
        return call(self, argv, **rest)

    monkeypatch.setattr(Replay, "__call__", gone)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    monkeypatch.undo()
    assert caught.value.exit_code is Exit.CELLS_FAILED
    assert "Resource temporarily unavailable" in caught.value.what
    check_kept(the_run(tmp_path), 3, uncut)


def test_the_cause_is_told_and_not_what_followed_from_it(tmp_path, monkeypatch):
    """Fault: on a full disk the last word is about tables, and which sample was lost is never said."""
    disk = Disk(monkeypatch, "write", errno.ENOSPC, 5, part=3)
    fsync = disk._fsync

    def full(descriptor: int) -> None:
        if disk.lines >= 5 and ".table." in Path(f"/proc/self/fd/{descriptor}").readlink().name:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
        fsync(descriptor)

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(SuiteError) as caught:
        begin(tmp_path)
    assert "cannot be kept" in caught.value.what and "samples.jsonl: sample " in caught.value.what


# A journal that lies.


def prepared(**more) -> Sample:
    given = {"cold_s": 0.5, "first_result_s": 0.6, "warm": Warm([0.25, 0.25], 0.5), **more}
    return Sample("prepared.CPU.device.500.1", "prepared", "CPU.device.500", 1, 1, "2024-01-01", "ok", **given)


def test_what_was_measured_can_be_counted(uncut):
    """Fault: a real sample is thrown away."""
    assert [usable.why_not(each) for each in journal.read_samples(uncut)[0]] == [""] * ALL
    assert usable.why_not(prepared(untimed_s=-1e-7, phases=[Interval("build", 0.0, 0.0)])) == ""
    assert usable.why_not(prepared(warm=Warm([1e-7 / 3, 86400.0], 1e6), load={"loadavg_1": 3})) == ""


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cold_s": -0.5}, "cold_s of -0.5 s"),
        ({"cold_s": 0.0}, "cold_s of 0.0 s"),
        ({"cold_s": 1e308}, "cold_s of 1e+308 s"),
        ({"cold_s": 1e-320}, "cold_s of 1e-320 s"),
        ({"cold_s": None}, "ok without cold_s"),
        ({"first_result_s": -1.0}, "first_result_s of -1.0 s"),
        ({"wall_s": 1e308}, "wall_s of 1e+308 s"),
        ({"warm": None}, "ok without a warm series"),
        ({"warm": Warm([], 0.5)}, "ok without a warm series"),
        ({"warm": Warm([0.25, -0.25], 0.5)}, "warm.calls_s of -0.25 s"),
        ({"warm": Warm([0.25, 1e308], 0.5)}, "warm.calls_s of 1e+308 s"),
        ({"warm": Warm([0.25], -0.5)}, "warm.outer_s of -0.5 s"),
        ({"pairs": [Pair("first", "CPU", 50, "ok", taken_s=-1.0)]}, "pairs.taken_s of -1.0 s"),
        ({"phases": [Interval("import", -1.0, 2.0)]}, "phase import from -1.0 to 2.0 s"),
        ({"phases": [Interval("import", 2.0, 1.0)]}, "phase import from 2.0 to 1.0 s"),
        ({"phases": [Interval("import", 0.0, 1e308)]}, "phase import from 0.0 to 1e+308 s"),
        ({"cpu_s": 1e308}, "cpu_s of 1e+308 s"),
        ({"untimed_s": -1e308}, "untimed_s of -1e+308 s"),
        ({"load": {"loadavg_1": "much"}}, "load.loadavg_1 is 'much'"),
        ({"load": {"loadavg_1": None}}, "load.loadavg_1 is None"),
    ],
)
def test_what_no_clock_has_read_is_not_counted(more, why):
    """Fault: a negative time is silently part of a median; an enormous one ends collect in an OverflowError."""
    assert usable.why_not(prepared(**more)) == why


@pytest.mark.parametrize(
    ("more", "why"),
    [
        ({"cold_s": 500.0}, "cold_s of 500.0 s, its phases of 0.5 s"),
        ({"warm": Warm([250.0, 250.0], 0.5)}, "warm calls of 500.0 s in all, the clock around them of 0.5 s"),
        ({"first_result_s": 600.0}, "first_result_s of 600.0 s, wall_s of 1.0 s"),
        ({"wall_s": 1000.0}, "wall_s of 1000.0 s, phases and the rest of 1.0 s"),
        ({"untimed_s": 500.0}, "wall_s of 1.0 s, phases and the rest of 500.5 s"),
        ({"phases": [Interval("first_execution", 0.0, 500.0)]}, "cold_s of 0.5 s, its phases of 500.0 s"),
    ],
)
def test_a_time_in_another_unit_is_not_counted(more, why):
    """Fault: milliseconds among seconds are a cold start a thousand times as long."""
    whole = {"phases": [Interval("first_execution", 0.0, 0.5)], "wall_s": 1.0, "untimed_s": 0.5}
    assert usable.why_not(prepared(**whole)) == ""
    assert usable.why_not(prepared(**{**whole, **more})) == why


def test_a_fresh_sample_needs_its_own_number():
    """Fault: a fresh sample without its first result ends collect in a ValueError, or one is asked for more."""
    fresh = Sample("fresh.a.1", "fresh", "a", 1, 1, "2024-01-01", "ok")
    assert usable.why_not(fresh) == "ok without first_result_s"
    failed = Sample("prepared.a.1", "prepared", "a", 1, 1, "2024-01-01", "crashed")
    assert usable.why_not(failed) == ""


BAD = {
    "a torn middle": lambda line: line[: len(line) // 2],
    "NaN": lambda line: line.replace(b'"cold_s": ', b'"cold_s": NaN, "was": ', 1),
    "negative cold": lambda line: line.replace(b'"cold_s": ', b'"cold_s": -', 1),
    "enormous cold": lambda line: line.replace(b'"cold_s": ', b'"cold_s": 1e308, "was": ', 1),
    "negative warm calls": lambda line: line.replace(b'"calls_s": [', b'"calls_s": [-', 1),
    "enormous warm calls": lambda line: line.replace(b'"calls_s": [', b'"calls_s": [1e308, 1e308, ', 1),
    "negative phases": lambda line: line.replace(b'"begin_s": ', b'"begin_s": -', 9),
    "no warm series": lambda line: line.replace(b'"warm": {', b'"warm": null, "was": {', 1),
}


@pytest.mark.parametrize("what", BAD)
def test_a_line_that_lies_costs_itself_and_is_taken_again(folder, tmp_path, what):
    """Fault: one bad line makes the run, and all others that are collected with it, unreadable; or it counts."""
    path = folder / journal.SAMPLES
    data = path.read_bytes().splitlines()
    number = next(k for k, line in enumerate(data) if b'"id": "prepared.XLA_CPU.device.500.2"' in line)
    data[number] = BAD[what](data[number])
    path.write_bytes(b"\n".join(data) + b"\n")
    tables: list[str] = []
    assert collect_all([folder], None, tables.append) is Exit.DONE
    said = " ".join(tables[0].split())
    assert f"samples.jsonl line {number + 1} skipped: " in said and "torn" not in said
    assert "1/2 interrupted" in said and "1 of 11 samples" in said
    assert go_on(folder).code is Exit.DONE
    samples, [note] = journal.read_samples(folder)
    assert [s.session for s in samples if s.id == "prepared.XLA_CPU.device.500.2"] == [1]
    assert f"line {number + 1} skipped" in note


def test_two_samples_with_one_id_count_as_the_first(folder):
    """Fault: a process counts twice, so that the interval is narrower than what was measured."""
    path = folder / journal.SAMPLES
    before = rows.cell_rows(*collect.derive(folder)[:2])
    data = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(b"".join(data) + data[4] + data[6])
    run, samples, notes = collect.derive(folder)
    assert rows.cell_rows(run, samples) == before
    assert [note.partition("skipped: ")[2].rpartition(" a ")[2] for note in notes] == ["second time"] * 2


def test_a_line_of_another_run_is_no_sample_of_this_one(folder):
    """Fault: two journals that were put into one file by hand make more samples than were planned."""
    path = folder / journal.SAMPLES
    line = next(each for each in lines(folder) if each["kind"] == "prepared")
    strange = {**line, "id": "prepared.CPU.device.777.9", "cell": "CPU.device.777", "block": 9}
    path.write_bytes(path.read_bytes() + json.dumps(strange, sort_keys=True).encode() + b"\n")
    run, samples, _ = collect.derive(folder)
    assert [row.cell.n for row in rows.cell_rows(run, samples)] == [500, 500]
    assert [row.count.text() for row in rows.cell_rows(run, samples)] == ["2/2 ok"] * 2


# A process that is killed.

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


def test_the_command_says_the_cause_and_ends_with_five(tmp_path, monkeypatch, capsys):
    """Fault: a full disk is an internal error with a traceback to whoever reads stderr."""
    monkeypatch.setattr(cli.bench, "callback", lambda **_: begin(tmp_path).code)
    Disk(monkeypatch, "fsync", errno.ENOSPC, 6)
    assert cli.main(["bench"]) == 5
    monkeypatch.undo()
    said = capsys.readouterr().err
    assert "Traceback" not in said and "No space left on device" in said
    assert said.splitlines()[-1] == "coldwarm: exit 5 (some cells failed)"
