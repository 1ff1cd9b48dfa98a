# SPDX-License-Identifier: Apache-2.0
"""A run's folder: written so that a kill or a full disk loses at most the sample in flight, and read back."""

from __future__ import annotations

import contextlib
import fcntl
import os
import secrets
from datetime import datetime, timezone
from pathlib import Path

from suite import bounded, decode, usable
from suite.errors import SuiteError
from suite.exits import Exit
from suite.records import Run, Sample, from_json, to_json

RUN = "run.json"
SAMPLES = "samples.jsonl"
COMPARISON = "comparison.json"
EXPERIMENT = "experiment.json"
#: A folder that holds one of these is one result; any other is a tree of them.
TOPS = (RUN, COMPARISON, EXPERIMENT)
RAW = "raw"
#: What to do after a run could not go on, said beside the cause.
KEPT = "All samples before it are kept: make collect shows them."
#: So many lines that cannot be used are named one by one.
MOST_NOTES = 20


def new_run_id() -> str:
    """Return a run id: UTC to the second and six random hex digits."""
    return f"{datetime.now(timezone.utc):%Y%m%dT%H%M%SZ}-{secrets.token_hex(3)}"


def check_writable(out: Path) -> None:
    """Make ``out`` if need be and write to it once, so that a fault is known before anything is measured.

    Raises
    ------
    SuiteError
        NOT_PREPARED, naming the folder, its owner where that is the cause, and what to do.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
        probe = out / f".coldwarm-{secrets.token_hex(4)}"
        probe.write_bytes(b"x" * 4096)
        probe.unlink()
    except OSError as error:
        what = f"OUT={out}: cannot write there: {error.strerror or error}"
        next_step = "Name another folder with OUT=."
        owner = _foreign_owner(out)
        if owner is not None:
            next_step = f"It belongs to uid {owner}, you are uid {os.getuid()}: chown it, or " + next_step
        raise SuiteError(Exit.NOT_PREPARED, what, next_step) from error


def _foreign_owner(out: Path) -> int | None:
    for path in (out, *out.parents):
        if path.exists():
            owner = path.stat().st_uid
            return owner if owner != os.getuid() else None
    return None


class Journal:
    """The open folder of the run that is being measured."""

    def __init__(self, folder: Path) -> None:
        """Open the journal. Raises BlockingIOError where another process is measuring into this folder."""
        self.folder = folder
        flags = os.O_RDWR | os.O_APPEND | os.O_CREAT | os.O_CLOEXEC
        self._descriptor = os.open(folder / SAMPLES, flags, 0o666)
        try:
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            os.close(self._descriptor)
            raise

    @classmethod
    def create(cls, folder: Path, run: Run) -> Journal:
        """Make the run's folder, which must not exist, and write run.json into it."""
        try:
            folder.mkdir(parents=True)
            (folder / RAW).mkdir()
            write_atomically(folder / RUN, to_json(run, indent=1) + "\n")
            return cls(folder)
        except OSError as error:
            what = f"{folder}: the run's folder cannot be made: {error.strerror or error}"
            raise SuiteError(Exit.NOT_PREPARED, what, "Name another folder with OUT=.") from error

    @classmethod
    def reopen(cls, folder: Path) -> Journal:
        """Open the folder of a run that ended early, to go on with it.

        A torn last line is cut off, so that the next sample begins a line of its own; it is kept in ``raw/``. A last
        line that lacks nothing but its end gets that.

        Raises
        ------
        SuiteError
            NOT_PREPARED where another process is measuring into the folder, or it cannot be written.
        """
        try:
            log = cls(folder)
            log._cut_torn_line()
        except BlockingIOError as error:
            what = f"{folder}: another process is measuring into this run"
            raise SuiteError(Exit.NOT_PREPARED, what, "Wait until it has ended.") from error
        except OSError as error:
            what = f"{folder}: the run cannot be gone on with: {error.strerror or error}"
            raise SuiteError(Exit.NOT_PREPARED, what, "It must be yours, and there must be room.") from error
        return log

    def _cut_torn_line(self) -> None:
        size = os.fstat(self._descriptor).st_size
        data = os.pread(self._descriptor, size, 0)
        whole = data.rfind(b"\n") + 1
        if whole == size:
            return
        if _is_json(data[whole:]):
            os.write(self._descriptor, b"\n")
        else:
            (self.folder / RAW).mkdir(exist_ok=True)
            (self.folder / RAW / f"torn-{whole}.txt").write_bytes(data[whole:])
            os.ftruncate(self._descriptor, whole)
        os.fsync(self._descriptor)

    def append(self, sample: Sample) -> None:
        """Append one sample and wait until the disk has it.

        Raises
        ------
        SuiteError
            CELLS_FAILED where the line could not be written whole: it is taken back, so that the file
            holds whole lines only.
        """
        line = (to_json(sample) + "\n").encode("utf-8")
        size = os.fstat(self._descriptor).st_size
        try:
            written = 0
            while written < len(line):
                written += os.write(self._descriptor, line[written:])
            os.fsync(self._descriptor)
        except OSError as error:
            with contextlib.suppress(OSError):  # then the line is torn, and readers say so
                os.ftruncate(self._descriptor, size)
            what = f"{self.folder / SAMPLES}: sample {sample.id} cannot be kept: {error.strerror or error}"
            raise SuiteError(Exit.CELLS_FAILED, what, KEPT) from error

    def close(self) -> None:
        os.close(self._descriptor)


def _is_json(data: bytes) -> bool:
    try:
        from_json(data)
    except ValueError:
        return False
    return True


def write_atomically(path: Path, text: str, *, durable: bool = True) -> None:
    """Write a file whole or not at all: to a neighbour first, then renamed. UTF-8, LF.

    ``durable``: wait until the disk has it.
    """
    neighbour = path.with_name(f".{path.name}.{secrets.token_hex(4)}")
    try:
        with neighbour.open("w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            if durable:
                os.fsync(file.fileno())
        neighbour.rename(path)
    except OSError:
        neighbour.unlink(missing_ok=True)
        raise


def write_derived(path: Path, text: str, *, durable: bool = True) -> None:
    """Write what can be derived again at any time: only where it is not there, byte for byte. Raises OSError."""
    data = text.encode("utf-8")
    try:
        there = path.is_file() and path.stat().st_size == len(data) and path.read_bytes() == data
    except OSError:  # then writing will say what is wrong
        there = False
    if not there:
        write_atomically(path, text, durable=durable)


class Unreadable(Exception):
    """A run's folder cannot be used; the message says which file and why."""


def read_run(folder: Path) -> Run:
    """Read run.json. Raises :class:`Unreadable`."""
    path = folder / RUN
    try:
        return decode.run(bounded.whole(path))
    except OSError as error:
        raise Unreadable(f"{path}: {error.strerror or error}") from error
    except decode.NotJson as error:
        raise Unreadable(f"{path}: not JSON: {error}") from error
    except ValueError as error:
        raise Unreadable(f"{path}: {error}") from error


def read_samples(folder: Path) -> tuple[list[Sample], list[str]]:
    """Read samples.jsonl: the whole samples in the file's order, and a note for each line that is not one.

    A sample's id counts once: the first line that bears it, unless that was interrupted and RESUME= took it again.
    After ``MOST_NOTES`` the lines that are skipped are only counted.
    """
    notes: list[str] = []
    samples: dict[str, Sample] = {}
    skipped = 0
    try:
        for number, (line, ended) in enumerate(bounded.lines(folder / SAMPLES), start=1):
            if line == b"":
                continue
            try:
                sample = _sample(line, ended)
                known = samples.get(sample.id)
                if known is not None and known.status != "interrupted":
                    raise ValueError(f"sample {sample.id} a second time")
            except ValueError as error:
                skipped += 1
                if skipped <= MOST_NOTES:
                    notes.append(f"{SAMPLES} line {number} skipped: {error}")
                continue
            samples.pop(sample.id, None)
            samples[sample.id] = sample
    except OSError as error:
        notes.append(f"{SAMPLES}: {error.strerror or error}")
    if skipped > MOST_NOTES:
        notes.append(f"{SAMPLES}: {skipped - MOST_NOTES} more lines skipped")
    return list(samples.values()), notes


def _sample(line: bytes | None, ended: bool) -> Sample:
    """Return what a line holds; ValueError says why that cannot be counted."""
    if line is None:
        raise ValueError(f"longer than {bounded.MOST_BYTES // 2**20} MiB")
    try:
        sample = decode.sample(line)
    except decode.NotJson as error:
        # The last line that ends in mid-JSON was torn; a whole line that cannot be used has another reason.
        raise ValueError(str(error) if ended else "torn") from error
    why_not = usable.why_not(sample)
    if why_not:
        raise ValueError(f"sample {sample.id}: {why_not}")
    return sample
