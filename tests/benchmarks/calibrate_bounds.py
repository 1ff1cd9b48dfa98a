# SPDX-License-Identifier: Apache-2.0
"""Print what the constants of the result bounds rest on: errors of honest calls and of planted faults.

    python -m tests.benchmarks.calibrate_bounds --stack tf2.21-cuda12 --target XLA_CPU --placement jit
    python -m tests.benchmarks.calibrate_bounds --stack jax0.11-cuda13 --target XLA_GPU --precision tf32 \
        --adopt "$(command -v python3)" --sizes 50 1000 15000

``--precision ieee``: for each size the largest error of several seeds, divided by the bound with c = 1: ``honest`` must
stay below the table's c (shown behind it), ``tf32`` (operands rounded to TF32's 10 bits of mantissa) far above it.
Other precisions: the largest error divided by the bound as it stands, which must be below 1; ``tf32`` as above, what
operands of that kind give under float32's bound. ``entries``: the smallest and largest root mean square of the
entries' error, by which the precision is told. The stack's environment must be made, or an interpreter that has the
framework be named (``--adopt``).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

from suite import environment, stack
from suite.engines import WORKER

SIZES: tuple[int, ...] = (8, 16, 31, 50, 64, 100, 200, 256, 257, 500, 777, 1000, 2000, 4096)

OUTPUTS = ("rows", "last", "scalar")

#: Runs in the stack's own Python, with the worker's modules.
INSIDE = """
import json, sys
request = json.loads(sys.argv[1])
sys.path.insert(0, request["worker"])
import math
import matmul
module = __import__(request["adapter"])
adapter = module.Adapter(request, 10**6)
adapter.import_framework()
adapter.open()
import numpy
name, asked = request["adapter"], request["precision"]
table = matmul.BOUND_C[name]
one = ((None, dict.fromkeys(("rows", "last", "scalar"), 1.0)),)

def rounded(m):
    bits = m.view(numpy.uint32)
    return ((bits + 0x1000) & numpy.uint32(0xFFFFE000)).view(numpy.float32)

for n in request["sizes"]:
    seeds = 20 if n <= 500 else 3 if n <= 5000 else 2
    worst, entries = {"honest": {}, "tf32": {}}, []
    for seed in range(seeds):
        m = matmul.operand(n, 20190614 + seed, "float32")
        expected = matmul.reference(m)
        for what, used in (("honest", m), ("tf32", rounded(m))):
            adapter.place(used)
            adapter.build()
            if adapter.compile is not None:
                adapter.compile()
            scalar = adapter.execute()
            outputs = dict(adapter.outputs(), scalar=scalar)
            if what == "honest":
                entries.append(matmul.entry_error(outputs, expected)["rms"])
            by = asked if what == "honest" else "ieee"
            matmul.BOUND_C[name] = one if by == "ieee" else table
            for output, value in matmul.errors(outputs, expected, name, "float32", by).items():
                pick = max if what == "honest" else min
                worst[what][output] = pick(worst[what].get(output, value), value)
    matmul.BOUND_C[name] = table
    limits = matmul.bound_constants(name, n) if asked == "ieee" else dict.fromkeys(worst["honest"], 1.0)
    told = {"n": n, "seeds": seeds, "worst": worst, "limits": limits, "entries": [min(entries), max(entries)]}
    print(json.dumps(told), flush=True)
"""


def main() -> int:
    """Calibrate one placement of one stack and print a line a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--target", "--targets", default="CPU", choices=stack.TARGETS)
    parser.add_argument(
        "--placement", choices=("device", "jit"), help="default: the target's only one, else device"
    )
    parser.add_argument("--precision", default="ieee", choices=("ieee", "tf32", "bf16"))
    parser.add_argument("--adopt", metavar="PYTHON", help="an interpreter that has the framework")
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given = parser.parse_args()
    chosen = stack.load(given.stack)
    minor, wheels = chosen.definition.python.default, environment.wheels_for(chosen)
    if given.adopt:
        made: environment.Environment | None = environment.adopt(chosen, given.adopt, environ=os.environ)
    else:
        made = environment.find_made(chosen, minor, environ=os.environ, wheels=wheels)
    if made is None:
        print(f"{chosen.name}: its environment is not made yet: make bench STACK={chosen.name}", file=sys.stderr)
        return 4
    scratch = tempfile.mkdtemp()
    ways = {each.placement: each for each in chosen.realisations(given.target)}
    placement = given.placement or (next(iter(ways)) if len(ways) == 1 else "device")
    if placement not in ways:
        print(f"{chosen.name}: {given.target} has {', '.join(ways) or 'no placement'}", file=sys.stderr)
        return 3
    how = ways[placement]
    request = {
        "worker": str(WORKER),
        "adapter": how.adapter or chosen.definition.adapter,
        "device": how.device,
        "placement": how.placement,
        "precision": given.precision,
        "dtype": "float32",
        "kind": "prepared",
        "level": "jit",
        "sizes": list(given.sizes),
        "modules_folder": f"{scratch}/modules",
    }
    environ = {**os.environ, **chosen.definition.environment, **how.environment, "TF_CPP_MIN_LOG_LEVEL": "3"}
    environ.update(environment.cuda_variables(chosen, made, os.environ))
    words = Path(scratch) / "stderr.txt"
    with words.open("w", encoding="utf-8") as errors:
        process = subprocess.Popen(
            [str(made.python), "-c", INSIDE, json.dumps(request)],
            env=environ,
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        )
    assert process.stdout is not None
    print(f"{'n':>6} {'seeds':>5}  honest: rows last scalar (largest, of its limit)", end="  ")
    print("tf32: rows last scalar (smallest)  entries: smallest largest", flush=True)
    for line in process.stdout:
        found = json.loads(line)
        honest, tf32 = found["worst"]["honest"], found["worst"]["tf32"]
        of_limit = [f"{honest[name]:.2g}/{found['limits'][name]:g}" for name in OUTPUTS]
        rounded = [f"{tf32[name]:10.3g}" for name in OUTPUTS] + [f"{each:9.3g}" for each in found["entries"]]
        print(f"{found['n']:>6} {found['seeds']:>5}  {'  '.join(of_limit):36} {' '.join(rounded)}", flush=True)
    code = process.wait()
    if code:
        print(words.read_text(encoding="utf-8", errors="replace")[-2000:], file=sys.stderr)
    return code


if __name__ == "__main__":
    raise SystemExit(main())
