# SPDX-License-Identifier: Apache-2.0
"""The precision of a product is what its entries' errors show; bounds that hold for it, and what they refuse."""

from __future__ import annotations

import sys
from typing import Any

import numpy
import pytest

from suite import proofs
from suite.engines import WORKER

sys.path.insert(0, str(WORKER))
import matmul  # noqa: E402 - the worker's modules import each other by bare name

SIZES = [(8, 20), (50, 10), (300, 3), (1000, 1)]


def rounded(m: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Return float32 with so many explicit bits of mantissa, rounded to nearest."""
    drop = 23 - bits
    keep = numpy.uint32(0xFFFFFFFF << drop & 0xFFFFFFFF)
    return ((m.view(numpy.uint32) + numpy.uint32(1 << (drop - 1))) & keep).view(numpy.float32)


def cut(m: numpy.ndarray, bits: int) -> numpy.ndarray:
    """Return float32 with the other bits cut off, as tensor cores take it that nobody rounds for."""
    keep = numpy.uint32(0xFFFFFFFF << (23 - bits) & 0xFFFFFFFF)
    return (m.view(numpy.uint32) & keep).view(numpy.float32)


ARITHMETIC = {
    "ieee": lambda m: m,
    "tf32": lambda m: rounded(m, 10),
    "tf32, cut off": lambda m: cut(m, 10),
    "bf16": lambda m: rounded(m, 7),
}


def multiply(m: numpy.ndarray, how: str) -> dict[str, Any]:
    """Return an executable's outputs: factors rounded, products added up in float32."""
    factor = ARITHMETIC[how](m)
    product = factor @ factor.T
    return {
        "scalar": float(product.sum(dtype=numpy.float32)),
        "rows": product.sum(axis=1, dtype=numpy.float32),
        "last": product[-1],
    }


def told(how: str, n: int, seed: int) -> tuple[dict[str, Any], dict[str, Any], dict[str, Any]]:
    m = matmul.operand(n, 20190614 + seed, "float32")
    outputs, expected = multiply(m, how), matmul.reference(m)
    return outputs, expected, {"of": "cold", "entry_error": matmul.entry_error(outputs, expected)}


@pytest.mark.parametrize(("n", "seeds"), SIZES)
@pytest.mark.parametrize("how", ARITHMETIC)
def test_the_errors_tell_the_arithmetic(how, n, seeds):
    """Fault: TF32 is taken for float32, or for bfloat16, at any size."""
    for seed in range(seeds):
        _, _, result = told(how, n, seed)
        assert proofs.effective_precision([result], n) == how.partition(",")[0], result


@pytest.mark.parametrize(("n", "seeds"), SIZES)
@pytest.mark.parametrize("how", ARITHMETIC)
def test_each_bound_holds_for_its_arithmetic(how, n, seeds):
    """Fault: an honest TF32 or bfloat16 row that is a wrong result."""
    for seed in range(seeds):
        outputs, expected, _ = told(how, n, seed)
        ratios = matmul.errors(outputs, expected, "jax_jit", "float32", how.partition(",")[0])
        assert max(ratios.values()) <= 1, ratios


@pytest.mark.parametrize(("n", "seeds"), SIZES)
def test_tf32_under_another_name_exceeds_the_bound_of_float32(n, seeds):
    """Fault: a tolerance wide enough to take TF32 for full float32."""
    for seed in range(seeds):
        outputs, expected, _ = told("tf32", n, seed)
        assert matmul.errors(outputs, expected, "jax_jit", "float32", "ieee")["last"] > 3


@pytest.mark.parametrize("asked", ["ieee", "tf32", "bf16"])
@pytest.mark.parametrize("how", ["ieee", "tf32", "bf16"])
def test_what_was_asked_for_must_have_been_done(asked, how):
    """Fault: a switch without effect: too coarse, or finer than the row's name says."""
    _, _, result = told(how, 100, 0)
    proof, status = proofs.precision([result, {**result, "of": "warm"}], asked, 100)
    assert status == (None if asked == how else "wrong_result")
    assert (asked == how) or f"{asked} was asked for and not in force" in proof.text and how in proof.text


@pytest.mark.parametrize("how", ["ieee", "tf32", "bf16"])
def test_default_is_recorded_whatever_it_is(how):
    """Fault: a framework's own default refused."""
    _, _, result = told(how, 100, 0)
    proof, status = proofs.precision([result], "default", 100)
    assert (proof.state, status) == ("ok", None) and proof.text.startswith(f"{how}: ")


@pytest.mark.parametrize(
    ("in_force", "how", "wanted"),
    [
        ("ieee", "tf32", "wrong_result"),
        ("tf32", "bf16", "wrong_result"),
        ("tf32", "ieee", None),
        ("", "tf32", None),
    ],
)
def test_default_is_no_coarser_than_the_framework_says(in_force, how, wanted):
    """Fault: a row whose worker says ieee, multiplied in TF32, passes because nobody asked for a precision."""
    _, _, result = told(how, 100, 0)
    assert proofs.precision([result], "default", 100, in_force)[1] == wanted


def test_calls_that_differ_are_refused():
    """Fault: autotuning changes the arithmetic between the cold and the last warm call, and nobody sees it."""
    results = [told("ieee", 100, 0)[2], told("tf32", 100, 0)[2]]
    assert proofs.precision(results, "default", 100)[1] == "wrong_result"
    assert proofs.effective_precision(results, 100) == ""


def test_what_cannot_be_told_is_not_proven():
    """Fault: a stored run of an older worker, or 4 entries, is refused, or counted as proven."""
    for results, n in (([], 100), ([{"of": "cold", "ratios": {}}], 100), ([told("tf32", 4, 0)[2]], 4)):
        proof, status = proofs.precision(results, "ieee", n)
        assert (proof.state, status) == ("not_proven", None)
        assert proofs.effective_precision(results, n) == ""


@pytest.mark.parametrize("bad", [numpy.full(100, numpy.nan, "float32"), numpy.zeros(99, "float32")])
def test_a_row_that_is_none_has_no_error(bad):
    """Fault: NaN passes as a small error."""
    outputs, expected, _ = told("ieee", 100, 0)
    assert matmul.entry_error({**outputs, "last": bad}, expected) == {"rms": None, "largest": None}


def test_bfloat16_itself_is_within_its_bound():
    """Fault: DTYPE=bfloat16, whose product is rounded to 8 bits after it was added up, is a wrong result."""
    m = matmul.operand(300, 7, "bfloat16")
    product = m @ m.T
    short = matmul._as_bfloat16(product.copy())
    outputs = {"scalar": float(short.sum()), "rows": short.sum(axis=1), "last": short[-1]}
    assert max(matmul.errors(outputs, matmul.reference(m), "jax_jit", "bfloat16", "bf16").values()) <= 1
