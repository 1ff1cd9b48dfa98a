# SPDX-License-Identifier: Apache-2.0
"""The proof of the device for PyTorch: from the operations of one call, or from what Inductor compiled and ran.

Pure functions; :mod:`suite.proofs` has the others.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from suite.records import COLD_PHASES, Compiles, Proof, Status

Judgement = tuple[Proof, Status | None]
Operation = Mapping[str, Any]

PRODUCTS = ("aten::mm", "aten::addmm", "aten::bmm", "aten::baddbmm")
#: Of these the first input is what is added to the product.
ADDING = ("aten::addmm", "aten::baddbmm")
SUM, COPY, FETCH = "aten::sum", "aten::copy_", "aten::_local_scalar_dense"


def device(placement: Mapping[str, Any], n: int, compiles: Mapping[str, Compiles] | None) -> Judgement:
    """Judge where the product was computed, and that it was, from the operand, and that the outputs come from it.

    ``placement``: the asked device and what an adapter of PyTorch's tells of one more call: ``operations`` as they
    were dispatched, or, where the call is ``compiled``, the ``modules`` that were loaded and the products that ``ran``.
    """
    asked, outputs_on = placement["asked"], placement["outputs_on"]
    if outputs_on != asked:
        return Proof("failed", f"asked {asked}, its outputs are on {outputs_on}"), "wrong_device"
    if placement["compiled"]:
        return _compiled(placement, n, compiles)
    return _eager(asked, placement["operations"], n)


def _eager(asked: str, operations: Sequence[Operation], n: int) -> Judgement:
    elsewhere = sorted(
        {tensor["device"] for each in operations for tensor in each["outputs"] if tensor["device"] != asked}
    )
    if elsewhere:
        return Proof("failed", f"asked {asked}, ran on {', '.join(elsewhere)}"), "wrong_device"
    makers = [each for each in operations if each["op"] in PRODUCTS]
    if not makers:
        return _unverified("no operation that makes the product was dispatched")
    products = [each for each in makers if _multiplies_operand(each, n)]
    if not products:
        return _unverified(f"{makers[0]['op']} does not multiply the operand, {n} x {n}, by its transpose")
    problem = _other_sources(operations, {tensor["of"] for each in products for tensor in each["outputs"]})
    if problem:
        return _unverified(problem)
    return Proof("ok", f"{products[0]['op']} on {asked}"), None


def _multiplies_operand(operation: Operation, n: int) -> bool:
    """Tell whether the factors are the whole operand and the same memory read the other way round."""
    inputs = operation["inputs"][1:] if operation["op"] in ADDING else operation["inputs"]
    if len(inputs) < 2 or any(each["of"] != "m" or each["shape"] != f"{n},{n}" for each in inputs[:2]):
        return False
    strides = [each["strides"].split(",") for each in inputs[:2]]
    return bool(strides[0] == strides[1][::-1] != strides[1])


def _other_sources(operations: Sequence[Operation], product: set[str]) -> str:
    """Return which output of the call comes from something else than the product, "" where none does."""
    sums: dict[str, str] = {}
    written: dict[str, bool] = {"rows": False, "last": False}
    fetched = False
    for each in operations:
        inputs = each["inputs"]
        if each["op"] == SUM:
            if inputs[0]["of"] not in product:
                return f"{SUM} reads something else than the product"
            sums[each["outputs"][0]["of"]] = each["outputs"][0]["shape"]
        elif each["op"] == COPY and inputs[0]["of"] in written:
            name, source = inputs[0]["of"], inputs[1]["of"]
            if source not in (sums if name == "rows" else product):
                return f"{name} is copied from something else than the product"
            written[name] = True
        elif each["op"] == FETCH:
            if sums.get(inputs[0]["of"]) != "":
                return "the scalar that is fetched is not the product's sum"
            fetched = True
    missing = [name for name, done in (*written.items(), ("the scalar", fetched)) if not done]
    return f"the call does not make {', '.join(missing)}" if missing else ""


def _compiled(placement: Mapping[str, Any], n: int, compiles: Mapping[str, Compiles] | None) -> Judgement:
    modules = placement["modules"]
    dots = [dot for module in modules for dot in module["dots"] if dot["shapes"] == [f"{n},{n}"] * 2]
    if not dots:
        return _unverified(f"no product of {n} x {n} in {len(modules)} modules that Inductor wrote")
    if not any(set(dot["from"]) == {"parameter"} for dot in dots):
        return _unverified(f"the product multiplies {' and '.join(dots[0]['from'])}, not the operand")
    ran = [each for each in placement["ran"] if f"{n},{n}" in each["shapes"]]
    if not ran:
        return _unverified(f"no product of {n} x {n} ran in a call")
    if not compiles or not any(name in compiles for name in COLD_PHASES):
        return _unverified("PyTorch recorded no compile in the cold call")
    asked = placement["asked"]
    return Proof("ok", f"outputs on {asked}; the module's {ran[0]['op']} of {n} x {n} ran; compile recorded"), None


def _unverified(text: str) -> Judgement:
    return Proof("failed", text), "unverified_placement"
