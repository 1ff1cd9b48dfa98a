# SPDX-License-Identifier: Apache-2.0
"""Products of matrices in the text of XLA's modules: found wherever they lie, and followed back to what they are of."""

from __future__ import annotations

import sys

import pytest

from suite import proofs
from suite.engines import WORKER
from suite.stack import ROOT

sys.path.insert(0, str(WORKER))
import hlo  # noqa: E402 - the worker's modules import each other by bare name

RECORDED = ROOT / "tests" / "data" / "hlo"
HEAD = (
    "HloModule jit_call, is_scheduled=true, entry_computation_layout={(f32[50,50]{1,0})->(f32[], f32[50]{0})}\n\n"
)

#: As XLA writes for a GPU: a library's call whose result is a tuple with its workspace.
CUBLAS = """
ENTRY %main.9 (m.1: f32[50,50]) -> f32[50,50] {
  %m.1 = f32[50,50]{1,0} parameter(0)
  %cublas-gemm.1.0 = (f32[50,50]{1,0}, s8[4194304]{0}) custom-call(%m.1, %m.1), custom_call_target="__cublas$gemm", \
backend_config={"gemm_backend_config":{"selected_algorithm":"-1","precision_config":{"algorithm":"ALG_UNSET"}}}
  ROOT %get-tuple-element.1 = f32[50,50]{1,0} get-tuple-element(%cublas-gemm.1.0), index=0
}
"""
CUBLAS_LT = CUBLAS.replace("__cublas$gemm", "__cublas$lt$matmul")

#: A Triton fusion: the product lies in a computation of its own, its operands in fusions that lay out tiles.
TRITON = """
%parameter_0 (parameter_0.1: f32[50,50]) -> f32[50,50] {
  ROOT %parameter_0.1 = f32[50,50]{1,0} parameter(0)
}

%parameter_0.clone (parameter_0.2: f32[50,50]) -> f32[50,50] {
  %parameter_0.2 = f32[50,50]{1,0} parameter(0)
  ROOT %transpose.3 = f32[50,50]{0,1} transpose(%parameter_0.2), dimensions={1,0}
}

%gemm_fusion_dot.1_computation (parameter_0: f32[50,50]) -> f32[50,50] {
  %parameter_0 = f32[50,50]{1,0} parameter(0)
  %block_fusion = f32[50,50]{1,0} fusion(%parameter_0), kind=kCustom, calls=%parameter_0, \
backend_config={"fusion_backend_config":{"kind":"__triton_nested_gemm_fusion"}}
  %block_fusion.1 = f32[50,50]{0,1} fusion(%parameter_0), kind=kCustom, calls=%parameter_0.clone
  ROOT %dot.0 = f32[50,50]{1,0} dot(%block_fusion, %block_fusion.1), lhs_contracting_dims={1}, rhs_contracting_dims={0}
}

ENTRY %main.9 (m.1: f32[50,50]) -> f32[50,50] {
  %m.1 = f32[50,50]{1,0} parameter(0)
  ROOT %gemm_fusion_dot.1 = f32[50,50]{1,0} fusion(%m.1), kind=kCustom, calls=%gemm_fusion_dot.1_computation, \
backend_config={"fusion_backend_config":{"kind":"__triton_gemm"}}
}
"""

#: A command buffer (CUDA graph): the call that XLA runs holds the library's calls, and a conversion before them.
COMMAND_BUFFER = """
%fused_convert (param_0: f32[50,50]) -> bf16[50,50] {
  %param_0 = f32[50,50]{1,0} parameter(0)
  ROOT %convert.1 = bf16[50,50]{1,0} convert(%param_0)
}

%command_buffer.1 (p: f32[50,50]) -> (bf16[50,50]) {
  %p = f32[50,50]{1,0} parameter(0)
  %loop_convert_fusion = bf16[50,50]{1,0} fusion(%p), kind=kLoop, calls=%fused_convert
  ROOT %tuple.5 = (bf16[50,50]{1,0}) tuple(%loop_convert_fusion)
}

ENTRY %main.9 (m.1: f32[50,50]) -> f32[50,50] {
  %m.1 = f32[50,50]{1,0} parameter(0)
  %call = (bf16[50,50]{1,0}) call(%m.1), to_apply=%command_buffer.1
  %get-tuple-element.7 = bf16[50,50]{1,0} get-tuple-element(%call), index=0
  ROOT %custom-call.2 = f32[50,50]{1,0} custom-call(%get-tuple-element.7, %get-tuple-element.7), \
custom_call_target="__cublas$gemm"
}
"""

#: Split-K: four products of 13 terms each, zeros in the last; added up by what follows.
SPLIT = """
%gemm_fusion (parameter_0: f32[50,50]) -> f32[4,50,50] {
  %parameter_0 = f32[50,50]{1,0} parameter(0)
  %constant.1 = f32[] constant(0)
  %pad.1 = f32[50,52]{1,0} pad(%parameter_0, %constant.1), padding=0_0x0_2
  %bitcast.1 = f32[50,4,13]{2,1,0} bitcast(%pad.1)
  ROOT %dot.3 = f32[4,50,50]{2,1,0} dot(%bitcast.1, %bitcast.1), lhs_batch_dims={1}, lhs_contracting_dims={2}
}

ENTRY %main.9 (m.1: f32[50,50]) -> f32[4,50,50] {
  %m.1 = f32[50,50]{1,0} parameter(0)
  ROOT %fusion.1 = f32[4,50,50]{2,1,0} fusion(%m.1), kind=kCustom, calls=%gemm_fusion
}
"""

#: TensorFlow 1.14 writes shapes beside operands, and has no nested computation here.
OLD = """
ENTRY %cluster_0__XlaCompiledKernel_true__.10 (arg0.1: f32[50,50]) -> f32[50,50] {
  %arg0.1 = f32[50,50]{1,0} parameter(0), metadata={op_name="XLA_Args"}
  ROOT %dot.4 = f32[50,50]{1,0} dot(f32[50,50]{1,0} %arg0.1, f32[50,50]{1,0} %arg0.1), lhs_contracting_dims={1}
}
"""


def judge(text: str, n: int = 50) -> str | None:
    module = hlo.module(text)
    placement = {"asked": "d", "outputs_on": "d", "compiled": True, "nodes": [], "modules": [module]}
    return proofs.device(placement, n)[1]


@pytest.mark.parametrize(
    "text",
    [CUBLAS, CUBLAS_LT, TRITON, COMMAND_BUFFER, SPLIT, OLD],
    ids=["cublas", "cublas-lt", "triton", "command-buffer", "split-k", "tf1.14"],
)
def test_a_product_of_the_operand_is_found_wherever_it_lies(text):
    """Fault: an honest module refused because its product lies in a fusion, or is a library's call."""
    [found] = hlo.dots(HEAD + text)
    assert found["from"] == ["parameter", "parameter"]
    assert judge(HEAD + text) is None


def test_the_recorded_module_of_jax_on_a_cpu():
    """Fault: the text that JAX 0.11 really hands out is not understood."""
    text = (RECORDED / "jax0.11-cpu-50.txt").read_text(encoding="utf-8")
    [found] = hlo.dots(text)
    assert found["shapes"] == ["50,50"] * 3 and found["from"] == ["parameter", "parameter"]
    assert judge(text) is None and hlo.module(text)["name"] == "HloModule jit_call"


def test_a_recorded_module_of_a_constant_has_no_product():
    """Fault: an operand that the function closes over: XLA has folded all work away."""
    assert judge((RECORDED / "jax0.11-cpu-constant-50.txt").read_text(encoding="utf-8")) == "unverified_placement"


@pytest.mark.parametrize("text", [TRITON, COMMAND_BUFFER, SPLIT], ids=["triton", "command-buffer", "split-k"])
def test_a_constant_handed_to_a_fusion_is_no_operand(text):
    """Fault: a fusion's own parameter is taken for the module's: any constant would pass."""
    planted = text.replace("%m.1 = f32[50,50]{1,0} parameter(0)", "%m.1 = f32[50,50]{1,0} constant({...})")
    assert {origin for each in hlo.dots(HEAD + planted) for origin in each["from"]} == {"constant"}
    assert judge(HEAD + planted) == "unverified_placement"


def test_something_computed_before_the_product_is_no_operand():
    """Fault: a fusion before the product that halves its operand passes for one that lays it out."""
    planted = COMMAND_BUFFER.replace("convert(%param_0)", "negate(%param_0)")
    assert hlo.dots(HEAD + planted)[0]["from"] == ["negate", "negate"]


def test_a_computation_that_two_call_has_no_one_origin():
    """Fault: the first of two callers is believed: the other may hand in a constant."""
    twice = TRITON.replace(
        "%gemm_fusion_dot.1 = ", "%other = f32[50,50]{1,0} constant({...})\n  %again = "
    ).replace("ROOT %again = f32[50,50]{1,0} fusion(%m.1)", "ROOT %again = f32[50,50]{1,0} fusion(%other)")
    line = next(each for each in twice.splitlines() if "%again" in each)
    both = twice.replace(line, f"{line.replace('ROOT %again', '%first').replace('%other', '%m.1')}\n{line}")
    assert hlo.dots(HEAD + both)[0]["from"] == ["unknown", "unknown"]


@pytest.mark.parametrize(
    ("shapes", "n", "wanted"),
    [
        (["50,50"] * 3, 50, True),
        (["4,50,50", "50,4,13", "50,4,13"], 50, True),
        (["4,50,50", "4,50,13", "4,13,50"], 50, True),
        (["4,50,50", "50,4,12", "50,4,12"], 50, False),  # terms left out
        (["4,50,50", "50,4,26", "50,4,26"], 50, False),  # more than zeros in the last part
        (["4,50,50", "50,4,13", "50,50"], 50, False),
        (["50", "50,50", "50"], 50, False),
        (["50,50", "50,50", ""], 50, False),
        (["", "", ""], 50, False),
    ],
)
def test_which_shapes_are_the_product(shapes, n, wanted):
    """Fault: a matrix-vector product or a part of the sum passes for the whole; split-K is refused."""
    dot = {"text": "", "shapes": shapes, "from": ["parameter", "parameter"]}
    placement = {"asked": "d", "outputs_on": "d", "compiled": True, "modules": [{"name": "", "dots": [dot]}]}
    assert (proofs.device(placement, n)[1] is None) == wanted


def test_a_loop_in_the_text_ends():
    """Fault: a module whose instructions name each other in a ring hangs the worker."""
    text = "ENTRY %e (p: f32[2,2]) -> f32[2,2] {\n  %a = f32[2,2] copy(%b)\n  %b = f32[2,2] copy(%a)\n"
    assert hlo.dots(text + "  ROOT %d = f32[2,2] dot(%a, %b)\n}\n")[0]["from"] == ["unknown", "unknown"]
