# SPDX-License-Identifier: Apache-2.0
"""A journal that lies costs the lines that lie, and these are taken again."""

from __future__ import annotations

import json

import pytest

from suite import collect, journal, rows, usable
from suite.collecting import collect_all
from suite.exits import Exit
from suite.records import Interval, Pair, Sample, Warm
from tests.cut import ALL
from tests.resuming import go_on, lines


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
