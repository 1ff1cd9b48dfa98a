# SPDX-License-Identifier: Apache-2.0
"""PyTorch 2.11 on a CPU: eager and compiled prove themselves, and each planted fault turns a sample red.

A compiled sample takes half a minute on 2 cores: Inductor compiles C++. So there are few of them.
"""

from __future__ import annotations

import pytest

from suite.records import COLD_PHASES
from tests.integration.harness import plant

pytestmark = pytest.mark.real

PRECOMPUTED = """
import torch_eager
def build(self):
    product = self._tensors["m"] @ self._tensors["m"].t()
    def call(m, rows, last):
        rows.copy_(product.sum(1))
        last.copy_(product[-1])
        return product.sum()
    self._function = call
torch_eager.Adapter.build = build
"""

UNUSED = """
import torch_eager
def call(m, rows, last):
    m @ m.t()
    rows.copy_(m @ m.sum(0))
    last.copy_(m @ m[-1])
    return (m @ m.sum(0)).sum()
torch_eager.product_and_sums = call
"""

OTHER_SEED = """
import matmul, torch_call
place = torch_call.TorchAdapter.place
torch_call.TorchAdapter.place = lambda self, m: place(self, matmul.operand(m.shape[0], 4711, m.dtype))
"""

ZERO_LAST_ROW = """
import torch_eager
def call(m, rows, last):
    product = m @ m.t()
    rows.copy_(product.sum(1))
    last.copy_(product[-1] * 0)
    return product.sum()
torch_eager.product_and_sums = call
"""

NOT_KEPT = """
import torch_eager
def call(m, rows, last):  # the outputs of the preparatory call and of poison stay
    return (m @ m.t()).sum()
torch_eager.product_and_sums = call
"""

TF32 = """
import numpy, torch_call
place = torch_call.TorchAdapter.place
def rounded(self, m):
    bits = (m.view(numpy.uint32) + numpy.uint32(0x1000)) & numpy.uint32(0xFFFFE000)
    place(self, bits.view(numpy.float32))
torch_call.TorchAdapter.place = rounded
"""

NOT_COMPILED = """
import torch_call, torch_compile
def build(self):
    self._function = torch_call.product_and_sums
torch_compile.Adapter.build = build
"""

COMPILED_CONSTANT = """
import torch_compile
def build(self):
    product = self._tensors["m"] @ self._tensors["m"].t()
    def call(m, rows, last):
        rows.copy_(product.sum(1))
        last.copy_(product[-1])
        return product.sum()
    self._function = self._torch.compile(call, fullgraph=True, dynamic=False)
torch_compile.Adapter.build = build
"""


@pytest.fixture
def compiler(require):
    """A C++ compiler where workers look for one: Inductor has none of its own for CPUs."""
    require("cxx")


def check_proven(sample, *, cold: str) -> None:
    assert sample.status == "ok", sample.reason
    states = {name: proof.state for name, proof in sample.proofs.items()}
    wanted = dict.fromkeys(("result", "device", "plausible", "bytecode"), "ok")
    wanted |= {"cold": cold, "synchronised": "ok" if sample.kind == "prepared" else "not_applicable"}
    assert states | wanted == states, sample.proofs
    assert sample.untimed_s <= 0.01 * sample.wall_s + 0.02


@pytest.mark.parametrize(("kind", "n"), [("prepared", 8), ("prepared", 50), ("fresh", 50), ("prepared", 500)])
def test_an_eager_call_proves_everything(taker_torch, kind, n):
    """Fault: a proof that turns honest numbers red, or operations that this version calls something else."""
    sample = taker_torch.take("CPU", n, kind=kind)
    check_proven(sample, cold="not_applicable")
    assert sample.compiles is None and sample.device_clock is None
    assert (sample.facts["precision"], sample.facts["onednn"]) == ("ieee", "on")


@pytest.mark.usefixtures("compiler")
@pytest.mark.parametrize("n", [50, 500])
def test_a_compiled_call_proves_everything_and_compiles_once(taker_torch, n):
    """Fault: as above, for Inductor; or a compile in the warm series, or the preparatory one taken for the cell's."""
    sample = taker_torch.take("CPU", n, placement="jit")
    check_proven(sample, cold="ok")
    assert sum(each.count for name, each in sample.compiles.items() if name in COLD_PHASES) == 1
    assert sample.compiles["library_init"].count == 1 and "warm" not in sample.compiles
    assert sample.compiles["first_execution"].total_s <= sample.cold_s


@pytest.mark.parametrize(
    ("fault", "placement", "n", "status"),
    [
        (PRECOMPUTED, "device", 50, "unverified_placement"),
        (UNUSED, "device", 50, "unverified_placement"),
        (OTHER_SEED, "device", 50, "wrong_result"),
        (ZERO_LAST_ROW, "device", 50, "wrong_result"),
        (NOT_KEPT, "device", 50, "wrong_result"),
        (TF32, "device", 2000, "wrong_result"),
        (NOT_COMPILED, "jit", 50, "unverified_placement"),
        (COMPILED_CONSTANT, "jit", 50, "unverified_placement"),
    ],
    ids=["precomputed", "unused", "seed", "last row", "not kept", "tf32", "not compiled", "a constant"],
)
def test_a_planted_fault_turns_the_sample_red(taker_torch, tmp_path, require, fault, placement, n, status):
    """Fault: a product of before, one that nothing uses, other numbers, rows not kept, not compiled."""
    if fault is COMPILED_CONSTANT:
        require("cxx")
    worker = plant(tmp_path / "worker", fault)
    sample = taker_torch.take("CPU", n, placement=placement, worker=worker, warm_calls=15)
    assert sample.status == status, (sample.reason, sample.proofs)


def test_without_a_compiler_the_compiled_row_is_unavailable(taker_torch):
    """Fault: a crash with forty lines of Dynamo's, on a machine that can measure everything else."""
    sample = taker_torch.take("CPU", 50, placement="jit", environment={"PATH": "/nowhere"})
    assert (sample.status, sample.reason.code) == ("unavailable", "no_cpp_compiler"), sample.reason
    assert "g++" in sample.reason.next_step


NOT_FETCHED = """
import torch_call
honest = torch_call.TorchAdapter.execute
def execute(self):  # every call runs; what it gives is the first one's
    if getattr(self, "_of", None) is not self._tensors["m"]:
        self._of, self._first = self._tensors["m"], honest(self)
    else:
        self._function(*self._arguments)
    return self._first
torch_call.TorchAdapter.execute = execute
"""


@pytest.mark.parametrize("n", [50, 1000])
def test_a_scalar_that_no_call_fetched_is_seen(taker_torch, tmp_path, n):
    """Fault: calls that return before they are done with a scalar that is right, where no clock could tell."""
    sample = taker_torch.take("CPU", n, worker=plant(tmp_path / "worker", NOT_FETCHED), warm_calls=20)
    assert sample.status == "implausible", sample.reason
    assert "fetched nothing new" in sample.reason.text


@pytest.mark.parametrize("n", [50, 500])
def test_bfloat16_is_its_own_dtype(taker_torch, n):
    """Fault: float32 in a row of bfloat16, or bounds of float32 for it."""
    sample = taker_torch.take("CPU", n, dtype="bfloat16")
    assert sample.status == "ok", (sample.reason, sample.proofs)
    assert sample.facts["precision"] == "bf16"


def test_a_precision_that_this_device_lacks_is_unavailable(taker_torch):
    """Fault: TF32 that was asked for, and float32 that was measured."""
    sample = taker_torch.take("CPU", 50, precision="tf32")
    if sample.status == "ok":
        assert sample.facts["precision"] == "tf32"  # a CPU with AMX-FP16
    else:
        assert (sample.status, sample.reason.code) == ("unavailable", "no_precision"), sample.reason
