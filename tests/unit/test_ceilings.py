# SPDX-License-Identifier: Apache-2.0
"""The upper bound of a GPU's FLOP/s beside NVIDIA's own figures."""

from __future__ import annotations

import pytest

from suite.ceilings import cpu_ceiling_flops, gpu_ceiling_flops
from suite.telemetry.gpu import Gpus
from tests.nvml_replay import Recorded


def of(capability, cores, megahertz, precision):
    static = {"compute_capability": capability, "cores": cores, "max_sm_clock_mhz": megahertz}
    return gpu_ceiling_flops({name: value for name, value in static.items() if value is not None}, precision)


@pytest.mark.parametrize(
    ("capability", "cores", "megahertz", "precision", "teraflops"),
    [
        ("8.0", 6912, 1410, "tf32", 156.0),
        ("8.0", 6912, 1410, "bf16", 312.0),
        ("9.0", 16896, 1830, "tf32", 495.0),
        ("9.0", 16896, 1830, "bf16", 989.4),
        ("8.6", 10752, 1740, "tf32", 74.8),
        ("8.9", 18176, 2520, "tf32", 183.0),
        ("12.0", 24064, 2617, "tf32", 251.9),
        ("10.0", 18944, 1850, "bf16", 2250.0),
        ("5.0", 640, 1176, "ieee", 1.505),
        ("7.0", 5120, 1530, "ieee", 15.7),
    ],
)
def test_peak_rates_of_data_sheets(capability, cores, megahertz, precision, teraflops):
    """Fault: the rate with sparsity, half or twice the rate, cores taken for SMs, MHz for GHz."""
    flops, text = of(capability, cores, megahertz, precision)
    assert flops / 1e12 == pytest.approx(teraflops, rel=0.01) and "upper bound" not in text


@pytest.mark.parametrize(
    ("capability", "cores", "megahertz", "cuda_cores", "tf32"),
    [("8.0", 6912, 1410, 19.5, 156.0), ("9.0", 16896, 1980, 67.0, 535.0), ("8.6", 10752, 1740, 37.4, 74.8)],
)
def test_full_precision_put_together_from_less_is_honest(capability, cores, megahertz, cuda_cores, tf32):
    """Fault: cuBLAS sums three TF32 products with float32's error, above the CUDA cores' rate: "implausible"."""
    flops, _ = of(capability, cores, megahertz, "ieee")
    assert flops / 1e12 == pytest.approx(max(cuda_cores, tf32 / 3), rel=0.01)


@pytest.mark.parametrize("precision", ["tf32", "bf16"])
def test_no_tensor_cores_for_it_before_8_0(precision):
    """Fault: a V100's float16 tensor cores give it a TF32 rate."""
    flops, text = of("7.0", 5120, 1530, precision)
    assert flops == of("7.0", 5120, 1530, "ieee")[0] and "no " in text


def test_capabilities_are_numbers():
    """Fault: "10.0" sorts before "9.0", or is read as 1."""
    assert of("10.0", 16896, 1980, "tf32")[0] == 2 * of("9.0", 16896, 1980, "tf32")[0]


@pytest.mark.parametrize("missing", [0, 1, 2])
def test_what_is_not_known_is_bounded_and_said(missing):
    """Fault: an old driver or a new GPU has no ceiling, one below what it does, or one that looks exact."""
    known = ["9.0", 16896, 1980]
    known[missing] = None
    flops, text = of(*known, "tf32")
    assert flops > of("9.0", 16896, 1980, "tf32")[0] and "upper bound" in text


def test_a_capability_that_is_new():
    """Fault: KeyError, or a small rate by default."""
    flops, text = of("13.0", 16896, 1980, "bf16")
    assert flops >= of("10.0", 16896, 1980, "bf16")[0] and "13.0" in text


def test_a_word_that_is_no_precision():
    """Fault: a misspelt precision gets the largest ceiling and proves nothing."""
    with pytest.raises(ValueError, match="fp8"):
        of("9.0", 16896, 1980, "fp8")


def test_the_recorded_gpu():
    """Fault: NVML's facts do not have the names that the ceiling reads."""
    static = Gpus(print, nvml=Recorded.load("h200-power-cap.jsonl")).static(0)
    flops, text = gpu_ceiling_flops(static, "bf16")
    assert flops == pytest.approx(1070.5e12, rel=1e-3) and text.startswith("132 SMs x 1.98 GHz x 4096")


def test_a_cpus_tiles_are_faster_than_its_vectors():
    """Fault: an honest product in bfloat16 on AMX is called implausible, or float32 gets its room."""
    assert cpu_ceiling_flops(794e9, "ieee") == cpu_ceiling_flops(794e9, "") == 794e9
    assert cpu_ceiling_flops(794e9, "bf16") == cpu_ceiling_flops(794e9, "tf32") > 1.7e12
