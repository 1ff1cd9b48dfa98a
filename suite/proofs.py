# SPDX-License-Identifier: Apache-2.0
"""No number without proof: pure functions from a sample's evidence to what it proves.

Each returns a :class:`Proof` and, where it failed, the status that the sample takes.
"""

from __future__ import annotations

import math
import re
import statistics
from collections.abc import Mapping, Sequence
from typing import Any

from suite import proofs_torch
from suite.records import COLD_PHASES, Compiles, Proof, Status, Warm

#: Sum of the single clocks over the outer clock, below which the series timed nothing.
LEAST_SHARE = 0.95
#: A drain after a stopped clock may take this share of a call and this many seconds more than an idle one.
LATE_SHARE = 0.05
LATE_S = 20e-6
#: Share of calls after which the device may be seen busy: none of an honest call's work, but an event may be told late.
PENDING_SHARE = 0.5

#: Root mean square of the entries' error, in units of float32's rounding (suite/worker/matmul.py, entry_error): below
#: which it is each precision's. Float32 gives up to 85 (46,000 terms added one after the other), TF32 3,300 to 23,300
#: (n = 8 to 1500; rounded 6,300, cut off 17,000), bfloat16 29,000 to 186,000.
ENTRY_RMS_BELOW = (("ieee", 512.0), ("tf32", 26_000.0), ("bf16", 400_000.0))
#: With fewer entries chance decides.
FEWEST_ENTRIES = 8

PRODUCT_OPS = (
    "MatMul",
    "BatchMatMul",
    "BatchMatMulV2",
    "BatchMatMulV3",
    "_FusedMatMul",
    "_MklMatMul",
    "_MklFusedMatMul",
    "_MklBatchMatMulV2",
)
CLUSTER_RUN = "_XlaRun"
#: Kernels that make the call's outputs from the product.
USES = ("Sum", "StridedSlice")
#: Kernels whose output is their first input, at most transposed.
PASSES_ON = ("ReadVariableOp", "Identity", "Transpose")
#: The operand's variable in a Session's graph, and the argument that a function's graph reads it from.
OPERAND = re.compile(r"^operand(_\d+)?$|^operand_(read_)?readvariableop_resource(_\d+)?$")
OPERAND_OPS = ("VarHandleOp", "_Arg")

Judgement = tuple[Proof, Status | None]


def device(
    placement: Mapping[str, Any] | None, n: int, compiles: Mapping[str, Compiles] | None = None
) -> Judgement:
    """Judge where the product was computed, and that it was.

    ``placement`` holds the asked device, the kernels that ran (name, op, device, inputs) and, for what XLA
    compiled, the dot instructions of its modules. The product must exist, stem from the operand's variable
    (an optimiser that saw constants has folded it away), have shape n x n, and sit on the asked device.
    A call that is ``compiled`` as a whole must also have compiled in its cold phases, where ``compiles``
    could be counted.
    """
    if not placement:
        return Proof("failed", "the worker sent no evidence of placement"), "unverified_placement"
    if placement.get("framework") == "torch":
        return proofs_torch.device(placement, n, compiles)
    if placement.get("compiled"):
        return _compiled(placement, n, compiles)
    asked, nodes = placement["asked"], {node["name"]: node for node in placement["nodes"]}
    makers = [node for node in nodes.values() if node["op"] in (*PRODUCT_OPS, CLUSTER_RUN)]
    if not makers:
        return _unverified("no kernel that makes the product is in the graph that ran")
    elsewhere = sorted({node["device"] for node in makers if node["device"] != asked})
    if elsewhere:
        return Proof("failed", f"asked {asked}, ran on {', '.join(elsewhere)}"), "wrong_device"
    clusters = [node for node in makers if node["op"] == CLUSTER_RUN]
    products = [node for node in makers if node not in clusters and _multiplies_operand(node, nodes)]
    clusters = [node for node in clusters if any(_is_operand(each, nodes) for each in node["inputs"])]
    if not products and not clusters:
        return _unverified("the kernel that makes the product does not read the operand")
    if not products:
        modules = placement.get("modules", [])
        problem = _no_dot(modules, n)
        if problem:
            return _unverified(problem)
        return Proof("ok", f"{CLUSTER_RUN} on {asked}; its module holds a dot of {n} x {n}"), None
    made = {node["name"] for node in products}
    unused = [node["name"] for node in nodes.values() if node["op"] in USES and not _reads(node, made, nodes)]
    if unused:
        return _unverified(f"{', '.join(sorted(unused))} reads something else than the product")
    return Proof("ok", f"{products[0]['op']} on {asked}"), None


def _compiled(placement: Mapping[str, Any], n: int, compiles: Mapping[str, Compiles] | None) -> Judgement:
    asked, outputs_on = placement["asked"], placement["outputs_on"]
    if outputs_on != asked:
        return Proof("failed", f"asked {asked}, its outputs are on {outputs_on}"), "wrong_device"
    problem = _no_dot(placement["modules"], n)
    if problem:
        return _unverified(problem)
    if compiles is not None and not any(name in compiles for name in COLD_PHASES):
        return _unverified("the framework logged no XLA compile in the cold call")
    logged = "compile not logged by this stack" if compiles is None else "compile logged"
    return Proof("ok", f"outputs on {asked}; the module holds a dot of {n} x {n}; {logged}"), None


def _no_dot(modules: Sequence[Mapping[str, Any]], n: int) -> str:
    """Return why the modules hold no product of two n x n matrices that they were given, "" where one does."""
    dots = [dot for module in modules for dot in module["dots"] if _multiplies(dot["shapes"], n)]
    if not dots:
        return f"no dot of {n} x {n} in {len(modules)} compiled modules"
    if not any(set(dot["from"]) == {"parameter"} for dot in dots):
        return f"the dot multiplies {' and '.join(dots[0]['from'])}, not the operand"
    return ""


def _multiplies(shapes: Sequence[str], n: int) -> bool:
    """Tell whether a dot's result and operands are the n x n product, whole or in parts of its inner dimension.

    XLA may split that dimension on a GPU (split-K): s results of n x n, from operands n x s x k with s k = n, or a
    little more where zeros fill the last part; they are added up afterwards.
    """
    if list(shapes) == [f"{n},{n}"] * 3:
        return True
    sizes = [[int(each) for each in shape.split(",") if each] for shape in shapes]
    result, operands = sizes[0], sizes[1:]
    if len(result) != 3 or result.count(n) < 2 or len(operands) != 2:
        return False
    parts = math.prod(result) // (n * n)
    return all(
        len(each) == 3 and n in each and parts in each and n * n <= math.prod(each) < n * (n + parts)
        for each in operands
    )


def _unverified(text: str) -> Judgement:
    return Proof("failed", text), "unverified_placement"


def _multiplies_operand(node: Mapping[str, Any], nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tell whether both factors are the operand: a matrix-vector product gives the row sums as well."""
    factors = [each for each in node["inputs"] if not each.startswith("^")][:2]
    return len(factors) == 2 and all(_is_operand(each, nodes) for each in factors)


def _reads(node: Mapping[str, Any], made: set[str], nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Tell whether a kernel's first input is one of the products, at most passed on."""
    name = node["inputs"][0] if node["inputs"] else ""
    for _ in range(len(nodes) + 1):
        found = name.split(":")[0]
        if found in made:
            return True
        if found not in nodes or nodes[found]["op"] not in PASSES_ON or not nodes[found]["inputs"]:
            return False
        name = nodes[found]["inputs"][0]
    return False


def _is_operand(name: str, nodes: Mapping[str, Mapping[str, Any]]) -> bool:
    """Follow an input back through reads and transposes; tell whether it ends at the operand's variable."""
    for _ in range(len(nodes) + 1):
        found = nodes.get(name.split(":")[0])
        if found is None:
            return False
        if found["op"] in OPERAND_OPS:
            return bool(OPERAND.match(found["name"]))
        if found["op"] not in PASSES_ON or not found["inputs"]:
            return False
        name = found["inputs"][0]
    return False


def result(ratios: Sequence[Mapping[str, Any]], wanted: Sequence[str]) -> Judgement:
    """Judge the results: each output's largest error over its bound, of the cold and the last warm call.

    ``wanted`` names the calls that must have been checked ("cold", "warm"). The scalar alone never passes.
    """
    by_call = {each["of"]: each["ratios"] for each in ratios}
    worst, where = 0.0, ""
    for call in wanted:
        if call not in by_call:
            return Proof("failed", f"the {call} result was not checked"), "wrong_result"
        for output in ("rows", "last", "scalar"):
            ratio = by_call[call].get(output)
            if ratio is None:
                text = f"{output} of the {call} call: not a number, or of the wrong shape"
                return Proof("failed", text), "wrong_result"
            if ratio >= worst:
                worst, where = ratio, f"{output} of the {call} call"
    text = f"largest error is {worst:.2g} of its bound ({where})"
    return (Proof("ok", text), None) if worst <= 1 else (Proof("failed", text), "wrong_result")


def precision(results: Sequence[Mapping[str, Any]], asked: str, n: int, in_force: str = "") -> Judgement:
    """Judge in which precision the product was computed, by its entries' error.

    No variable's name and no switch is believed. What was asked for must have been done: a coarser product is no
    ``ieee``, and a finer one no ``tf32``. What the framework does by ``default`` is recorded, whatever it is, unless it
    is coarser than the precision that the framework says is ``in_force``.
    """
    found = _entry_errors(results)
    if not found or n < FEWEST_ENTRIES:
        return Proof("not_proven", "no errors of entries" if not found else f"{n - 1} entries are too few"), None
    text = f"entries are off by {max(found):.2g} times float32's rounding"
    name = effective_precision(results, n)
    if not name:
        return Proof("failed", f"{text}, and by {min(found):.2g} times in another call"), "wrong_result"
    if asked not in ("default", name):
        return Proof("failed", f"{asked} was asked for and not in force: {text}, as in {name}"), "wrong_result"
    if asked == "default" and _coarseness(name) > _coarseness(in_force or name):
        return Proof("failed", f"{in_force} is said to be in force: {text}, as in {name}"), "wrong_result"
    return Proof("ok", f"{name}: {text}"), None


def _coarseness(name: str) -> int:
    """Return the place of a precision in ENTRY_RMS_BELOW; one that is not there is the coarsest."""
    names = [each for each, _ in ENTRY_RMS_BELOW]
    return names.index(name) if name in names else len(names)


def effective_precision(results: Sequence[Mapping[str, Any]], n: int) -> str:
    """Return the precision of which the entries' errors are typical; "" where none is told, or calls differ."""
    names = {
        next((name for name, below in ENTRY_RMS_BELOW if error < below), "coarser than bf16")
        for error in _entry_errors(results)
    }
    return names.pop() if len(names) == 1 and n >= FEWEST_ENTRIES else ""


def _entry_errors(results: Sequence[Mapping[str, Any]]) -> list[float]:
    told = [(each.get("entry_error") or {}).get("rms") for each in results]
    return [float(each) for each in told if each is not None]


def synchronised(warm: Warm | None, rescaled: Mapping[str, Any] | None = None) -> Judgement:
    """Judge whether the warm calls waited for their work.

    ``rescaled``: the series' last scalar and that of a call on twice the operand, which is four times as large. A call
    that hands out a scalar it has not waited for gives the old one, however little work it leaves behind.
    """
    if warm is None:
        return Proof("not_applicable", "no warm series in this sample"), None
    if rescaled is not None:
        before, after = float(rescaled["scalar"]), float(rescaled["doubled"])
        # Not a tolerance: nearer to the old value than to the new one. NaN is near to neither.
        if not abs(after - 4 * before) < abs(after - before):
            text = f"on twice the operand the call gave {after:.6g}, before {before:.6g}: it fetched nothing new"
            return Proof("failed", text), "implausible"
    # The drain that closes the series costs something even where nothing is outstanding.
    share = sum(warm.calls_s) / max(warm.outer_s - (warm.idle_drain_s or 0.0), 1e-9)
    # A quota stops a process between two clocks as well as within one: then the share tells nothing, and the
    # drain, of which the quickest of many is taken, decides alone.
    if share < LEAST_SHARE and not warm.throttlings:
        text = f"the calls sum to {100 * share:.0f} % of the series that they make up"
        return Proof("failed", text), "implausible"
    if warm.late_drain_s is None or warm.idle_drain_s is None:
        return Proof("failed", "no drain was measured after a stopped clock"), "implausible"
    if warm.pending and warm.probed and warm.pending > PENDING_SHARE * warm.probed:
        text = f"the device had work left after {warm.pending} of {warm.probed} calls had returned"
        return Proof("failed", text), "implausible"
    late = warm.late_drain_s - warm.idle_drain_s
    allowed = LATE_SHARE * statistics.median(warm.calls_s) + LATE_S
    text = f"calls are {100 * share:.1f} % of the series; {1e6 * late:.0f} us of work after the clock"
    if late > allowed:
        return Proof("failed", f"{text}, allowed {1e6 * allowed:.0f} us"), "implausible"
    return Proof("ok", text), None


def plausible(n: int, cold_s: float, warm: Warm | None, ceiling_flops: float) -> Judgement:
    """Judge the implied FLOP/s of the fastest call against ``ceiling_flops`` of the precision in force."""
    fastest = min([cold_s, *(warm.calls_s if warm else [])])
    if fastest <= 0:
        return Proof("failed", f"a call of {fastest} s"), "implausible"
    rate = 2.0 * n**3 / fastest
    text = f"fastest call {rate / 1e9:.3g} GFLOP/s, ceiling {ceiling_flops / 1e9:.3g}"
    return (Proof("ok", text), None) if rate <= ceiling_flops else (Proof("failed", text), "implausible")


def bytecode(found: Mapping[str, Any] | None) -> Judgement:
    """Judge whether modules came from compiled files. It gates no number but is part of the identity."""
    if not found:
        return Proof("not_proven", "the worker did not count its modules"), None
    text = f"{found['cached']} of {found['modules']} modules from compiled files"
    return Proof("ok" if found["share"] >= 0.99 else "failed", text), None
