# SPDX-License-Identifier: Apache-2.0
"""Steady, trend, shift: series whose answer is known."""

from __future__ import annotations

import random
import statistics

import pytest

from suite import steadiness


def noisy(levels: list[float], seed: int, noise: float = 0.01) -> list[float]:
    """Return the levels, each with seeded noise of that share."""
    gauss = random.Random(seed).gauss
    return [level * (1 + noise * gauss(0, 1)) for level in levels]


def ramp(calls: int, by: float) -> list[float]:
    """Return a drift from 1 to 1 + by."""
    return [1 + by * k / calls for k in range(calls)]


def test_an_empty_series_is_refused():
    """Fault: a median of nothing."""
    with pytest.raises(ValueError, match="without calls"):
        steadiness.assess([])


def test_a_short_series_is_not_called_steady():
    """Fault: 3 calls of a pilot pass for a steady series."""
    assert steadiness.assess([1.0, 3.0, 2.0]) == steadiness.Steadiness("not_testable", 2.0)
    assert steadiness.assess(ramp(19, 1.0)).state == "not_testable"
    assert steadiness.assess(ramp(20, 1.0)).state == "trend"


@pytest.mark.parametrize("seed", range(20))
def test_noise_alone_is_steady(seed):
    """Fault: a test that is not sure: every hundredth series would be called a drift."""
    calls = noisy([1.0] * 200, seed, noise=0.2)
    assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls))


@pytest.mark.parametrize("by", [0.4, -0.4])
@pytest.mark.parametrize("seed", range(5))
def test_a_drift_is_a_trend_and_warm_is_its_last_half(by, seed):
    """Fault: a clock that is heating up; one direction only; or the whole series' median."""
    calls = noisy(ramp(200, by), seed)
    assert steadiness.assess(calls) == steadiness.Steadiness("trend", statistics.median(calls[100:]))


@pytest.mark.parametrize("to", [1.2, 0.8])
@pytest.mark.parametrize("seed", range(20))
def test_a_step_is_not_steady_and_warm_is_what_comes_after_it(to, seed):
    """Fault: a series in two levels, given as one number between them."""
    calls = noisy([1.0] * 100 + [to] * 100, seed)
    found = steadiness.assess(calls)
    assert found.state in ("shift", "trend") and found.warm_s == statistics.median(calls[100:])


def test_a_step_with_falling_halves_is_a_shift():
    """Fault: the test between the halves is never made."""
    half = [1 - 0.1 * k / 100 for k in range(100)]
    found = steadiness.assess(half + [value + 0.3 for value in half])
    assert found.state == "shift" and found.warm_s == pytest.approx(1.2505)


def test_a_step_is_called_a_shift():
    """Fault: a step between two levels is called a monotone drift."""
    states = [steadiness.assess(noisy([1.0] * 100 + [1.2] * 100, seed)).state for seed in range(20)]
    assert states == ["shift"] * 20


def test_what_is_too_small_to_matter_is_steady():
    """Fault: 2000 calls make the least drift significant."""
    for levels in (ramp(2000, 0.08), [1.0] * 1000 + [1.04] * 1000):
        calls = noisy(levels, 1, noise=0.001)
        assert steadiness.assess(calls) == steadiness.Steadiness("steady", statistics.median(calls))
    assert steadiness.assess(noisy(ramp(2000, 0.12), 1, noise=0.001)).state == "trend"


def test_a_few_spikes_decide_nothing():
    """Fault: means instead of medians: another program's second makes a trend."""
    calls = noisy([1.0] * 200, 3)
    for place in (0, 1, 150, 198, 199):
        calls[place] = 500.0
    found = steadiness.assess(calls)
    assert found.state == "steady" and found.warm_s == pytest.approx(1.0, rel=0.01)


def test_spikes_do_not_hide_a_drift():
    """Fault: as above: a block's mean is its one spike, and the drift below it is not seen."""
    calls = noisy(ramp(200, 0.5), 3)
    for place in (5, 31, 62, 88, 117, 131):
        calls[place] = 500.0 - place
    assert steadiness.assess(calls) == steadiness.Steadiness("trend", statistics.median(calls[100:]))


def test_seconds_of_any_size_are_judged_alike():
    """Fault: a least effect in seconds instead of a share."""
    calls = noisy(ramp(100, 0.5), 4)
    for scale in (1e-5, 1.0, 1e3):
        assert steadiness.assess([value * scale for value in calls]).state == "trend"
        assert steadiness.assess([scale] * 100).state == "steady"


@pytest.mark.parametrize("calls", range(20, 101))
def test_every_length_can_be_cut_into_blocks(calls):
    """Fault: an empty block, or calls at the end that no block holds."""
    assert steadiness.assess(ramp(calls, 1.0)).state == "trend"
    medians = steadiness._block_medians(list(range(calls)))
    assert len(medians) == steadiness.BLOCKS and medians == sorted(set(medians))
    assert medians[0] < calls / 20 and medians[-1] > calls - 1 - calls / 20
