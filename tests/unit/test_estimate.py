# SPDX-License-Identifier: Apache-2.0
"""How long a sample is expected to take: before anything is known, and from the run's own pilots."""

from __future__ import annotations

import pytest

from suite.estimate import Estimator, pilot_s
from suite.records import Cell


def cell(n: int, target: str = "CPU", placement: str = "device") -> Cell:
    how = ("matmul", n, "float32", "default", "jit", "3.6", "local")
    return Cell(f"{target}.{placement}.{n}", "s", target, placement, f"/device:{target}:0", *how)


@pytest.fixture
def estimator():
    return Estimator(ceiling_flops=1e11, min_calls=10, warm_s=0.5)


def test_before_any_pilot_the_ceiling_decides(estimator):
    """Fault: n^2, or one multiplication instead of a multiplication and an addition."""
    assert estimator.call_s(cell(1000)) == pytest.approx(2e-4 + 2e9 / 0.3e11)
    assert estimator.call_s(cell(2)) == pytest.approx(2e-4, rel=1e-3)


def test_a_cells_own_pilot_is_believed(estimator):
    """Fault: a measured time is passed over for an assumption, or for another cell's."""
    estimator.learn_pilot(cell(500), 0.02, 5.0, 0.2)
    estimator.learn_pilot(cell(1000), 0.9, 7.0, 0.5)
    assert estimator.call_s(cell(500)) == 0.02 and estimator.call_s(cell(1000)) == 0.9


def test_a_larger_shape_scales_with_the_cube_of_the_largest_pilot(estimator):
    """Fault: an hour's sample is let in because the ceiling is never reached; or a small pilot is scaled."""
    for n, call in ((1000, 0.4), (500, 0.01)):  # not the last one learnt: the largest
        estimator.learn_pilot(cell(n), call, 5.0, 0.2)
    assert estimator.call_s(cell(3000)) == pytest.approx(0.4 * 27)


def test_a_small_shapes_time_is_overhead_and_does_not_scale(estimator):
    """Fault: 1 ms at n = 50 is taken for 27 000 s at n = 15000."""
    estimator.learn_pilot(cell(50), 0.001, 5.0, 0.2)
    assumed = 2e-4 + 2.0 * 15000**3 / 0.3e11
    assert estimator.call_s(cell(15000)) == pytest.approx(assumed)
    assert estimator.call_s(cell(100)) == 0.001  # and not less than it either


@pytest.mark.parametrize("other", [cell(2000, "GPU"), cell(2000, "CPU", "jit")])
def test_another_target_or_placement_says_nothing(estimator, other):
    """Fault: the GPU is estimated from the CPU's pilot."""
    before = estimator.call_s(other)
    estimator.learn_pilot(cell(1000), 50.0, 60.0, 0.2)
    assert estimator.call_s(other) == before


def test_a_sample_before_any_pilot(estimator):
    """Fault: a part of a sample that is left out, so that every run is over its estimate."""
    call = estimator.call_s(cell(10000))
    assert call > 60  # slow: the least number of calls
    rest = 2.0 + 0.2 + 1e-7 * 1e8 + 8 * call
    assert estimator.sample_s(cell(10000), "fresh") == pytest.approx(rest)
    assert estimator.sample_s(cell(10000), "prepared") == pytest.approx(rest + 10 * call)
    assert estimator.sample_s(cell(10000), "pilot") == pytest.approx(rest + 3 * call)


def test_a_quick_call_fills_its_time(estimator):
    """Fault: a quick cell is estimated by the least number of calls."""
    call = estimator.call_s(cell(500))
    rest = 2.0 + 0.2 + 1e-7 * 500**2 + 8 * call
    assert estimator.sample_s(cell(500), "prepared") - rest == pytest.approx(0.5, rel=0.05)
    assert estimator.sample_s(cell(500), "pilot") - rest == pytest.approx(pilot_s(0.5))
    assert pilot_s(0.5) < 0.5


def test_a_sample_after_its_pilot(estimator):
    """Fault: the pilot's own warm series is counted as a cost of every sample."""
    estimator.learn_pilot(cell(1000), 0.1, 6.0, 1.0)
    assert estimator.sample_s(cell(1000), "prepared") == pytest.approx(5.0 + 10 * 0.1)
    assert estimator.sample_s(cell(1000), "fresh") == pytest.approx(4.0)


def test_the_probe_sets_what_a_process_costs(estimator):
    """Fault: a machine on which an import takes a minute is given a plan for 2 s."""
    before = estimator.sample_s(cell(50), "fresh")
    estimator.learn_process(60.0)
    assert estimator.sample_s(cell(50), "fresh") - before == pytest.approx(0.85 * 60.0 - 2.0)


def test_a_larger_shape_never_looks_quicker(estimator):
    """Fault: the budget lets a large shape in and turns a smaller one away."""
    for learnt in (None, 50, 500):
        if learnt:
            estimator.learn_pilot(cell(learnt), 0.01, 3.0, 0.2)
        shapes = [n for n in (100, 600, 1000, 5000, 15000) if not learnt or n > learnt]
        times = [estimator.sample_s(cell(n), "prepared") for n in shapes]
        assert times == sorted(times)


def test_a_gpus_call_is_foreseen_by_the_gpu(estimator):
    """Fault: 15000 on a GPU foreseen at the CPU's rate, and left out as over budget."""
    estimator.gpu_ceiling_flops = 1e14
    foreseen = estimator.call_s(cell(10000, "XLA_GPU"))
    assert foreseen == pytest.approx(2e-4 + 2e12 / 0.3e14)
    assert estimator.call_s(cell(10000)) > 100 * foreseen
