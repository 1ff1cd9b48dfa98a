# SPDX-License-Identifier: Apache-2.0
"""Scenario H3: where a first run's time goes, and what a second shape still pays."""

from __future__ import annotations

import statistics

import pytest

from tests.gpu.paths import PATHS

pytestmark = [pytest.mark.real, pytest.mark.gpu]


def _length(sample, *names: str) -> float:
    return sum(each.end_s - each.begin_s for each in sample.phases if each.name in names)


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_the_first_shape_pays_for_the_process_the_second_for_itself(on, name):
    """Fault held: start-up, library and compile in one number."""
    target, placement = PATHS[name]
    taker = on(name)
    fresh = taker.take(target, 1024, placement=placement, kind="fresh")
    second = taker.take(target, 1025, placement=placement, more={"prepare_n": 1024}, warm_calls=50)
    assert fresh.status == second.status == "ok", (fresh.reason, second.reason)
    assert fresh.untimed_s <= 0.01 * fresh.wall_s + 0.02
    told = sum(each.end_s - each.begin_s for each in fresh.phases)
    assert abs(told / fresh.wall_s - 1) < 0.10
    warm = statistics.median(second.warm.calls_s)
    first = fresh.first_result_s - _length(fresh, "engine_start", "interpreter", "import")
    print(f"{name}: first {first:.3f} s, second shape {second.cold_s:.4f} s, warm {warm:.6f} s")
    assert first / warm > 10
    if name == "jax":  # compiles again
        assert _length(second, "compile") > 0.5 * second.cold_s
        assert second.cold_s / warm > 10
    else:
        assert second.cold_s < 0.05


@pytest.mark.parametrize("name", ["jax", "torch"])
def test_ten_processes_give_ten_cold_times(on, name):
    """Fault held: one cold time shown as if it were the cold time."""
    target, placement = PATHS[name]
    taker = on(name)
    times = [taker.take(target, 1024, placement=placement, warm_calls=20).cold_s for _ in range(10)]
    spread = max(times) / min(times)
    print(f"{name}: cold at 1024, ten processes: {min(times):.4f} to {max(times):.4f} s")
    assert len(set(times)) == 10
    assert 1 < spread < 5
