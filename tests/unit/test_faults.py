# SPDX-License-Identifier: Apache-2.0
"""A disk that is full or broken: at every step, and what is left then."""

from __future__ import annotations

import errno
import os
from collections import Counter
from pathlib import Path

import pytest

from suite import cli, collect, journal
from suite.collecting import collect_all
from suite.errors import SuiteError
from suite.exits import Exit
from tests.cut import ALL, check_kept, the_run
from tests.resuming import STACK, begin, go_on, lines


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


def test_the_command_says_the_cause_and_ends_with_five(tmp_path, monkeypatch, capsys):
    """Fault: a full disk is an internal error with a traceback to whoever reads stderr."""
    monkeypatch.setattr(cli.cli.commands["bench"], "callback", lambda **_: begin(tmp_path).code)
    Disk(monkeypatch, "fsync", errno.ENOSPC, 6)
    assert cli.main(["bench"]) == 5
    monkeypatch.undo()
    said = capsys.readouterr().err
    assert "Traceback" not in said and "No space left on device" in said
    assert said.splitlines()[-1] == "coldwarm: exit 5 (some cells failed)"
