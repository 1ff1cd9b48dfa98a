# SPDX-License-Identifier: Apache-2.0
"""RESUME= of a comparison as a person uses it: killed in its middle, and finished with one more command."""

from __future__ import annotations

import contextlib
import json
import os
import signal
from pathlib import Path

import pytest

from suite import compare, journal, rows, selftest
from tests.integration import making
from tests.validating import problems_below

pytestmark = [pytest.mark.real, pytest.mark.usefixtures("made", "made221")]

A, B = "tf1.14-cuda10", "tf2.21-cuda12"


def journaled(out: Path) -> dict[str, list[dict[str, object]]]:
    """Return the whole lines of each arm."""
    found = {}
    for path in out.glob("compare/*/*/samples.jsonl"):
        text = path.read_bytes()
        found[path.parent.name] = [json.loads(line) for line in text[: text.rfind(b"\n") + 1].splitlines()]
    return found


def test_a_comparison_that_was_killed_is_finished(tmp_path):
    """Fault: after SIGKILL nine stacks must be measured anew, or one of them is finished out of its blocks."""
    words = [f"STACKS={A} {B}", "TARGETS=CPU,XLA_CPU", "SHAPES=50", "SAMPLES=2", "FAIL_ON=none", f"OUT={tmp_path}"]
    process = making.start("compare", *words)
    making.until(
        lambda: sum(map(len, journaled(tmp_path).values())) >= 10 and bool(making.processes(str(tmp_path))), 300
    )
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for pid in making.processes(str(tmp_path)):
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)
    making.finish(process, 30)
    making.until(lambda: not making.processes(str(tmp_path)), 10)
    [folder] = (tmp_path / "compare").iterdir()
    before = journaled(tmp_path)
    left = [
        name
        for arm, name in selftest.read(folder).order
        if name not in {each["id"] for each in before[(A, B)[arm]]}
    ]
    assert len(left) >= 4 and not (folder / "table.md").exists()
    done = making.make("compare", f"RESUME={folder}", "FAIL_ON=none")
    assert done.exit_line() == "coldwarm: exit 0 (done)", done.err
    order = selftest.read(folder).order
    for number, name in enumerate((A, B)):
        run, (samples, notes) = journal.read_run(folder / name), journal.read_samples(folder / name)
        assert notes == [] and rows.missing(run, samples) == 0
        assert {sample.status for sample in samples} == {"ok"}
        lines = journaled(tmp_path)[name]
        assert lines[: len(before[name])] == before[name]
        own = [line["id"] for line in lines if not line["again"] and ".session-" not in line["id"]]
        assert own == [sample for arm, sample in order if arm == number], "each arm in the order that was planned"
    _, compared = compare.derive(folder)
    assert {row.count.text() for arm in compared.arms for row in arm.cells} == {"2/2 ok"}
    assert "measured in 2 sessions (RESUME=)" in " ".join(done.out.split())
    assert problems_below(folder)[1] == []
