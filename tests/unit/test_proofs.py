# SPDX-License-Identifier: Apache-2.0
"""Each proof, passed by honest evidence and refused for each way to cheat it."""

from __future__ import annotations

import msgspec
import pytest

from suite import proofs
from suite.records import Warm

GOOD = {"rows": 0.2, "last": 0.3, "scalar": 0.1}


def warm(
    calls: list[float], outer: float | None = None, late: float | None = 1e-4, idle: float | None = 1e-4
) -> Warm:
    return Warm(
        calls_s=calls, outer_s=sum(calls) if outer is None else outer, late_drain_s=late, idle_drain_s=idle
    )


def test_results_within_their_bound_pass():
    """Fault: an honest result refused, or the largest error misnamed."""
    right = [{"of": "cold", "ratios": GOOD}, {"of": "warm", "ratios": {**GOOD, "last": 1.0}}]
    proof, status = proofs.result(right, ["cold", "warm"])
    assert (proof.state, status) == ("ok", None)
    assert proof.text == "largest error is 1 of its bound (last of the warm call)"


@pytest.mark.parametrize("call", ["cold", "warm"])
@pytest.mark.parametrize("output", ["rows", "last", "scalar"])
@pytest.mark.parametrize("ratio", [1.0001, 300.0, None, "missing"])
def test_one_wrong_output_of_one_call_fails_the_sample(call, output, ratio):
    """Fault: only the scalar, only the first or only the last call is looked at, or None passes as not above 1."""
    bad = {**GOOD, output: ratio}
    if ratio == "missing":
        del bad[output]
    ratios = [{"of": each, "ratios": bad if each == call else GOOD} for each in ("cold", "warm")]
    proof, status = proofs.result(ratios, ["cold", "warm"])
    assert (proof.state, status) == ("failed", "wrong_result")
    assert f"{output} of the {call} call" in proof.text


def test_a_call_that_was_not_checked_fails():
    """Fault: no evidence is taken for good evidence."""
    proof, status = proofs.result([{"of": "cold", "ratios": GOOD}], ["cold", "warm"])
    assert (proof.state, proof.text, status) == ("failed", "the warm result was not checked", "wrong_result")
    assert proofs.result([], ["cold"])[1] == "wrong_result"


def test_calls_that_waited_pass_and_no_series_does_not_apply():
    """Fault: an honest series refused; a closing drain that costs something is no work left over."""
    assert proofs.synchronised(warm([0.01] * 10))[1] is None
    assert proofs.synchronised(warm([0.001] * 10, outer=0.012, late=0.003, idle=0.003))[1] is None
    assert proofs.synchronised(None)[0].state == "not_applicable" and proofs.synchronised(None)[1] is None


@pytest.mark.parametrize(("outer", "wanted"), [(0.104, None), (0.107, "implausible"), (5.0, "implausible")])
def test_calls_that_only_enqueue_are_seen_by_the_outer_clock(outer, wanted):
    """Fault: time that passes in the series and in no call goes unseen."""
    proof, status = proofs.synchronised(warm([0.01] * 10, outer=outer))
    assert status == wanted and proof.state == ("failed" if wanted else "ok")


@pytest.mark.parametrize(
    ("call", "late", "wanted"),
    [
        (0.01, 0.0001 + 0.0005 + 19e-6, None),
        (0.01, 0.0001 + 0.0005 + 22e-6, "implausible"),
        (1e-5, 0.0001 + 19e-6, None),
        (1e-5, 0.0001 + 23e-6, "implausible"),
        (0.01, 0.00001, None),
    ],
)
def test_work_left_after_the_stopped_clock_is_seen_by_the_drain(call, late, wanted):
    """Fault: calls return before their work is done and the drain pays for it; 5 % + 20 us are allowed."""
    proof, status = proofs.synchronised(warm([call] * 100, late=late, outer=100 * call + 1e-4))
    assert status == wanted and proof.state == ("failed" if wanted else "ok")


def test_the_drains_allowance_follows_the_median_call():
    """Fault: one slow first call allows every other one to be late."""
    series = warm([1.0] + [0.001] * 10, late=0.003, idle=0.0)
    assert proofs.synchronised(series)[1] == "implausible"


@pytest.mark.parametrize("missing", ["late", "idle"])
def test_a_drain_that_was_not_measured_fails(missing):
    """Fault: without its second clock a series counts as synchronised."""
    assert proofs.synchronised(warm([0.01] * 10, **{missing: None}))[1] == "implausible"


@pytest.mark.parametrize(
    ("cold_s", "calls", "wanted"),
    [
        (0.02, [0.02, 0.02], None),
        (0.02, None, None),
        (0.02, [0.02, 0.0199, 0.02], "implausible"),
        (0.0199, None, "implausible"),
        (0.0, None, "implausible"),
        (-1.0, [0.02], "implausible"),
    ],
)
def test_no_call_is_faster_than_the_machine(cold_s, calls, wanted):
    """Fault: only the mean, only cold or only warm is held against the ceiling; 0 s divides by zero."""
    proof, status = proofs.plausible(1000, cold_s, warm(calls) if calls else None, 1e11)
    assert status == wanted and proof.state == ("failed" if wanted else "ok")


def test_the_rate_counts_multiplications_and_additions():
    """Fault: n^3, n^2 or a wrong unit: the ceiling is then never reached, or always."""
    assert proofs.plausible(1000, 0.02, None, 2e11)[0].text == "fastest call 100 GFLOP/s, ceiling 200"


@pytest.mark.parametrize(
    ("found", "state"),
    [
        ({"modules": 1000, "cached": 990, "share": 0.99}, "ok"),
        ({"modules": 1000, "cached": 989, "share": 0.989}, "failed"),
        (None, "not_proven"),
        ({}, "not_proven"),
    ],
)
def test_bytecode_is_told_and_gates_no_number(found, state):
    """Fault: a stack that was not compiled looks like one that was, or loses its numbers for it."""
    proof, status = proofs.bytecode(found)
    assert (proof.state, status) == (state, None)
    if found:
        assert proof.text == f"{found['cached']} of 1000 modules from compiled files"


def test_a_quota_between_two_clocks_is_no_missing_work():
    """Fault: a container with half a CPU is called unsynchronised when its pause falls between two calls."""
    stopped = Warm([0.01] * 10, 0.2, late_drain_s=1e-5, idle_drain_s=1e-5, throttlings=2)
    assert proofs.synchronised(stopped)[1] is None
    assert proofs.synchronised(msgspec.structs.replace(stopped, throttlings=0))[1] == "implausible"
    # What was left undone shows in the drain all the same.
    assert proofs.synchronised(msgspec.structs.replace(stopped, late_drain_s=0.01))[1] == "implausible"


def test_work_that_is_left_on_the_device_is_seen_where_a_drain_is_too_quick_to_tell():
    """Fault held: a PyTorch call of 50 x 50 without its wait: what it leaves takes less than a drain's own cost."""
    quick = Warm([1e-4] * 20, 2e-3, late_drain_s=1e-5, idle_drain_s=6e-5, pending=14, probed=15)
    proof, status = proofs.synchronised(quick)
    assert status == "implausible"
    assert "14 of 15 calls" in proof.text
    assert proofs.synchronised(msgspec.structs.replace(quick, pending=2))[1] is None
    assert proofs.synchronised(msgspec.structs.replace(quick, pending=None, probed=None))[1] is None


@pytest.mark.parametrize(
    ("doubled", "status"), [(40.0, None), (39.9, None), (10.0, "implausible"), (0.0, "implausible")]
)
def test_a_scalar_that_was_not_fetched_does_not_follow_the_operand(doubled, status):
    """Fault held: a GPU call without its wait at 50, where the work is done before any clock can tell."""
    series = warm([0.01] * 10)
    assert proofs.synchronised(series, {"scalar": 10.0, "doubled": doubled})[1] == status
    assert proofs.synchronised(series, {"scalar": -10.0, "doubled": -doubled})[1] == status
