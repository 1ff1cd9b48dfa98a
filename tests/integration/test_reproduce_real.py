# SPDX-License-Identifier: Apache-2.0
"""The question's snippet on the real stacks, as a person starts it."""

from __future__ import annotations

import csv
import os
import signal

import pytest

from suite import collect
from tests.integration import making
from tests.integration.making import make, start, until

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made", "made221")]

STACKS = ["tf1.14-cuda10", "tf2.21-cuda12"]


def rows(out, stack):
    [folder] = (out / stack).iterdir()
    with (folder / "table.csv").open(newline="") as file:
        return {(row["target"], int(row["n"])): row for row in csv.DictReader(file)}


@pytest.mark.parametrize("stack", STACKS)
def test_what_fits_is_measured_and_the_rest_is_over_budget(tmp_path, stack):
    """Fault: a session that is closed late, a rerun that is not one, a size that vanishes from the table."""
    done = make("reproduce", f"STACK={stack}", "SHAPES=50,500,40000", "BUDGET=60", f"OUT={tmp_path}")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    found = rows(tmp_path, stack)
    for target in ("CPU", "XLA_CPU"):
        for n in (50, 500):
            assert found[target, n]["status"] == "ok"
            assert float(found[target, n]["first_s"]) > 0 and float(found[target, n]["rerun_s"]) > 0
        assert found[target, 40000]["status"] == "over_budget"
    # A new Session compiles again: that is why a rerun is not warm.
    assert int(found["XLA_CPU", 50]["compiles_first"]) >= 1
    assert found["XLA_CPU", 50]["compiles_rerun"] == found["XLA_CPU", 50]["compiles_first"]
    assert found["CPU", 50]["compiles_first"] == "0"
    assert found["XLA_GPU", 50]["status"] == found["GPU", 50]["status"] == "unavailable"
    assert found["XLA_GPU", 50]["question_first_s"] == "2.82"
    assert "CANNOT BE TESTED HERE" in done.out
    printed = [line for line in done.out.splitlines() if line.startswith("Shape: ")]
    assert printed[0] == "Shape: (50, 50) Device: /device:CPU:0" and len(printed) == 8
    assert max(len(line) for line in done.out.splitlines()) <= 80


@pytest.mark.parametrize("verb", ["bench", "reproduce"])
@pytest.mark.parametrize("stack", STACKS)
def test_a_gpu_that_is_asked_for_by_name_and_not_there(tmp_path, stack, verb):
    """Fault: exit 0, or a CPU's time in a GPU's row."""
    words = ["TARGETS=GPU,XLA_GPU", "SHAPES=50", f"OUT={tmp_path}"]
    done = make(verb, f"STACK={stack}", *words, env=making.environment(TF_FORCE_GPU_ALLOW_GROWTH="true"))
    assert done.exit_line().startswith("coldwarm: exit 3 "), done.err
    assert {row["status"] for row in rows(tmp_path, stack).values()} == {"unavailable"}


def test_ctrl_c_keeps_the_pairs_before_it(tmp_path):
    """Fault: minutes of pairs are lost with the one in flight."""
    process = start("reproduce", "STACK=tf1.14-cuda10", "SHAPES=50,500,8000", f"OUT={tmp_path}")
    events = "tf1.14-cuda10/*/raw/reproduce.1/events.jsonl"
    until(lambda: any('"n": 8000' in path.read_text() for path in tmp_path.glob(events)))
    os.killpg(process.pid, signal.SIGINT)
    done = making.finish(process, 30)
    assert done.exit_line() == "coldwarm: exit 130 (interrupted)"
    _, samples, notes = collect.derive(making.folder(tmp_path))
    assert notes == [] and samples[-1].status == "interrupted"
    assert {(each.device, each.n) for each in samples[-1].pairs} >= {("/device:CPU:0", 50), ("/device:CPU:0", 500)}
    until(lambda: not making.processes(str(tmp_path)), 10)
