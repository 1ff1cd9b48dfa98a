# SPDX-License-Identifier: Apache-2.0
"""Upper bounds of FLOP/s: no honest call is faster. A GPU's from its own figures; the CPU's float32 is in ``host``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

GpuPrecision = Literal["ieee", "tf32", "bf16"]
_Capability = tuple[int, int]


@dataclass(frozen=True)
class _Sm:
    """One multiprocessor: CUDA cores, and dense FLOP a cycle of its tensor cores (0: it has none for that)."""

    cores: int
    tf32: int = 0
    bf16: int = 0


#: By compute capability. Cores: CUDA C++ Programming Guide, "Compute Capabilities". Tensor cores: dense peak of the
#: data sheet / (SMs x boost clock), which gives a power of two; where cards of one capability differ, the fastest.
_SMS: dict[_Capability, _Sm] = {
    (3, 0): _Sm(192),
    (3, 2): _Sm(192),
    (3, 5): _Sm(192),
    (3, 7): _Sm(192),
    (5, 0): _Sm(128),
    (5, 2): _Sm(128),
    (5, 3): _Sm(128),
    (6, 0): _Sm(64),
    (6, 1): _Sm(128),
    (6, 2): _Sm(128),
    # Volta's and Turing's tensor cores take float16 and integers only.
    (7, 0): _Sm(64),
    (7, 2): _Sm(64),
    (7, 5): _Sm(64),
    # A100 white paper: 156 TF TF32, 312 TF bfloat16, 108 SMs, 1.41 GHz.
    (8, 0): _Sm(64, 1024, 2048),
    # A40 data sheet: 74.8 and 149.7 TF, 84 SMs, 1.74 GHz. GeForce has half of it.
    (8, 6): _Sm(128, 512, 1024),
    # Jetson AGX Orin technical brief: tensor cores as the A100's.
    (8, 7): _Sm(128, 1024, 2048),
    # L40S data sheet: 183 and 362 TF, 142 SMs, 2.52 GHz. GeForce has half of it.
    (8, 9): _Sm(128, 512, 1024),
    # H100 white paper, SXM5: 494.7 and 989.4 TF, 132 SMs, 1.83 GHz; 66.9 TF float32 at 1.98 GHz.
    (9, 0): _Sm(128, 2048, 4096),
    # HGX B200 data sheet: 1.1 and 2.25 PF dense, 148 SMs, 1.85 GHz.
    (10, 0): _Sm(128, 4096, 8192),
    (10, 3): _Sm(128, 4096, 8192),
    # RTX PRO 6000 Blackwell data sheet: 252 and 504 TF dense, 188 SMs, 2.62 GHz.
    (12, 0): _Sm(128, 512, 1024),
    (12, 1): _Sm(128, 512, 1024),
}

#: No NVIDIA GPU has been sold with more SMs (GB202, full: 192) or a higher SM clock; taken where NVML does not say.
MOST_SMS = 192
FASTEST_SM_MHZ = 3500

#: Products in TF32, or in bfloat16, that make one with float32's error: what cuBLAS, CUTLASS and XLA use ("3xTF32";
#: "BF16x9", or x6 where the smallest terms are left out).
TF32_PRODUCTS = 3
BF16_PRODUCTS = 6


#: A core's FLOP in bfloat16 for one of its float32 vectors': AMX's tiles do 1024 a cycle, AVX-512 does 64 (Intel
#: Architecture Optimization Reference Manual, AMX: TDPBF16PS multiplies 16 x 32 by 32 x 16 in 16 cycles).
CPU_TILES = 16


def cpu_ceiling_flops(float32_flops: float, precision: str) -> float:
    """Return an upper bound of a CPU's FLOP/s at a precision, from that of its float32 vectors."""
    return float32_flops * CPU_TILES if precision in ("tf32", "bf16") else float32_flops


def gpu_ceiling_flops(static: Mapping[str, Any], precision: GpuPrecision) -> tuple[float, str]:
    """Return an upper bound of a GPU's float32 matmul FLOP/s, and how it comes about.

    SMs x highest SM clock x FLOP that an SM does in a cycle at this precision. What is not known is replaced by the
    largest that is, and the text then says "upper bound".

    Parameters
    ----------
    static
        What :meth:`suite.telemetry.gpu.Gpus.static` says: ``compute_capability``, ``cores``, ``max_sm_clock_mhz``.
    precision
        ``ieee`` is float32's error, not float32's units: a library may put the product together from several in
        TF32 or bfloat16 on tensor cores, on an H100 at up to 2.7 times the rate of its CUDA cores, with an error as
        small. So its bound is the larger of the CUDA cores' rate and of such sums: it must not reject an honest
        call. That TF32 alone is passed off as ``ieee`` is found by its error, not here.

    Raises
    ------
    ValueError
        For another precision.
    """
    if precision not in ("ieee", "tf32", "bf16"):
        raise ValueError(f"no ceiling for precision {precision!r}")
    guessed = []
    capability = _capability(static.get("compute_capability"))
    if capability in _SMS:
        sm = _SMS[capability]
        per_cycle, how = _rate(sm, precision)
    else:
        per_cycle, how = max((_rate(each, precision) for each in _SMS.values()), key=_first)
        guessed.append(f"capability {static.get('compute_capability', 'not given')} is not in the table")
    cores = static.get("cores")
    if cores and capability in _SMS:
        sms = cores / _SMS[capability].cores
    elif cores:
        # The fewest cores an SM has: the most SMs that there can be.
        sms = cores / min(each.cores for each in _SMS.values())
    else:
        sms = float(MOST_SMS)
        guessed.append("the number of SMs is not known")
    megahertz = static.get("max_sm_clock_mhz")
    if not megahertz:
        megahertz = FASTEST_SM_MHZ
        guessed.append("the highest clock is not known")
    text = f"{sms:g} SMs x {megahertz / 1e3:.2f} GHz x {per_cycle:g} operations a cycle ({how})"
    if guessed:
        text += f"; upper bound: {', '.join(guessed)}"
    return sms * megahertz * 1e6 * per_cycle, text


def _rate(sm: _Sm, precision: GpuPrecision) -> tuple[float, str]:
    """Return FLOP a cycle of one SM, and by which way."""
    cores = (2.0 * sm.cores, "CUDA cores, float32")
    if precision == "tf32":
        return (float(sm.tf32), "tensor cores, TF32") if sm.tf32 else (cores[0], f"{cores[1]}: no TF32 here")
    if precision == "bf16":
        return (
            (float(sm.bf16), "tensor cores, bfloat16") if sm.bf16 else (cores[0], f"{cores[1]}: no bfloat16 here")
        )
    return max(
        cores,
        (sm.tf32 / TF32_PRODUCTS, f"tensor cores, {TF32_PRODUCTS} products in TF32"),
        (sm.bf16 / BF16_PRODUCTS, f"tensor cores, {BF16_PRODUCTS} products in bfloat16"),
        key=_first,
    )


def _first(pair: tuple[float, str]) -> float:
    return pair[0]


def _capability(text: Any) -> _Capability | None:
    """Return "10.0" as (10, 0): as text it would sort before "9.0", as a float 8.10 would be 8.1."""
    try:
        major, minor = str(text).split(".")
        return int(major), int(minor)
    except ValueError:
        return None
