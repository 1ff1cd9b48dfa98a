# SPDX-License-Identifier: Apache-2.0
"""The wall clock beside CUDA's events, and what takes the waiting out of a call."""

from __future__ import annotations

import statistics

import pytest

from tests.gpu.paths import PATHS
from tests.integration.harness import plant

pytestmark = [pytest.mark.real, pytest.mark.gpu]

#: Calls that return before their work is done, with the scalar that an honest first call gave.
UNSYNCHRONISED = {
    "torch": """
import torch_call
honest = torch_call.TorchAdapter.execute
def execute(self):
    if getattr(self, "_of", None) is not self._tensors["m"]:
        self._of, self._kept = self._tensors["m"], honest(self)
        return self._kept
    self._function(*self._arguments)
    return self._kept
torch_call.TorchAdapter.execute = execute
""",
    "jax": """
import jax_jit
honest = jax_jit.Adapter.execute
class Number(object):  # what float() makes of a result, without a wait for it
    def __init__(self, value):
        self.value = value
def execute(self):
    import builtins
    if getattr(self, "_of", None) is not self._m:
        self._of, self._kept = self._m, honest(self)
        return self._kept
    jax_jit.float = lambda result: self._kept
    try:
        return honest(self)
    finally:
        jax_jit.float = builtins.float
jax_jit.Adapter.execute = execute
""",
}


@pytest.mark.parametrize("n", [8192, 15000])
def test_the_wall_agrees_with_cuda_events(on, n):
    """Fault held: a warm time that is the harness's, or the launch's, not the GPU's (DESIGN section 9: 2 %)."""
    sample = on("torch").take("GPU", n, precision="ieee", warm_calls=20, more={"device_clock": 10})
    assert sample.status == "ok", sample.reason
    wall = statistics.median(sample.device_clock.wall_s)
    device = statistics.median(sample.device_clock.device_s)
    warm = statistics.median(sample.warm.calls_s)
    print(f"n={n}: warm {warm:.6f} s, wall {wall:.6f} s, events {device:.6f} s: {1e6 * (wall - device):.0f} us")
    assert abs(wall / device - 1) < 0.02
    # The series came before these calls: the power cap may have moved the clock since.
    assert abs(warm / device - 1) < 0.05


@pytest.mark.parametrize("n", [50, 1000])
def test_below_8192_the_difference_is_a_few_microseconds_of_host(on, n):
    """Fault held: host overhead that grows unseen: it is a launch and a read, tens of microseconds."""
    sample = on("torch").take("GPU", n, warm_calls=200, more={"device_clock": 50})
    assert sample.status == "ok", sample.reason
    clocks = sample.device_clock
    over = statistics.median(w - d for w, d in zip(clocks.wall_s, clocks.device_s, strict=True))
    print(f"n={n}: {1e6 * over:.0f} us more on the wall than by CUDA events")
    assert 0 < over < 500e-6


@pytest.mark.parametrize("n", [50, 1000, 15000])
@pytest.mark.parametrize("name", ["torch", "jax"])
def test_a_call_without_its_wait_is_caught(on, tmp_path, name, n):
    """Fault held: timing the dispatch. The scalar is right, the work is done later."""
    target, placement = PATHS[name]
    worker = plant(tmp_path / "worker", UNSYNCHRONISED[name])
    sample = on(name).take(target, n, placement=placement, worker=worker, warm_calls=20)
    assert sample.status == "implausible", (sample.status, sample.reason, sample.proofs)


def test_bfloat16_beside_a_naive_timer(on, tmp_path):
    """Scenario H1: 8192 in bfloat16 is right within 10 % of CUDA events; the timer without a wait is implausible."""
    taker = on("torch")
    honest = taker.take("GPU", 8192, dtype="bfloat16", warm_calls=50, more={"device_clock": 50})
    assert honest.status == "ok", (honest.reason, honest.proofs)
    warm, device = statistics.median(honest.warm.calls_s), statistics.median(honest.device_clock.device_s)
    rate = 2 * 8192**3 / warm / 1e12
    print(f"bfloat16 8192: warm {1e3 * warm:.3f} ms, events {1e3 * device:.3f} ms, {rate:.0f} TFLOP/s")
    assert abs(warm / device - 1) < 0.10
    worker = plant(tmp_path / "worker", UNSYNCHRONISED["torch"])
    naive = taker.take("GPU", 8192, dtype="bfloat16", warm_calls=50, worker=worker)
    assert naive.status == "implausible", (naive.status, naive.reason)
