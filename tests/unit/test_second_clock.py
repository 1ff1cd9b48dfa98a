# SPDX-License-Identifier: Apache-2.0
"""Warm calls on two clocks: from the worker's lists to the note under a table."""

from __future__ import annotations

import msgspec
import pytest

from suite import records, rows, sampling, second_clock
from suite.records import DeviceClock, Planned
from tests.unit.test_record import CELL, judged, worker
from tests.unit.test_rows import run_of, sample


def with_clocks(wall_s: object, device_s: object) -> records.Sample:
    events = worker()
    events["device_clock"] = {"v": 1, "event": "device_clock", "wall_s": wall_s, "device_s": device_s}
    return judged(events)


def test_both_lists_are_kept():
    """Fault: one of the clocks is lost, or is required of frameworks that have none."""
    assert with_clocks([0.02, 0.03], [0.01, 0.02]).device_clock == DeviceClock([0.02, 0.03], [0.01, 0.02])
    assert judged(worker()).device_clock is None


@pytest.mark.parametrize(
    ("wall_s", "device_s"),
    [([0.1], [0.1, 0.2]), ([], []), ([0.1], [0.0]), ([0.1], [-1.0]), ([0.1], ["x"]), (None, [0.1])],
)
def test_clocks_that_cannot_be_are_garbage(wall_s, device_s):
    """Fault: calls paired with another's time, or a time that no clock gives, in a figure."""
    found = with_clocks(wall_s, device_s)
    assert (found.status, found.device_clock) == ("crashed", None)


def test_a_line_without_it_is_still_read():
    """Fault: results of the same format, written before there was a second clock, are refused."""
    old = msgspec.to_builtins(judged(worker()))
    del old["device_clock"]
    assert msgspec.convert(old, records.Sample).device_clock is None


def test_it_is_asked_of_prepared_samples_on_a_gpu_only():
    """Fault: further calls in fresh samples, or on a device without a clock of its own."""
    on_gpu = msgspec.structs.replace(CELL, device="/device:GPU:0")
    planned = Planned("s", "prepared", CELL.id, 1)
    assert sampling.device_clock(planned, on_gpu) == sampling.DEVICE_CLOCK_CALLS
    for other, cell in (
        (planned, CELL),
        (msgspec.structs.replace(planned, kind="fresh"), on_gpu),
        (planned, None),
    ):
        assert sampling.device_clock(other, cell) == 0


def note(n: int, wall_s: float, device_s: float) -> str:
    run = run_of([n], 3)
    cell = run.plan.cells[0].id
    clocks = DeviceClock([wall_s] * 3, [device_s] * 3)
    taken = [sample(cell=cell, block=block, device_clock=clocks) for block in (1, 2, 3)]
    taken.append(sample("crashed", cell=cell, block=4, device_clock=DeviceClock([9.0], [1.0])))
    [text] = second_clock.notes(taken, rows.cell_rows(run, taken[:3]))
    return text


@pytest.mark.parametrize(
    ("n", "wall_s", "device_s", "words"),
    [
        (50, 60e-6, 40e-6, "50 20.0 us more, the host's"),
        (8192, 0.02004, 0.02, "8192 within 0.2%"),
        (15000, 0.02, 0.02, "15000 within 0.1%"),
        (8192, 0.03, 0.02, "8192 +50.0%, where 2% is wanted"),
        (8192, 0.0195, 0.02, "8192 -2.5%, where 2% is wanted"),
    ],
)
def test_the_note_says_how_far_they_agree(n, wall_s, device_s, words):
    """Fault: a wall clock that timed half of the work, or twice, under a table without a word."""
    assert note(n, wall_s, device_s) == f"CPU device, wall clock beside CUDA events: {words}"


def test_without_a_second_clock_there_is_no_note():
    """Fault: a note of nothing under each table of TensorFlow's."""
    run = run_of([50], 1)
    assert second_clock.notes([sample()], rows.cell_rows(run, [sample()])) == []
