# SPDX-License-Identifier: Apache-2.0
"""FLOP/s beside the ceiling of the precision in force."""

from pathlib import Path

import pytest

from suite import journal, rates, rows

EXAMPLE = Path(__file__).parents[2] / "results" / "examples" / "bench-tf1.14-cuda10"


def test_the_rate_is_the_matmuls_work_over_the_warm_time():
    """Fault held: 1 n^3, or the cold time, or a rate for a cell without a time."""
    run, (samples, _) = journal.read_run(EXAMPLE), journal.read_samples(EXAMPLE)
    cell_rows = rows.cell_rows(run, samples)
    found = rates.rates(run, samples, cell_rows)
    assert set(found) == {row.cell.id for row in cell_rows if row.warm}
    row = next(row for row in cell_rows if row.cell.id == "CPU.device.2000")
    rate = found["CPU.device.2000"]
    assert rate.flops == pytest.approx(2 * 2000**3 / row.warm.centre)
    assert rate.precision == "ieee"
    assert 0 < rate.flops < rate.ceiling_flops
    [note] = rates.notes(run, samples, cell_rows)
    assert "CPU device 2000" in note
    assert "CPU device 50:" not in note


def test_every_shape_that_fills_a_gpu_is_told_beside_the_gpus_ceilings():
    """Fault held: 8192, by which a GPU is known, is told in a file alone; or a rate of launches as the GPU's."""
    folder = EXAMPLE.parents[1] / "reference" / "h200-bench-jax0.11-cuda13"
    run, (samples, _) = journal.read_run(folder), journal.read_samples(folder)
    told, of_gpu = rates.notes(run, samples, rows.cell_rows(run, samples))
    assert "on a GPU from 8192 on: XLA_GPU jit 8192: 308 TFLOP/s (tf32), 58 % of" in told
    assert "; XLA_GPU jit 15000: 341 TFLOP/s (tf32)" in told and " 1000: " not in told
    assert of_gpu.endswith("1070 TFLOP/s (bf16), 535 TFLOP/s (tf32), 178 TFLOP/s (ieee)")


def test_a_gpus_ceiling_is_that_of_the_precision_in_force():
    """Fault held: TF32 held beside the ceiling of float32."""
    run = journal.read_run(EXAMPLE)
    run.host["gpu"] = {"compute_capability": "9.0", "cores": 132 * 128, "max_sm_clock_mhz": 1980}
    tf32, ieee = (rates._ceiling(run, "/device:GPU:0", name) for name in ("tf32", "ieee"))
    assert tf32 == pytest.approx(132 * 1.98e9 * 2048)
    assert ieee < tf32
    assert rates._ceiling(run, "/device:GPU:0", "fp8") is None


@pytest.mark.parametrize(
    ("flops", "text"),
    [(3.434e14, "343 TFLOP/s"), (2.86e10, "28.6 GFLOP/s"), (1e6, "1 MFLOP/s"), (3.0, "3 FLOP/s")],
)
def test_rates_are_readable(flops, text):
    """Fault held: 3.43e+02."""
    assert rates.readable(flops) == text
