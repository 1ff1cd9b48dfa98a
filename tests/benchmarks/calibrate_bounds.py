# SPDX-License-Identifier: Apache-2.0
"""Print what the constants of the result bounds rest on: errors of honest calls and of planted faults.

    python -m tests.benchmarks.calibrate_bounds --stack tf2.21-cuda12 --target XLA_CPU --placement jit

For each size the largest error of several seeds, divided by the bound with c = 1: ``honest`` must stay below the
table's c, ``tf32`` (operands rounded to TF32's 10 bits of mantissa) far above it. The stack's environment must be
made.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile

from suite import environment, stack
from suite.engines import WORKER

SIZES = (8, 16, 31, 50, 64, 100, 200, 256, 257, 500, 777, 1000, 2000, 4096)

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
c = dict.fromkeys(("rows", "last", "scalar"), 1.0)
matmul.BOUND_C = {request["adapter"]: ((None, c),)}

def rounded(m):
    bits = m.view(numpy.uint32)
    return ((bits + 0x1000) & numpy.uint32(0xFFFFE000)).view(numpy.float32)

for n in request["sizes"]:
    seeds = 20 if n <= 500 else 3
    worst = {"honest": {}, "tf32": {}}
    for seed in range(seeds):
        m = matmul.operand(n, 20190614 + seed, "float32")
        expected = matmul.reference(m)
        for what, used in (("honest", m), ("tf32", rounded(m))):
            adapter.place(used)
            adapter.build()
            scalar = adapter.execute()
            outputs = dict(adapter.outputs(), scalar=scalar)
            found = matmul.errors(outputs, expected, request["adapter"], "float32", "ieee")
            for name, value in found.items():
                pick = max if what == "honest" else min
                worst[what][name] = pick(worst[what].get(name, value), value)
    print(json.dumps({"n": n, "seeds": seeds, "worst": worst}), flush=True)
"""


def main() -> int:
    """Calibrate one placement of one stack and print a line a size."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--stack", required=True)
    parser.add_argument("--target", default="CPU", choices=stack.TARGETS)
    parser.add_argument("--placement", default="device", choices=("device", "jit"))
    parser.add_argument("--sizes", type=int, nargs="+", default=SIZES)
    given = parser.parse_args()
    chosen = stack.load(given.stack)
    minor, wheels = chosen.definition.python.default, environment.wheels_for(chosen)
    made = environment.find_made(chosen, minor, environ=os.environ, wheels=wheels)
    if made is None:
        print(f"{chosen.name}: its environment is not made yet: make bench STACK={chosen.name}", file=sys.stderr)
        return 4
    scratch = tempfile.mkdtemp()
    [how] = [each for each in chosen.realisations(given.target) if each.placement == given.placement]
    request = {
        "worker": str(WORKER),
        "adapter": how.adapter or chosen.definition.adapter,
        "device": how.device,
        "placement": how.placement,
        "precision": "ieee",
        "dtype": "float32",
        "sizes": list(given.sizes),
        "modules_folder": f"{scratch}/modules",
    }
    environ = {**os.environ, **chosen.definition.environment, **how.environment, "TF_CPP_MIN_LOG_LEVEL": "3"}
    process = subprocess.Popen(
        [str(made.python), "-c", INSIDE, json.dumps(request)],
        env=environ,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    )
    assert process.stdout is not None
    print(f"{'n':>6} {'seeds':>5}  honest: rows last scalar (largest)      tf32: rows last scalar (smallest)")
    for line in process.stdout:
        found = json.loads(line)
        numbers = [
            found["worst"][what][name] for what in ("honest", "tf32") for name in ("rows", "last", "scalar")
        ]
        print(f"{found['n']:>6} {found['seeds']:>5}  " + " ".join(f"{each:10.4g}" for each in numbers), flush=True)
    return process.wait()


if __name__ == "__main__":
    raise SystemExit(main())
