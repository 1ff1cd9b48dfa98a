# SPDX-License-Identifier: Apache-2.0
"""The proof of the device: which kernels ran where, and whether one of them was the product."""

from __future__ import annotations

import json
from typing import Any

import pytest

from suite import proofs
from suite.records import Compiles
from suite.stack import ROOT

CPU, XLA, GPU = "/device:CPU:0", "/device:XLA_CPU:0", "/device:GPU:0"


def node(name: str, op: str, *inputs: str, device: str = CPU) -> dict[str, Any]:
    return {"name": name, "op": op, "device": device, "inputs": list(inputs)}


def graph(*nodes: dict[str, Any], asked: str = CPU) -> dict[str, Any]:
    return {"asked": asked, "nodes": list(nodes), "modules": [], "compiled": False}


VARIABLE, READ = node("operand_1", "VarHandleOp"), node("Read", "ReadVariableOp", "operand_1")
#: What the workload makes of its product P.
USES = (node("Sum", "Sum", "P", "axes"), node("Sum_1", "Sum", "P", "axes"), node("row", "StridedSlice", "P", "at"))


def dot(*shapes: str, of: tuple[str, str] = ("parameter", "parameter")) -> dict[str, Any]:
    return {"text": "%dot = ...", "shapes": list(shapes or ["500,500"] * 3), "from": list(of)}


MATRIX_VECTOR = dot("500", "500,500", "500")


def modules(*dots: dict[str, Any]) -> list[dict[str, Any]]:
    return [{"name": "other", "dots": []}, {"name": "HloModule", "dots": list(dots)}]


def cluster(*dots: dict[str, Any], reads: str = "operand", device: str = XLA) -> dict[str, Any]:
    """Return a Session's graph on an XLA device: its one kernel runs the whole call."""
    run = node("cluster/xla_run", "_XlaRun", reads, "rows", "cluster/xla_compile", device=device)
    variables = (node("operand", "VarHandleOp"), node("rows", "VarHandleOp"))
    return {**graph(*variables, run, asked=XLA), "modules": modules(*dots)}


def function(*dots: dict[str, Any], on: str = CPU) -> dict[str, Any]:
    """Return a function that was compiled as a whole: it has no kernels."""
    return {**graph(), "modules": modules(*dots), "compiled": True, "outputs_on": on}


@pytest.mark.parametrize("op", ["MatMul", "BatchMatMulV2", "_FusedMatMul"])
def test_a_product_of_the_operand_on_the_asked_device_passes(op):
    """Fault: an honest graph refused: a read, a copy or a transpose between the variable and the product."""
    nodes = (VARIABLE, READ, node("Id", "Identity", "Read:0"), node("T", "Transpose", "Id", "perm"), *USES)
    proof, status = proofs.device(graph(*nodes, node("P", op, "Read", "T", "^last")), 500)
    assert (proof.state, proof.text, status) == ("ok", f"{op} on {CPU}", None)


@pytest.mark.parametrize(
    "nodes",
    [
        pytest.param([VARIABLE, READ], id="folded: no product at all"),
        pytest.param([node("MatMul", "MatMul", "Const", "Const")], id="a product of constants"),
        pytest.param([VARIABLE, READ, node("MatMul", "MatMul", "Const", "Const")], id="the operand beside it"),
        pytest.param([VARIABLE, READ, node("MatMul", "MatMul", "Read", "ones")], id="matrix-vector, right"),
        pytest.param([VARIABLE, READ, node("MatMul", "MatMul", "ones", "Read")], id="matrix-vector, left"),
        pytest.param([VARIABLE, READ, node("MatMul", "MatMul", "Read", "^Read")], id="a control input"),
        pytest.param(
            [node("rows", "VarHandleOp"), node("MatMul", "MatMul", "rows", "rows")], id="another variable"
        ),
        pytest.param(
            [node("operand_small", "VarHandleOp"), node("MatMul", "MatMul", "operand_small", "operand_small")],
            id="another variable of like name",
        ),
        pytest.param(
            [VARIABLE, READ, node("Slice", "Slice", "Read"), node("MatMul", "MatMul", "Slice", "Slice")],
            id="a part of the operand",
        ),
        pytest.param(
            [node("a", "Identity", "b"), node("b", "Identity", "a"), node("MatMul", "MatMul", "a", "a")],
            id="a loop",
        ),
        pytest.param([node("Read", "ReadVariableOp"), node("MatMul", "MatMul", "Read", "Read")], id="no input"),
    ],
)
def test_what_is_not_the_product_of_the_operand_is_not_verified(nodes):
    """Fault: a folded, smaller or unrelated product passes as the one that was asked for."""
    proof, status = proofs.device(graph(*nodes), 500)
    assert (proof.state, status) == ("failed", "unverified_placement")


def test_an_unrelated_product_neither_proves_nor_hides_the_real_one():
    """Fault: the first product of the graph decides alone."""
    unrelated, real = node("a", "MatMul", "Const", "Const"), node("P", "MatMul", "Read", "Read")
    for products in ([unrelated, real], [real, unrelated]):
        assert proofs.device(graph(VARIABLE, READ, *products, *USES), 500)[1] is None


def test_a_product_that_nothing_uses_is_not_verified():
    """Fault: the outputs come from a constant or two matrix-vector products, and P runs beside them for show."""
    uses = [{**each, "inputs": ["Const", "axes"]} for each in USES]
    product = node("P", "MatMul", "Read", "Read")
    assert proofs.device(graph(VARIABLE, READ, product, *uses), 500)[1] == "unverified_placement"


def test_no_evidence_of_placement_is_not_verified():
    """Fault: a worker that sends no placement passes."""
    assert {proofs.device(placement, 500)[1] for placement in (None, {})} == {"unverified_placement"}


@pytest.mark.parametrize("ran", ["/device:GPU:1", CPU, XLA])
def test_a_product_computed_elsewhere_is_on_the_wrong_device(ran):
    """Fault: soft placement: GPU is asked for and the CPU, another GPU or XLA computes."""
    proof, status = proofs.device(
        graph(VARIABLE, READ, node("P", "MatMul", "Read", "Read", device=ran), asked=GPU), 9
    )
    assert (proof.state, status) == ("failed", "wrong_device")
    assert proof.text == f"asked {GPU}, ran on {ran}"


def test_one_of_two_products_elsewhere_is_on_the_wrong_device():
    """Fault: half of the work elsewhere goes unseen because the other half is where it should be."""
    products = (node("a", "MatMul", "Read", "Read"), node("b", "MatMul", "Read", "Read", device=GPU))
    assert proofs.device(graph(VARIABLE, READ, *products), 500)[1] == "wrong_device"


def test_a_cluster_whose_module_holds_the_dot_passes():
    """Fault: an honest compiled cluster refused because its product is no kernel of its own."""
    proof, status = proofs.device(cluster(MATRIX_VECTOR, dot()), 500)
    assert (proof.state, status) == ("ok", None)
    assert proof.text.startswith(f"_XlaRun on {XLA}")


#: Modules that did not multiply two matrices of 500 x 500.
OTHER_DOTS = [
    pytest.param([], id="no dot"),
    pytest.param([MATRIX_VECTOR], id="matrix-vector"),
    pytest.param([dot("50,50", "50,50", "50,50")], id="another size"),
    pytest.param([dot("1500,1500", "1500,1500", "1500,1500")], id="longer digits"),
    pytest.param([dot("500,1", "500,500", "500,500")], id="another result"),
    pytest.param([dot("500,500", "500,1", "1,500")], id="outer product"),
    pytest.param([dot("500,500", "500,500")], id="one factor"),
    pytest.param([dot("500,500", "", "")], id="unknown factors"),
]


@pytest.mark.parametrize("dots", OTHER_DOTS)
def test_a_module_without_a_dot_of_n_by_n_is_not_verified(dots):
    """Fault: that something compiled ran is taken for that it multiplied."""
    for placement in (cluster(*dots), function(*dots)):
        proof, status = proofs.device(placement, 500)
        assert (proof.state, status) == ("failed", "unverified_placement")


def test_a_cluster_that_dumped_no_module_is_not_verified():
    """Fault: a KeyError, or nothing dumped taken for everything fine."""
    placement = {name: value for name, value in cluster(dot()).items() if name != "modules"}
    for each in (placement, {**placement, "modules": []}):
        assert proofs.device(each, 500)[1] == "unverified_placement"


def test_a_cluster_that_does_not_read_the_operand_is_not_verified():
    """Fault: any cluster will do: the product was folded and this one adds it up."""
    assert proofs.device(cluster(dot(), reads="Const"), 500)[1] == "unverified_placement"


def test_a_cluster_elsewhere_is_on_the_wrong_device():
    """Fault: that XLA compiled it is enough, on whatever device."""
    assert proofs.device(cluster(dot(), device=CPU), 500)[1] == "wrong_device"


def test_a_cluster_whose_dot_multiplies_constants_is_not_verified():
    """Fault: the operand goes into the cluster and a constant is multiplied there."""
    placement = cluster(dot(of=("constant", "constant")))
    assert proofs.device(placement, 500)[1] == "unverified_placement"


def test_a_compiled_function_passes():
    """Fault: an honest function refused because nothing of it is a kernel, or for a stack that logs nothing."""
    for compiles in (None, {"compile": Compiles(1, 0.1)}, {"first_execution": Compiles(1, 0.1)}):
        proof, status = proofs.device(function(MATRIX_VECTOR, dot()), 500, compiles)
        assert (proof.state, status) == ("ok", None)
        assert ("not logged by this stack" in proof.text) is (compiles is None)


def test_a_compiled_function_elsewhere_is_on_the_wrong_device():
    """Fault: the module's text proves that it was compiled, not where it ran."""
    proof, status = proofs.device(function(dot(), on=GPU), 500)
    assert (proof.state, status) == ("failed", "wrong_device")


@pytest.mark.parametrize("of", [("constant", "constant"), ("parameter", "constant"), ("unknown", "parameter")])
def test_a_compiled_function_of_something_else_is_not_verified(of):
    """Fault: the operand was baked in as a constant, or is one factor of two."""
    proof, status = proofs.device(function(dot(of=of)), 500)
    assert (proof.state, status) == ("failed", "unverified_placement")


@pytest.mark.parametrize("phase", [None, "import", "library_init", "warm", "verify"])
def test_a_function_that_was_not_compiled_in_the_cold_call_is_not_verified(phase):
    """Fault: the evidence call's or the preparatory call's compile stands for one that never was timed."""
    compiles = {phase: Compiles(1, 0.1)} if phase else {}
    assert proofs.device(function(dot()), 500, compiles)[1] == "unverified_placement"


def test_what_tensorflow_recorded_passes():
    """Fault: the proof refuses the graph that a real framework hands out, or takes it for any device."""
    recorded = ROOT / "tests/data/recorded/tf1.14-cuda10/prepared.CPU.device.500.1/events.jsonl"
    events = [json.loads(line) for line in recorded.read_text().splitlines()]
    [placement] = [event for event in events if event["event"] == "placement"]
    assert proofs.device(placement, 500)[1] is None
    assert proofs.device({**placement, "asked": GPU}, 500)[1] == "wrong_device"
