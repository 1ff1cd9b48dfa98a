# SPDX-License-Identifier: Apache-2.0
"""The matrix products of a module that Inductor wrote, and why it could not write one."""

from __future__ import annotations

import sys

import pytest

from suite.engines import WORKER
from suite.stack import ROOT

sys.path.insert(0, str(WORKER))
import inductor  # noqa: E402 - the worker's modules import each other by bare name

#: What torch 2.11 wrote for the call at n = 50 on a CPU, its kernels' C++ left out.
RECORDED = (ROOT / "tests" / "data" / "inductor" / "torch2.11-cpu-50.txt").read_text(encoding="utf-8")
PRODUCT = "extern_kernels.mm(arg0_1, reinterpret_tensor(arg0_1, (50, 50), (1, 50), 0), out=buf0)"


def test_the_recorded_module_holds_the_operands_product():
    """Fault: the module of an honest call is not understood, or a factor's view hides where it comes from."""
    assert inductor.products(RECORDED) == [
        {"text": PRODUCT, "shapes": ["50,50", "50,50"], "from": ["parameter", "parameter"]}
    ]


@pytest.mark.parametrize(
    ("line", "shapes", "origins"),
    [
        ("extern_kernels.mm(buf3, arg0_1, out=buf0)", ["", "50,50"], ["buf3", "parameter"]),
        ("extern_kernels.mm(constant0, constant0, out=buf0)", ["", ""], ["constant0", "constant0"]),
        ("extern_kernels.addmm(arg1_1, arg0_1, arg0_1, alpha=1, out=b)", ["50,50"] * 2, ["parameter"] * 2),
        (
            "extern_kernels.mm(arg0_1, reinterpret_tensor(arg1_1, (50, 1), (1, 1), 0), out=buf0)",
            ["50,50", "50,1"],
            ["parameter", "parameter"],
        ),
    ],
    ids=["a buffer", "constants", "addmm", "matrix-vector"],
)
def test_what_a_product_multiplies_is_told(line, shapes, origins):
    """Fault: a constant or a vector passes for the operand."""
    [found] = inductor.products(RECORDED.replace(PRODUCT, line))
    assert (found["shapes"], found["from"]) == (shapes, origins)


def test_no_product_is_none():
    """Fault: a kernel that only sums, or a comment, is taken for a product."""
    assert inductor.products(RECORDED.replace(PRODUCT, f"# {PRODUCT}")) == []


def error(*words: str) -> Exception:
    """Return an exception of the first words, with the others as its causes."""
    made: Exception | None = None
    for each in reversed(words):
        outer = RuntimeError(each)
        outer.__cause__ = made
        made = outer
    assert made is not None
    return made


@pytest.mark.parametrize(
    ("found", "code"),
    [
        (error("backend='inductor' raised", "No working C++ compiler found in config.cpp.cxx"), "no_cpp_compiler"),
        (error("Failed to find C compiler. Please specify via CC environment variable"), "no_c_compiler"),
        (error("C++ compile error", "fatal error: Python.h: No such file or directory"), "no_python_headers"),
        (error("Found Quadro K4200 which is too old to be supported by the triton GPU compiler"), "gpu_too_old"),
    ],
)
def test_what_the_machine_lacks_is_no_crash(found, code):
    """Fault: a crash, with forty lines of Dynamo, where a compiler is not installed."""
    refused = inductor.refused(found)
    assert refused.code == code and refused.next_step.endswith((".", "=")) and "torch.compile" in str(refused)


def test_any_other_error_stays_what_it_is():
    """Fault: a fault of PyTorch's is called unavailable; a chain of errors that never ends."""
    circle = RuntimeError("a"), RuntimeError("b")
    circle[0].__context__, circle[1].__context__ = circle[1], circle[0]
    assert inductor.refused(circle[0]) is None
    assert inductor.refused(error("C++ compile error", "error: no match for operator+")) is None
