# SPDX-License-Identifier: Apache-2.0
"""What a report's charts are made of: waterfalls that add up, series that lose no spike, limits that hold all."""

from __future__ import annotations

import pytest

from suite.records import Interval, Sample, Warm
from suite.report import axes, charts, series
from suite.report.waterfall import gaps, median_sample, waterfall
from suite.stats import Estimate
from tests import reports


def fresh(name: str, first_s: float | None, *phases: tuple[str, float, float], status: str = "ok") -> Sample:
    return Sample(
        *(name, "fresh", "CPU.device.50", 1, 0, "2024-01-01T00:00:00Z", status),
        first_result_s=first_s,
        phases=[Interval(*each) for each in phases],
    )


def test_a_waterfall_adds_up_to_the_first_result():
    """Fault: time that is in no phase is left out, or phases after the first result are in it."""
    _, samples = reports.read()
    found = waterfall([each for each in samples if each.kind == "fresh" and each.cell == "XLA_CPU.jit.50"])
    assert found is not None
    assert sum(step.total_s for step in found.steps) == pytest.approx(found.first_result_s, abs=1e-12)
    names = [step.name for step in found.steps]
    assert names == [
        *("engine_start", "interpreter", "import", "device_init", "inputs", "build", "first_execution", "untimed")
    ]
    covered = sorted(span for step in found.steps for span in step.intervals)
    assert covered[0][0] == 0.0 and covered[-1][1] == found.first_result_s
    assert all(after[0] == pytest.approx(before[1]) for before, after in zip(covered, covered[1:], strict=False))


def test_untimed_is_shown_where_it_was():
    """Fault: a sleep between two phases is hidden in one of them."""
    phases = [("import", 0.1, 1.0), ("build", 1.3, 1.5), ("build", 1.6, 1.7), ("first_execution", 1.7, 2.2)]
    found = waterfall([fresh("a", 2.0, *phases, ("warm", 2.2, 3.0))])
    assert found is not None
    steps = {step.name: step for step in found.steps}
    assert "warm" not in steps
    assert steps["build"].total_s == pytest.approx(0.3) and len(steps["build"].intervals) == 2
    assert steps["first_execution"].total_s == pytest.approx(0.3)  # cut where the scalar was there
    assert steps["untimed"].total_s == pytest.approx(0.5)
    assert steps["untimed"].intervals == [(0.0, 0.1), (1.0, 1.3), (1.5, 1.6)]
    assert {name: step.kind for name, step in steps.items()} == {
        **{"import": "process", "build": "shape", "first_execution": "shape", "untimed": "untimed"}
    }


def test_the_median_is_a_sample_that_was():
    """Fault: a waterfall whose phases were never in one process; the slowest or a failed one as the median."""
    samples = [fresh("c", 3.0), fresh("a", 1.0), fresh("b", 2.0), fresh("d", 9.0)]
    assert getattr(median_sample(samples), "id", None) == "b"
    found = waterfall([*samples, fresh("e", 2.5, status="crashed"), fresh("f", None)])
    assert found is not None and (found.sample, found.of) == ("b", 4)
    assert waterfall([fresh("f", None)]) is None and median_sample([]) is None


@pytest.mark.parametrize(
    ("spans", "wanted"),
    [
        ([], [(0.0, 5.0)]),
        ([(0.0, 5.0)], []),
        ([(1.0, 2.0), (1.5, 4.0)], [(0.0, 1.0), (4.0, 5.0)]),
        ([(3.0, 4.0), (0.0, 1.0)], [(1.0, 3.0), (4.0, 5.0)]),
    ],
)
def test_gaps(spans, wanted):
    """Fault: spans that overlap or come in another order leave a gap too many."""
    assert gaps(spans, 5.0) == wanted


@pytest.mark.parametrize("many", [1, 2, 119, 120, 121, 2000])
def test_no_call_is_lost_in_groups(many):
    """Fault: a long series is thinned, and its one slow call is not drawn."""
    calls = [1e-3 + k * 1e-9 for k in range(many)]
    calls[many // 2] = 0.5
    groups = series.grouped(calls)
    assert len(groups) == min(many, series.GROUPS)
    assert (groups[0].begin, groups[-1].end) == (0, many)
    assert all(a.end == b.begin for a, b in zip(groups, groups[1:], strict=False))
    assert max(group.highest_s for group in groups) == 0.5
    assert min(group.lowest_s for group in groups) == min(calls)


def warm(calls: list[float], **more) -> Sample:
    return Sample(
        *("prepared.x", "prepared", "CPU.device.50", 2, 0, "2024-01-01T00:00:00Z"),
        **{"status": "ok", "warm": Warm(calls, sum(calls)), **more},
    )


def test_a_series_says_its_state_and_tags():
    """Fault: a series that is not steady, or a tagged one, drawn like any other."""
    steady = series.series(warm([5e-3] * 4 + [1e-3] * 60, tags=["contended"]))
    assert steady is not None and (steady.state, steady.steady_from) == ("steady", 4)
    assert steady.text() == "steady from call 5; ! contended"
    shift = series.series(warm([1e-3] * 50 + [2e-3] * 50))
    assert shift is not None and shift.text() == "shift: last half" and shift.steady_from == 50
    short = series.series(warm([1e-3] * 5))
    assert short is not None and short.text() == "too short to be tested"
    assert series.series(warm([1e-3] * 60, status="implausible")) is None


def test_the_scale_of_series_is_not_that_of_one_spike():
    """Fault: one call of 18 times flattens all others; a constant series has no height to be drawn in."""
    calls = [1e-3 * (1 + (k % 7) / 100) for k in range(2000)]
    calls[1000] = 18e-3
    drawn = series.series(warm(calls))
    assert drawn is not None
    low, high = charts.scale([drawn])
    assert low == 1e-3 and 1.05e-3 < high < 2e-3
    flat = series.series(warm([1e-3] * 30))
    assert flat is not None
    low, high = charts.scale([flat])
    assert high > low


@pytest.mark.parametrize("values", [[1.0], [1e-3, 1e-3], [9.99, 10.0], [2e-5, 3e2], [1e-9]])
def test_limits_hold_all_values(values):
    """Fault: a point on the frame or beyond it; limits that are the same."""
    low, high = axes.decades(values)
    assert low < min(values) and max(values) < high


def test_limits_hold_the_intervals():
    """Fault: a bar that leaves its chart."""
    line = charts.Line("cold", [(50, Estimate(1.0, 0.05, 30.0, 3)), (500, Estimate(2.0, None, None, 1))])
    low, high = charts.reach([line])
    assert low < 0.05 and high > 30.0


@pytest.mark.parametrize(
    ("value", "wanted"),
    [(1.0, "1 s"), (1e-2, "10 ms"), (1e-4, "100 us"), (1e-6, "1 us"), (1e-9, "1 ns"), (100.0, "100 s")],
)
def test_ticks_are_read_as_times(value, wanted):
    """Fault: "0.00 us" on an axis."""
    assert axes.round_seconds(value) == wanted
