# SPDX-License-Identifier: Apache-2.0
"""Which cells show a time, and what the others say instead."""

from __future__ import annotations

from typing import get_args

import pytest

from suite import classify, plan, records, rows, stack
from suite.records import Interval, Plan, Proof, Reason, Run, Sample, Warm


def sample(
    status: str = "ok", kind: str = "prepared", cell: str = "CPU.device.50", block: int = 1, **more
) -> Sample:
    if status == "ok":
        more = {"cold_s": 1.0, "first_result_s": 3.0, "warm": Warm([0.1] * 3, 0.3), **more}
    else:
        more.setdefault("reason", Reason(f"code_{status}", f"because of {status}"))
    return Sample(f"{kind}.{cell}.{block}", kind, cell, block, 0, "2024-01-01T00:00:00Z", status, **more)


def samples(*statuses: str, **more) -> list[Sample]:
    return [sample(status, block=block, **more) for block, status in enumerate(statuses, start=1)]


def run_of(shapes: list[int], number: int, fresh_at: str = "smallest") -> Run:
    how = {"dtype": "float32", "precision": "default", "level": "jit", "python": "3.6", "engine": "local"}
    cells = plan.cells(stack.load("tf1.14-cuda10"), ["CPU"], "device", shapes, **how)
    planned = plan.schedule(cells, number, fresh_at, 1)
    made = Plan("quick", ["CPU"], [], shapes, number, 10, 0.5, 600.0, 300.0, 1, 2, cells, planned)
    return Run("id", "2024-01-01T00:00:00Z", [], {}, {}, {}, {}, {}, {}, made)


@pytest.mark.parametrize(
    ("ok", "planned", "shows"),
    [
        (1, 1, True),
        (2, 3, False),  # 67 %: fewer than 5 planned, all are needed
        (3, 3, True),
        (3, 4, False),  # 75 %
        (4, 4, True),
        (3, 5, False),
        (4, 5, True),  # 80 % exactly
        (4, 6, False),  # 67 %
        (5, 6, True),
        (5, 7, False),  # 71 %
        (6, 7, True),
        (7, 10, False),
        (8, 10, True),
        (15, 20, False),
        (16, 20, True),
        (0, 5, False),
    ],
)
def test_how_many_must_be_ok(ok, planned, shows):
    """Fault: a time from too few processes, or a cell withheld for one crash of ten."""
    counted = rows.count(samples(*["ok"] * ok, *["crashed"] * (planned - ok)), planned)
    assert counted.shows_times is shows
    assert (counted.ok, counted.planned, counted.text()) == (ok, planned, f"{ok}/{planned} ok")
    assert counted.status == ("ok" if shows else "crashed")


@pytest.mark.parametrize("status", ["wrong_result", "wrong_device", "implausible", "not_cold", "timeout"])
def test_one_sample_of_these_withholds_all_times(status):
    """Fault: 19 right results of 20, shown as a time."""
    counted = rows.count(samples(*["ok"] * 19, status), 20)
    assert (counted.ok, counted.status, counted.shows_times) == (19, status, False)
    assert counted.reason == Reason(f"code_{status}", f"because of {status}")


def test_a_wrong_result_never_shows_a_time_anywhere():
    """Fault: the count says wrong_result and the columns beside it hold numbers."""
    taken = samples(*["ok"] * 9, "wrong_result") + samples(*["ok"] * 9, "wrong_result", kind="fresh")
    run = run_of([50], 10)
    [cell], [target] = rows.cell_rows(run, taken), rows.target_rows(run, taken)
    assert (cell.cold, cell.warm, cell.ratio) == (None, None, None)
    assert (target.first_result, target.start_up, target.phases_s) == (None, None, {})


@pytest.mark.parametrize("place", range(len(classify.WORST_FIRST) - 1))
def test_the_worst_status_speaks_for_the_cell(place):
    """Fault: the first, last or most frequent status is shown; a crash hides a wrong result."""
    worse, better = classify.WORST_FIRST[place : place + 2]
    for order in ((worse, better, better), (better, better, worse)):
        counted = rows.count(samples(*order), 3)
        assert (counted.status, counted.reason.code) == (worse, f"code_{worse}")


def test_every_status_has_its_place():
    """Fault: a new status ends a run with a ValueError when its row is made."""
    assert set(classify.WORST_FIRST) == set(get_args(records.Status)) - {"ok"}
    assert len(set(classify.WORST_FIRST)) == len(classify.WORST_FIRST)
    assert set(rows.DISQUALIFYING) <= set(classify.WORST_FIRST)
    assert classify.WORST_FIRST[0] == "wrong_result"


def test_samples_that_were_never_taken_are_counted():
    """Fault: 2 of 2 ok where 10 were planned."""
    counted = rows.count(samples("ok", "ok"), 10)
    assert (counted.status, counted.text(), counted.reason.code) == ("interrupted", "2/10 ok", "missing")
    assert "8 of 10" in counted.reason.text
    assert rows.count(samples(*["ok"] * 8), 10).shows_times
    assert not rows.count([], 0).shows_times


def test_a_target_that_is_not_there():
    """Fault: a row without times that does not say why, or no row at all."""
    taken = samples(*["unavailable"] * 3) + samples(*["unavailable"] * 3, kind="fresh")
    run = run_of([50], 3)
    for row in (*rows.cell_rows(run, taken), *rows.target_rows(run, taken)):
        assert (row.count.status, row.count.text(), row.count.reason.code) == (
            "unavailable",
            "0/3 ok",
            "code_unavailable",
        )


def test_a_row_a_cell_in_the_plans_order_even_without_samples():
    """Fault: a cell that was not reached is left out of the table."""
    run = run_of([50, 500], 3)
    found = rows.cell_rows(run, samples(*["ok"] * 3, cell="CPU.device.500"))
    assert [(row.cell.n, row.count.status) for row in found] == [(50, "interrupted"), (500, "ok")]
    assert rows.cell_rows(run, [])[1].cold is None


def test_only_ok_prepared_samples_make_a_cells_times():
    """Fault: fresh samples, pilots or failed ones go into cold and warm."""
    taken = [sample(block=k, cold_s=c, warm=Warm([c / 4] * 3, 1.0)) for k, c in enumerate((1.0, 2.0, 4.0, 2.0), 1)]
    taken.append(sample("crashed", block=5, cold_s=900.0, warm=Warm([90.0], 90.0)))
    taken += [sample(kind=kind, cold_s=77.0) for kind in ("fresh", "pilot")]
    [row] = rows.cell_rows(run_of([50], 5), taken)
    assert (row.cold.centre, row.warm.centre, row.ratio.centre) == pytest.approx((2.0, 0.5, 4.0))
    assert row.cold.n == row.warm.n == row.ratio.n == 4


def test_what_is_not_steady_is_counted_by_kind():
    """Fault: a drifting series is shown as if it were steady, or its whole median is taken."""
    drift = [0.1 + 0.001 * k for k in range(100)]
    series = [[0.1] * 30, [0.1] * 3, drift]
    taken = [sample(block=k, warm=Warm(calls, 1.0)) for k, calls in enumerate(series, 1)]
    [row] = rows.cell_rows(run_of([50], 3), taken)
    assert row.not_steady == {"trend": 1}
    assert row.warm.centre == pytest.approx((0.1 * 0.1 * 0.1745) ** (1 / 3))


def test_a_missing_compiled_file_is_told():
    """Fault: an import twice as long as it should be, without a word."""
    run = run_of([50], 3)
    for state, wanted in (("failed", True), ("ok", False), ("not_proven", False)):
        taken = [*samples("ok", "ok"), sample(block=3, proofs={"bytecode": Proof(state, "")})]
        assert rows.cell_rows(run, taken)[0].bytecode_incomplete is wanted


def test_start_up_is_first_result_less_cold_at_the_smallest_shape_only():
    """Fault: the start-up of a large shape, where a long operand is taken for start-up."""
    run = run_of([50, 500], 3, "each")
    taken = [
        sample(kind=kind, cell=f"CPU.device.{n}", block=block)
        for kind in ("prepared", "fresh")
        for n in (50, 500)
        for block in (1, 2, 3)
    ]
    small, large = rows.target_rows(run, taken)
    assert small.start_up.centre == pytest.approx(2.0) and large.start_up is None
    assert small.first_result.centre == large.first_result.centre == pytest.approx(3.0)
    failed = [s for s in taken if s.kind == "fresh"] + samples("ok", "ok", "crashed")
    assert rows.target_rows(run, failed)[0].start_up is None


def test_a_target_row_only_where_fresh_samples_were_planned():
    """Fault: rows of shapes that have no fresh sample."""
    assert [row.cell.n for row in rows.target_rows(run_of([50, 500], 3), [])] == [50]


def test_phases_are_summed_in_a_process_and_then_their_median_taken():
    """Fault: two intervals of a phase are two values, or what comes after the first result is counted."""
    taken = []
    for length in (1.0, 2.0, 9.0):
        inputs = [Interval("inputs", 0.0, length), Interval("inputs", 20.0, 20.5)]
        taken.append(sample(phases=[Interval("warm", 30.0, 40.0), *inputs, Interval("import", 0.0, length)]))
    taken.append(sample(phases=[Interval("import", 0.0, 9.0)]))
    found = rows.phases_until_first_result(taken)
    assert list(found.items()) == [("import", 5.5), ("inputs", 2.5)]


def test_missing_counts_what_has_no_line():
    """Fault: a run that was killed is not told from a whole one."""
    run = run_of([50], 1)
    assert len(run.plan.planned) == 4  # probe, pilot, prepared, fresh
    assert rows.missing(run, []) == 4
    assert rows.missing(run, [sample("crashed"), sample(kind="fresh")]) == 2
    assert rows.missing(run, [sample(block=9)]) == 4
