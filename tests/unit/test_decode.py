# SPDX-License-Identifier: Apache-2.0
"""Reading stored files: quickly, in bounds, and with the same result as the slow and strict way."""

from __future__ import annotations

import os

import msgspec
import pytest

from suite import bounded, decode, journal, migrate
from suite.records import SCHEMA, Run, Sample, from_json
from suite.stack import ROOT

STORED = sorted(
    path.parent
    for folder in ("results/examples", "tests/data/stored")
    for path in (ROOT / folder).rglob(journal.RUN)
)


@pytest.mark.parametrize("folder", STORED, ids=lambda folder: folder.name)
def test_the_quick_way_and_the_strict_one_say_the_same(folder):
    """Fault: a field that is read otherwise, or a float that is rounded, where this version wrote the file."""
    data = (folder / journal.RUN).read_bytes()
    assert decode.run(data) == msgspec.convert(migrate.to_current(from_json(data)), Run)
    for line in (folder / journal.SAMPLES).read_bytes().splitlines():
        assert decode.sample(line) == msgspec.convert(migrate.to_current(from_json(line)), Sample)


LINE = next(
    line for line in (STORED[0] / journal.SAMPLES).read_bytes().splitlines() if b'"id": "prepared.CPU' in line
)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b'"schema": 2, ', b""),
        (b'"schema": 2', b'"schema": 2.0'),
        (b'"schema": 2', b'"schema": true'),
        (b'"schema": 2', b'"schema": 3'),
        (b'"cold_s": ', b'"cold_s": 1e999, "was": '),
        (b'"cold_s": ', b'"unknown": NaN, "cold_s": '),
        (b'"cold_s": ', b'"unknown": "\xff", "cold_s": '),
        (b'"cold_s": ', b'"cold_s": "1", "was": '),
        (b'"block": ', b'"block": 1.5, "was": '),
        (b'"status": "ok"', b'"status": "fine"'),
        (b'"facts": {', b'"facts": {"a": ' + b"[" * 100_000 + b"]" * 100_000 + b", "),
    ],
)
def test_what_the_strict_way_refuses_the_quick_one_does_not_take(old, new):
    """Fault: speed lets through what is no sample of this version, or ends in a RecursionError."""
    assert LINE.count(old) >= 1
    with pytest.raises(ValueError):
        decode.sample(LINE.replace(old, new, 1))


def test_a_line_of_an_earlier_schema_is_still_read():
    """Fault: only what this version wrote can be read."""
    old = LINE.replace(b'"schema": %d' % SCHEMA, b'"schema": 1', 1)
    assert decode.sample(old) == decode.sample(LINE)


def test_no_more_is_read_than_a_file_of_ours_holds(tmp_path):
    """Fault: a line without end is held whole; a line after it is lost; or one at the limit is."""
    path = tmp_path / "lines"
    path.write_bytes(b"a" * 10 + b"\n" + b"b" * 11 + b"\n\nc\n" + b"d" * 3_000_000)
    assert list(bounded.lines(path, most=10)) == [
        *((b"a" * 10, True), (None, True), (b"", True), (b"c", True), (None, False)),
    ]
    path.write_bytes(b"a" * 10)
    assert list(bounded.lines(path, most=10)) == [(b"a" * 10, False)]
    assert bounded.whole(path, most=10) == b"a" * 10
    with pytest.raises(ValueError, match="longer than"):
        bounded.whole(path, most=9)


def test_what_is_no_file_is_not_waited_for(tmp_path):
    """Fault: collect hangs on a pipe that nobody writes to, or reads a device for ever."""
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", "/dev/zero", tmp_path):
        with pytest.raises(OSError):
            bounded.whole(path)


def test_thousands_of_bad_lines_are_counted(tmp_path):
    """Fault: a file of garbage fills memory and terminal with a note for each line."""
    (tmp_path / journal.SAMPLES).write_bytes(b"garbage\n" * 5000 + LINE + b"\n")
    samples, notes = journal.read_samples(tmp_path)
    assert len(samples) == 1 and len(notes) == journal.MOST_NOTES + 1
    assert notes[-1] == f"samples.jsonl: {5000 - journal.MOST_NOTES} more lines skipped"


def test_what_is_there_already_is_not_written_again(tmp_path):
    """Fault: every collect rewrites every table, and whoever watches a folder sees thousands of changes."""
    path = tmp_path / "table.md"
    journal.write_derived(path, "é\n")
    before = path.stat()
    journal.write_derived(path, "é\n")
    assert (path.stat().st_ino, path.stat().st_mtime_ns) == (before.st_ino, before.st_mtime_ns)
    journal.write_derived(path, "è\n")
    assert path.read_bytes() == "è\n".encode() and path.stat().st_ino != before.st_ino
    assert list(tmp_path.iterdir()) == [path]
