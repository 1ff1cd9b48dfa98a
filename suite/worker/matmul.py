# SPDX-License-Identifier: Apache-2.0
"""The matmul workload: its operand, what its outputs must be, and how far off an honest one may be.

P = M M^T with M of shape (n, n), seeded uniform(-1, 1) / sqrt(n). An executable of it returns the scalar
sum of P and keeps P's row sums, shape (n,), and P's last row, shape (n,), on the device. This module knows
nothing of frameworks; NumPy is the stack's own and imported only when a framework already was.
"""

import math
import os

import limits

OP = "matmul"

#: Rounding unit of each dtype and precision: half the distance from 1 to the next number.
UNIT_ROUNDOFF = {
    ("float32", "ieee"): 2.0**-24,
    ("float32", "tf32"): 2.0**-11,
    ("float32", "bf16"): 2.0**-8,
    ("bfloat16", "bf16"): 2.0**-8,
}

#: c in the bound c * u * sqrt(n) * |M| (|M|^T 1): up to which n, and for which output. Calibrated at n = 8 to 4096
#: with 3 to 20 seeds on CPU and XLA_CPU of TensorFlow 1.14 and 2.21, every placement: each c is at least 3 times
#: the largest error that an honest run showed, and operands rounded to TF32 are off by at least 4 times the bound
#: up to n = 4096 (tests/benchmarks/calibrate_bounds.py prints the errors again); at any size their entries tell it.
#: Above 999 the c of ``last`` is that of a sum of n terms of one sign (the last entry), added up one after the other,
#: as a GPU's kernels do: simulated at n = 500 to 15000, 0.18 in the median, 0.5 in one of 20, 0.9 at most of 1,200.
_EIGEN_AND_ONEDNN = (
    (16, {"rows": 2.0, "last": 3.0, "scalar": 1.0}),
    (64, {"rows": 0.3, "last": 3.0, "scalar": 0.1}),
    (256, {"rows": 0.2, "last": 2.4, "scalar": 0.02}),
    (999, {"rows": 0.03, "last": 1.7, "scalar": 0.003}),
    (None, {"rows": 0.006, "last": 1.2, "scalar": 0.001}),
)
#: The same hold for JAX 0.11, and for PyTorch 2.11 with MKL on a CPU, eager and compiled by Inductor, at the same sizes
#: and seeds (compiled: an honest error is at most 0.33 of its c; rounded operands are off by 4.1 times it at 4096).
BOUND_C = dict.fromkeys(
    ("tf_session", "tf_function", "jax_jit", "torch_eager", "torch_compile"), _EIGEN_AND_ONEDNN
)

#: Where the operand is rounded to fewer bits before it is multiplied, and the products are added up in float32, that
#: rounding adds u (INPUT_C scale / sqrt(terms) + INPUT_BIAS |value|) to the bound: roundings of the n, n^2 and n^3
#: terms of an entry, a row sum and the scalar, taken as independent, and what cutting off in place of rounding does
#: (it makes every factor smaller, by 0.7 u on average). Simulated in float64 at n = 8 to 1500, rounding and cutting
#: off: the largest error was 0.8 of it; the same with bfloat16's u for TF32's is seen by the entries' error.
INPUT_C = 5.0
INPUT_BIAS = 2.0
_TERMS = {"last": 1, "rows": 2, "scalar": 3}

#: Rows taken at a time, so that float64 copies stay below about 64 MB at n = 15000.
_CHUNK_BYTES = 64 * 1000 * 1000
#: Each holds up to 4 such copies.
_MOST_THREADS = 8


def flops(n):
    """Return the floating point operations of one n x n matmul: n^3 multiplications and additions."""
    return 2.0 * n**3


def operand(n, seed, dtype):
    """Return M, shape (n, n): uniform(-1, 1) / sqrt(n) from the legacy seeded stream.

    ``RandomState`` gives the same stream in every NumPy version (NEP 19), so two stacks multiply the same
    numbers. ``dtype`` is NumPy's, or "bfloat16", which NumPy lacks: then float32 whose values bfloat16 can hold, so
    that an adapter's cast is exact and the reference is of the very numbers that are multiplied.
    """
    import numpy

    values = numpy.random.RandomState(seed).random_sample((n, n))
    values *= 2.0
    values -= 1.0
    values /= math.sqrt(n)
    if str(dtype) == "bfloat16":  # NumPy's own dtypes refuse to be compared with it
        return _as_bfloat16(values.astype("float32"))
    return values.astype(dtype)


def _as_bfloat16(values):
    """Round float32 to bfloat16's 8 bits, ties to even, and keep them in float32. No value may be NaN."""
    import numpy

    bits = values.view(numpy.uint32)
    bits += numpy.uint32(0x7FFF) + ((bits >> numpy.uint32(16)) & numpy.uint32(1))
    bits &= numpy.uint32(0xFFFF0000)
    return values


def reference(m):
    """Return what P = M M^T must give, in float64, and the scale of its rounding errors.

    No BLAS is used: NumPy's pairwise sums do not depend on the library that is under test.

    Returns
    -------
    dict
        ``rows`` and ``last``, shape (n,): row sums and last row of P; ``scalar``: the sum of P;
        ``rows_scale`` = |M| (|M|^T 1) and ``last_scale`` = |M| |M[-1]|, shape (n,);
        ``scalar_scale``: the sum of ``rows_scale``.
    """
    import numpy

    n = m.shape[0]
    step = max(1, int(_CHUNK_BYTES // (8 * n)))
    chunks = [slice(begin, begin + step) for begin in range(0, n, step)]

    def columns(rows):
        part = m[rows].astype(numpy.float64)
        total = part.sum(axis=0)
        return total, numpy.abs(part, out=part).sum(axis=0)

    # Added up in the order of the chunks, whichever thread was first: the same bits each time.
    sums = _in_threads(columns, chunks)
    column_sums = sum((each[0] for each in sums), numpy.zeros(n))
    column_scales = sum((each[1] for each in sums), numpy.zeros(n))
    last_row = m[n - 1].astype(numpy.float64)
    out = {name: numpy.empty(n) for name in ("rows", "last", "rows_scale", "last_scale")}

    def products(rows):
        part = m[rows].astype(numpy.float64)
        out["rows"][rows] = (part * column_sums).sum(axis=1)
        out["last"][rows] = (part * last_row).sum(axis=1)
        size = numpy.abs(part, out=part)
        out["rows_scale"][rows] = (size * column_scales).sum(axis=1)
        out["last_scale"][rows] = (size * numpy.abs(last_row)).sum(axis=1)

    _in_threads(products, chunks)
    out["scalar"] = float(out["rows"].sum())
    out["scalar_scale"] = float(out["rows_scale"].sum())
    return out


def _in_threads(function, items):
    """Return ``function`` of each item, in their order; NumPy computes without Python's lock."""
    if len(items) < 2:
        return [function(item) for item in items]
    from concurrent.futures import ThreadPoolExecutor

    workers = min(len(items), limits.threads() or os.cpu_count() or 1, _MOST_THREADS)
    with ThreadPoolExecutor(workers) as pool:
        return list(pool.map(function, items))


def errors(outputs, expected, adapter, dtype, precision):
    """Compare one call's outputs with the reference.

    Parameters
    ----------
    outputs
        ``scalar``, ``rows`` and ``last`` as the executable gave them.
    expected
        What :func:`reference` returned.
    precision
        The precision in force ("ieee", "tf32", "bf16"): the bound follows it.

    Returns
    -------
    dict
        For ``rows``, ``last`` and ``scalar`` the largest error divided by its bound: at most 1 where the
        result is right. None where an output holds a NaN or has the wrong shape.
        The bound of a vector is c u sqrt(n) times its scale (rounding errors of n terms taken as
        independent: Higham, Accuracy and Stability of Numerical Algorithms, section 4.2); the scalar's
        is c u n times its scale, a sequential sum of n^2 terms. u is that of the arithmetic, in which products
        are added up; operands of fewer bits add what INPUT_C says.
    """
    import numpy

    n = expected["rows"].shape[0]
    unit = UNIT_ROUNDOFF[("float32", "ieee")]  # in which every adapter adds up, whatever the operands are
    c = bound_constants(adapter, n)
    ratios = {}
    for name in ("rows", "last"):
        got = numpy.asarray(outputs[name], dtype=numpy.float64)
        bound = c[name] * unit * math.sqrt(n) * expected[name + "_scale"]
        bound = bound + _of_input(name, expected, numpy.abs(expected[name]), dtype, precision)
        ratios[name] = _largest(numpy.abs(got - expected[name]) / bound) if got.shape == (n,) else None
    off = abs(float(outputs["scalar"]) - expected["scalar"])
    bound = c["scalar"] * unit * n * expected["scalar_scale"]
    ratios["scalar"] = _finite(
        off / (bound + _of_input("scalar", expected, abs(expected["scalar"]), dtype, precision))
    )
    return ratios


def entry_error(outputs, expected):
    """Return how far the last row's entries are off, in units of float32's own rounding.

    The unit is 2^-24 |M| |M[-1]| / sqrt(n): what one rounding of each of n terms does, taken as independent. The last
    entry is left out: it alone sums terms of one sign. Products added up one after the other in float32 give
    0.4 sqrt(n) at most; factors rounded to TF32 give 6,000 at any n, cut off to it 17,000, rounded to bfloat16 51,000.

    Returns
    -------
    dict
        ``rms`` and ``largest`` over the entries; None where the row has another shape or holds a NaN.
    """
    import numpy

    n = expected["last"].shape[0]
    got = numpy.asarray(outputs["last"], dtype=numpy.float64)
    if got.shape != (n,):
        return {"rms": None, "largest": None}
    unit = UNIT_ROUNDOFF[("float32", "ieee")] * expected["last_scale"][:-1] / math.sqrt(n)
    off = numpy.abs(got[:-1] - expected["last"][:-1]) / unit
    return {"rms": _finite(math.sqrt(float((off * off).mean()))), "largest": _largest(off)}


def _of_input(name, expected, size, dtype, precision):
    """Return what operands of ``precision`` add to the bound of one output, whose exact absolute value is ``size``."""
    if precision == "ieee":
        return 0.0
    terms = float(expected["rows"].shape[0]) ** _TERMS[name]
    scale = expected[name + "_scale"] / math.sqrt(terms)
    return UNIT_ROUNDOFF[(dtype, precision)] * (INPUT_C * scale + INPUT_BIAS * size)


def bound_constants(adapter, n):
    """Return c for each output of one adapter at size n."""
    for up_to, constants in BOUND_C[adapter]:
        if up_to is None or n <= up_to:
            return constants
    raise AssertionError("the last row of BOUND_C has no limit")


def _largest(ratios):
    return _finite(float(ratios.max()))


def _finite(value):
    # NaN compares false with everything: it must not pass as "not above 1".
    return value if value == value and value not in (float("inf"), float("-inf")) else None
