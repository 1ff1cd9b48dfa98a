# SPDX-License-Identifier: Apache-2.0
"""TensorFlow 2.18 on a GPU: each way to it proves itself, and what pretends is caught."""

from __future__ import annotations

import statistics

import pytest

from tests.integration.harness import plant

pytestmark = [pytest.mark.real, pytest.mark.gpu]

WAYS = [("GPU", "device"), ("XLA_GPU", "jit"), ("XLA_GPU", "device")]

#: A row that says ieee, multiplied in TF32.
PRETENDING = """
import settings
def set_precision(tf, precision, device):
    tf.config.experimental.enable_tensor_float_32_execution(True)
settings.set_precision = set_precision
settings.precision_in_force = lambda tf, device: "ieee"
"""

#: A call that returns when its work is launched, with the scalar of the function's first.
UNFETCHED = """
import tf_function
honest = tf_function.Adapter.execute
def execute(self):
    if getattr(self, "_of", None) is not self._function:
        self._of, self._kept = self._function, honest(self)
        return self._kept
    self._function()
    return self._kept
tf_function.Adapter.execute = execute
"""


@pytest.mark.parametrize(("target", "placement"), WAYS)
def test_each_way_proves_itself(on, gpu, target, placement):
    """Fault held: a CPU's kernel in a GPU's row, a module that cannot be read, a GPU that is not the one watched."""
    sample = on("tf").take(target, 1000, placement=placement, warm_calls=20)
    assert sample.status == "ok", (sample.status, sample.reason, sample.proofs)
    assert sample.facts["gpu_uuid"] == gpu.static["uuid"]
    warm = statistics.median(sample.warm.calls_s)
    print(
        f"{target} {placement} 1000: cold {sample.cold_s:.3f} s, warm {warm:.6f} s; {sample.proofs['device'].text}"
    )
    print(f"  {sample.proofs['precision'].text}; compiles {sample.compiles}")


@pytest.mark.parametrize("precision", ["ieee", "tf32"])
def test_each_precision_is_the_one_in_force(on, precision):
    """Fault held: PRECISION= that is set and not in force: TF32 is TensorFlow's default."""
    sample = on("tf").take("XLA_GPU", 4096, placement="jit", precision=precision, warm_calls=20)
    assert sample.status == "ok", (sample.reason, sample.proofs)
    assert sample.facts["effective_precision"] == sample.facts["precision"] == precision


def test_tf32_that_says_ieee_is_a_wrong_result(on, tmp_path):
    """Fault held: TF32, TensorFlow's default, in a row of full float32."""
    worker = plant(tmp_path / "worker", PRETENDING)
    sample = on("tf").take("XLA_GPU", 1000, placement="jit", precision="ieee", worker=worker, warm_calls=20)
    assert sample.status == "wrong_result", (sample.status, sample.reason, sample.proofs)


@pytest.mark.parametrize("n", [50, 1000, 15000])
def test_a_scalar_that_is_not_fetched_is_caught(on, tmp_path, n):
    """Fault held: timing the dispatch. At 50 only a call on another operand can tell."""
    worker = plant(tmp_path / "worker", UNFETCHED)
    sample = on("tf").take("GPU", n, worker=worker, warm_calls=20)
    assert sample.status == "implausible", (sample.status, sample.reason, sample.proofs)


def test_without_its_gpu_it_is_unavailable(on):
    """Fault held: soft placement, or a fallback to the CPU."""
    sample = on("tf").take("GPU", 50, environment={"CUDA_VISIBLE_DEVICES": ""})
    assert sample.status == "unavailable", (sample.status, sample.reason)
