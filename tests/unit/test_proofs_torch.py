# SPDX-License-Identifier: Apache-2.0
"""The proof of the device for PyTorch: what was dispatched, or what was compiled and ran."""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any

import pytest

from suite import compile_counts, proofs
from suite.events import Events
from suite.records import Compiles

CPU, GPU = "/device:CPU:0", "/device:GPU:0"
N = 50
COMPILED = {"first_execution": Compiles(1, 0.7)}


def tensor(of: str, shape: str = "50,50", strides: str = "50,1", device: str = CPU) -> dict[str, str]:
    return {"of": of, "shape": shape, "strides": strides, "device": device}


def operation(op: str, inputs: list[Any], *outputs: dict[str, str]) -> dict[str, Any]:
    return {"op": op, "inputs": inputs, "outputs": list(outputs)}


ROW = {"shape": "50", "strides": "1"}
SCALAR = {"shape": "", "strides": ""}
#: What torch 2.11 dispatched for one call on a CPU.
OPERATIONS = [
    operation("aten::t", [tensor("m")], tensor("m", strides="1,50")),
    operation("aten::mm", [tensor("m"), tensor("m", strides="1,50")], tensor("t0")),
    operation("aten::sum", [tensor("t0")], tensor("t1", **ROW)),
    operation("aten::copy_", [tensor("rows", **ROW), tensor("t1", **ROW)], tensor("rows", **ROW)),
    operation("aten::select", [tensor("t0")], tensor("t0", **ROW)),
    operation("aten::copy_", [tensor("last", **ROW), tensor("t0", **ROW)], tensor("last", **ROW)),
    operation("aten::sum", [tensor("t0")], tensor("t2", **SCALAR)),
    operation("aten::_local_scalar_dense", [tensor("t2", **SCALAR)]),
]
EAGER = {"framework": "torch", "compiled": False, "asked": CPU, "outputs_on": CPU, "operations": OPERATIONS}
DOT = {"text": "extern_kernels.mm(...)", "shapes": ["50,50"] * 2, "from": ["parameter"] * 2}
INDUCTOR = {
    **{"framework": "torch", "compiled": True, "asked": CPU, "outputs_on": CPU},
    "modules": [{"name": "c4u.py", "dots": [{**DOT, "shapes": ["8,8"] * 2}]}, {"name": "cyw.py", "dots": [DOT]}],
    "ran": [{"op": "aten::mm", "shapes": ["50,50"] * 3}],
}


def judge(placement: dict[str, Any], compiles: Any = None) -> tuple[str | None, str]:
    proof, status = proofs.device(placement, N, compiles)
    assert (proof.state == "ok") == (status is None)
    return status, proof.text


def changed(change: Callable[[list[dict[str, Any]]], Any]) -> dict[str, Any]:
    operations = copy.deepcopy(OPERATIONS)
    change(operations)
    return {**EAGER, "operations": operations}


def test_an_honest_call_passes():
    """Fault: an honest call refused."""
    assert judge(EAGER) == (None, f"aten::mm on {CPU}")


def _read(at: int, which: int, other: dict[str, str]) -> Callable[[list[dict[str, Any]]], Any]:
    return lambda operations: operations[at]["inputs"].__setitem__(which, other)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        pytest.param(lambda found: found.pop(1), "no operation", id="computed before the call"),
        pytest.param(_read(1, 0, tensor("t9")), "does not multiply the operand", id="another left factor"),
        pytest.param(_read(1, 1, tensor("t9")), "does not multiply the operand", id="another right factor"),
        pytest.param(_read(1, 1, tensor("m")), "does not multiply the operand", id="not transposed"),
        pytest.param(_read(1, 1, tensor("m", "50,1", "1,1")), "does not multiply", id="matrix-vector"),
        pytest.param(_read(6, 0, tensor("t9")), "aten::sum reads something else", id="another's sum"),
        pytest.param(_read(3, 1, tensor("t9", **ROW)), "rows is copied from something else", id="other rows"),
        pytest.param(
            _read(5, 1, tensor("t9", **ROW)), "last is copied from something else", id="another last row"
        ),
        pytest.param(_read(7, 0, tensor("t9", **SCALAR)), "not the product's sum", id="another scalar"),
        pytest.param(_read(7, 0, tensor("t1", **ROW)), "not the product's sum", id="a row sum is fetched"),
        pytest.param(lambda found: found.pop(), "does not make the scalar", id="nothing is fetched"),
        pytest.param(lambda found: found.pop(5), "does not make last", id="the last row is kept from before"),
    ],
)
def test_a_call_that_does_something_else_is_unverified(change, words):
    """Fault: a product that was computed before, of something else, or that nothing uses."""
    status, text = judge(changed(change))
    assert status == "unverified_placement" and words in text


def test_another_device_is_told():
    """Fault: a product on the CPU in a row of the GPU, its outputs copied there."""
    assert judge({**EAGER, "asked": GPU})[0] == judge({**INDUCTOR, "asked": GPU}, COMPILED)[0] == "wrong_device"
    status, text = judge(changed(lambda found: found[1]["outputs"][0].update(device=GPU)))
    assert (status, text) == ("wrong_device", f"asked {CPU}, ran on {GPU}")


def test_a_compiled_call_passes():
    """Fault: as above, for Inductor."""
    status, text = judge(INDUCTOR, COMPILED)
    assert status is None and "aten::mm of 50 x 50 ran" in text


@pytest.mark.parametrize(
    ("change", "compiles", "words"),
    [
        ({"modules": INDUCTOR["modules"][:1]}, COMPILED, "no product of 50 x 50 in 1 modules"),
        (
            {"modules": [{"name": "x", "dots": [{**DOT, "from": ["buf0", "buf0"]}]}]},
            COMPILED,
            "not the operand",
        ),
        ({"ran": [{"op": "aten::mm", "shapes": ["8,8"] * 3}]}, COMPILED, "ran in a call"),
        ({"ran": []}, COMPILED, "ran in a call"),
        ({}, None, "no compile in the cold call"),
        ({}, {"library_init": Compiles(1, 1.0)}, "no compile in the cold call"),
    ],
    ids=["the preparatory one only", "a constant", "another size ran", "nothing ran", "eager", "compiled before"],
)
def test_a_call_that_was_not_compiled_is_unverified(change, compiles, words):
    """Fault: a function that fell back to eager, or a module that no call runs."""
    status, text = judge({**INDUCTOR, **change}, compiles)
    assert status == "unverified_placement" and words in text


def test_compiles_belong_to_the_phase_in_which_they_began():
    """Fault: the preparatory call's compile is counted as the cell's."""
    phases = [
        {"v": 1, "event": "phase", "name": name, "begin_s": begin, "end_s": end}
        for name, begin, end in (
            ("library_init", 10.0, 12.0),
            ("first_execution", 12.5, 13.5),
            ("warm", 13.5, 14.0),
        )
    ]
    events = [
        {"begin_s": 10.5, "seconds": 1.2},
        {"begin_s": 12.6, "seconds": 0.7},
        {"begin_s": 20.0, "seconds": 1.0},
    ]
    placement = {"v": 1, "event": "placement", "compile_events": events}
    assert compile_counts.recorded(Events(all=[*phases, placement])) == {
        "library_init": Compiles(1, 1.2),
        "first_execution": Compiles(1, 0.7),
    }
    assert compile_counts.recorded(Events(all=phases)) is None
    assert compile_counts.recorded(Events(all=[*phases, {"v": 1, "event": "placement"}])) is None
