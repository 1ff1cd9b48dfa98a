# SPDX-License-Identifier: Apache-2.0
"""JAX 0.11 on the CPU: it proves itself, each planted fault turns it red, each shape compiles once."""

from __future__ import annotations

import json
import statistics

import pytest

from tests.integration.harness import plant

pytestmark = pytest.mark.real

#: A call of its own: what ``%s`` makes of the operand, under ``build``.
REPLACED = """
import jax_jit
def build(self):
    numpy, jax = self._jax.numpy, self._jax
    value = jax.device_put(self._m)
    def call(m):
        %s
    self._lowered = jax.jit(call).lower(self._m)
    self._compiled = None
jax_jit.Adapter.build = build
"""

CLOSED_OVER = REPLACED % (
    """product = numpy.matmul(value, value.T) + 0 * m
        return numpy.sum(product), numpy.sum(product, axis=1), product[-1]"""
)

SHORTCUT = REPLACED % (
    """rows = m @ numpy.sum(m, axis=0)
        return numpy.sum(rows), rows, m @ m[-1]"""
)

UNUSED = REPLACED % (
    """product = numpy.matmul(m, m.T)
        return numpy.sum(m), numpy.sum(m, axis=1), m[-1]"""
)

#: The call returns as soon as it is handed over: its scalar is one of an earlier call.
NOT_FETCHED = """
import jax_jit
execute, build = jax_jit.Adapter.execute, jax_jit.Adapter.build
def handed_over(self):
    if self._scalar is None:
        self._scalar = execute(self)
    else:
        self._out = self._compiled(self._m)
    return self._scalar
def rebuilt(self):
    build(self)
    self._scalar = None
jax_jit.Adapter.execute, jax_jit.Adapter.build = handed_over, rebuilt
"""

#: JAX's own way: ``jax.devices()`` gives the CPU where there is no GPU.
FALLS_BACK = """
import jax_jit
def open_softly(self):
    self._device = self._jax.devices()[0]
jax_jit.Adapter.open = open_softly
"""

OTHER_SEED = """
import matmul, jax_jit
place = jax_jit.Adapter.place
jax_jit.Adapter.place = lambda self, m: place(self, matmul.operand(m.shape[0], 4711, m.dtype))
"""

TF32 = """
import numpy, jax_jit
place = jax_jit.Adapter.place
def rounded(self, m):
    bits = (m.view(numpy.uint32) + numpy.uint32(0x1000)) & numpy.uint32(0xFFFFE000)
    place(self, bits.view(numpy.float32))
jax_jit.Adapter.place = rounded
"""

ZERO_LAST_ROW = """
import jax_jit
outputs = jax_jit.Adapter.outputs
def without_last_row(self):
    return dict(outputs(self), last=outputs(self)["last"] * 0)
jax_jit.Adapter.outputs = without_last_row
"""

#: Nobody asks whether this device multiplies so. JAX takes the switch on a CPU, and XLA computes in float32.
NOT_REFUSED = """
import jax_jit
jax_jit.Adapter._has_tensor_cores = lambda self: True
"""

#: A new function in mid-series, as a shape that changes makes one.
COMPILES_AGAIN = """
import jax_jit
execute, calls = jax_jit.Adapter.execute, []
def now_and_then(self):
    calls.append(1)
    if len(calls) == 12:
        self.build()
        self.compile()
    return execute(self)
jax_jit.Adapter.execute = now_and_then
"""


@pytest.mark.parametrize(("kind", "n"), [("prepared", 8), ("fresh", 50), ("prepared", 50), ("prepared", 500)])
@pytest.mark.parametrize("precision", ["default", "ieee"])
def test_an_honest_worker_proves_everything(taker_jax, kind, n, precision):
    """Fault: a proof that turns honest numbers red, or evidence that JAX has under another name."""
    sample = taker_jax.take("XLA_CPU", n, placement="jit", kind=kind, precision=precision)
    assert sample.status == "ok", sample.reason
    states = {name: proof.state for name, proof in sample.proofs.items()}
    not_there = {"cold"} | ({"synchronised"} if kind == "fresh" else set())
    assert {name for name, state in states.items() if state == "not_applicable"} == not_there
    assert {state for name, state in states.items() if name not in not_there} == {"ok"}
    assert sample.facts["precision"] == sample.facts["effective_precision"] == "ieee"
    assert sample.facts["compilation_cache"] == "off" and sample.facts["preallocate"] == "false"


@pytest.mark.parametrize("kind", ["prepared", "fresh"])
def test_every_step_is_a_phase(taker_jax, kind):
    """Fault: lower and compile in one phase, or time in none."""
    sample = taker_jax.take("XLA_CPU", 500, placement="jit", kind=kind)
    names = [phase.name for phase in sample.phases]
    assert {"import", "device_init", "inputs", "build", "compile", "first_execution"} <= set(names)
    assert sample.untimed_s <= 0.01 * sample.wall_s + 0.02
    assert sample.compiles["compile"].count == 1
    [compiled] = [phase for phase in sample.phases if phase.name == "compile"]
    logged_s, phase_s = sample.compiles["compile"].total_s, compiled.end_s - compiled.begin_s
    assert 0.5 * phase_s < logged_s <= phase_s


@pytest.mark.parametrize(
    ("fault", "target", "n", "status"),
    [
        (CLOSED_OVER, "XLA_CPU", 50, "unverified_placement"),
        (CLOSED_OVER, "XLA_CPU", 500, "unverified_placement"),
        (SHORTCUT, "XLA_CPU", 50, "unverified_placement"),
        (UNUSED, "XLA_CPU", 500, "wrong_result"),
        (NOT_FETCHED, "XLA_CPU", 50, "implausible"),
        (NOT_FETCHED, "XLA_CPU", 500, "implausible"),
        (NOT_FETCHED, "XLA_CPU", 1500, "implausible"),
        (FALLS_BACK, "XLA_GPU", 50, "wrong_device"),
        (OTHER_SEED, "XLA_CPU", 50, "wrong_result"),
        (TF32, "XLA_CPU", 50, "wrong_result"),
        (TF32, "XLA_CPU", 2000, "wrong_result"),
        (ZERO_LAST_ROW, "XLA_CPU", 500, "wrong_result"),
    ],
)
def test_a_planted_fault_turns_the_sample_red(taker_jax, tmp_path, fault, target, n, status):
    """Fault: operand closed over, product unused or left out, not waited for, computed elsewhere, other numbers."""
    worker = plant(tmp_path / "worker", fault)
    sample = taker_jax.take(target, n, placement="jit", worker=worker, warm_calls=15)
    assert sample.status == status, (sample.reason, sample.proofs)


def test_a_gpu_that_is_not_there_is_unavailable(taker_jax):
    """Fault: JAX falls back to the CPU, and its time stands in a GPU's row."""
    sample = taker_jax.take("XLA_GPU", 50, placement="jit", environment={"CUDA_VISIBLE_DEVICES": ""})
    assert sample.status == "unavailable" and "the framework sees CPU:0" in sample.reason.text


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_a_precision_that_the_device_lacks_is_refused(taker_jax, precision):
    """Fault: a row that says bf16 of a product in float32."""
    sample = taker_jax.take("XLA_CPU", 50, placement="jit", precision=precision)
    assert sample.status == "unavailable" and sample.reason.code == "no_precision", sample.reason


def test_a_switch_without_effect_is_a_wrong_result(taker_jax, tmp_path):
    """Fault: the switch is believed. On a CPU JAX takes BF16_BF16_F32, and XLA multiplies in float32."""
    worker = plant(tmp_path / "worker", NOT_REFUSED)
    sample = taker_jax.take("XLA_CPU", 500, placement="jit", precision="bf16", worker=worker)
    assert sample.status == "wrong_result" and sample.reason.code == "proof_precision", sample.reason
    assert sample.facts["effective_precision"] == "ieee" and "bf16 was asked for" in sample.reason.text


@pytest.mark.parametrize("n", [256, 257, 258])
def test_each_size_compiles_once(taker_jax, n):
    """Fault (scenario C7): odd sizes that compile again in the warm series, or a compile that nobody counts."""
    sample = taker_jax.take("XLA_CPU", n, placement="jit", warm_calls=100)
    assert sample.status == "ok", sample.reason
    counts = {name: found.count for name, found in sample.compiles.items()}
    assert counts == {"library_init": 1, "compile": 1}
    calls = sample.warm.calls_s
    slow = [each for each in calls if each > 4 * statistics.median(calls)]
    assert len(slow) <= 2, slow


def test_a_compile_in_the_warm_series_is_seen(taker_jax, tmp_path):
    """Fault: a warm number that holds a compile."""
    worker = plant(tmp_path / "worker", COMPILES_AGAIN)
    sample = taker_jax.take("XLA_CPU", 256, placement="jit", worker=worker)
    assert sample.compiles["warm"].count == 1
    assert max(sample.warm.calls_s) > 4 * statistics.median(sample.warm.calls_s)


def test_the_module_is_of_the_executable_that_was_timed(taker_jax):
    """Fault: evidence of another compile than the timed one, which costs a second compile as well."""
    sample = taker_jax.take("XLA_CPU", 300, placement="jit")
    [module] = sample.evidence["placement"]["modules"]
    assert module["name"] == "HloModule jit_call" and module["dots"][0]["shapes"] == ["300,300"] * 3
    assert "verify" not in sample.compiles
    events = [json.loads(line) for line in taker_jax.raw(sample, "events.jsonl").splitlines()]
    assert sum(event["event"] == "placement" for event in events) == 1
